import { expect, test } from "bun:test"
import * as FieldError from "../../model/FieldError.ts"
import type { Json, JsonObject } from "../../model/Json.ts"
import { Correlation } from "./Correlation.ts"
import { schemaOf } from "./StructuralSchema.ts"
import * as Validation from "./Validation.ts"

const spec = (x: JsonObject) =>
  schemaOf({ type: "object", properties: { spec: { type: "object", properties: { x } } } })

// test/suites/crd compares all messages with those of a real server.
const cases: ReadonlyArray<readonly [schema: JsonObject, value: Json, error: string | undefined]> = [
  [{ type: "integer" }, "1", 'spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"'],
  [{ type: "number" }, 1, undefined],
  [{ type: "string" }, null, 'spec.x: Invalid value: "null": spec.x in body must be of type string: "null"'],
  [{ type: "string", nullable: true }, null, undefined],
  [{ type: "string", enum: ["a", "b"] }, "c", 'spec.x: Unsupported value: "c": supported values: "a", "b"'],
  [{ type: "string", maxLength: 2 }, "👍👍", undefined],
  [{ type: "string", maxLength: 2 }, "abc", "spec.x: Too long: may not be more than 2 bytes"],
  [
    { type: "array", maxItems: 1, items: { type: "string" } },
    ["a", "b"],
    "spec.x: Too many: 2: must have at most 1 items"
  ],
  [{ type: "object", required: ["y"] }, {}, "spec.x.y: Required value"],
  [{ type: "string", format: "date" }, "x", 'spec.x: Invalid value: "x": spec.x in body must be of type date: "x"'],
  [{ type: "string", format: "telephone" }, "x", undefined],
  [{ "x-kubernetes-int-or-string": true }, 1, undefined],
  [
    { "x-kubernetes-int-or-string": true },
    true,
    'spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"'
  ],
  [
    { type: "string", not: { enum: ["no"] } },
    "no",
    '<nil>: Invalid value: "": "spec.x" must not validate the schema (not)'
  ]
]

test.each(cases)("%j of %j", (schema, value, error) => {
  const errors = Validation.validate(spec(schema), { spec: { x: value } })
  expect(errors.map(FieldError.sentence)).toEqual(error === undefined ? [] : [error])
})

test("a number that is not an integer gets the errors of a wrong type and of the range", () => {
  const errors = Validation.validate(spec({ type: "integer" }), { spec: { x: 1.5 } })
  expect(errors.map(FieldError.sentence)).toEqual([
    'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"',
    '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x'
  ])
})

test("the errors of the alternative that fits best are reported", () => {
  const schema = spec({ type: "string", anyOf: [{ minLength: 5, pattern: "^a" }, { maxLength: 1 }] })
  expect(Validation.validate(schema, { spec: { x: "bc" } }).map(FieldError.sentence)).toEqual([
    '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
    'spec.x: Invalid value: "bc": spec.x in body should be at least 5 chars long'
  ])
})

test("the alternative that fits best passes most checks", () => {
  const schema = spec({
    type: "object",
    properties: { a: { type: "string" }, b: { type: "string" } },
    anyOf: [{ properties: { a: { minLength: 3 } } }, { properties: { a: { minLength: 4 }, b: { minLength: 1 } } }]
  })
  const [, error] = Validation.validate(schema, { spec: { x: { a: "1", b: "2" } } })
  expect(error?.message).toBe('Invalid value: "1": spec.x.a in body should be at least 4 chars long')
})

test("an unchanged invalid value is accepted", () => {
  const schema = spec({ type: "object", additionalProperties: { type: "string", maxLength: 1 } })
  const old = { spec: { x: { a: "long", b: "b" } } }
  const errorsOf = (value: JsonObject) =>
    Validation.validate(schema, value, { before: new Correlation(value, old, schema) }).map(({ field }) => field)
  expect(errorsOf({ spec: { x: { a: "long", b: "c" } } })).toEqual([])
  expect(errorsOf({ spec: { x: { a: "longer", b: "b" } } })).toEqual(["spec.x.a"])
  expect(errorsOf({ spec: { x: { a: "long", c: "long" } } })).toEqual(["spec.x.c"])
})
