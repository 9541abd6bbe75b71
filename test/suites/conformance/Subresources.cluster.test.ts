/** H. Status and scale. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import * as Definitions from "./Definitions.ts"
import { conflicts, invalid, refused, unchecked, webApp, webApps } from "./Refusal.ts"
import { revision, type Scene } from "./Scene.ts"

const status = (scene: Scene, object: Json.JsonObject) =>
  scene.request("PUT", `${scene.webapps("w")}/status`, { json: object })

const mergePatch = "application/merge-patch+json"

describe.concurrent("H. Status", () => {
  conformance(87, "PUT of the status changes nothing else", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", { metadata: { labels: { a: "b" } }, spec: { image: "a" } })
      const metadata = { ...Json.object(made.metadata), labels: { a: "c" }, finalizers: ["example.com/f"] }
      const { body } = yield* status(scene, { ...made, metadata, spec: { image: "b" }, status: { phase: "Ready" } })
      expect(body).toMatchObject({
        metadata: { labels: { a: "b" }, generation: 1 },
        spec: { image: "a" },
        status: { phase: "Ready" }
      })
      expect(body).not.toHaveProperty("metadata.finalizers")
      expect(revision(body)).toBeGreaterThan(revision(made))
    })
  )

  conformance(88, "PUT and POST of the object leave its status alone", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", { spec: { image: "a" }, status: { phase: "New" } })
      expect(made).not.toHaveProperty("status")
      const ready = Json.object((yield* status(scene, { ...made, status: { phase: "Ready" } })).body)
      const put = yield* scene.done("PUT", scene.webapps("w"), {
        json: { ...ready, spec: { image: "b" }, status: { phase: "Gone" } }
      })
      expect(put).toMatchObject({ spec: { image: "b" }, status: { phase: "Ready" }, metadata: { generation: 2 } })
    })
  )

  conformance(89, "a status has conditions of its own: its revision, its schema, its verbs", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", { spec: {} })
      yield* status(scene, { ...made, status: { phase: "Ready" } })
      const again = yield* status(scene, { ...made, status: { phase: "Gone" } })
      conflicts(again, webApps("w"))
      const wrong = yield* scene.request("PATCH", `${scene.webapps("w")}/status`, {
        json: { status: { replicas: "many" } },
        contentType: mergePatch
      })
      invalid(
        wrong,
        webApp("w"),
        [
          "FieldValueTypeInvalid",
          "status.replicas",
          'Invalid value: "string": replicas in body must be of type integer: "string"'
        ],
        [
          "FieldValueInvalid",
          ".status.replicas",
          "Invalid value: 0: .status.replicas accessor error: many is of the type string, expected int64"
        ],
        unchecked
      )
      const post = yield* scene.request("POST", `${scene.webapps("w")}/status`, { json: made })
      refused(post, 405, "MethodNotAllowed", 'create is not supported on resources of kind "webapps.example.com"', {
        group: "example.com",
        kind: "webapps"
      })
    })
  )

  conformance(90, "without the subresource, the status is a field like any other", {}, (scene) =>
    Effect.gen(function* () {
      const things = yield* Definitions.install(scene, {})
      const made = yield* things.create("t", { status: { phase: "New" } })
      expect(made).toMatchObject({ status: { phase: "New" }, metadata: { generation: 1 } })
      const put = yield* scene.done("PUT", things.path("t"), { json: { ...made, status: { phase: "Ready" } } })
      expect(put).toMatchObject({ status: { phase: "Ready" }, metadata: { generation: 2 } })
      // The list that the suite was made from expects the plain text of a path that is nothing.
      for (const subresource of ["status", "scale"]) {
        refused(
          yield* scene.request("GET", `${things.path("t")}/${subresource}`),
          404,
          "NotFound",
          `things.${things.group} "t" not found`,
          { name: "t", group: things.group, kind: "things" }
        )
      }
    })
  )
})

describe.concurrent("H. Scale", () => {
  conformance(91, "the scale shows and sets how many there are", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", { spec: { replicas: 2 } })
      yield* status(scene, { ...made, status: { replicas: 1, selector: "app=w" } })
      const scale = yield* scene.done("GET", `${scene.webapps("w")}/scale`)
      const { creationTimestamp, uid } = Json.object(made.metadata)
      expect(scale).toEqual({
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        metadata: {
          name: "w",
          namespace: scene.namespace,
          uid,
          creationTimestamp,
          resourceVersion: expect.any(String)
        },
        spec: { replicas: 2 },
        status: { replicas: 1, selector: "app=w" }
      })
      const patched = yield* scene.done("PATCH", `${scene.webapps("w")}/scale`, {
        json: { spec: { replicas: 3 } },
        contentType: mergePatch
      })
      expect(patched).toMatchObject({ kind: "Scale", spec: { replicas: 3 } })
      const after = yield* scene.done("GET", scene.webapps("w"))
      expect(after).toMatchObject({ spec: { replicas: 3 }, metadata: { generation: 2 } })
      expect(revision(after)).toBe(revision(patched))
    })
  )

  conformance(92, "a scale is checked, and refused where the object has no number for it", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", { spec: {} })
      const path = `${scene.webapps("w")}/scale`
      const scale = yield* scene.done("GET", path)
      const negative = yield* scene.request("PUT", path, { json: { ...scale, spec: { replicas: -1 } } })
      // It is the object that is refused, by a path of its own kind.
      invalid(negative, webApp("w"), [
        "FieldValueInvalid",
        ".spec.replicas",
        "Invalid value: -1: should be a non-negative integer"
      ])
      yield* scene.done("PUT", path, { json: { ...scale, spec: { replicas: 4 } } })
      const again = yield* scene.request("PUT", path, { json: { ...scale, spec: { replicas: 5 } } })
      conflicts(again, webApps("w"))
      yield* scene.create("v")
      const absent = yield* scene.request("GET", `${scene.webapps("v")}/scale`)
      refused(
        absent,
        500,
        "InternalError",
        'Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
        { causes: [{ message: 'the spec replicas field ".spec.replicas" does not exist' }] }
      )
    })
  )
})
