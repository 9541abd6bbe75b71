import { expect, test } from "bun:test"
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import * as ObjectIndex from "../../model/ObjectIndex.ts"
import * as Rules from "../cel/Rules.ts"
import * as CustomStrategy from "./CustomStrategy.ts"
import { schemaOf } from "./StructuralSchema.ts"

const schema = schemaOf({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { n: { type: "integer" } },
      "x-kubernetes-validations": [{ rule: "self.n < 5" }]
    },
    status: { type: "object", properties: { phase: { type: "string" } } }
  }
})

const declared = (status: boolean): CustomStrategy.Declared => ({
  apiVersion: "g.x/v1",
  kind: "K",
  schema,
  rules: Rules.compile(schema),
  status,
  scale: { specReplicas: ["spec", "n"], statusReplicas: ["status", "n"], selector: undefined }
})

const object = (spec: Json.JsonObject, more: Json.JsonObject = {}): Json.JsonObject => ({
  apiVersion: "g.x/v1",
  kind: "K",
  metadata: { name: "a", generation: 3, labels: { old: "1" } },
  spec,
  status: { phase: "Old" },
  ...more
})

const warnings: Array<string> = []
const writing: Writing = {
  now: 0,
  user: { name: "test", groups: [] },
  stored: () => [],
  values: (_, valuesOf) => ObjectIndex.make(valuesOf, []),
  warn: (text) => {
    warnings.push(text)
  }
}

const updated = (status: boolean, sub: boolean, next: Json.JsonObject): Json.DraftObject => {
  const draft = Json.copy(next)
  const strategy = sub ? CustomStrategy.status(declared(status)) : CustomStrategy.main(declared(status))
  strategy.prepareForUpdate(draft, object({ n: 1 }), writing)
  return draft
}

const generation = (of: Json.JsonObject) => Json.at(of, "metadata", "generation")

test("a new object with the status subresource has no status, and has generation 1", () => {
  const draft = Json.copy(object({ n: 1 }))
  CustomStrategy.main(declared(true)).prepareForCreate(draft, writing)
  expect([draft.status, generation(draft)]).toEqual([undefined, 1])
})

test("the main resource keeps the status, and counts only changes of the spec", () => {
  const changed = updated(true, false, object({ n: 1 }, { status: { phase: "New" } }))
  expect([changed.status, generation(changed)]).toEqual([{ phase: "Old" }, 3])
  expect(generation(updated(true, false, object({ n: 2 })))).toBe(4)
})

test("without the subresource, the status is a field like any other", () => {
  const changed = updated(false, false, object({ n: 1 }, { status: { phase: "New" } }))
  expect([changed.status, generation(changed)]).toEqual([{ phase: "New" }, 4])
})

test("a write to /status changes only the status and its managers", () => {
  const managedFields = [{ manager: "m" }]
  const metadata = { name: "a", labels: { new: "1" }, managedFields }
  const changed = updated(true, true, object({ n: 9 }, { metadata, status: { phase: "New" } }))
  expect<Json.JsonObject>(changed).toEqual(
    object(
      { n: 1 },
      { metadata: { name: "a", generation: 3, labels: { old: "1" }, managedFields }, status: { phase: "New" } }
    )
  )
})

const errorsOf = (next: Json.JsonObject) =>
  CustomStrategy.main(declared(true))
    .validate(next, writing)
    .map(({ field, message }) => `${field}: ${message}`)

test.each([
  ["rules are asked", { spec: { n: 7 } }, ["spec: Invalid value: failed rule: self.n < 5"]],
  [
    "rules are not asked where they could be wrong",
    { spec: { n: "7" } },
    [
      'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"',
      ".spec.n: Invalid value: 0: .spec.n accessor error: 7 is of the type string, expected int64",
      "undefined: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
    ]
  ],
  ["the kind is the one of the path", { kind: "Other" }, ['kind: Invalid value: "Other": must be K']],
  [
    "below null there are no replicas to be read",
    { spec: null },
    [
      'spec: Invalid value: "null": spec in body must be of type object: "null"',
      "undefined: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
    ]
  ],
  [
    "replicas are no fewer than none",
    { spec: { n: -1 } },
    [".spec.n: Invalid value: -1: should be a non-negative integer"]
  ]
])("%s", (_, more, errors) => {
  expect(errorsOf(object({ n: 1 }, more))).toEqual(errors)
})

test("a finalizer without a domain gets a warning", () => {
  warnings.length = 0
  expect(errorsOf(object({ n: 1 }, { metadata: { name: "a", finalizers: ["mine", "a.b/c", "orphan"] } }))).toEqual([])
  expect(warnings).toEqual([
    'metadata.finalizers: "mine": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers'
  ])
})

test("a rule that the unchanged part already breaks only causes a warning", () => {
  warnings.length = 0
  const old = object({ n: 7 })
  const errors = CustomStrategy.main(declared(true)).validateUpdate(object({ n: 7 }, { status: {} }), old, writing)
  expect([errors, warnings]).toEqual([[], ["spec: Invalid value: failed rule: self.n < 5"]])
})

test("a null status is accepted if the object has no status, and rejected if it has one", () => {
  const of = (status: Json.Json | undefined) => {
    const { status: _, ...rest } = object({ n: 1 })
    return status === undefined ? rest : { ...rest, status }
  }
  const errorsOf = (next: Json.Json, old: Json.Json | undefined) =>
    CustomStrategy.status(declared(true))
      .validateUpdate(of(next), of(old), writing)
      .map(({ field, reason }) => [field, reason])
  expect(errorsOf(null, undefined)).toEqual([])
  expect(errorsOf(null, { phase: "Old" })[0]).toEqual(["status", "FieldValueTypeInvalid"])
  expect(errorsOf("none", undefined)[0]).toEqual(["status", "FieldValueTypeInvalid"])
})
