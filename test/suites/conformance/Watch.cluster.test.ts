/** D. Watch. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import type * as Raw from "./Raw.ts"
import { invalid, options } from "./Refusal.ts"
import { revision, type Scene } from "./Scene.ts"
import { webapp } from "./WebApps.ts"

const short = ({ object, type }: Raw.Frame): string => `${type} ${Json.at(object, "metadata", "name")}`

const shorts = (frames: ReadonlyArray<Raw.Frame>): ReadonlyArray<string> => frames.map(short)

const now = (scene: Scene) => Effect.map(scene.done("GET", scene.webapps()), revision)

const watch = (scene: Scene, query = "", accept?: string) =>
  scene.watch(`${scene.webapps()}?watch=true${query}`, { accept })

const merge = (scene: Scene, name: string, patch: Json.JsonObject) =>
  scene.done("PATCH", scene.webapps(name), { json: patch, contentType: "application/merge-patch+json" })

const remove = (scene: Scene, name: string) => scene.done("DELETE", scene.webapps(name))

const initial = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"

const endOfInitial = { "k8s.io/initial-events-end": "true" }

describe.concurrent("D. Events", () => {
  conformance(44, "a watch from a list's revision has each change once and in order", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("old")
      const from = yield* now(scene)
      const events = yield* watch(scene, `&resourceVersion=${from}`)
      expect(events.headers.get("content-type")).toBe("application/json")
      yield* scene.create("w")
      yield* merge(scene, "w", { spec: { image: "b" } })
      yield* remove(scene, "w")
      yield* scene.create("end")
      const frames = yield* events.take(4)
      expect(shorts(frames)).toEqual(["ADDED w", "MODIFIED w", "DELETED w", "ADDED end"])
      const revisions = frames.map(({ object }) => revision(object))
      expect([from, ...revisions]).toEqual([from, ...revisions].sort((one, other) => one - other))
      expect(new Set(revisions).size).toBe(4)
      expect(frames[2]?.object).toMatchObject({ kind: "WebApp", spec: { image: "b" } })
    })
  )

  conformance(45, "a watch without a revision begins with the existing objects", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("a")
      yield* scene.create("b")
      const events = yield* watch(scene)
      expect(shorts(yield* events.take(2)).toSorted()).toEqual(["ADDED a", "ADDED b"])
      yield* scene.create("c")
      expect(shorts(yield* events.take(1))).toEqual(["ADDED c"])
    })
  )

  conformance(
    46,
    "sendInitialEvents ends the existing objects with an annotated bookmark",
    { starred: true },
    (scene) =>
      Effect.gen(function* () {
        const a = revision(yield* scene.create("a"))
        const b = revision(yield* scene.create("b"))
        const events = yield* watch(scene, `${initial}&allowWatchBookmarks=true`)
        const frames = yield* events.take(3)
        expect(shorts(frames.slice(0, 2)).toSorted()).toEqual(["ADDED a", "ADDED b"])
        expect(frames[2]).toEqual({
          type: "BOOKMARK",
          object: {
            kind: "WebApp",
            apiVersion: "example.com/v1",
            metadata: { resourceVersion: expect.any(String), annotations: endOfInitial }
          }
        })
        expect(revision(frames[2]?.object)).toBeGreaterThanOrEqual(Math.max(a, b))
        yield* scene.create("c")
        // The server may send bookmarks at any time.
        const live = (yield* events.until(({ type }) => type !== "BOOKMARK")).slice(-1)
        expect(shorts(live)).toEqual(["ADDED c"])
        const configMaps = yield* scene.watch(
          `${scene.path("configmaps")}?watch=true${initial}&allowWatchBookmarks=true`
        )
        const mark = (yield* configMaps.until(({ type }) => type === "BOOKMARK")).at(-1)
        expect(mark?.object).toMatchObject({
          kind: "ConfigMap",
          apiVersion: "v1",
          metadata: { annotations: endOfInitial }
        })
      })
  )

  conformance(47, "sendInitialEvents needs its match, and only allowed bookmarks come", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("a")
      const events = yield* watch(scene, initial)
      yield* events.take(1)
      yield* scene.create("b")
      expect(shorts(yield* events.take(1))).toEqual(["ADDED b"])
      const wrong = (query: string) => scene.request("GET", `${scene.webapps()}?watch=true${query}`)
      const required: ReadonlyArray<readonly [string, string, string]> = [
        [
          "&sendInitialEvents=true",
          "resourceVersionMatch",
          "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        ],
        [
          "&resourceVersion=1&resourceVersionMatch=NotOlderThan",
          "resourceVersionMatch",
          "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        ]
      ]
      for (const [query, field, text] of required) {
        invalid(yield* wrong(query), options("ListOptions"), ["FieldValueForbidden", field, `Forbidden: ${text}`])
      }
    })
  )

  conformance(
    48,
    "an object that leaves the selection is DELETED as it was, at the revision of the change",
    { starred: true },
    (scene) =>
      Effect.gen(function* () {
        yield* scene.create("w", { metadata: { labels: { a: "b" } } })
        const events = yield* watch(scene, `&labelSelector=a%3Db&resourceVersion=${yield* now(scene)}`)
        const changed = yield* merge(scene, "w", { metadata: { labels: { a: "c" } } })
        const [frame] = yield* events.take(1)
        expect(frame?.type).toBe("DELETED")
        expect(frame?.object).toMatchObject({ metadata: { name: "w", labels: { a: "b" } } })
        expect(revision(frame?.object)).toBe(revision(changed))
      })
  )

  conformance(49, "an object that enters the selection is ADDED", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      const events = yield* watch(scene, `&labelSelector=a%3Db&resourceVersion=${yield* now(scene)}`)
      yield* merge(scene, "w", { metadata: { labels: { a: "b" } } })
      yield* merge(scene, "w", { spec: { image: "c" } })
      expect(shorts(yield* events.take(2))).toEqual(["ADDED w", "MODIFIED w"])
    })
  )

  conformance(50, "a watch of one name has only events of that object", {}, (scene) =>
    Effect.gen(function* () {
      const events = yield* watch(scene, `&fieldSelector=metadata.name%3Dw&resourceVersion=${yield* now(scene)}`)
      yield* scene.create("v")
      yield* scene.create("w")
      yield* merge(scene, "v", { spec: { image: "c" } })
      yield* remove(scene, "w")
      expect(shorts(yield* events.take(2))).toEqual(["ADDED w", "DELETED w"])
    })
  )

  conformance(53, "a PUT that changes nothing keeps the revision and causes no event", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", { spec: { image: "a" } })
      const events = yield* watch(scene, `&resourceVersion=${revision(made)}`)
      const put = yield* scene.request("PUT", scene.webapps("w"), { json: made })
      expect(put.status).toBe(200)
      expect(put.body).toEqual(made)
      yield* scene.create("end")
      expect(shorts(yield* events.take(1))).toEqual(["ADDED end"])
    })
  )

  conformance(54, "a delete with finalizers is MODIFIED, and DELETED when the last one goes", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", { metadata: { finalizers: ["example.com/f"] } })
      const events = yield* watch(scene, `&resourceVersion=${revision(made)}`)
      yield* remove(scene, "w")
      yield* merge(scene, "w", { metadata: { finalizers: null } })
      const frames = yield* events.take(2)
      expect(shorts(frames)).toEqual(["MODIFIED w", "DELETED w"])
      expect(frames[0]?.object).toMatchObject({ metadata: { deletionTimestamp: expect.any(String) } })
      expect(revision(frames[1]?.object)).toBeGreaterThan(revision(frames[0]?.object))
    })
  )

  conformance(56, "a watch of a namespace has only its events, and a watch of the cluster has all", {}, (scene) =>
    Effect.gen(function* () {
      const other = yield* scene.cluster.namespace("conformance")
      const from = yield* now(scene)
      const labels = { metadata: { labels: { of: scene.namespace } } }
      const mine = yield* watch(scene, `&resourceVersion=${from}`)
      const all = yield* scene.watch(
        `/apis/example.com/v1/webapps?watch=true&resourceVersion=${from}&labelSelector=of%3D${scene.namespace}`
      )
      yield* scene.done("POST", `/apis/example.com/v1/namespaces/${other}/webapps`, { json: webapp("a", labels) })
      yield* scene.create("b", labels)
      expect(shorts(yield* mine.take(1))).toEqual(["ADDED b"])
      expect(shorts(yield* all.take(2))).toEqual(["ADDED a", "ADDED b"])
    })
  )
})

describe.concurrent("D. Ends, bookmarks and media types", () => {
  conformance(51, "a watch from an expired revision is one ERROR of 410", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const events = yield* watch(scene, "&resourceVersion=1")
      expect(events.status).toBe(200)
      const frames = yield* events.rest
      expect(frames).toEqual([
        {
          type: "ERROR",
          object: {
            kind: "Status",
            apiVersion: "v1",
            metadata: {},
            status: "Failure",
            message: expect.stringMatching(/^too old resource version: 1 \(\d+\)$/),
            reason: "Expired",
            code: 410
          }
        }
      ])
    })
  )

  conformance(52, "a watch ends after timeoutSeconds, with an allowed bookmark before", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      const began = Date.now()
      const short = yield* watch(scene, "&timeoutSeconds=1")
      expect(shorts(yield* short.rest)).toEqual(["ADDED w"])
      expect(Date.now() - began).toBeGreaterThanOrEqual(1_000)
      const marked = yield* watch(scene, "&timeoutSeconds=4&allowWatchBookmarks=true")
      const frames = yield* marked.rest
      const marks = frames.filter(({ type }) => type === "BOOKMARK")
      expect(marks.length).toBeGreaterThan(0)
      expect(revision(marks.at(-1)?.object)).toBeGreaterThanOrEqual(revision(frames[0]?.object))
      expect(frames.at(-1)?.object).toMatchObject({ kind: "WebApp", apiVersion: "example.com/v1" })
    })
  )

  conformance(55, "a watch of tables has the columns in its first event only", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("a")
      yield* scene.create("b")
      const events = yield* watch(scene, "", "application/json;as=Table;v=v1;g=meta.k8s.io")
      const [first, second] = yield* events.take(2)
      expect(first).toMatchObject({ type: "ADDED", object: { kind: "Table", apiVersion: "meta.k8s.io/v1" } })
      expect(Json.list(first?.object.columnDefinitions)).toHaveLength(5)
      expect(second?.object.columnDefinitions).toBeNull()
      expect(Json.objects(second?.object.rows)).toHaveLength(1)
    })
  )

  conformance(57, "a watch of metadata has only metadata", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("a", { spec: { image: "a" } })
      const events = yield* watch(scene, "", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
      const [frame] = yield* events.take(1)
      expect(frame).toMatchObject({
        type: "ADDED",
        object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: { name: "a" } }
      })
      expect(Object.keys(frame?.object ?? {}).toSorted()).toEqual(["apiVersion", "kind", "metadata"])
    })
  )

  conformance(58, "a watch from a future revision waits, and the server survives a closed watch", {}, (scene) =>
    Effect.gen(function* () {
      const future = (yield* now(scene)) + 1_000_000
      const events = yield* watch(scene, `&resourceVersion=${future}&timeoutSeconds=5`)
      const frames = yield* events.rest
      expect(frames).toEqual([])
      yield* Effect.scoped(watch(scene))
      const again = yield* watch(scene, `&resourceVersion=${yield* now(scene)}`)
      yield* scene.create("w")
      expect(shorts(yield* again.take(1))).toEqual(["ADDED w"])
    })
  )

  conformance(59, "all watches have one order, also a watch resumed from its last revision", {}, (scene) =>
    Effect.gen(function* () {
      const from = `&resourceVersion=${yield* now(scene)}`
      const one = yield* watch(scene, from)
      const writers = Array.from({ length: 8 }, (_, writer) =>
        Effect.gen(function* () {
          yield* scene.create(`w${writer}`)
          for (const image of ["a", "b", "c"]) yield* merge(scene, `w${writer}`, { spec: { image } })
        })
      )
      const reconnecting = Effect.gen(function* () {
        const first = yield* Effect.scoped(Effect.flatMap(watch(scene, from), (events) => events.take(10)))
        const rest = yield* watch(scene, `&resourceVersion=${revision(first.at(-1)?.object)}`)
        return [...first, ...(yield* rest.take(22))]
      })
      const [seen, pieced] = yield* Effect.all([one.take(32), reconnecting, ...writers], { concurrency: "unbounded" })
      const order = (frames: ReadonlyArray<Raw.Frame>) =>
        frames.map((frame) => `${short(frame)} ${revision(frame.object)}`)
      expect(new Set(order(seen)).size).toBe(32)
      expect(order(pieced)).toEqual(order(seen))
      const revisions = seen.map(({ object }) => revision(object))
      expect(revisions).toEqual(revisions.toSorted((one, other) => one - other))
    })
  )
})
