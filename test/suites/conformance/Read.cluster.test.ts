/** C. Get and list. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import { pod } from "./Objects.ts"
import { invalid, options, refused } from "./Refusal.ts"
import { revision, type Scene, webapp } from "./Scene.ts"

const items = (list: Json.Json | undefined): ReadonlyArray<Json.JsonObject> => Json.objects(Json.at(list, "items"))

/** The names of a list's items. */
const names = (list: Json.Json | undefined): ReadonlyArray<Json.Json | undefined> =>
  items(list).map((item) => Json.at(item, "metadata", "name"))

const list = (scene: Scene, query: string) => scene.request("GET", `${scene.webapps()}?${query}`)

describe.concurrent("C. Get and list", () => {
  conformance(32, "GET of what is not there is exactly this Status", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const answer = yield* scene.request("GET", scene.webapps("w"))
      expect(answer.status).toBe(404)
      expect(answer.headers.get("content-type")).toBe("application/json")
      expect(answer.body).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: 'webapps.example.com "w" not found',
        reason: "NotFound",
        details: { name: "w", group: "example.com", kind: "webapps" },
        code: 404
      })
    })
  )

  conformance(33, "LIST of nothing has items and a resource version", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const { body } = yield* scene.request("GET", scene.webapps())
      revision(body)
      expect(body).toEqual({
        apiVersion: "example.com/v1",
        kind: "WebAppList",
        metadata: { continue: "", resourceVersion: expect.any(String) },
        items: []
      })
    })
  )

  conformance(34, "LIST in pages: all of them are of the same revision", { starred: true }, (scene) =>
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

  conformance(
    35,
    "a page of a selection says nothing of what remains; what is created meanwhile is not seen",
    {},
    (scene) =>
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

  conformance(36, "a continue token that is none, or with a resource version, is 400", {}, (scene) =>
    Effect.gen(function* () {
      refused(
        yield* list(scene, "continue=garbage"),
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: invalid character '\\u0081' looking for beginning of value"
      )
      for (const name of ["a", "b"]) yield* scene.create(name)
      const first = yield* list(scene, "limit=1")
      const more = Json.text(Json.at(first.body, "metadata", "continue")) ?? ""
      const answer = yield* list(scene, `limit=1&continue=${more}&resourceVersion=5`)
      refused(answer, 400, "BadRequest", "specifying resource version is not allowed when using continue")
    })
  )

  conformance(37, "label selectors select", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("none")
      for (const value of ["b", "c", "d"]) yield* scene.create(value, { metadata: { labels: { a: value } } })
      const selected: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
        ["a=b", ["b"]],
        ["a==b", ["b"]],
        ["a!=b", ["c", "d", "none"]],
        ["a in (b,c)", ["b", "c"]],
        ["a notin (b,c)", ["d", "none"]],
        ["!a", ["none"]],
        ["a", ["b", "c", "d"]],
        ["a,a!=b", ["c", "d"]],
        ["", ["b", "c", "d", "none"]]
      ]
      for (const [selector, expected] of selected) {
        const { body } = yield* list(scene, `labelSelector=${encodeURIComponent(selector)}`)
        expect([selector, ...names(body)]).toEqual([selector, ...expected])
      }
      refused(
        yield* list(scene, "labelSelector=a%20in"),
        400,
        "BadRequest",
        "unable to parse requirement: found '' expected: '('"
      )
    })
  )

  conformance(38, "field selectors select by name and namespace, and by nothing else", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("v")
      yield* scene.create("w")
      expect(names((yield* list(scene, "fieldSelector=metadata.name%3Dw")).body)).toEqual(["w"])
      expect(names((yield* list(scene, "fieldSelector=metadata.name!%3Dw")).body)).toEqual(["v"])
      const all = yield* scene.request(
        "GET",
        `/apis/example.com/v1/webapps?fieldSelector=metadata.namespace%3D${scene.namespace}`
      )
      expect(names(all.body)).toEqual(["v", "w"])
      const answer = yield* list(scene, "fieldSelector=spec.x%3D1")
      refused(answer, 400, "BadRequest", "field label not supported: spec.x")
    })
  )

  conformance(39, "selectable fields select, those of pods too", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("r", { spec: { color: "red" } })
      yield* scene.create("b", { spec: { color: "blue" } })
      expect(names((yield* list(scene, "fieldSelector=spec.color%3Dred")).body)).toEqual(["r"])
      yield* scene.done("POST", scene.path("pods"), { json: pod("a", { nodeName: "n" }) })
      yield* scene.done("POST", scene.path("pods"), { json: pod("b") })
      const pods = (selector: string) =>
        Effect.map(scene.done("GET", `${scene.path("pods")}?fieldSelector=${encodeURIComponent(selector)}`), names)
      expect(yield* pods("spec.nodeName=n")).toEqual(["a"])
      expect(yield* pods("spec.nodeName=")).toEqual(["b"])
      expect(yield* pods("status.phase=Pending,metadata.name!=a")).toEqual(["b"])
      expect(yield* pods("status.phase=Running")).toEqual([])
    })
  )

  conformance(40, "a resource version asks for that revision, or for one not older", {}, (scene) =>
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

  conformance(41, "options that don't go together are 422", {}, (scene) =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [string, string, string]> = [
        [
          "resourceVersion=0&resourceVersionMatch=Exact",
          "resourceVersionMatch",
          'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        ],
        [
          "resourceVersionMatch=Exact",
          "resourceVersionMatch",
          "resourceVersionMatch is forbidden unless resourceVersion is provided"
        ],
        ["sendInitialEvents=true", "sendInitialEvents", "sendInitialEvents is forbidden for list"]
      ]
      for (const [query, field, text] of wrong) {
        invalid(yield* list(scene, query), options("ListOptions"), ["FieldValueForbidden", field, `Forbidden: ${text}`])
      }
    })
  )

  conformance(42, "a revision of the future is waited for, not for long; one that is no number is 400", {}, (scene) =>
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
      refused(
        yield* list(scene, "resourceVersion=abc"),
        400,
        "BadRequest",
        'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
      )
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
