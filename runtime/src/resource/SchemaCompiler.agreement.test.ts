import { describe, expect, test } from "bun:test"
import { Effect, Option, Result, Schema, SchemaGetter } from "effect"
import * as Condition from "./Condition.ts"
import * as Field from "./Field.ts"
import { compile } from "./SchemaCompiler.ts"
import type { Json, StructuralSchema } from "./StructuralSchema.ts"

const where = { kind: "WebApp", field: "spec" }

class Point extends Schema.Class<Point>("Point")({
  x: Schema.Int,
  y: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(7)))
}) {}

/** A property that is 1 if it is absent or null. */
const NumberOrNull = Schema.optional(Schema.NullOr(Schema.Int)).pipe(
  Schema.decodeTo(Schema.Int, {
    decode: SchemaGetter.transformOptional((value) => Option.some(Option.getOrNull(value) ?? 1)),
    encode: SchemaGetter.passthrough()
  })
)

const Port = Schema.Struct({
  port: Schema.Int,
  protocol: Schema.Literals(["TCP", "UDP"]).pipe(Schema.withDecodingDefaultType(Effect.succeed("TCP" as const)))
})
/** True if the API server would accept a value. Uses the part of the validation that the compiler supports. */
const accepts = (schema: StructuralSchema, value: Json | undefined): boolean => {
  if (value === undefined) return schema.default !== undefined
  if (value === null) return schema.nullable === true
  const isInteger = typeof value === "number" && Number.isInteger(value)
  const typed = schema["x-kubernetes-int-or-string"]
    ? isInteger || typeof value === "string"
    : schema.type === "integer"
      ? isInteger
      : schema.type === "array"
        ? Array.isArray(value)
        : schema.type === undefined || (typeof value === schema.type && !Array.isArray(value))
  if (!typed) return false
  if (schema.enum !== undefined && !schema.enum.includes(value)) return false
  if (schema.allOf?.some((part) => !accepts(part, value))) return false
  if (typeof value === "number") {
    const { minimum = -Infinity, maximum = Infinity, multipleOf = 0 } = schema
    if (schema.exclusiveMinimum ? value <= minimum : value < minimum) return false
    if (schema.exclusiveMaximum ? value >= maximum : value > maximum) return false
    return multipleOf === 0 || value % multipleOf === 0
  }
  if (typeof value === "string") {
    const { minLength = 0, maxLength = Infinity, pattern = "" } = schema
    const [, flags = "", source = ""] = /^(?:\(\?([ims]+)\))?(.*)$/s.exec(pattern) ?? []
    return value.length >= minLength && value.length <= maxLength && new RegExp(source, flags).test(value)
  }
  if (Array.isArray(value)) {
    const { items, minItems = 0, maxItems = Infinity } = schema
    return value.length >= minItems && value.length <= maxItems && value.every((item) => accepts(items ?? {}, item))
  }
  if (typeof value === "object") {
    const entries = new Map<string, Json>(Object.entries(value))
    return (
      (schema.required ?? []).every((name) => entries.has(name)) &&
      Object.entries(schema.properties ?? {}).every(
        ([name, of]) => !entries.has(name) || accepts(of, entries.get(name))
      ) &&
      [...entries].every(
        ([name, of]) =>
          schema.additionalProperties === undefined ||
          name in (schema.properties ?? {}) ||
          accepts(schema.additionalProperties, of)
      )
    )
  }
  return true
}

describe("The API server and the decoder accept the same values of", () => {
  const samples: ReadonlyArray<Json> = [
    ...[-1, 0, 0.5, 1, 2, 3, 4, 5, 6, 49, 50, 51, 2 ** 31, null, true, false],
    ...["", "a", "A", "b", "ab", "abc", "abcd", "a/b", "a\nb", "+", "25%", "500m", "1Gi", "1.5", "x", "é", "v1"],
    ...["2026-11-20T09:00:00Z", "2026-11-20", "2026-11-20T09:00:00.5+01:00", "2026-11-20T09:00:00,5Z"],
    ...[
      [],
      ["a"],
      ["a", "b"],
      ["a", "b", "c"],
      [1],
      [[]],
      [{ port: 1 }],
      { x: 1 },
      { x: 1, y: 2.5 },
      {},
      { a: 1 },
      { a: "x" },
      { a: null }
    ],
    ...[
      { port: 1 },
      { port: 1.5 },
      { port: 1, protocol: "UDP" },
      { port: 1, protocol: "SCTP" },
      { port: 1, more: true }
    ]
  ]
  const schemas: ReadonlyArray<Schema.Codec<unknown, unknown>> = [
    Schema.Int,
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 })),
    Schema.Int.check(Schema.isGreaterThan(0), Schema.isLessThan(50), Schema.isMultipleOf(2), Schema.isMultipleOf(3)),
    Schema.Number.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1)),
    Schema.NullOr(Schema.Int.check(Schema.isLessThan(3))),
    Schema.Boolean,
    Schema.Literal(true),
    Schema.Literals([1, 2]),
    Schema.Literals(["a", "b"]),
    Schema.String,
    Schema.NonEmptyString.check(Schema.isMaxLength(3)),
    Schema.String.check(Schema.isPattern(/^a/i), Schema.isPattern(/b$/)),
    Schema.String.check(Schema.isStartingWith("+")),
    Schema.String.check(Schema.isEndingWith("b")),
    Schema.String.check(Schema.isIncluding("/")),
    Schema.TemplateLiteral(["v", Schema.Number]),
    Field.IntOrString,
    Field.Quantity,
    Field.Time,
    Schema.Union([
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
      Schema.String.check(Schema.isPattern(/^\d+%$/))
    ]),
    Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(2)),
    Schema.NonEmptyArray(Schema.Literals(["a", "b"])),
    Schema.Array(Port),
    Schema.Record(Schema.String, Schema.NullOr(Schema.Int)),
    Port,
    Point,
    Schema.NullOr(Schema.Struct({ a: NumberOrNull }))
  ]
  for (const schema of schemas) {
    test(`${schema}`, () => {
      const structural = compile(schema, where)
      const decode = Schema.decodeUnknownResult(schema)
      const server = samples.filter((sample) => accepts(structural, sample))
      const effect = samples.filter((sample) => Result.isSuccess(decode(sample)))
      // A struct also decodes from an array, but the server rejects arrays.
      expect(server).toEqual(effect.filter((sample) => structural.type !== "object" || !Array.isArray(sample)))
      expect(server).not.toBeEmpty()
    })
  }

  test("Condition", () => {
    const condition = {
      type: "Ready",
      status: "True",
      lastTransitionTime: "2026-11-20T09:00:00Z",
      reason: "Ok",
      message: ""
    }
    const structural = compile(Condition.schema, where)
    const verdicts: ReadonlyArray<readonly [object, boolean]> = [
      [{}, true],
      [{ type: "example.com/Ready" }, true],
      [{ type: "not ready" }, false],
      [{ status: "Maybe" }, false],
      [{ reason: "" }, false],
      [{ reason: "two words" }, false],
      [{ observedGeneration: -1 }, false],
      [{ message: "x".repeat(32_769) }, false]
    ]
    for (const [change, verdict] of verdicts) {
      const sample = { ...condition, ...change }
      expect([sample, accepts(structural, sample)]).toEqual([sample, verdict])
      expect([sample, Result.isSuccess(Schema.decodeUnknownResult(Condition.schema)(sample))]).toEqual([
        sample,
        verdict
      ])
    }
  })
})
