/** C. Get and list. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import { refused } from "./Refusal.ts"
import { revision, type Scene } from "./Scene.ts"
import { webapp } from "./WebApps.ts"

const items = (list: Json.Json | undefined): ReadonlyArray<Json.JsonObject> => Json.objects(Json.at(list, "items"))

const names = (list: Json.Json | undefined): ReadonlyArray<Json.Json | undefined> =>
  items(list).map((item) => Json.at(item, "metadata", "name"))

const list = (scene: Scene, query: string) => scene.request("GET", `${scene.webapps()}?${query}`)

describe.concurrent("C. Get and list", () => {
  conformance(34, "all pages of a LIST have the same revision", { starred: true }, (scene) =>
    Effect.gen(function* () {
      for (const name of ["a", "b", "c", "d", "e"]) yield* scene.create(name)
      const seen: Array<Json.Json | undefined> = []
      let more = ""
      const pages: Array<Json.JsonObject> = []
      do {
        const answer = yield* list(scene, `limit=2&continue=${encodeURIComponent(more)}`)
        const page = Json.object(answer.body)
        pages.push(Json.object(page.metadata))
        seen.push(...names(page))
        more = Json.text(Json.at(page, "metadata", "continue")) ?? ""
      } while (more !== "")
      expect(seen).toEqual(["a", "b", "c", "d", "e"])
      expect(pages.map((page) => page.remainingItemCount)).toEqual([3, 1, undefined])
      expect(new Set(pages.map((page) => page.resourceVersion)).size).toBe(1)
    })
  )

  conformance(35, "pages of a selection have no remaining count and omit later objects", {}, (scene) =>
    Effect.gen(function* () {
      const metadata = { labels: { a: "b" } }
      for (const name of ["a", "b", "c"]) yield* scene.create(name, { metadata })
      const first = yield* list(scene, "limit=2&labelSelector=a%3Db")
      expect(names(first.body)).toEqual(["a", "b"])
      expect(first.body).not.toHaveProperty("metadata.remainingItemCount")
      yield* scene.create("d", { metadata })
      const more = Json.text(Json.at(first.body, "metadata", "continue")) ?? ""
      expect(more).not.toBe("")
      const second = yield* list(scene, `limit=2&labelSelector=a%3Db&continue=${more}`)
      expect(names(second.body)).toEqual(["c"])
      expect(revision(second.body)).toBe(revision(first.body))
    })
  )

  conformance(36, "the server refuses a continue token beside a resourceVersion", {}, (scene) =>
    Effect.gen(function* () {
      for (const name of ["a", "b"]) yield* scene.create(name)
      const first = yield* list(scene, "limit=1")
      const more = Json.text(Json.at(first.body, "metadata", "continue")) ?? ""
      const answer = yield* list(scene, `limit=1&continue=${more}&resourceVersion=5`)
      refused(answer, 400, "BadRequest", "specifying resource version is not allowed when using continue")
    })
  )

  conformance(40, "a LIST at a resourceVersion has that revision, or one not older", {}, (scene) =>
    Effect.gen(function* () {
      const a = revision(yield* scene.create("a"))
      const b = revision(yield* scene.create("b"))
      expect(revision((yield* list(scene, "resourceVersion=0")).body)).toBeGreaterThan(0)
      const newer = yield* list(scene, `resourceVersion=${b}&resourceVersionMatch=NotOlderThan`)
      expect(names(newer.body)).toEqual(["a", "b"])
      expect(revision(newer.body)).toBeGreaterThanOrEqual(b)
      const exact = yield* list(scene, `resourceVersion=${a}&resourceVersionMatch=Exact`)
      expect(names(exact.body)).toEqual(["a"])
      expect(revision(exact.body)).toBe(a)
      const one = yield* scene.request("GET", `${scene.webapps("b")}?resourceVersion=${a}`)
      expect(one.status).toBe(200)
    })
  )

  conformance(42, "the server waits for a future revision for a short time", {}, (scene) =>
    Effect.gen(function* () {
      const now = revision((yield* scene.request("GET", scene.webapps())).body)
      const future = yield* list(scene, `resourceVersion=${now + 1_000_000}`)
      expect(future.status).toBe(504)
      expect(future.body).toMatchObject({
        reason: "Timeout",
        message: expect.stringMatching(/^Timeout: Too large resource version: \d+, current: \d+$/),
        details: {
          retryAfterSeconds: 1,
          causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }]
        }
      })
    })
  )

  conformance(43, "LIST of all namespaces is sorted by namespace and name", {}, (scene) =>
    Effect.gen(function* () {
      const other = yield* scene.cluster.namespace("conformance-0")
      const labels = { metadata: { labels: { of: scene.namespace } } }
      yield* scene.create("b", labels)
      yield* scene.create("a", labels)
      yield* scene.done("POST", `/apis/example.com/v1/namespaces/${other}/webapps`, { json: webapp("c", labels) })
      const { body } = yield* scene.request("GET", `/apis/example.com/v1/webapps?labelSelector=of%3D${scene.namespace}`)
      const keys = items(body).map(
        (item) => `${Json.at(item, "metadata", "namespace")}/${Json.at(item, "metadata", "name")}`
      )
      expect(keys).toEqual([`${other}/c`, `${scene.namespace}/a`, `${scene.namespace}/b`].sort())
    })
  )
})
