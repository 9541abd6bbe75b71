/** F. Patch. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import { deployment, pod } from "./Objects.ts"
import { conflicts, refused, webApps } from "./Refusal.ts"
import { revision, type Scene } from "./Scene.ts"

const mediaType = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json"
}

/** Patches a WebApp. */
const patch = (scene: Scene, how: keyof typeof mediaType, json: Json.Json, query = "", name = "w") =>
  scene.request("PATCH", `${scene.webapps(name)}${query}`, { json, contentType: mediaType[how] })

/** With the members of all objects in order. */
const sorted = (value: Json.Json): Json.Json => {
  if (Json.isList(value)) return value.map(sorted)
  if (!Json.isObject(value)) return value
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member ?? null)] as const)
  return Object.fromEntries(members.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

describe.concurrent("F. Patch", () => {
  conformance(
    67,
    "a merge patch removes what is null, replaces lists, and gives the whole object",
    { starred: true },
    (scene) =>
      Effect.gen(function* () {
        yield* scene.create("w", { spec: { image: "a", color: "red", args: ["a", "b"], settings: { a: "1", b: "2" } } })
        const answer = yield* patch(scene, "merge", {
          spec: { color: null, args: ["c"], settings: { a: null, c: "3" } }
        })
        expect(answer.status).toBe(200)
        expect(answer.body).toMatchObject({ kind: "WebApp", metadata: { name: "w", generation: 2 } })
        expect(Json.at(answer.body, "spec")).toEqual({
          image: "a",
          replicas: 1,
          args: ["c"],
          settings: { b: "2", c: "3" }
        })
      })
  )

  conformance(68, "a resource version in a patch is a condition", {}, (scene) =>
    Effect.gen(function* () {
      const { resourceVersion = "" } = Json.object((yield* scene.create("w", { spec: {} })).metadata)
      const right = yield* patch(scene, "merge", { metadata: { resourceVersion }, spec: { image: "a" } })
      expect(right.status).toBe(200)
      const stale = yield* patch(scene, "merge", { metadata: { resourceVersion }, spec: { image: "b" } })
      conflicts(stale, webApps("w"))
    })
  )

  conformance(69, "a JSON patch does what it says; one that can't be done is 422", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", { spec: { image: "a", args: ["a", "b"], settings: { "x/y~z": "1" } } })
      const answer = yield* patch(scene, "json", [
        { op: "test", path: "/spec/image", value: "a" },
        { op: "replace", path: "/spec/image", value: "b" },
        { op: "add", path: "/spec/args/-", value: "c" },
        { op: "add", path: "/spec/args/0", value: "z" },
        { op: "remove", path: "/spec/args/1" },
        { op: "copy", from: "/spec/image", path: "/spec/color" },
        { op: "move", from: "/spec/settings/x~1y~0z", path: "/spec/settings/moved" }
      ])
      expect(answer.status).toBe(200)
      expect(Json.at(answer.body, "spec")).toEqual({
        image: "b",
        color: "b",
        replicas: 1,
        args: ["z", "b", "c"],
        settings: { moved: "1" }
      })
      const impossible: ReadonlyArray<readonly [Json.Json, string]> = [
        [{ op: "test", path: "/spec/image", value: "x" }, "x"],
        [{ op: "replace", path: "/spec/nothing/here", value: 1 }, "y"],
        [{ op: "remove", path: "/spec/nothing" }, "z"]
      ]
      for (const [operation] of impossible) {
        const failed = yield* patch(scene, "json", [operation])
        refused(failed, 422, "Invalid", "the server rejected our request due to an error in our request", {})
      }
    })
  )

  conformance(70, "a malformed patch is 400, one of too many operations 413, and no patch renames", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", { spec: {} })
      refused(
        yield* patch(scene, "json", { op: "test" }),
        400,
        "BadRequest",
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
      )
      const send = (body: string, contentType: string) =>
        scene.request("PATCH", scene.webapps("w"), { body, contentType })
      refused(yield* send("[{", mediaType.json), 400, "BadRequest", "invalid JSON patch")
      refused(yield* send("{", mediaType.merge), 400, "BadRequest", "invalid JSON patch")
      const test = { op: "test", path: "/kind", value: "WebApp" }
      refused(
        yield* patch(
          scene,
          "json",
          Array.from({ length: 10_001 }, () => test)
        ),
        413,
        "RequestEntityTooLarge",
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
      )
      refused(
        yield* patch(scene, "merge", { metadata: { name: "v" } }),
        400,
        "BadRequest",
        "the name of the object (v) does not match the name on the URL (w)"
      )
    })
  )

  conformance(73, "a strategic merge patch of a custom kind is refused, naming what is not", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      refused(
        yield* patch(scene, "strategic", { spec: { image: "a" } }),
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
      )
    })
  )

  conformance(
    74,
    "an unknown field is 422 when Strict, a patch of nothing does nothing, of what is not there 404",
    {},
    (scene) =>
      Effect.gen(function* () {
        const made = yield* scene.create("w", { spec: { image: "a" } })
        const strict = yield* patch(scene, "merge", { spec: { foo: 1 } }, "?fieldValidation=Strict")
        // It names neither kind nor object, but shows all of the object.
        const patched = JSON.stringify(sorted({ ...made, spec: { ...Json.object(made.spec), foo: 1 } }))
        const message = `Invalid value: ${JSON.stringify(patched)}: strict decoding error: unknown field "spec.foo"`
        refused(strict, 422, "Invalid", ` "" is invalid: patch: ${message}`, {
          causes: [{ reason: "FieldValueInvalid", message, field: "patch" }]
        })
        const empty = yield* patch(scene, "merge", {})
        expect(empty.status).toBe(200)
        expect(empty.body).toEqual(made)
        refused(yield* patch(scene, "merge", {}, "", "v"), 404, "NotFound", 'webapps.example.com "v" not found', {
          name: "v",
          group: "example.com",
          kind: "webapps"
        })
      })
  )
})

describe.concurrent("F. Strategic merge patch", () => {
  conformance(71, "lists with keys are merged by them, as directives say", {}, (scene) =>
    Effect.gen(function* () {
      const containers = [
        {
          name: "a",
          image: "1",
          env: [
            { name: "X", value: "1" },
            { name: "Y", value: "2" }
          ]
        },
        { name: "b", image: "1" },
        { name: "c", image: "1" }
      ]
      const path = scene.path("apps/v1/deployments", "d")
      yield* scene.done("POST", scene.path("apps/v1/deployments"), { json: deployment("d", { containers }) })
      const strategic = (spec: Json.JsonObject) =>
        scene.done("PATCH", path, { json: { spec }, contentType: mediaType.strategic })
      const containersOf = (object: Json.JsonObject) =>
        Json.objects(Json.at(object, "spec", "template", "spec", "containers")).map(({ env, image, name }) => ({
          name,
          image,
          ...(env !== undefined && { env })
        }))

      const merged = yield* strategic({
        template: {
          spec: {
            containers: [
              {
                name: "a",
                image: "2",
                env: [
                  { name: "Y", value: "3" },
                  { name: "Z", value: "4" }
                ]
              },
              { name: "b", $patch: "delete" },
              { name: "d", image: "1" }
            ]
          }
        }
      })
      // As the server orders them: new ones of the patch come where the patch has them.
      const env = [
        { name: "X", value: "1" },
        { name: "Y", value: "3" },
        { name: "Z", value: "4" }
      ]
      expect(containersOf(merged)).toEqual([
        { name: "a", image: "2", env },
        { name: "d", image: "1" },
        { name: "c", image: "1" }
      ])

      const ordered = yield* strategic({
        template: { spec: { "$setElementOrder/containers": [{ name: "d" }, { name: "a" }, { name: "c" }] } }
      })
      expect(containersOf(ordered).map(({ name }) => name)).toEqual(["d", "a", "c"])

      const strategy = yield* strategic({ strategy: { $retainKeys: ["type"], type: "Recreate" } })
      expect(Json.at(strategy, "spec", "strategy")).toEqual({ type: "Recreate" })
      const replaced = yield* strategic({
        template: { spec: { containers: [{ $patch: "replace" }, { name: "z", image: "9" }] } }
      })
      expect(containersOf(replaced)).toEqual([{ name: "z", image: "9" }])
    })
  )

  conformance(72, "conditions are merged by type, and finalizers as a set", {}, (scene) =>
    Effect.gen(function* () {
      const finalizers = ["example.com/a", "example.com/b"]
      yield* scene.done("POST", scene.path("pods"), { json: { ...pod("p"), metadata: { name: "p", finalizers } } })
      const strategic = (path: string, json: Json.JsonObject) =>
        scene.done("PATCH", path, { json, contentType: mediaType.strategic })
      const condition = (type: string, status: string) => ({ type, status })
      const status = `${scene.path("pods", "p")}/status`
      yield* strategic(status, { status: { conditions: [condition("A", "True"), condition("B", "True")] } })
      const changed = yield* strategic(status, {
        status: { conditions: [condition("B", "False"), { type: "A", $patch: "delete" }, condition("C", "True")] }
      })
      expect(
        Json.objects(Json.at(changed, "status", "conditions")).map(({ status, type }) => `${type} ${status}`)
      ).toEqual(["B False", "C True"])

      const added = yield* strategic(scene.path("pods", "p"), { metadata: { finalizers: ["example.com/c"] } })
      expect(Json.at(added, "metadata", "finalizers")).toEqual(["example.com/c", ...finalizers])
      const removed = yield* strategic(scene.path("pods", "p"), {
        metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/a"] }
      })
      expect(Json.at(removed, "metadata", "finalizers")).toEqual(["example.com/c", "example.com/b"])
      expect(revision(removed)).toBeGreaterThan(revision(added))
      yield* scene.request("PATCH", scene.path("pods", "p"), {
        json: { metadata: { finalizers: null } },
        contentType: mediaType.merge
      })
    })
  )
})
