/** I. Delete, finalizers and garbage collection. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { conformance, eventually } from "./Case.ts"
import { configMap } from "./Objects.ts"
import { refused } from "./Refusal.ts"
import type { Scene } from "./Scene.ts"

const mergePatch = "application/merge-patch+json"

const remove = (scene: Scene, path: string, deleteOptions?: Json.JsonObject) =>
  scene.request("DELETE", path, {
    json: deleteOptions && { kind: "DeleteOptions", apiVersion: "v1", ...deleteOptions }
  })

const finalizers = (scene: Scene, name: string, json: ReadonlyArray<string> | null) =>
  scene.request("PATCH", scene.webapps(name), { json: { metadata: { finalizers: json } }, contentType: mergePatch })

const finalized = { metadata: { finalizers: ["example.com/f"] } }

const ownedBy = (owner: Json.JsonObject, more: Json.JsonObject = {}): Json.JsonObject => ({
  apiVersion: Json.text(owner.apiVersion) ?? "",
  kind: Json.text(owner.kind) ?? "",
  name: Json.at(owner, "metadata", "name") ?? "",
  uid: Json.at(owner, "metadata", "uid") ?? "",
  ...more
})

const dependent = (scene: Scene, name: string, metadata: Json.JsonObject) =>
  scene.done("POST", scene.path("configmaps"), { json: configMap(name, { metadata }) })

const status = (scene: Scene, path: string) => Effect.map(scene.request("GET", path), (answer) => answer.status)

/** Waits until the server responds to the path with 404. */
const gone = (scene: Scene, path: string) =>
  eventually(Effect.map(status(scene, path), (is) => expect([path, is]).toEqual([path, 404])))

describe.concurrent("I. Garbage collection", () => {
  const controllers = { needsControllers: true }

  conformance(
    99,
    "a background deletion removes the owner at once and its dependents later",
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
    "a foreground deletion removes the owner after its blocking dependents, before the others",
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

  conformance(101, "an orphaning deletion leaves the dependents without their owner", controllers, (scene) =>
    Effect.gen(function* () {
      const owner = yield* scene.create("w")
      yield* dependent(scene, "d", { ownerReferences: [ownedBy(owner)] })
      yield* remove(scene, scene.webapps("w"), { propagationPolicy: "Orphan" })
      yield* gone(scene, scene.webapps("w"))
      expect(yield* scene.done("GET", scene.path("configmaps", "d"))).not.toHaveProperty("metadata.ownerReferences")
    })
  )

  conformance(102, "a dependent with another owner stays", controllers, (scene) =>
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

  conformance(
    105,
    "the deletion of a namespace deletes its contents, and the server refuses new ones",
    controllers,
    (scene) =>
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
