/** What the decoding of lists costs that are longer than their schema allows. */
import { describe, expect, test } from "bun:test"
import { Result, Schema, SchemaParser } from "effect"
import * as CustomResource from "./CustomResource.ts"
import * as Issues from "./Issues.ts"
import * as KeepUnknown from "./KeepUnknown.ts"
import * as Text from "./Text.ts"

/** The members that were decoded. */
let decoded = 0
const Member = Schema.Number.check(
  Schema.makeFilter((value) => {
    decoded++
    return value >= 0 || "is negative"
  })
)
const long = Array.from({ length: 20_000 }, (_, at) => at % 10)
const many = Object.fromEntries(long.map((value, at) => [`k${at}`, value]))
const list = Schema.Array(Member).check(Schema.isMaxLength(50))

const kindOf = (spec: Schema.ConstraintCodec<unknown, unknown>) =>
  CustomResource.make({ group: "example.com", version: "v1", kind: "Box", spec })
const objectOf = (spec: unknown) => ({
  apiVersion: "example.com/v1",
  kind: "Box",
  metadata: { name: "a", namespace: "b", uid: "c", resourceVersion: "1", creationTimestamp: "2026-11-20T09:00:00Z" },
  spec
})

/** The messages of the whole value, without a short cut. */
const wholeOf = (spec: Schema.ConstraintCodec<unknown, unknown>, value: unknown): ReadonlyArray<string> => {
  const whole = SchemaParser.decodeUnknownResult(KeepUnknown.of(spec), Issues.detailed)(value)
  return Result.isSuccess(whole)
    ? []
    : Issues.issuesOf(whole.failure)
        .slice(0, 20)
        .map(({ message }) => Text.clip(message, 500))
}

describe("few members are decoded of", () => {
  const cases: ReadonlyArray<readonly [string, Schema.ConstraintCodec<unknown, unknown>, unknown]> = [
    ["a list that is too long", Schema.Struct({ a: list }), { a: long }],
    ["one with an invalid member", Schema.Struct({ a: list }), { a: [-1, ...long] }],
    ["an optional one", Schema.Struct({ a: Schema.optional(list) }), { a: long }],
    ["one beside an invalid field", Schema.Struct({ a: list, b: Schema.String }), { b: 1, a: long }],
    [
      "one with a least length",
      Schema.Struct({ a: Schema.Array(Member).check(Schema.isMinLength(1), Schema.isMaxLength(600)) }),
      { a: long }
    ],
    [
      "one with both lengths",
      Schema.Struct({ a: Schema.Array(Member).check(Schema.isBetweenLength(1, 50)) }),
      { a: long }
    ],
    ["one in a list", Schema.Struct({ a: Schema.Array(Schema.Struct({ b: list })) }), { a: [{ b: [1] }, { b: long }] }],
    [
      "a map with too many keys",
      Schema.Struct({ a: Schema.Record(Schema.String, Member).check(Schema.isMaxProperties(50)) }),
      { a: many }
    ]
  ]
  for (const [name, spec, value] of cases) {
    test(`${name}, with the same messages`, () => {
      const expected = wholeOf(spec, value)
      decoded = 0
      const result = kindOf(spec).decode(objectOf(value))
      const messages = Result.isFailure(result) ? result.failure.issues.map(({ message }) => message) : []
      expect<ReadonlyArray<string>>(messages).toEqual(expected)
      expect(expected).not.toBeEmpty()
      expect(decoded).toBeLessThan(700)
    })
  }
})

describe("a value that is not too long decodes as before:", () => {
  const same: ReadonlyArray<readonly [string, Schema.ConstraintCodec<unknown, unknown>, unknown]> = [
    ["a list of the most members", Schema.Struct({ a: list }), { a: long.slice(0, 50) }],
    ["a list without a bound", Schema.Struct({ a: Schema.Array(Member) }), { a: long }],
    ["a nested one", Schema.Struct({ a: Schema.Array(Schema.Struct({ b: list })) }), { a: [{ b: [1] }, { b: [] }] }],
    ["another type", Schema.Struct({ a: Schema.Unknown }), { a: 5 }]
  ]
  for (const [name, spec, value] of same) {
    test(name, () => {
      const result = kindOf(spec).decode(objectOf(value))
      expect(Result.isSuccess(result) && result.success.spec).toEqual(value)
    })
  }
})

test("the messages of an object stop at the 20th issue", () => {
  let written = 0
  const item = { toString: () => `item ${++written}` }
  const spec = Schema.Struct({ a: Schema.Array(Schema.String) })
  const result = kindOf(spec).decode(objectOf({ a: Array.from({ length: 20_000 }, () => item) }))
  expect(Result.isFailure(result) && result.failure.issues.length).toBe(20)
  expect(written).toBeWithin(1, 100)
})
