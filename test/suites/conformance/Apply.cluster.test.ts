/** G. Server-side apply, and who manages what. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import { configMap, deployment } from "./Objects.ts"
import { type Cause, conflicts, invalid, options, refused, webApps } from "./Refusal.ts"
import { type Scene, webapp } from "./Scene.ts"

const contentType = "application/apply-patch+yaml"

/** Applies as a manager, and gives the answer. */
const attempt = (scene: Scene, manager: string, members: Json.JsonObject, more = "", path = scene.webapps("w")) =>
  scene.request("PATCH", `${path}?fieldManager=${manager}${more}`, { json: webapp("w", members), contentType })

/** Applies as a manager, and gives the object. */
const apply = (scene: Scene, manager: string, spec: Json.JsonObject, more = "") =>
  Effect.map(attempt(scene, manager, { spec }, more), (answer) => {
    expect([answer.status, answer.text]).toEqual([answer.status === 201 ? 201 : 200, answer.text])
    return Json.object(answer.body)
  })

/** What a manager manages, by apply or by update. */
const managed = (object: Json.Json | undefined, manager: string, operation = "Apply"): Json.Json | undefined =>
  Json.objects(Json.at(object, "metadata", "managedFields")).find(
    (entry) => entry.manager === manager && entry.operation === operation
  )?.fieldsV1

/** The managers, each with its operation and subresource. */
const managers = (object: Json.Json | undefined): ReadonlyArray<string> =>
  Json.objects(Json.at(object, "metadata", "managedFields"))
    .map(({ manager, operation, subresource }) => [manager, operation, subresource].filter((is) => is).join(" "))
    .toSorted()

const conflict = (...causes: ReadonlyArray<readonly [field: string, message: string]>) => ({
  causes: causes.map(([field, message]) => ({ reason: "FieldManagerConflict", message, field }))
})

describe.concurrent("G. Apply", () => {
  conformance(
    75,
    "applying what is not there creates it, applying it again changes nothing",
    { starred: true },
    (scene) =>
      Effect.gen(function* () {
        const first = yield* attempt(scene, "m1", { spec: { image: "a" } })
        expect(first.status).toBe(201)
        // The default, too, is managed by nobody.
        expect(Json.at(first.body, "spec")).toEqual({ image: "a", replicas: 1 })
        expect(Json.at(first.body, "metadata", "managedFields")).toEqual([
          {
            manager: "m1",
            operation: "Apply",
            apiVersion: "example.com/v1",
            time: expect.stringMatching(/Z$/),
            fieldsType: "FieldsV1",
            fieldsV1: { "f:spec": { "f:image": {} } }
          }
        ])
        const again = yield* attempt(scene, "m1", { spec: { image: "a" } })
        expect(again.status).toBe(200)
        expect(again.body).toEqual(first.body)
      })
  )

  conformance(76, "a field that another applied differently is a conflict", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* apply(scene, "m1", { image: "a", color: "red" })
      const one = yield* attempt(scene, "m2", { spec: { image: "b" } })
      const what = 'conflict with "m1"'
      refused(
        one,
        409,
        "Conflict",
        `Apply failed with 1 conflict: ${what}: .spec.image`,
        conflict([".spec.image", what])
      )
      const two = yield* attempt(scene, "m2", { spec: { image: "b", color: "blue" } })
      refused(
        two,
        409,
        "Conflict",
        'Apply failed with 2 conflicts: conflicts with "m1":\n- .spec.color\n- .spec.image',
        conflict([".spec.color", what], [".spec.image", what])
      )
    })
  )

  conformance(77, "force takes the field, and the same value is managed by both", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* apply(scene, "m1", { image: "a", color: "red" })
      const forced = yield* apply(scene, "m2", { image: "b" }, "&force=true")
      expect(forced).toMatchObject({ spec: { image: "b", color: "red" } })
      expect(managed(forced, "m1")).toEqual({ "f:spec": { "f:color": {} } })
      expect(managed(forced, "m2")).toEqual({ "f:spec": { "f:image": {} } })
      const shared = yield* apply(scene, "m3", { image: "b" })
      expect(managed(shared, "m2")).toEqual({ "f:spec": { "f:image": {} } })
      expect(managed(shared, "m3")).toEqual({ "f:spec": { "f:image": {} } })
    })
  )

  conformance(
    78,
    "a field that its only manager applies no more is removed, a shared one stays",
    { starred: true },
    (scene) =>
      Effect.gen(function* () {
        yield* apply(scene, "m1", { image: "a", color: "red", settings: { a: "1", b: "2" } })
        yield* apply(scene, "m2", { image: "a" })
        const left = yield* apply(scene, "m1", { settings: { a: "1" } })
        expect(left.spec).toEqual({ image: "a", replicas: 1, settings: { a: "1" } })
        expect(managed(left, "m1")).toEqual({ "f:spec": { "f:settings": { "f:a": {} } } })
        expect(managed(left, "m2")).toEqual({ "f:spec": { "f:image": {} } })
      })
  )

  conformance(79, "lists are merged by key, as a set, or not at all", {}, (scene) =>
    Effect.gen(function* () {
      yield* apply(scene, "m1", { ports: [{ name: "a", port: 1 }], tags: ["x"], args: ["1"] })
      const both = yield* apply(scene, "m2", { ports: [{ name: "b", port: 2 }], tags: ["y"] })
      expect(both.spec).toMatchObject({
        ports: [
          { name: "a", port: 1, protocol: "TCP" },
          { name: "b", port: 2, protocol: "TCP" }
        ],
        tags: ["x", "y"]
      })
      expect(managed(both, "m2")).toEqual({
        "f:spec": {
          "f:ports": { 'k:{"name":"b"}': { ".": {}, "f:name": {}, "f:port": {} } },
          "f:tags": { 'v:"y"': {} }
        }
      })
      const atomic = yield* attempt(scene, "m2", { spec: { args: ["1", "2"] } })
      refused(
        atomic,
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "m1": .spec.args',
        conflict([".spec.args", 'conflict with "m1"'])
      )
      const one = yield* apply(scene, "m1", { args: ["1"] })
      expect(one.spec).toMatchObject({ ports: [{ name: "b", port: 2 }], tags: ["y"], args: ["1"] })

      const path = `${scene.path("apps/v1/deployments", "d")}?fieldManager=`
      const container = (members: Json.JsonObject) => deployment("d", { containers: [{ name: "c", ...members }] })
      const port = { containerPort: 80, protocol: "TCP" }
      yield* scene.done("PATCH", `${path}m1`, { json: container({ image: "i", ports: [port] }), contentType })
      const more = container({ image: undefined, ports: [{ ...port, protocol: "UDP" }] })
      const built = yield* scene.done("PATCH", `${path}m2`, { json: more, contentType })
      const [made] = Json.objects(Json.at(built, "spec", "template", "spec", "containers"))
      expect(made).toMatchObject({ image: "i", ports: [port, { ...port, protocol: "UDP" }] })
    })
  )

  conformance(80, "an apply has a manager, one version, and no managed fields; only it can be forced", {}, (scene) =>
    Effect.gen(function* () {
      const json = webapp("w", { spec: { image: "a" } })
      const required: Cause = ["FieldValueRequired", "fieldManager", "Required value: is required for apply patch"]
      const unnamed = yield* scene.request("PATCH", scene.webapps("w"), { json, contentType })
      invalid(unnamed, options("PatchOptions"), required)
      const forced = yield* scene.request("PATCH", `${scene.webapps("w")}?force=true`, {
        json,
        contentType: "application/merge-patch+json"
      })
      invalid(forced, options("PatchOptions"), [
        "FieldValueForbidden",
        "force",
        "Forbidden: may not be specified for non-apply patch"
      ])
      const fields = [{ manager: "m1", operation: "Apply", apiVersion: "example.com/v1" }]
      const managed = yield* attempt(scene, "m1", { metadata: { managedFields: fields } })
      refused(managed, 400, "BadRequest", "metadata.managedFields must be nil")
      // The list that the suite was made from has "Incorrect version specified in apply patch", which kinds with types of their own say.
      const other = yield* scene.request("PATCH", `${scene.webapps("w")}?fieldManager=m1`, {
        json: { ...json, apiVersion: "example.com/v2" },
        contentType
      })
      refused(other, 400, "BadRequest", "invalid object type: example.com/v2, Kind=WebApp")
    })
  )

  conformance(81, "what the schema does not know, or has another type, is 500", {}, (scene) =>
    Effect.gen(function* () {
      // Not of what is in a namespace, but of what was sent.
      const typed = (text: string) => `failed to create typed patch object (/w; example.com/v1, Kind=WebApp): ${text}`
      const unknown = yield* attempt(scene, "m1", { spec: { foo: 1 } })
      refused(unknown, 500, undefined, typed(".spec.foo: field not declared in schema"))
      const type = yield* attempt(scene, "m1", { spec: { image: 1 } })
      refused(type, 500, undefined, typed(".spec.image: expected string, got &value.valueUnstructured{Value:1}"))
      const ports = [{ name: "a" }, { name: "a" }]
      const twice = yield* attempt(scene, "m1", { spec: { ports } })
      refused(twice, 500, undefined, typed('.spec.ports: duplicate entries for key [name="a"]'))
    })
  )

  conformance(82, "the status is applied by its subresource, and only there", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const main = yield* attempt(scene, "m1", { spec: { image: "a" }, status: { phase: "Main" } })
      expect(main.body).not.toHaveProperty("status")
      expect(managed(main.body, "m1")).toEqual({ "f:spec": { "f:image": {} } })
      const path = `${scene.webapps("w")}/status`
      const { body } = yield* attempt(scene, "m2", { spec: { image: "b" }, status: { phase: "Ready" } }, "", path)
      expect(body).toMatchObject({ metadata: { generation: 1 }, spec: { image: "a" }, status: { phase: "Ready" } })
      expect(managers(body)).toEqual(["m1 Apply", "m2 Apply status"])
      expect(managed(body, "m2")).toEqual({ "f:status": { "f:phase": {} } })
    })
  )
})

describe.concurrent("G. Managers", () => {
  const merge = (scene: Scene, spec: Json.JsonObject, query = "", headers: { readonly [name: string]: string } = {}) =>
    scene.done("PATCH", `${scene.webapps("w")}${query}`, {
      json: { spec },
      contentType: "application/merge-patch+json",
      headers
    })

  conformance(
    83,
    "who updates is called as asked for, or by its agent, and takes fields without conflict",
    {},
    (scene) =>
      Effect.gen(function* () {
        yield* apply(scene, "m1", { image: "a", color: "red" })
        const byAgent = yield* merge(scene, { image: "b" }, "", { "user-agent": "some-agent/v1.2 (linux)" })
        expect(managed(byAgent, "some-agent", "Update")).toEqual({ "f:spec": { "f:image": {} } })
        expect(managed(byAgent, "m1")).toEqual({ "f:spec": { "f:color": {} } })
        const byName = yield* merge(scene, { image: "c" }, "?fieldManager=named", { "user-agent": "some-agent/v1.2" })
        expect(managers(byName)).toEqual(["m1 Apply", "named Update"])
      })
  )

  // The list that the suite was made from has [] do the same as [{}]: it does nothing, as if it were left out.
  conformance(
    84,
    "[{}] as managed fields forgets all managers, whom a first apply calls before-first-apply",
    {},
    (scene) =>
      Effect.gen(function* () {
        const made = yield* scene.create("w", { spec: { image: "a" } })
        const put = (managedFields: ReadonlyArray<Json.JsonObject>) =>
          scene.done("PUT", scene.webapps("w"), {
            json: { ...made, metadata: { ...Json.object(made.metadata), managedFields } }
          })
        expect(managers(yield* put([]))).toEqual(managers(made))
        expect(yield* put([{}])).not.toHaveProperty("metadata.managedFields")
        const applied = yield* apply(scene, "m1", { color: "red" })
        expect(managers(applied)).toEqual(["before-first-apply Update", "m1 Apply"])
        expect(managed(applied, "before-first-apply", "Update")).toEqual({
          "f:spec": { ".": {}, "f:image": {}, "f:replicas": {} }
        })
        const conflicting = yield* attempt(scene, "m1", { spec: { image: "z" } })
        refused(
          conflicting,
          409,
          "Conflict",
          'Apply failed with 1 conflict: conflict with "before-first-apply" using example.com/v1: .spec.image',
          conflict([".spec.image", 'conflict with "before-first-apply" using example.com/v1'])
        )
      })
  )

  conformance(85, "of many who update the oldest become one, and no apply creates an object with a uid", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", { spec: { settings: {} } })
      for (let at = 0; at < 12; at++) yield* merge(scene, { settings: { [`k${at}`]: "v" } }, `?fieldManager=u${at}`)
      const made = yield* scene.done("GET", scene.webapps("w"))
      expect(managers(made)).toHaveLength(10)
      expect(managers(made)).toContain("ancient-changes Update")
      const uid = "8d1f0b58-1f1e-4c7c-8f1d-0d9b9b5a5a01"
      const absent = yield* scene.request("PATCH", `${scene.webapps("v")}?fieldManager=m1`, {
        json: webapp("v", { metadata: { uid } }),
        contentType
      })
      conflicts(
        absent,
        webApps("v"),
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
      )
    })
  )

  conformance(86, "kubectl takes over by apply what it applied on the client's side", {}, (scene) =>
    Effect.gen(function* () {
      const annotation = "kubectl.kubernetes.io/last-applied-configuration"
      const sent = configMap("c", { data: { a: "1" } })
      const before = { ...sent, metadata: { name: "c", annotations: { [annotation]: JSON.stringify(sent) } } }
      yield* scene.done("POST", `${scene.path("configmaps")}?fieldManager=kubectl-client-side-apply`, { json: before })
      const path = scene.path("configmaps", "c")
      const json = configMap("c", { data: { a: "2" } })
      const other = yield* scene.request("PATCH", `${path}?fieldManager=m1`, { json, contentType })
      expect(other.status).toBe(409)
      const taken = yield* scene.done("PATCH", `${path}?fieldManager=kubectl`, { json, contentType })
      expect(taken.data).toEqual({ a: "2" })
      expect(Json.at(taken, "metadata", "annotations", annotation)).toBe(
        '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"c"}}\n'
      )
    })
  )
})
