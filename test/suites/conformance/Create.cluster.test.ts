/** B. Create. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import { userAgent } from "./Raw.ts"
import { type Cause, invalid, options, refused, unchecked, webApp } from "./Refusal.ts"
import { revision, type Scene, webapp } from "./Scene.ts"

/** Sends a WebApp, and gives the answer. */
const post = (scene: Scene, object: Json.JsonObject, query = "") =>
  scene.request("POST", `${scene.webapps()}${query}`, { json: object })

const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "8d1f0b58-1f1e-4c7c-8f1d-0d9b9b5a5a01" }

describe.concurrent("B. What is stored", () => {
  conformance(
    15,
    "POST stores the object with the metadata of the server, and without a status",
    { starred: true },
    (scene) =>
      Effect.gen(function* () {
        const answer = yield* post(scene, webapp("w", { spec: { image: "a" }, status: { phase: "Ready" } }))
        expect(answer.status).toBe(201)
        revision(answer.body)
        expect(answer.body).toEqual({
          apiVersion: "example.com/v1",
          kind: "WebApp",
          metadata: {
            name: "w",
            namespace: scene.namespace,
            uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
            resourceVersion: expect.any(String),
            creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
            generation: 1,
            managedFields: [
              {
                manager: userAgent,
                operation: "Update",
                apiVersion: "example.com/v1",
                time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
                fieldsType: "FieldsV1",
                fieldsV1: { "f:spec": { ".": {}, "f:image": {}, "f:replicas": {} } }
              }
            ]
          },
          spec: { image: "a", replicas: 1 }
        })
        expect(yield* scene.done("GET", scene.webapps("w"))).toEqual(Json.object(answer.body))
      })
  )

  conformance(17, "POST with generateName makes a name of at most 63 characters", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* post(scene, webapp(undefined, { metadata: { generateName: "w-" } }))
      expect(made.status).toBe(201)
      expect(Json.at(made.body, "metadata", "name")).toMatch(/^w-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      expect(Json.at(made.body, "metadata", "generateName")).toBe("w-")
      const long = yield* post(scene, webapp(undefined, { metadata: { generateName: "w".repeat(70) } }))
      expect(Json.at(long.body, "metadata", "name")).toMatch(/^w{58}[a-z0-9]{5}$/)
    })
  )

  conformance(23, "what the body says of uid and times is ignored, a resource version is refused", {}, (scene) =>
    Effect.gen(function* () {
      const metadata = {
        uid: owner.uid,
        creationTimestamp: "2001-01-01T00:00:00Z",
        deletionTimestamp: "2001-01-01T00:00:00Z",
        generation: 7
      }
      const made = yield* post(scene, webapp("w", { metadata }))
      expect(made.status).toBe(201)
      expect(Json.at(made.body, "metadata", "uid")).not.toBe(owner.uid)
      expect(Json.at(made.body, "metadata", "creationTimestamp")).not.toBe(metadata.creationTimestamp)
      expect(made.body).not.toHaveProperty("metadata.deletionTimestamp")
      expect(Json.at(made.body, "metadata", "generation")).toBe(1)
      const answer = yield* post(scene, webapp("v", { metadata: { resourceVersion: "5" } }))
      refused(answer, 500, undefined, "resourceVersion should not be set on objects to be created")
    })
  )

  conformance(26, "a dry run does all but store", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* post(scene, webapp("w", { spec: {} }), "?dryRun=All")
      expect(made.status).toBe(201)
      expect(made.body).toMatchObject({ metadata: { name: "w", uid: expect.any(String) }, spec: { replicas: 1 } })
      expect(made.body).not.toHaveProperty("metadata.resourceVersion")
      expect((yield* scene.request("GET", scene.webapps("w"))).status).toBe(404)
      invalid(yield* post(scene, webapp("w"), "?dryRun=Foo"), options("CreateOptions"), [
        "FieldValueNotSupported",
        "dryRun",
        'Unsupported value: ["Foo"]: supported values: "All"'
      ])
    })
  )
})

describe.concurrent("B. What is refused", () => {
  conformance(16, "POST of a name that is taken is 409 AlreadyExists", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      refused(yield* post(scene, webapp("w")), 409, "AlreadyExists", 'webapps.example.com "w" already exists', {
        name: "w",
        group: "example.com",
        kind: "webapps"
      })
    })
  )

  conformance(18, "POST without a name is 422", {}, (scene) =>
    Effect.gen(function* () {
      const cause: Cause = ["FieldValueRequired", "metadata.name", "Required value: name or generateName is required"]
      invalid(yield* post(scene, webapp(undefined)), webApp(), cause, unchecked)
    })
  )

  conformance(19, "POST of a name that is no subdomain of RFC 1123 is 422", {}, (scene) =>
    Effect.gen(function* () {
      const message =
        "Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
        "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
      const cause: Cause = ["FieldValueInvalid", "metadata.name", message]
      invalid(yield* post(scene, webapp("Bad_Name")), webApp("Bad_Name"), cause)
    })
  )

  conformance(20, "POST into a namespace that is not there is 404", {}, (scene) =>
    Effect.gen(function* () {
      const answer = yield* scene.request("POST", "/apis/example.com/v1/namespaces/nope/webapps", { json: webapp("w") })
      refused(answer, 404, "NotFound", 'namespaces "nope" not found', { name: "nope", kind: "namespaces" })
    })
  )

  conformance(21, "a body whose namespace or version is not that of the path is 400", {}, (scene) =>
    Effect.gen(function* () {
      refused(
        yield* post(scene, webapp("w", { metadata: { namespace: "other" } })),
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request"
      )
      refused(
        yield* post(scene, { ...webapp("w"), apiVersion: "example.com/v2" }),
        400,
        "BadRequest",
        "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)"
      )
    })
  )

  conformance(22, "a body of another kind is refused", {}, (scene) =>
    Effect.gen(function* () {
      const message = 'Invalid value: "SomethingElse": must be WebApp'
      const answer = yield* post(scene, { ...webapp("w"), kind: "SomethingElse" })
      invalid(answer, { ...webApp("w"), kind: "SomethingElse" }, ["FieldValueInvalid", "kind", message])
    })
  )

  conformance(24, "labels and annotations have their syntax and their size", {}, (scene) =>
    Effect.gen(function* () {
      const label =
        "Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start " +
        "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
      invalid(yield* post(scene, webapp("w", { metadata: { labels: { a: "a b" } } })), webApp("w"), [
        "FieldValueInvalid",
        "metadata.labels",
        label
      ])
      const long: Cause = ["FieldValueTooLong", "metadata.annotations", "Too long: may not be more than 262144 bytes"]
      const annotations = { a: "a".repeat(262_144) }
      invalid(yield* post(scene, webapp("w", { metadata: { annotations } })), webApp("w"), long, unchecked)
    })
  )

  conformance(25, "owner references are whole, have one controller, and are kept once", {}, (scene) =>
    Effect.gen(function* () {
      const { uid, ...unnamed } = owner
      const send = (...ownerReferences: ReadonlyArray<Json.Json>) =>
        post(scene, webapp("w", { metadata: { ownerReferences } }))
      const missing: Cause = [
        "FieldValueRequired",
        "metadata.ownerReferences[0].uid",
        "Required value: must not be empty"
      ]
      invalid(yield* send(unnamed), webApp("w"), missing, unchecked)
      const one = { ...owner, controller: true }
      const other = { ...one, name: "p", uid: uid.replace("8", "9") }
      invalid(yield* send(one, other), webApp("w"), [
        "FieldValueInvalid",
        "metadata.ownerReferences",
        `Invalid value: ${JSON.stringify([one, other])}: Only one reference can have Controller set to true. ` +
          'Found "true" in references for ConfigMap/o and ConfigMap/p'
      ])
      const made = yield* send(owner, owner)
      expect(made.status).toBe(201)
      expect(Json.at(made.body, "metadata", "ownerReferences")).toEqual([owner])
      expect(made.headers.get("warning")).toBe(
        '299 - ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject ' +
          `such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uid}"`
      )
    })
  )

  conformance(30, "a finalizer has a syntax, and one without a domain a warning", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* post(scene, webapp("w", { metadata: { finalizers: ["x"] } }))
      expect(made.status).toBe(201)
      expect(made.headers.get("warning")).toBe(
        '299 - "metadata.finalizers: \\"x\\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"'
      )
      invalid(yield* post(scene, webapp("v", { metadata: { finalizers: ["a b"] } })), webApp("v"), [
        "FieldValueInvalid",
        "metadata.finalizers",
        "Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
          "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
      ])
    })
  )

  conformance(31, "a body that is too large, cut off or empty is refused", {}, (scene) =>
    Effect.gen(function* () {
      const send = (body: string) => scene.request("POST", scene.webapps(), { body })
      const large = JSON.stringify(webapp("w", { spec: { image: "a".repeat(3 * 1024 * 1024) } }))
      refused(yield* send(large), 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")
      refused(
        yield* send('{"apiVersion":"example.com/v1","kind":'),
        400,
        "BadRequest",
        'the object provided is unrecognized (must be of type WebApp): couldn\'t get version/kind; json parse error: unexpected end of JSON input ({"apiVersion":"example.com/v1" ...)'
      )
      refused(
        yield* send(""),
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type WebApp): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"
      )
    })
  )
})

describe.concurrent("B. Unknown and repeated fields", () => {
  const unknown = { spec: { foo: 1, image: "a" } }

  conformance(27, "with fieldValidation=Strict an unknown field is 400", {}, (scene) =>
    Effect.gen(function* () {
      const answer = yield* post(scene, webapp("w", unknown), "?fieldValidation=Strict")
      const message =
        'WebApp in version "v1" cannot be handled as a WebApp: strict decoding error: unknown field "spec.foo"'
      refused(answer, 400, "BadRequest", message)
    })
  )

  conformance(
    28,
    "otherwise an unknown field is dropped, with a warning unless that is to be ignored",
    { starred: true },
    (scene) =>
      Effect.gen(function* () {
        for (const [name, query] of [
          ["a", ""],
          ["b", "?fieldValidation=Warn"]
        ] as const) {
          const made = yield* post(scene, webapp(name, unknown), query)
          expect(made.status).toBe(201)
          expect(made.headers.get("warning")).toBe('299 - "unknown field \\"spec.foo\\""')
          expect(Json.at(made.body, "spec")).toEqual({ image: "a", replicas: 1 })
        }
        const ignored = yield* post(scene, webapp("c", unknown), "?fieldValidation=Ignore")
        expect(ignored.headers.get("warning")).toBeNull()
        expect(Json.at(ignored.body, "spec")).toEqual({ image: "a", replicas: 1 })
      })
  )

  conformance(29, "a repeated field is an unknown one's equal; other ways of validation are 422", {}, (scene) =>
    Effect.gen(function* () {
      const body = JSON.stringify(webapp("w")).replace(/\}$/, ',"spec":{"image":"a","image":"b"}}')
      const strict = yield* scene.request("POST", `${scene.webapps()}?fieldValidation=Strict`, { body })
      const message =
        'WebApp in version "v1" cannot be handled as a WebApp: strict decoding error: duplicate field "spec.image"'
      refused(strict, 400, "BadRequest", message)
      const warned = yield* scene.request("POST", scene.webapps(), { body })
      expect(warned.headers.get("warning")).toBe('299 - "duplicate field \\"spec.image\\""')
      expect(Json.at(warned.body, "spec", "image")).toBe("b")
      const bogus = yield* post(scene, webapp("v"), "?fieldValidation=Foo")
      invalid(bogus, options("CreateOptions"), [
        "FieldValueNotSupported",
        "fieldValidation",
        'Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"'
      ])
    })
  )
})
