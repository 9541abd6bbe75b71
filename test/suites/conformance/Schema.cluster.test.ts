/** J. What a structural schema does to objects. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance, eventually } from "./Case.ts"
import * as Definitions from "./Definitions.ts"
import { type Cause, invalid, unchecked, webApp } from "./Refusal.ts"
import { type Scene, webapp } from "./Scene.ts"

/** Sends a WebApp with this spec, and gives the answer. */
const post = (scene: Scene, spec: Json.JsonObject, name = "w") =>
  scene.request("POST", scene.webapps(), { json: webapp(name, { spec }) })

/** Changes a definition, and waits until the change is in force: until the server answers `probe` with this status. */
const changed = (
  scene: Scene,
  things: Definitions.Things,
  spec: Json.JsonObject,
  probe: Json.JsonObject,
  status: number
) =>
  Effect.gen(function* () {
    const path = `${Definitions.path}/things.${things.group}`
    const schema = { openAPIV3Schema: { type: "object", properties: { spec } } }
    yield* scene.done("PATCH", path, {
      json: [{ op: "replace", path: "/spec/versions/0/schema", value: schema }],
      contentType: "application/json-patch+json"
    })
    yield* eventually(
      Effect.map(
        scene.request("POST", `${things.path()}?dryRun=All`, { json: things.thing("probe", { spec: probe }) }),
        (answer) => expect(answer.status).toBe(status)
      )
    )
  })

/** The message about two things that are wrong with a WebApp. */
const two = (named: ReadonlyArray<string>): string => `WebApp.example.com "w" is invalid: [${named.join(", ")}]`

describe.concurrent("J. What is kept and filled in", () => {
  conformance(107, "unknown fields are dropped, but where they are to be kept", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const kept = { a: { b: [1, { c: null }] } }
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", labels: { a: "b" } } }
      const made = yield* scene.create("w", {
        spec: {
          foo: 1,
          nested: { label: "x", foo: 2 },
          ports: [{ name: "a", foo: 3 }],
          anything: kept,
          embedded: { ...pod, spec: { size: 1, foo: 4 }, foo: 5 }
        },
        foo: 6
      })
      expect(made).not.toHaveProperty("foo")
      expect(made.spec).toEqual({
        replicas: 1,
        nested: { label: "x", size: 3 },
        ports: [{ name: "a", protocol: "TCP" }],
        anything: kept,
        embedded: { ...pod, spec: { size: 1 } }
      })
    })
  )

  conformance(108, "defaults are filled in where their parent is, and on reading too", { starred: true }, (scene) =>
    Effect.gen(function* () {
      expect((yield* scene.create("a", {})).spec).toBeUndefined()
      expect((yield* scene.create("b", { spec: {} })).spec).toEqual({ replicas: 1 })
      expect((yield* scene.create("c", { spec: { nested: {} } })).spec).toEqual({ replicas: 1, nested: { size: 3 } })
      expect((yield* scene.create("d", { spec: { replicas: null } })).spec).toEqual({ replicas: 1 })

      const object = (properties: Json.JsonObject) => ({ type: "object", properties })
      const things = yield* Definitions.install(scene, { spec: object({ a: { type: "integer" } }) })
      const made = yield* things.create("t", { spec: { a: 1 } })
      const later = object({ a: { type: "integer" }, late: { type: "string", default: "x" } })
      yield* changed(scene, things, later, {}, 201)
      yield* eventually(
        Effect.map(scene.done("GET", things.path("t")), (read) =>
          expect(read).toEqual({ ...made, spec: { a: 1, late: "x" } })
        )
      )
    })
  )

  conformance(113, "keys and sets are without duplicates; what may be null, or of two types, is", {}, (scene) =>
    Effect.gen(function* () {
      const ports = yield* post(scene, { ports: [{ name: "a" }, { name: "b" }, { name: "a" }] })
      const repeated: Cause = ["FieldValueDuplicate", "spec.ports[2]", 'Duplicate value: {"name":"a"}']
      invalid(ports, webApp("w"), repeated)
      const tags = yield* post(scene, { tags: ["a", "b", "a"] })
      invalid(tags, webApp("w"), ["FieldValueDuplicate", "spec.tags[2]", 'Duplicate value: "a"'])
      for (const [name, target] of [
        ["i", 80],
        ["s", "80%"]
      ] as const) {
        expect((yield* scene.create(name, { spec: { target } })).spec).toEqual({ replicas: 1, target })
      }
      const neither = yield* post(scene, { target: true })
      invalid(
        neither,
        webApp("w"),
        [
          "FieldValueTypeInvalid",
          "spec.target",
          'Invalid value: "boolean": spec.target in body must be of type integer,string: "boolean"'
        ],
        unchecked
      )
      const nulls = yield* scene.create("n", { spec: { nullable: null, image: null } })
      expect(nulls.spec).toEqual({ replicas: 1, nullable: null })
    })
  )
})

describe.concurrent("J. What is refused", () => {
  conformance(109, "each value that the schema does not allow is named", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const field = (name: string) => `spec.limited.${name}`
      const cases: ReadonlyArray<readonly [Json.JsonObject, Cause, ...ReadonlyArray<Cause>]> = [
        [{}, ["FieldValueRequired", field("mode"), "Required value"], unchecked],
        [
          { mode: "idle" },
          ["FieldValueNotSupported", field("mode"), 'Unsupported value: "idle": supported values: "fast", "slow"'],
          unchecked
        ],
        [
          { mode: "fast", size: 0 },
          [
            "FieldValueInvalid",
            field("size"),
            "Invalid value: 0: spec.limited.size in body should be greater than or equal to 1"
          ]
        ],
        [
          { mode: "fast", letters: "A" },
          [
            "FieldValueInvalid",
            field("letters"),
            "Invalid value: \"A\": spec.limited.letters in body should match '^[a-z]+$'"
          ]
        ],
        [
          { mode: "fast", code: "a" },
          [
            "FieldValueInvalid",
            field("code"),
            'Invalid value: "a": spec.limited.code in body should be at least 2 chars long'
          ]
        ],
        [
          { mode: "fast", code: "abcde" },
          ["FieldValueTooLong", field("code"), "Too long: may not be more than 4 bytes"],
          unchecked
        ],
        [
          { mode: "fast", few: [1, 2, 3] },
          ["FieldValueTooMany", field("few"), "Too many: 3: must have at most 2 items"],
          unchecked
        ],
        [
          { mode: "fast", size: "1" },
          [
            "FieldValueTypeInvalid",
            field("size"),
            'Invalid value: "string": spec.limited.size in body must be of type integer: "string"'
          ],
          unchecked
        ],
        [
          { mode: "fast", ratio: true },
          [
            "FieldValueTypeInvalid",
            field("ratio"),
            'Invalid value: "boolean": spec.limited.ratio in body must be of type number: "boolean"'
          ],
          unchecked
        ],
        [
          { mode: "fast", size: 1.5 },
          [
            "FieldValueTypeInvalid",
            field("size"),
            'Invalid value: "number": spec.limited.size in body must be of type integer: "number"'
          ],
          [
            "FieldValueInvalid",
            "<nil>",
            'Invalid value: "": Checked value must be of type integer (default format) in spec.limited.size'
          ],
          unchecked
        ]
      ]
      for (const [limited, ...causes] of cases) invalid(yield* post(scene, { limited }), webApp("w"), ...causes)
      const both = yield* post(scene, { limited: { mode: "fast", size: 0, letters: "A" } })
      const named = cases.flatMap(([, [, field, message]]) =>
        ["spec.limited.size", "spec.limited.letters"].includes(field) && message.includes("should")
          ? [`${field}: ${message}`]
          : []
      )
      // In no order that could be relied on.
      expect([two(named), two(named.toReversed())]).toContain(Json.text(Json.at(both.body, "message")) ?? "")
      const date = yield* post(scene, { startedAt: "today" })
      invalid(
        date,
        webApp("w"),
        [
          "FieldValueTypeInvalid",
          "spec.startedAt",
          'Invalid value: "today": spec.startedAt in body must be of type date-time: "today"'
        ],
        unchecked
      )
    })
  )

  conformance(110, "rules are checked, with their message, reason and field", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [Json.JsonObject, Cause]> = [
        [{ min: 2, max: 1 }, ["FieldValueInvalid", "spec.range", "Invalid value: min must not exceed max"]],
        [{ secret: "no" }, ["FieldValueForbidden", "spec.range.secret", "Forbidden: this secret is taken"]],
        [{ word: "xyz" }, ["FieldValueInvalid", "spec.range", "Invalid value: the word xyz begins with x"]]
      ]
      for (const [range, cause] of cases) invalid(yield* post(scene, { range }), webApp("w"), cause)
      const range = { min: 1, max: 1, fixed: "a" }
      const made = yield* scene.create("w", { spec: { range } })
      const put = yield* scene.request("PUT", scene.webapps("w"), {
        json: { ...made, spec: { range: { ...range, fixed: "b" } } }
      })
      invalid(put, webApp("w"), ["FieldValueInvalid", "spec.range", "Invalid value: fixed is fixed"])
      const same = yield* scene.request("PUT", scene.webapps("w"), {
        json: { ...made, spec: { range: { ...range, max: 2 } } }
      })
      expect(same.status).toBe(200)
    })
  )

  conformance(111, "rules are not checked while there are errors of other kinds", {}, (scene) =>
    Effect.gen(function* () {
      const answer = yield* post(scene, { range: { min: 2, max: 1 }, limited: {} })
      invalid(answer, webApp("w"), ["FieldValueRequired", "spec.limited.mode", "Required value"], unchecked)
    })
  )

  conformance(112, "a value that became wrong may stay, but not change to another wrong one", {}, (scene) =>
    Effect.gen(function* () {
      const spec = (code: Json.JsonObject) => ({
        type: "object",
        properties: { code: { type: "string", ...code }, other: { type: "string" } }
      })
      const things = yield* Definitions.install(scene, { spec: spec({}) })
      const made = yield* things.create("t", { spec: { code: "abcdef" } })
      yield* changed(scene, things, spec({ maxLength: 3 }), { code: "abcdef" }, 422)
      const other = yield* scene.done("PUT", things.path("t"), {
        json: { ...made, spec: { code: "abcdef", other: "x" } }
      })
      expect(other.spec).toEqual({ code: "abcdef", other: "x" })
      const worse = yield* scene.request("PUT", things.path("t"), {
        json: { ...other, spec: { code: "abcdefg", other: "x" } }
      })
      // The schema has no rules that could be left unchecked.
      const message = "Too long: may not be more than 3 bytes"
      const kind = { kind: "Thing", group: things.group, name: "t" }
      invalid(worse, kind, ["FieldValueTooLong", "spec.code", message])
    })
  )
})
