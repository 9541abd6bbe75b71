import { describe, expect, test } from "bun:test"
import { Result, Schema, SchemaParser } from "effect"
import * as Field from "./Field.ts"
import * as Issues from "./Issues.ts"

const messagesOf = (schema: Schema.Codec<unknown, unknown>, value: unknown): ReadonlyArray<string> => {
  const decoded = SchemaParser.decodeUnknownResult(schema, Issues.detailed)(value)
  return Result.isSuccess(decoded)
    ? []
    : Issues.issuesOf(decoded.failure).map(({ path, message }) => [...path, message].map(String).join(" "))
}

const { Int, Struct, String: Text } = Schema

describe("An issue reports", () => {
  const cases: ReadonlyArray<readonly [string, Schema.Codec<unknown, unknown>, unknown, ReadonlyArray<string>]> = [
    ["which type is expected", Text, 1, ["Expected string, actual 1"]],
    ["that a field is missing", Struct({ a: Int }), {}, ["a is missing"]],
    [
      "all invalid fields",
      Struct({ a: Int, b: Text }),
      { a: 1.5 },
      ["a Expected an integer, actual 1.5", "b is missing"]
    ],
    [
      "the place in a list",
      Schema.Array(Struct({ a: Int })),
      [{ a: 1 }, { a: "x" }],
      ['1 a Expected number, actual "x"']
    ],
    ["that a struct is expected", Struct({ a: Int }), "x", ['Expected object, actual "x"']],
    ["that a list is expected", Schema.Array(Int), { a: 1 }, ['Expected array, actual {"a":1}']],
    ["each literal", Schema.Literals(["a", "b"]), "c", ['Expected "a", actual "c"', 'Expected "b", actual "c"']],
    ["nothing about undefined", Schema.UndefinedOr(Int), "x", ['Expected number, actual "x"']],
    ["nothing about null", Schema.NullOr(Int), 1.5, ["Expected an integer, actual 1.5"]],
    ["what an IntOrString is", Field.IntOrString, true, ["Expected a whole number or a string, actual true"]],
    ["what a Quantity is", Field.Quantity, "much", ['Expected a quantity such as 500m or 1Gi, actual "much"']],
    ["what a Time is", Field.Time, 5, ["Expected an RFC 3339 time such as 2026-11-20T09:00:00Z, actual 5"]],
    ["the words of an own filter", Text.check(Schema.makeFilter((text) => text === "x" || "not x")), "y", ["not x"]],
    [
      "what an own filter expects",
      Text.check(Schema.makeFilter((text) => text === "x", { expected: "an x" })),
      "y",
      ['Expected an x, actual "y"']
    ]
  ]
  for (const [name, schema, value, expected] of cases)
    test(name, () => expect(messagesOf(schema, value)).toEqual(expected))
})

describe("A failed check names the type of the value:", () => {
  const cases: ReadonlyArray<readonly [Schema.Codec<unknown, unknown>, unknown, string]> = [
    [Text.check(Schema.isMinLength(4)), "abc", "a string at least 4 character(s) long"],
    [Text.check(Schema.isMaxLength(2)), "abc", "a string at most 2 character(s) long"],
    [
      Text.check(Schema.isBetweenLength(4, 6)),
      "abc",
      "a string at least 4 character(s) and at most 6 character(s) long"
    ],
    [Text.check(Schema.isBetweenLength(1, 1)), "abc", "a single character"],
    [Text.check(Schema.isBetweenLength(5, 5)), "abc", "a string 5 character(s) long"],
    [Text.check(Schema.isPattern(/^x/)), "abc", "a string matching the pattern ^x"],
    [Text.check(Schema.isStartingWith("x")), "abc", 'a string starting with "x"'],
    [Schema.Array(Text).check(Schema.isMinLength(4)), ["a", "b"], "an array of at least 4 item(s)"],
    [Schema.Array(Text).check(Schema.isMaxLength(1)), ["a", "b"], "an array of at most 1 item(s)"],
    [Schema.Array(Text).check(Schema.isBetweenLength(5, 5)), ["a", "b"], "an array of exactly 5 item(s)"],
    [Schema.Number.check(Schema.isGreaterThan(9)), 7, "a number greater than 9"],
    [Schema.Number.check(Schema.isGreaterThanOrEqualTo(8)), 7, "a number greater than or equal to 8"],
    [Schema.Number.check(Schema.isLessThan(2)), 7, "a number less than 2"],
    [Schema.Number.check(Schema.isLessThanOrEqualTo(2)), 7, "a number less than or equal to 2"],
    [Schema.Number.check(Schema.isBetween({ minimum: 8, maximum: 9 })), 7, "a number between 8 and 9"],
    [Schema.Number.check(Schema.isMultipleOf(2)), 7, "a number divisible by 2"],
    [Schema.Number.check(Schema.isLessThan(0)), 7, "a negative number"],
    [Schema.Number.check(Schema.isLessThanOrEqualTo(0)), 7, "a non-positive number"],
    [Schema.Number.check(Schema.isGreaterThan(0)), -7, "a positive number"],
    [Schema.Number.check(Schema.isGreaterThanOrEqualTo(0)), -7, "a non-negative number"]
  ]
  for (const [schema, value, expected] of cases) {
    test(expected, () =>
      expect(messagesOf(schema, value)).toEqual([`Expected ${expected}, actual ${JSON.stringify(value)}`])
    )
  }

  test("only the first failed check of a value counts", () => {
    const schema = Text.check(Schema.isMinLength(4), Schema.isPattern(/^x/))
    expect(messagesOf(schema, "abc")).toEqual(['Expected a string at least 4 character(s) long, actual "abc"'])
  })
})
