/** I. Delete, finalizers and garbage collection. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance, eventually } from "./Case.ts"
import { configMap, pod } from "./Objects.ts"
import { type Cause, conflicts, invalid, options, refused, webApp } from "./Refusal.ts"
import { revision, type Scene } from "./Scene.ts"

const mergePatch = "application/merge-patch+json"

const remove = (scene: Scene, path: string, deleteOptions?: Json.JsonObject) =>
  scene.request("DELETE", path, {
    json: deleteOptions && { kind: "DeleteOptions", apiVersion: "v1", ...deleteOptions }
  })

/** Sets the finalizers of a WebApp. */
const finalizers = (scene: Scene, name: string, json: ReadonlyArray<string> | null) =>
  scene.request("PATCH", scene.webapps(name), { json: { metadata: { finalizers: json } }, contentType: mergePatch })

const notFound = { name: "w", group: "example.com", kind: "webapps" }

const finalized = { metadata: { finalizers: ["example.com/f"] } }

describe.concurrent("I. Delete", () => {
  conformance(93, "DELETE says what it has deleted, and then it is gone", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w")
      const answer = yield* remove(scene, scene.webapps("w"))
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: { ...notFound, uid: Json.at(made, "metadata", "uid") ?? "" }
      })
      for (const method of ["GET", "DELETE"]) {
        const gone = yield* scene.request(method, scene.webapps("w"))
        refused(gone, 404, "NotFound", 'webapps.example.com "w" not found', notFound)
      }
    })
  )

  conformance(94, "what has finalizers is marked, and goes with the last of them", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", finalized)
      const marked = yield* remove(scene, scene.webapps("w"))
      expect(marked.status).toBe(200)
      expect(marked.body).toMatchObject({
        kind: "WebApp",
        metadata: {
          deletionTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
          deletionGracePeriodSeconds: 0,
          generation: 2
        }
      })
      expect(revision(marked.body)).toBeGreaterThan(revision(made))
      const last = yield* finalizers(scene, "w", [])
      expect(last.status).toBe(200)
      expect(last.body).not.toHaveProperty("metadata.finalizers")
      expect((yield* scene.request("GET", scene.webapps("w"))).status).toBe(404)
    })
  )

  conformance(95, "nothing new keeps an object that is being deleted, and its time stays", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", finalized)
      const first = yield* remove(scene, scene.webapps("w"))
      const added = yield* finalizers(scene, "w", ["example.com/f", "example.com/g"])
      const forbidden: Cause = [
        "FieldValueForbidden",
        "metadata.finalizers",
        'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/g"}'
      ]
      invalid(added, webApp("w"), forbidden, forbidden)
      const second = yield* remove(scene, scene.webapps("w"))
      expect(second.status).toBe(200)
      expect(second.body).toEqual(first.body ?? null)
      yield* finalizers(scene, "w", null)
    })
  )

  conformance(96, "the name of what is being deleted is taken", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", finalized)
      yield* remove(scene, scene.webapps("w"))
      const answer = yield* scene.request("POST", scene.webapps(), {
        json: { apiVersion: "example.com/v1", kind: "WebApp", metadata: { name: "w" } }
      })
      refused(answer, 409, "AlreadyExists", 'object is being deleted: webapps.example.com "w" already exists', notFound)
      yield* finalizers(scene, "w", null)
    })
  )

  conformance(97, "preconditions are kept", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", { spec: {} })
      const { resourceVersion = "", uid = "" } = Json.object(made.metadata)
      const other = "8d1f0b58-1f1e-4c7c-8f1d-0d9b9b5a5a01"
      // By the kind, where other conflicts name the resource.
      conflicts(
        yield* remove(scene, scene.webapps("w"), { preconditions: { uid: other } }),
        webApp("w"),
        `the UID in the precondition (${other}) does not match the UID in record (${uid}). ` +
          "The object might have been deleted and then recreated"
      )
      yield* finalizers(scene, "w", ["example.com/f"])
      const changed = yield* finalizers(scene, "w", null)
      conflicts(
        yield* remove(scene, scene.webapps("w"), { preconditions: { resourceVersion } }),
        webApp("w"),
        `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record ` +
          `(${revision(changed.body)}). The object might have been modified`
      )
      const right = { uid, resourceVersion: `${revision(changed.body)}` }
      expect((yield* remove(scene, scene.webapps("w"), { preconditions: right })).status).toBe(200)
    })
  )

  conformance(98, "a propagation policy is a finalizer, and one that is none is refused", { starred: true }, (scene) =>
    Effect.gen(function* () {
      for (const [name, policy, finalizer] of [
        ["f", "Foreground", "foregroundDeletion"],
        ["o", "Orphan", "orphan"]
      ] as const) {
        yield* scene.create(name)
        const answer = yield* remove(scene, scene.webapps(name), { propagationPolicy: policy })
        expect(answer.status).toBe(200)
        expect(answer.body).toMatchObject({
          kind: "WebApp",
          metadata: { finalizers: [finalizer], deletionTimestamp: expect.any(String), deletionGracePeriodSeconds: 0 }
        })
        expect((yield* finalizers(scene, name, null)).status).toBe(200)
        expect((yield* scene.request("GET", scene.webapps(name))).status).toBe(404)
      }
      yield* scene.create("w")
      invalid(yield* remove(scene, scene.webapps("w"), { propagationPolicy: "Bogus" }), options("DeleteOptions"), [
        "FieldValueNotSupported",
        "propagationPolicy",
        'Unsupported value: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil"'
      ])
      const both = { propagationPolicy: "Foreground", orphanDependents: true }
      invalid(yield* remove(scene, scene.webapps("w"), both), options("DeleteOptions"), [
        "FieldValueInvalid",
        "propagationPolicy",
        'Invalid value: "Foreground": orphanDependents and deletionPropagation cannot be both set'
      ])
    })
  )

  conformance(103, "DELETE of a selection gives what it has deleted, a dry run deletes nothing", {}, (scene) =>
    Effect.gen(function* () {
      for (const name of ["a", "b"]) yield* scene.create(name, { metadata: { labels: { a: "b" } } })
      yield* scene.create("c")
      const names = (list: Json.Json | undefined) =>
        Json.objects(Json.at(list, "items")).map((item) => Json.at(item, "metadata", "name"))
      const there = Effect.map(scene.done("GET", scene.webapps()), names)
      const path = `${scene.webapps()}?labelSelector=a%3Db`
      const dry = yield* remove(scene, `${path}&dryRun=All`)
      expect(names(dry.body)).toEqual(["a", "b"])
      expect(yield* there).toEqual(["a", "b", "c"])
      const answer = yield* remove(scene, path)
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({ kind: "WebAppList", apiVersion: "example.com/v1" })
      expect(names(answer.body)).toEqual(["a", "b"])
      expect(yield* there).toEqual(["c"])
    })
  )

  conformance(104, "a pod on a node is given its time, one on none goes at once", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.done("POST", scene.path("pods"), { json: pod("bound", { nodeName: "n" }) })
      yield* scene.done("POST", scene.path("pods"), { json: pod("free") })
      const before = Date.now()
      const marked = yield* remove(scene, scene.path("pods", "bound"))
      expect(marked.status).toBe(200)
      expect(marked.body).toMatchObject({ kind: "Pod", metadata: { deletionGracePeriodSeconds: 30 } })
      const due = Date.parse(Json.text(Json.at(marked.body, "metadata", "deletionTimestamp")) ?? "")
      expect(due - before).toBeGreaterThan(28_000)
      expect(due - Date.now()).toBeLessThanOrEqual(31_000)
      expect((yield* scene.request("GET", scene.path("pods", "bound"))).status).toBe(200)
      const killed = yield* remove(scene, scene.path("pods", "bound"), { gracePeriodSeconds: 0 })
      expect(killed.body).toMatchObject({ kind: "Pod", metadata: { name: "bound" } })
      expect((yield* scene.request("GET", scene.path("pods", "bound"))).status).toBe(404)
      const free = yield* remove(scene, scene.path("pods", "free"))
      expect(free.body).toMatchObject({ kind: "Pod", metadata: { name: "free" } })
      expect((yield* scene.request("GET", scene.path("pods", "free"))).status).toBe(404)
    })
  )
})

/** A reference to an owner. */
const ownedBy = (owner: Json.JsonObject, more: Json.JsonObject = {}): Json.JsonObject => ({
  apiVersion: Json.text(owner.apiVersion) ?? "",
  kind: Json.text(owner.kind) ?? "",
  name: Json.at(owner, "metadata", "name") ?? "",
  uid: Json.at(owner, "metadata", "uid") ?? "",
  ...more
})

/** Creates a ConfigMap with these owners. */
const dependent = (scene: Scene, name: string, metadata: Json.JsonObject) =>
  scene.done("POST", scene.path("configmaps"), { json: configMap(name, { metadata }) })

const status = (scene: Scene, path: string) => Effect.map(scene.request("GET", path), (answer) => answer.status)

/** Waits until it is gone. */
const gone = (scene: Scene, path: string) =>
  eventually(Effect.map(status(scene, path), (is) => expect([path, is]).toEqual([path, 404])))

describe.concurrent("I. Garbage collection", () => {
  const controllers = { needsControllers: true }

  conformance(
    99,
    "in the background, the owner goes at once and its dependents follow",
    { ...controllers, starred: true },
    (scene) =>
      Effect.gen(function* () {
        const owner = yield* scene.create("w")
        yield* dependent(scene, "d", { ownerReferences: [ownedBy(owner)] })
        expect((yield* remove(scene, scene.webapps("w"), { propagationPolicy: "Background" })).status).toBe(200)
        expect(yield* status(scene, scene.webapps("w"))).toBe(404)
        yield* gone(scene, scene.path("configmaps", "d"))
      })
  )

  conformance(
    100,
    "in the foreground, the owner goes last, but does not wait for those that don't block",
    controllers,
    (scene) =>
      Effect.gen(function* () {
        const owner = yield* scene.create("w")
        const reference = (blockOwnerDeletion: boolean) => ({
          ownerReferences: [ownedBy(owner, { blockOwnerDeletion })]
        })
        const keep = { finalizers: ["example.com/f"] }
        yield* dependent(scene, "blocking", { ...reference(true), ...keep })
        yield* dependent(scene, "free", { ...reference(false), ...keep })
        const answer = yield* remove(scene, scene.webapps("w"), { propagationPolicy: "Foreground" })
        expect(answer.body).toMatchObject({ metadata: { finalizers: ["foregroundDeletion"] } })
        const marked = (name: string) =>
          eventually(
            Effect.map(scene.done("GET", scene.path("configmaps", name)), (object) =>
              expect(object).toHaveProperty("metadata.deletionTimestamp")
            )
          )
        yield* marked("blocking")
        expect(yield* status(scene, scene.webapps("w"))).toBe(200)
        const release = (name: string) =>
          scene.done("PATCH", scene.path("configmaps", name), {
            json: { metadata: { finalizers: null } },
            contentType: mergePatch
          })
        yield* release("blocking")
        yield* gone(scene, scene.webapps("w"))
        yield* marked("free")
        yield* release("free")
      })
  )

  conformance(101, "as orphans, the dependents stay without their owner", controllers, (scene) =>
    Effect.gen(function* () {
      const owner = yield* scene.create("w")
      yield* dependent(scene, "d", { ownerReferences: [ownedBy(owner)] })
      yield* remove(scene, scene.webapps("w"), { propagationPolicy: "Orphan" })
      yield* gone(scene, scene.webapps("w"))
      expect(yield* scene.done("GET", scene.path("configmaps", "d"))).not.toHaveProperty("metadata.ownerReferences")
    })
  )

  conformance(102, "what has another owner stays with it", controllers, (scene) =>
    Effect.gen(function* () {
      const first = ownedBy(yield* scene.create("a"))
      const second = ownedBy(yield* scene.create("b"))
      yield* dependent(scene, "d", { ownerReferences: [first, second] })
      yield* remove(scene, scene.webapps("a"), { propagationPolicy: "Background" })
      yield* eventually(
        Effect.map(scene.done("GET", scene.path("configmaps", "d")), (object) =>
          expect(Json.at(object, "metadata", "ownerReferences")).toEqual([second])
        )
      )
    })
  )

  conformance(105, "a namespace goes with its contents, and takes nothing new meanwhile", controllers, (scene) =>
    Effect.gen(function* () {
      const namespace = `/api/v1/namespaces/${scene.namespace}`
      yield* scene.create("free")
      yield* scene.create("w", finalized)
      const answer = yield* remove(scene, namespace)
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({ kind: "Namespace", status: { phase: "Terminating" } })
      const post = yield* scene.request("POST", scene.path("configmaps"), { json: configMap("new") })
      refused(
        post,
        403,
        "Forbidden",
        `configmaps "new" is forbidden: unable to create new content in namespace ${scene.namespace} because it is being terminated`,
        {
          name: "new",
          kind: "configmaps",
          causes: [
            {
              reason: "NamespaceTerminating",
              message: `namespace ${scene.namespace} is being terminated`,
              field: "metadata.namespace"
            }
          ]
        }
      )
      yield* gone(scene, scene.webapps("free"))
      expect(yield* status(scene, namespace)).toBe(200)
      yield* finalizers(scene, "w", null)
      yield* gone(scene, namespace)
    })
  )
})
