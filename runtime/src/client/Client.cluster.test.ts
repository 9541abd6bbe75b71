import { describe, expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { User } from "@homeostat/testkit/envtest/User"
import * as Shared from "@homeostat/testkit/Shared"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ConfigMap, Deployment, Pod, Service } from "../resource/BuiltIn.ts"
import type { ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as ApiError from "./ApiError.ts"
import * as Client from "./Client.ts"
import * as Cluster from "./Cluster.ts"
import * as Patch from "./Patch.ts"
import * as Transport from "./Transport.ts"
import type * as Watch from "./Watch.ts"
import type { Write } from "./WriteBroadcaster.ts"

const clusterOf = (user: User) =>
  Cluster.make({ server: user.server, tls: { ca: user.ca, cert: user.cert, key: user.key }, token: user.token })

const clientOf = (user: User, options?: Transport.Options) =>
  Layer.provide(Client.layer({ userAgent: "homeostat-test/1" }), Transport.layer(clusterOf(user), options))

/** A test in its own namespace, as the administrator. */
const test = <A, E>(
  name: string,
  body: (namespace: string, cluster: ControlPlane) => Effect.Effect<A, E, Client.Client | Scope.Scope>,
  options?: Shared.TestOptions
): void =>
  Shared.cluster(
    name,
    (cluster) =>
      Effect.flatMap(cluster.namespace(), (namespace) =>
        Effect.provide(body(namespace, cluster), clientOf(cluster.admin))
      ),
    options
  )

const deployment = (key: ObjectKey, replicas: number, image = "nothing/runs:1") => ({
  metadata: { name: key.name, namespace: key.namespace ?? "" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app", image }] } }
  }
})

const keyIn = (namespace: string, name = "web") => ({ namespace, name })

/** The events of a watch, until one matches `holds`. */
const eventsUntil = (watch: Watch.Connection, holds: (event: Watch.Event) => boolean) =>
  Effect.gen(function* () {
    const events: Array<Watch.Event> = []
    while (!events.some(holds)) events.push(...(yield* watch.next))
    return events
  })

const summary = (events: ReadonlyArray<Watch.Event>) =>
  events.map((event) =>
    event.type === "BOOKMARK"
      ? "BOOKMARK"
      : event.type === "ERROR"
        ? `ERROR ${event.error._tag}`
        : `${event.type} ${event.object.metadata.name}`
  )

/** Removes bookmarks, whose times depend on the server. */
const changes = (events: ReadonlyArray<Watch.Event>) => summary(events).filter((line) => line !== "BOOKMARK")

const isInitialEnd = (event: Watch.Event) => event.type === "BOOKMARK" && event.initialEventsEnd

describe("The client on an API server", () => {
  test("creates, reads, replaces, patches and deletes an object", (namespace) =>
    Effect.gen(function* () {
      const key = keyIn(namespace)
      const created = yield* Client.create(ConfigMap, { metadata: key, data: { a: "1" } })
      expect(created).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } })
      expect(created.metadata.managedFields?.map((entry) => entry.manager)).toEqual(["homeostat"])
      expect(yield* Effect.flip(Client.create(ConfigMap, { metadata: key }))).toMatchObject({ _tag: "AlreadyExists" })

      const replaced = yield* Client.replace(ConfigMap, {
        metadata: { ...key, resourceVersion: created.metadata.resourceVersion },
        data: { a: "2" }
      })
      expect(replaced.data).toEqual({ a: "2" })
      const stale = { metadata: { ...key, resourceVersion: created.metadata.resourceVersion }, data: {} }
      expect(yield* Effect.flip(Client.replace(ConfigMap, stale))).toMatchObject({ _tag: "Conflict", code: 409 })

      yield* Client.patch(ConfigMap, key, Patch.merge({ data: { b: "3", a: null } }))
      const test = (value: string) => [
        { op: "test", path: "/data/b", value } as const,
        { op: "add", path: "/data/c", value: "4" } as const
      ]
      yield* Client.patch(ConfigMap, key, Patch.json(test("3")))
      expect(yield* Effect.flip(Client.patch(ConfigMap, key, Patch.json(test("no"))))).toMatchObject({
        _tag: "Invalid"
      })
      yield* Client.patch(ConfigMap, key, Patch.strategic({ metadata: { labels: { x: "y" } } }))
      const now = yield* Client.get(ConfigMap, key)
      expect([now.data, now.metadata.labels]).toEqual([{ b: "3", c: "4" }, { x: "y" }])

      const wrongUid = Client.delete(ConfigMap, key, { uid: "not-this-one" })
      expect(yield* Effect.flip(wrongUid)).toMatchObject({ _tag: "Conflict" })
      expect(yield* Client.delete(ConfigMap, key, { uid: now.metadata.uid })).toEqual(Option.none())
      const gone = yield* Effect.flip(Client.get(ConfigMap, key))
      expect(gone).toMatchObject({ _tag: "NotFound", details: { kind: "configmaps", name: "web" } })
      expect(gone.message).toBe(`GET /api/v1/namespaces/${namespace}/configmaps/web: configmaps "web" not found`)
    }))

  test("applies an object, reports the fields of a conflict, and forces them", (namespace) =>
    Effect.gen(function* () {
      const key = keyIn(namespace)
      const first = yield* Client.apply(Deployment, deployment(key, 2), { fieldManager: "first" })
      const again = yield* Client.apply(Deployment, deployment(key, 2), { fieldManager: "first" })
      expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion)

      const other = Client.apply(Deployment, deployment(key, 3), { fieldManager: "second" })
      const conflict = yield* Effect.flip(other)
      if (conflict._tag !== "Conflict") throw conflict
      expect(ApiError.isFieldConflict(conflict)).toBe(true)
      expect(conflict.causes.map((cause) => cause.field)).toEqual([".spec.replicas"])
      expect(conflict.message).not.toContain("\n")

      const forced = yield* Client.apply(Deployment, deployment(key, 3), { fieldManager: "second", force: true })
      expect(forced.spec?.replicas).toBe(3)
      const dry = yield* Client.apply(Deployment, deployment(key, 9), { fieldManager: "second", dryRun: true })
      expect([dry.spec?.replicas, (yield* Client.get(Deployment, key)).spec?.replicas]).toEqual([9, 3])
    }))

  test("rejects an unknown field, unless field validation is off", (namespace) =>
    Effect.gen(function* () {
      const object = (name: string) => ({ metadata: keyIn(namespace, name), data: {}, dta: {} })
      const strict = yield* Effect.flip(Client.create(ConfigMap, object("a")))
      expect(strict).toMatchObject({ _tag: "BadRequest", message: expect.stringContaining('unknown field "dta"') })
      const created = yield* Client.create(ConfigMap, object("a"), { fieldValidation: "Ignore" })
      expect(created).not.toHaveProperty("dta")
      const invalid = yield* Effect.flip(
        Client.create(Deployment, { metadata: keyIn(namespace), spec: { ...deployment(keyIn(namespace), -1).spec } })
      )
      expect(invalid).toMatchObject({ _tag: "Invalid", causes: [{ field: "spec.replicas" }] })
      // The reason why a 500 to an apply is not retried.
      const applied = yield* Effect.flip(Client.apply(ConfigMap, object("b")))
      expect(applied).toMatchObject({
        _tag: "ServerError",
        code: 500,
        message: expect.stringContaining("field not declared in schema")
      })
    }))

  test("reads and writes the status and scale subresources", (namespace) =>
    Effect.gen(function* () {
      const key = keyIn(namespace)
      const created = yield* Client.create(Deployment, deployment(key, 1))
      const status = { observedGeneration: 1, replicas: 1, readyReplicas: 1 }
      yield* Client.status.patch(Deployment, key, Patch.merge({ spec: { replicas: 7 }, status }))
      const read = yield* Client.status.get(Deployment, key)
      expect([read.status, read.spec?.replicas]).toEqual([expect.objectContaining(status), 1])
      const replaced = yield* Client.status.replace(Deployment, { ...read, status: { ...status, readyReplicas: 0 } })
      expect(replaced.status).not.toHaveProperty("readyReplicas")
      const applied = yield* Client.status.apply(
        Deployment,
        { metadata: key, status: { updatedReplicas: 1 } },
        { fieldManager: "status", force: true }
      )
      expect(applied.status).toMatchObject({ updatedReplicas: 1 })

      const scaled = yield* Client.scale.patch(Deployment, key, Patch.merge({ spec: { replicas: 5 } }))
      expect([scaled.kind, scaled.spec?.replicas, scaled.metadata.uid]).toEqual(["Scale", 5, created.metadata.uid])
      expect(yield* Client.scale.get(Deployment, key)).toMatchObject({
        spec: { replicas: 5 },
        status: { selector: "app=web" }
      })
    }))

  test("returns whether a deleted object still exists", (namespace) =>
    Effect.gen(function* () {
      const key = keyIn(namespace)
      yield* Client.create(ConfigMap, { metadata: { ...key, finalizers: ["example.com/hold"] } })
      const held = yield* Client.delete(ConfigMap, key)
      expect(Option.map(held, ({ metadata }) => metadata.finalizers)).toEqual(Option.some(["example.com/hold"]))
      const uid = Option.getOrThrow(held).metadata.uid
      yield* Client.patch(ConfigMap, key, Patch.json([{ op: "remove", path: "/metadata/finalizers" }]))
      expect(yield* Effect.flip(Client.delete(ConfigMap, key, { uid }))).toMatchObject({ _tag: "NotFound" })

      yield* Client.create(Service, { metadata: key, spec: { ports: [{ port: 80 }] } })
      expect(yield* Client.delete(Service, key)).toEqual(Option.none())
      yield* Client.create(Pod, { metadata: key, spec: { containers: [{ name: "a", image: "b" }] } })
      expect(yield* Client.delete(Pod, key)).toEqual(Option.none())
    }))

  test("deletes all selected objects in one namespace", (namespace) =>
    Effect.gen(function* () {
      const names = ["a", "b", "c"]
      yield* Effect.forEach(names, (name) =>
        Client.create(ConfigMap, { metadata: { ...keyIn(namespace, name), labels: { keep: String(name === "c") } } })
      )
      yield* Client.deleteAll(ConfigMap, { namespace, labelSelector: "keep=false" })
      const { items } = yield* Client.list(ConfigMap, { namespace, labelSelector: "keep" })
      expect(items.map((item) => item.metadata.name)).toEqual(["c"])
    }))

  test("lists in pages, and lists metadata", (namespace) =>
    Effect.gen(function* () {
      const names = Array.from({ length: 7 }, (_, i) => `p${i}`)
      yield* Effect.forEach(
        names,
        (name) => Client.create(ConfigMap, { metadata: keyIn(namespace, name), data: { a: "b" } }),
        {
          concurrency: 4
        }
      )
      const first = yield* Client.page(ConfigMap, { namespace, limit: 3 })
      expect([first.items.length, first.remaining, typeof first.continue]).toEqual([3, 4, "string"])
      expect(first.items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" })
      expect(first.items[0]?.metadata.managedFields).toBeUndefined()
      const second = yield* Client.page(ConfigMap, { namespace, limit: 3, continue: first.continue })
      expect(second.resourceVersion).toBe(first.resourceVersion)
      const all = yield* Client.list(ConfigMap, { namespace })
      expect(all.items.map((item) => item.metadata.name)).toEqual(names)

      const metadata = Resource.metadataOnly(ConfigMap)
      const partial = yield* Client.page(metadata, { namespace, limit: 1 })
      expect(partial.items[0]).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "p0" } })
      expect(partial.items[0]).not.toHaveProperty("data")
      const annotated = yield* Client.patch(
        metadata,
        keyIn(namespace, "p0"),
        Patch.merge({ metadata: { annotations: { x: "y" } } })
      )
      expect(annotated).toMatchObject({ kind: "PartialObjectMetadata", metadata: { annotations: { x: "y" } } })
      expect(yield* Client.delete(metadata, keyIn(namespace, "p0"))).toEqual(Option.none())
    }))

  test("watches from the initial state, and resumes", (namespace) =>
    Effect.gen(function* () {
      const create = (name: string) => Client.create(ConfigMap, { metadata: keyIn(namespace, name) })
      yield* create("a")
      yield* create("b")
      const watch = yield* Client.watch(ConfigMap, { namespace, initialEvents: true })
      const initial = yield* eventsUntil(watch, isInitialEnd)
      expect(summary(initial).sort()).toEqual(["ADDED a", "ADDED b", "BOOKMARK"])
      expect(JSON.stringify(initial)).not.toContain("managedFields")

      yield* Client.patch(ConfigMap, keyIn(namespace, "a"), Patch.merge({ data: { x: "1" } }))
      yield* Client.delete(ConfigMap, keyIn(namespace, "b"))
      const live = yield* eventsUntil(watch, (event) => event.type === "DELETED")
      expect(changes(live)).toEqual(["MODIFIED a", "DELETED b"])

      const bookmark = initial.find((event) => event.type === "BOOKMARK")
      const resumed = yield* Client.watch(ConfigMap, { namespace, resourceVersion: bookmark?.resourceVersion })
      expect(changes(yield* eventsUntil(resumed, (event) => event.type === "DELETED"))).toEqual([
        "MODIFIED a",
        "DELETED b"
      ])

      const selected = yield* Client.watch(Resource.metadataOnly(ConfigMap), {
        namespace,
        fieldSelector: "metadata.name=a",
        initialEvents: true
      })
      expect((yield* eventsUntil(selected, isInitialEnd))[0]).toMatchObject({
        type: "ADDED",
        object: { kind: "PartialObjectMetadata", metadata: { name: "a" } }
      })
    }))

  test("receives a clean end of a watch after its timeout", (namespace) =>
    Effect.gen(function* () {
      const watch = yield* Client.watch(ConfigMap, { namespace, resourceVersion: "", timeoutSeconds: 1 })
      const ended = yield* Effect.flip(Effect.forever(watch.next))
      expect(ended._tag).toBe("Ended")
    }))

  test("shares few connections among 150 watches and many requests, without blocking", (namespace) =>
    Effect.gen(function* () {
      const watches = yield* Effect.all(
        Array.from({ length: 150 }, () => Client.watch(ConfigMap, { namespace, initialEvents: true })),
        { concurrency: 20 }
      )
      yield* Effect.forEach(watches, (watch) => eventsUntil(watch, isInitialEnd), { concurrency: "unbounded" })
      const names = Array.from({ length: 40 }, (_, i) => `n${i}`)
      yield* Effect.forEach(names, (name) => Client.create(ConfigMap, { metadata: keyIn(namespace, name) }), {
        concurrency: 10
      })
      const counts = yield* Effect.forEach(
        watches,
        (watch) =>
          Effect.gen(function* () {
            let added = 0
            while (added < names.length) added += (yield* watch.next).filter((event) => event.type === "ADDED").length
            return added
          }),
        { concurrency: "unbounded" }
      )
      expect(new Set(counts)).toEqual(new Set([40]))
    }))

  test("distinguishes a kind that is not served from a missing object", () =>
    Effect.gen(function* () {
      const Unknown = Resource.make({ group: "nobody.example.com", version: "v1", kind: "Thing", plural: "things" })
      const errors = yield* Effect.all([
        Effect.flip(Client.list(Unknown)),
        Effect.flip(Client.watch(Unknown, { initialEvents: true })),
        Effect.flip(Client.get(Unknown, { namespace: "default", name: "a" }))
      ])
      expect(errors.map((error) => error._tag !== "InvalidObject" && ApiError.isUnserved(error))).toEqual([
        true,
        true,
        true
      ])
    }))

  test("publishes a write before the writer continues", (namespace) =>
    Effect.gen(function* () {
      const writes: Array<Write> = []
      yield* Client.onWrite((write) => writes.push(write))
      const key = keyIn(namespace)
      const created = yield* Client.apply(ConfigMap, { metadata: key })
      expect(writes.at(-1)).toMatchObject({ verb: "apply", key, object: { metadata: { uid: created.metadata.uid } } })
      yield* Client.delete(ConfigMap, key)
      expect(writes.at(-1)).toMatchObject({ verb: "delete", object: undefined, uid: created.metadata.uid })
      expect(writes).toHaveLength(2)
    }))

  test("works over HTTP/1.1, and with a kubeconfig", (namespace, cluster) =>
    Effect.gen(function* () {
      const key = keyIn(namespace)
      yield* Client.create(ConfigMap, { metadata: key, data: { a: "1" } })
      const read = Effect.map(Client.get(ConfigMap, key), (object) => object.data)
      expect(yield* Effect.provide(read, clientOf(cluster.admin, { protocol: "http1.1" }))).toEqual({ a: "1" })
      const file = join(cluster.directory, `${namespace}.kubeconfig`)
      yield* Effect.promise(() => writeFile(file, cluster.admin.kubeconfig))
      const layer = Layer.provide(Client.layerKubeConfig({ kubeconfig: file }), NodeFileSystem.layer)
      expect(yield* Effect.provide(read, layer)).toEqual({ a: "1" })
    }))
})
