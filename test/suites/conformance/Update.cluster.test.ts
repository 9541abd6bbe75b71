/** E. Update and concurrency. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import { deployment } from "./Objects.ts"
import { conflicts, invalid, refused, webApps } from "./Refusal.ts"
import { revision, type Scene } from "./Scene.ts"

const put = (scene: Scene, object: Json.JsonObject, name = "w") =>
  scene.request("PUT", scene.webapps(name), { json: object })

/** The object with other metadata. */
const having = (object: Json.JsonObject, metadata: Json.JsonObject): Json.JsonObject => ({
  ...object,
  metadata: { ...Json.object(object.metadata), ...metadata }
})

describe.concurrent("E. Update", () => {
  conformance(60, "PUT of a stale object is 409 Conflict", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const first = yield* scene.create("w", { spec: { image: "a" } })
      expect((yield* put(scene, { ...first, spec: { image: "b" } })).status).toBe(200)
      conflicts(yield* put(scene, { ...first, spec: { image: "c" } }), webApps("w"))
    })
  )

  conformance(
    61,
    "PUT without a resource version is 422 for custom kinds, and unconditional for others",
    { starred: true },
    (scene) =>
      Effect.gen(function* () {
        const made = yield* scene.create("w", { spec: { image: "a" } })
        // By the resource, where other errors name the kind.
        invalid(yield* put(scene, having(made, { resourceVersion: undefined })), webApps("w"), [
          "FieldValueInvalid",
          "metadata.resourceVersion",
          "Invalid value: 0: must be specified for an update"
        ])
        const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "1" } }
        yield* scene.done("POST", scene.path("configmaps"), { json: map })
        const changed = yield* scene.request("PUT", scene.path("configmaps", "c"), {
          json: { ...map, data: { a: "2" } }
        })
        expect(changed.status).toBe(200)
        expect(changed.body).toMatchObject({ data: { a: "2" } })
      })
  )

  conformance(62, "PUT of another uid is 409, of what is not there 404, of another name 400", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", { spec: { image: "a" } })
      const uid = Json.text(Json.at(made, "metadata", "uid")) ?? ""
      const other = "8d1f0b58-1f1e-4c7c-8f1d-0d9b9b5a5a01"
      conflicts(
        yield* put(scene, having(made, { uid: other })),
        webApps("w"),
        `StorageError: invalid object, Code: 4, Key: /registry/example.com/webapps/${scene.namespace}/w, ResourceVersion: 0, ` +
          `AdditionalErrorMsg: Precondition failed: UID in precondition: ${other}, UID in object meta: ${uid}`
      )
      refused(
        yield* put(scene, having(made, { name: "v", uid: undefined }), "v"),
        404,
        "NotFound",
        'webapps.example.com "v" not found',
        { name: "v", group: "example.com", kind: "webapps" }
      )
      refused(
        yield* put(scene, having(made, { name: "v" })),
        400,
        "BadRequest",
        "the name of the object (v) does not match the name on the URL (w)"
      )
    })
  )

  conformance(63, "a change of the spec is a new generation, one of labels is not", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const first = yield* scene.create("w", { spec: { image: "a" } })
      const second = yield* scene.done("PUT", scene.webapps("w"), { json: { ...first, spec: { image: "b" } } })
      expect(second).toMatchObject({ metadata: { generation: 2 }, spec: { image: "b", replicas: 1 } })
      const third = yield* scene.done("PUT", scene.webapps("w"), { json: having(second, { labels: { a: "b" } }) })
      expect(third).toMatchObject({ metadata: { generation: 2, labels: { a: "b" } } })
      expect(revision(second)).toBeGreaterThan(revision(first))
      expect(revision(third)).toBeGreaterThan(revision(second))
    })
  )

  conformance(64, "what the server keeps is kept, whatever the body says", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.create("w", { spec: { image: "a" } })
      const { creationTimestamp, generation, uid } = Json.object(made.metadata)
      const kept = yield* scene.done("PUT", scene.webapps("w"), {
        json: having(made, {
          creationTimestamp: "2001-01-01T00:00:00Z",
          generation: 9,
          uid: undefined,
          labels: { a: "b" }
        })
      })
      expect(kept).toMatchObject({ metadata: { creationTimestamp, generation, uid, labels: { a: "b" } } })
    })
  )

  conformance(65, "of 20 that count up side by side, trying again after 409, none is lost", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", { spec: { replicas: 0 } })
      const increment: Effect.Effect<void, unknown> = Effect.gen(function* () {
        const read = yield* scene.done("GET", scene.webapps("w"))
        const replicas = (Json.number(Json.at(read, "spec", "replicas")) ?? 0) + 1
        const answer = yield* put(scene, { ...read, spec: { replicas } })
        if (answer.status === 409) return yield* Effect.zipRight(Effect.sleep("5 millis"), increment)
        expect(answer.status).toBe(200)
      })
      yield* Effect.all(
        Array.from({ length: 20 }, () => increment),
        { concurrency: "unbounded" }
      )
      expect(Json.at(yield* scene.done("GET", scene.webapps("w")), "spec", "replicas")).toBe(20)
    })
  )

  conformance(66, "fields that can't change are 422", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.done("POST", scene.path("apps/v1/deployments"), { json: deployment("d") })
      const labels = { app: "other" }
      const spec = Json.object(made.spec)
      const template = having(Json.object(spec.template), { labels })
      const answer = yield* scene.request("PUT", scene.path("apps/v1/deployments", "d"), {
        json: { ...made, spec: { ...spec, selector: { matchLabels: labels }, template } }
      })
      invalid(answer, { kind: "Deployment", group: "apps", name: "d" }, [
        "FieldValueInvalid",
        "spec.selector",
        'Invalid value: {"matchLabels":{"app":"other"}}: field is immutable'
      ])
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, type: "a/b" }
      yield* scene.done("POST", scene.path("secrets"), { json: secret })
      const other = yield* scene.request("PUT", scene.path("secrets", "s"), { json: { ...secret, type: "c/d" } })
      invalid(other, { kind: "Secret", name: "s" }, [
        "FieldValueInvalid",
        "type",
        'Invalid value: "c/d": field is immutable'
      ])
    })
  )
})
