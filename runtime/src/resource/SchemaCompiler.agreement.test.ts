import { describe, expect, test } from "bun:test"
import { Either, Schema } from "effect"
import * as Condition from "./Condition.ts"
import * as Field from "./Field.ts"
import { compile } from "./SchemaCompiler.ts"
import type { Json, StructuralSchema } from "./StructuralSchema.ts"

const where = { kind: "WebApp", field: "spec" }

class Point extends Schema.Class<Point>("Point")({
  x: Schema.Int,
  y: Schema.optionalWith(Schema.Int, { default: () => 7 })
}) {}

const Port = Schema.Struct({
  port: Schema.Int,
  protocol: Schema.optionalWith(Schema.Literal("TCP", "UDP"), { default: () => "TCP" as const })
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
  const schemas: ReadonlyArray<Schema.Schema.AnyNoContext> = [
    Schema.Int,
    Schema.Int.pipe(Schema.between(1, 50)),
    Schema.Int.pipe(Schema.positive(), Schema.lessThan(50), Schema.multipleOf(2), Schema.multipleOf(3)),
    Schema.Number.pipe(Schema.greaterThan(0), Schema.lessThanOrEqualTo(1)),
    Schema.NullOr(Schema.Int.pipe(Schema.lessThan(3))),
    Schema.Boolean,
    Schema.Literal(true),
    Schema.Literal(1, 2),
    Schema.Literal("a", "b"),
    Schema.String,
    Schema.NonEmptyString.pipe(Schema.maxLength(3)),
    Schema.String.pipe(Schema.pattern(/^a/i), Schema.pattern(/b$/)),
    Schema.String.pipe(Schema.startsWith("+")),
    Schema.String.pipe(Schema.endsWith("b")),
    Schema.String.pipe(Schema.includes("/")),
    Schema.TemplateLiteral("v", Schema.Number),
    Field.IntOrString,
    Field.Quantity,
    Field.Time,
    Schema.Union(Schema.Int.pipe(Schema.between(1, 5)), Schema.String.pipe(Schema.pattern(/^\d+%$/))),
    Schema.Array(Schema.String).pipe(Schema.minItems(1), Schema.maxItems(2)),
    Schema.NonEmptyArray(Schema.Literal("a", "b")),
    Schema.Array(Port),
    Schema.Record({ key: Schema.String, value: Schema.NullOr(Schema.Int) }),
    Port,
    Point,
    Schema.NullOr(Schema.Struct({ a: Schema.optionalWith(Schema.Int, { nullable: true, default: () => 1 }) }))
  ]
  for (const schema of schemas) {
    test(`${schema}`, () => {
      const structural = compile(schema, where)
      const decode = Schema.decodeUnknownEither(schema)
      const server = samples.filter((sample) => accepts(structural, sample))
      const effect = samples.filter((sample) => Either.isRight(decode(sample)))
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
      expect([sample, Either.isRight(Schema.decodeUnknownEither(Condition.schema)(sample))]).toEqual([sample, verdict])
    }
  })
})
