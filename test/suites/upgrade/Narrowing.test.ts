/**
 * Compares the narrowing check of schemas with the pruning, defaults and validation of the embedded API server. If the check finds no
 * narrowing, an object that was stored under one schema is valid under the other, and keeps all its fields.
 */
import { expect, test } from "bun:test"
import * as Defaults from "@homeostat/apiserver/kinds/crd/Defaults"
import * as Prune from "@homeostat/apiserver/kinds/crd/Pruning"
import { schemaOf } from "@homeostat/apiserver/kinds/crd/StructuralSchema"
import * as Validation from "@homeostat/apiserver/kinds/crd/Validation"
import * as FieldError from "@homeostat/apiserver/model/FieldError"
import type * as Json from "@homeostat/apiserver/model/Json"
import * as SchemaNarrowing from "@homeostat/runtime/resource/SchemaNarrowing"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"

/** A schema, its successor, and a value that the first schema may accept. */
interface Case {
  readonly from: Json.JsonObject
  readonly to: Json.JsonObject
  readonly value: Json.Json | undefined
}

/** Usually the former value, because almost every other schema narrows. */
const kept = <A>(before: A, other: FastCheck.Arbitrary<A>): FastCheck.Arbitrary<A> =>
  FastCheck.oneof({ weight: 4, arbitrary: FastCheck.constant(before) }, { weight: 1, arbitrary: other })

/** A random subset of these keywords of a schema. */
const facets = (words: Record<string, FastCheck.Arbitrary<Json.Json>>): FastCheck.Arbitrary<Json.JsonObject> =>
  FastCheck.record(words, { requiredKeys: [] })

const ofType = (
  type: string,
  words: Record<string, FastCheck.Arbitrary<Json.Json>>,
  values: ReadonlyArray<Json.Json>
): FastCheck.Arbitrary<Case> =>
  facets({ ...words, nullable: FastCheck.boolean() })
    .chain((from) =>
      FastCheck.tuple(FastCheck.constant(from), kept(from, facets(words)), FastCheck.constantFrom(...values, null))
    )
    .map(([from, to, value]) => ({ from: usual({ type, ...from }), to: usual({ type, ...to }), value }))

/** Removes a default that the schema itself rejects, because the API server would reject such a schema. */
const usual = (schema: Json.JsonObject): Json.JsonObject => {
  const { default: filled, ...rest } = schema
  return filled === undefined || Validation.validate(schemaOf(rest), filled).length > 0 ? rest : schema
}

const small = FastCheck.integer({ min: 0, max: 4 })

const texts = ["", "a", "ab", "abc", "abcd"]

const text = ofType(
  "string",
  {
    minLength: small,
    maxLength: small,
    pattern: FastCheck.constantFrom("^a", "b", "^$"),
    enum: FastCheck.subarray(texts, { minLength: 1 }),
    default: FastCheck.constantFrom(...texts)
  },
  texts
)

const number = FastCheck.constantFrom("integer", "number").chain((type) =>
  ofType(
    type,
    {
      minimum: small,
      exclusiveMinimum: FastCheck.boolean(),
      maximum: small,
      exclusiveMaximum: FastCheck.boolean(),
      multipleOf: FastCheck.constantFrom(0.5, 1, 2, 4),
      format: FastCheck.constantFrom("int32", "int64"),
      default: small
    },
    type === "integer" ? [0, 1, 2, 3, 4] : [0, 1, 2, 2.5, 4]
  ).map((one) =>
    // Removes an exclusive flag without its bound.
    ({ ...one, from: bounded(one.from), to: bounded(one.to) })
  )
)

const bounded = ({ exclusiveMaximum, exclusiveMinimum, ...schema }: Json.JsonObject): Json.JsonObject => ({
  ...schema,
  ...(schema.minimum === undefined ? {} : { exclusiveMinimum: exclusiveMinimum ?? false }),
  ...(schema.maximum === undefined ? {} : { exclusiveMaximum: exclusiveMaximum ?? false })
})

const either: FastCheck.Arbitrary<Case> = FastCheck.constantFrom<Json.Json>(1, "a", "10%").map((value) => ({
  from: { "x-kubernetes-int-or-string": true },
  to: { "x-kubernetes-int-or-string": true },
  value
}))

const unknown = { "x-kubernetes-preserve-unknown-fields": true }

/** The schemas of two values, sometimes crossed, so that the type changes or one schema is missing. */
const crossed = (cases: FastCheck.Arbitrary<Case>): FastCheck.Arbitrary<Case> =>
  FastCheck.tuple(cases, cases, FastCheck.integer({ min: 0, max: 11 })).map(([one, other, dice]) =>
    dice === 0 ? { ...one, to: other.to } : one
  )

const node = (depth: number): FastCheck.Arbitrary<Case> =>
  depth === 0
    ? crossed(FastCheck.oneof(text, number, either))
    : crossed(FastCheck.oneof(text, struct(depth - 1), struct(depth - 1), map(depth - 1), list(depth - 1)))

const names = ["a", "b", "c"]

/** A random rule for the whole object; usually no rule. */
const demand = FastCheck.oneof(
  { weight: 3, arbitrary: FastCheck.constant<Json.JsonObject>({}) },
  {
    weight: 1,
    arbitrary: FastCheck.constantFrom<Json.JsonObject>(
      { maxProperties: 2 },
      { not: { required: ["a", "b"] } },
      { oneOf: [{ required: ["a"] }, { required: ["c"] }] },
      { anyOf: [{ not: { required: ["a"] } }, { properties: { a: { enum: ["a", 1] } } }] }
    )
  }
)

const struct = (depth: number): FastCheck.Arbitrary<Case> =>
  FastCheck.tuple(
    FastCheck.array(FastCheck.tuple(node(depth), FastCheck.integer({ min: 0, max: 15 })), {
      minLength: 3,
      maxLength: 3
    }),
    FastCheck.subarray(names),
    FastCheck.subarray(names),
    FastCheck.tuple(FastCheck.boolean(), FastCheck.integer({ min: 0, max: 9 })),
    FastCheck.subarray([...names, "d"]),
    demand
  ).map(([members, required, other, [isOpen, dice], present, demands]) => {
    const half = (part: "from" | "to", needed: ReadonlyArray<string>, keeps: boolean): Json.JsonObject => ({
      type: "object",
      properties: Object.fromEntries(
        members.flatMap(([member, lacks], index) =>
          lacks === (part === "from" ? 0 : 1) ? [] : [[names[index] ?? "", member[part]] as const]
        )
      ),
      ...(needed.length === 0 ? {} : { required: needed }),
      ...demands,
      ...(keeps ? unknown : {})
    })
    const value = Object.fromEntries(
      [...members.map(([{ value }]) => value), 1].flatMap((value, index) => {
        const name = [...names, "d"][index] ?? ""
        return value === undefined || !present.includes(name) ? [] : [[name, value] as const]
      })
    )
    const [opens, closes] = [isOpen && dice < 5, isOpen && dice < 4]
    return { from: half("from", required, opens), to: half("to", dice % 4 === 1 ? other : required, closes), value }
  })

/** Maps with values of any type, in all combinations of the keywords. */
const loose: ReadonlyArray<Json.JsonObject> = [
  unknown,
  { additionalProperties: true },
  { additionalProperties: true, ...unknown }
]

const map = (depth: number): FastCheck.Arbitrary<Case> =>
  FastCheck.tuple(node(depth), FastCheck.subarray(names), FastCheck.integer({ min: 0, max: 9 })).map(
    ([{ from, to, value }, present, dice]) => ({
      from: { type: "object", ...(loose.at(dice - 10) ?? { additionalProperties: from }) },
      to: {
        type: "object",
        ...(dice === 0
          ? { properties: { a: to } }
          : (loose[dice - 1] ?? { additionalProperties: to, ...(dice % 2 === 0 ? unknown : {}) }))
      },
      value: Object.fromEntries(present.flatMap((name) => (value === undefined ? [] : [[name, value] as const])))
    })
  )

const list = (depth: number): FastCheck.Arbitrary<Case> => {
  const words = facets({ minItems: small, maxItems: small })
  return FastCheck.tuple(
    node(depth),
    words.chain((from) => FastCheck.tuple(FastCheck.constant(from), kept(from, words))),
    FastCheck.integer({ min: 0, max: 3 })
  ).map(([{ from, to, value }, [before, after], length]) => ({
    from: { type: "array", items: from, ...before },
    to: { type: "array", items: to, ...after },
    value: value === undefined ? [] : Array.from({ length }, () => value)
  }))
}

const ofSpec = (spec: Json.JsonObject): Json.JsonObject => ({ type: "object", properties: { spec } })

/** The stored object as the API server decodes it, and the validation errors. */
const taken = (json: Json.JsonObject, object: Json.JsonObject) => {
  const schema = schemaOf(ofSpec(json))
  const { unknown, value } = Prune.prune(schema, object)
  Defaults.fill(value, schema)
  return { value, problems: [...unknown, ...Validation.validate(schema, value).map(FieldError.sentence)] }
}

test("an object of a schema is accepted and kept completely by a later schema that does not narrow it", () => {
  const seen = { stored: 0, taken: 0, refused: 0 }
  const property = FastCheck.property(node(2), ({ from, to, value }) => {
    const object = {
      apiVersion: "g/v1",
      kind: "K",
      metadata: { name: "k" },
      ...(value === undefined ? {} : { spec: value })
    }
    const stored = taken(from, object)
    if (Validation.validate(schemaOf(ofSpec(from)), stored.value).length > 0) return
    seen.stored++
    const findings = SchemaNarrowing.between(ofSpec(from), ofSpec(to))
    // The object as the server decodes it, and as a client stored it before the defaults existed.
    const before = Prune.prune(schemaOf(ofSpec(from)), object).value
    const problems = [stored.value, before].flatMap((each) => taken(to, each).problems)
    if (problems.length > 0) seen.refused++
    if (findings.length > 0) return
    seen.taken++
    expect(problems).toEqual([])
  })
  FastCheck.assert(property, { numRuns: 2000, seed: Seed.current() })
  // Both results must occur, or the test proves nothing.
  expect(Object.values(seen).every((count) => count > 50)).toBe(true)
})
