import { describe, expect, test } from "bun:test"
import { Effect, Option, Schema, SchemaGetter } from "effect"
import * as Field from "./Field.ts"
import { compile } from "./SchemaCompiler.ts"
import type { StructuralSchema } from "./StructuralSchema.ts"

const where = { kind: "WebApp", field: "spec" }

enum Tier {
  Low = "low",
  High = "high"
}

class Point extends Schema.Class<Point>("Point")({
  x: Schema.Int,
  y: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(7)))
}) {}

const Port = Schema.Struct({
  port: Schema.Int,
  protocol: Schema.Literals(["TCP", "UDP"]).pipe(Schema.withDecodingDefaultType(Effect.succeed("TCP" as const)))
})
const portJson: StructuralSchema = {
  type: "object",
  properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP", enum: ["TCP", "UDP"] } },
  required: ["port"]
}

describe("SchemaCompiler compiles the encoded side of", () => {
  const features: ReadonlyArray<readonly [string, Schema.Top, StructuralSchema]> = [
    ["text", Schema.String, { type: "string" }],
    ["numbers", Schema.Number, { type: "number" }],
    ["numbers in JSON have no NaN", Schema.Finite, { type: "number" }],
    ["booleans", Schema.Boolean, { type: "boolean" }],
    ["whole numbers", Schema.Int, { type: "integer" }],
    [
      "integers bounded within 32 bits",
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 })),
      { type: "integer", format: "int32", minimum: 1, maximum: 50 }
    ],
    [
      "integers bounded beyond 32 bits",
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 })),
      { type: "integer", format: "int64", minimum: 0, maximum: 2 ** 31 }
    ],
    [
      "integers with the minimum of 32 bits",
      Schema.Int.check(Schema.isBetween({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })),
      { type: "integer", format: "int32", minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }
    ],
    [
      "integers bounded below 32 bits",
      Schema.Int.check(Schema.isBetween({ minimum: -(2 ** 31) - 1, maximum: 0 })),
      { type: "integer", format: "int64", minimum: -(2 ** 31) - 1, maximum: 0 }
    ],
    [
      "integers with a custom format",
      Schema.Natural.pipe(Field.format("int64")),
      { type: "integer", format: "int64", minimum: 0 }
    ],
    [
      "exclusive bounds",
      Schema.Number.check(Schema.isGreaterThan(0), Schema.isLessThan(1)),
      { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true }
    ],
    [
      "chained bounds, of which the narrower one applies",
      Schema.Number.check(
        Schema.isBetween({ minimum: 1, maximum: 9 }),
        Schema.isGreaterThanOrEqualTo(3),
        Schema.isLessThan(9),
        Schema.isLessThan(20)
      ),
      { type: "number", minimum: 3, maximum: 9, exclusiveMaximum: true }
    ],
    [
      "an inclusive and an exclusive bound, of which the stricter one applies",
      Schema.Number.check(
        Schema.isGreaterThanOrEqualTo(3),
        Schema.isGreaterThan(3),
        Schema.isLessThan(9),
        Schema.isLessThanOrEqualTo(9)
      ),
      { type: "number", minimum: 3, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: true }
    ],
    ["multiples", Schema.Int.check(Schema.isMultipleOf(5)), { type: "integer", multipleOf: 5 }],
    [
      "chained multiples",
      Schema.Int.check(Schema.isMultipleOf(2), Schema.isMultipleOf(3)),
      { type: "integer", multipleOf: 2, allOf: [{ multipleOf: 3 }] }
    ],
    [
      "lengths",
      Schema.String.check(Schema.isMaxLength(9), Schema.isMinLength(2), Schema.isMinLength(1), Schema.isMaxLength(20)),
      { type: "string", minLength: 2, maxLength: 9 }
    ],
    [
      "patterns, whose slashes need no escape",
      Schema.String.check(Schema.isPattern(/^a\/b$/)),
      { type: "string", pattern: "^a/b$" }
    ],
    ["patterns with flags", Schema.String.check(Schema.isPattern(/^a$/i)), { type: "string", pattern: "(?i)^a$" }],
    [
      "chained patterns",
      Schema.String.check(Schema.isPattern(/^a/), Schema.isPattern(/b$/)),
      { type: "string", pattern: "^a", allOf: [{ pattern: "b$" }] }
    ],
    [
      "a prefix with special characters",
      Schema.String.check(Schema.isStartingWith("a+")),
      { type: "string", pattern: "^a\\+" }
    ],
    ["a suffix", Schema.String.check(Schema.isEndingWith(".io")), { type: "string", pattern: "\\.io$" }],
    ["a substring", Schema.String.check(Schema.isIncluding("(")), { type: "string", pattern: "\\(" }],
    ["formats", Schema.String.pipe(Field.format("ipv4")), { type: "string", format: "ipv4" }],
    [
      "brands",
      Schema.String.pipe(Schema.brand("Image"), Schema.check(Schema.isMaxLength(3))),
      { type: "string", maxLength: 3 }
    ],
    [
      "a description on either side of a filter",
      Schema.String.annotate({ description: "An image." }).check(Schema.isMinLength(1)),
      { description: "An image.", type: "string", minLength: 1 }
    ],
    [
      "a description on a filter",
      Schema.Int.annotate({ description: "How many." }),
      { description: "How many.", type: "integer" }
    ],
    ["one literal", Schema.Literal("a"), { type: "string", enum: ["a"] }],
    ["literals", Schema.Literals(["a", "b"]), { type: "string", enum: ["a", "b"] }],
    ["whole numbers as literals", Schema.Literals([1, 2]), { type: "integer", enum: [1, 2] }],
    ["numbers as literals", Schema.Literals([1, 2.5]), { type: "number", enum: [1, 2.5] }],
    ["booleans as literals", Schema.Literal(true), { type: "boolean", enum: [true] }],
    ["enumerations", Schema.Enum(Tier), { type: "string", enum: ["low", "high"] }],
    [
      "literals in unions of unions",
      Schema.Union([Schema.Literal("a"), Schema.Union([Schema.Literals(["b", "c"]), Schema.Enum(Tier)])]),
      { type: "string", enum: ["a", "b", "c", "low", "high"] }
    ],
    ["template literals", Schema.TemplateLiteral(["v", Schema.String]), { type: "string", pattern: "^v[\\s\\S]*?$" }],
    ["a nullable value", Schema.NullOr(Schema.Int), { type: "integer", nullable: true }],
    ["a nullable struct", Schema.NullOr(Port), { ...portJson, nullable: true }],
    ["numbers or text", Field.IntOrString, { "x-kubernetes-int-or-string": true }],
    [
      "bounded numbers or bounded text",
      Schema.Union([
        Schema.String.check(Schema.isPattern(/%$/)),
        Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
        Schema.Null
      ]),
      { nullable: true, minimum: 1, maximum: 5, pattern: "%$", "x-kubernetes-int-or-string": true }
    ],
    ["lists", Schema.Array(Schema.String), { type: "array", items: { type: "string" } }],
    [
      "bounded lists",
      Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
      { type: "array", minItems: 1, maxItems: 3, items: { type: "string" } }
    ],
    [
      "lists that are not empty",
      Schema.NonEmptyArray(Schema.String),
      { type: "array", minItems: 1, items: { type: "string" } }
    ],
    [
      "lists that merge by keys, one of them with a default",
      Schema.Array(Port).pipe(Field.listMap("port", "protocol")),
      {
        type: "array",
        items: portJson,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"]
      }
    ],
    [
      "sets",
      Schema.Array(Schema.String).pipe(Field.listSet),
      { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" }
    ],
    [
      "atomic lists",
      Schema.Array(Schema.String).pipe(Field.listAtomic),
      { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "atomic" }
    ],
    [
      "records",
      Schema.Record(Schema.String, Schema.Int),
      { type: "object", additionalProperties: { type: "integer" } }
    ],
    [
      "atomic records with a custom bound",
      Schema.Record(Schema.String, Port).pipe(Field.mapAtomic, Schema.annotate({ jsonSchema: { maxProperties: 3 } })),
      { type: "object", maxProperties: 3, additionalProperties: portJson, "x-kubernetes-map-type": "atomic" }
    ],
    ["unknown values", Schema.Unknown, { "x-kubernetes-preserve-unknown-fields": true }],
    ["any object", Schema.ObjectKeyword, { type: "object", "x-kubernetes-preserve-unknown-fields": true }],
    [
      "structs that preserve unknown fields",
      Schema.Struct({ a: Schema.String }).pipe(Field.preserveUnknown),
      {
        type: "object",
        properties: { a: { type: "string" } },
        required: ["a"],
        "x-kubernetes-preserve-unknown-fields": true
      }
    ],
    [
      "embedded objects",
      Schema.Struct({ spec: Schema.ObjectKeyword }).pipe(Field.embeddedResource),
      {
        type: "object",
        properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        required: ["spec"],
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-embedded-resource": true
      }
    ],
    ["the empty struct", Schema.Struct({}), { type: "object" }],
    ["structs with defaults", Port, portJson],
    [
      "classes",
      Point,
      { type: "object", properties: { x: { type: "integer" }, y: { type: "integer", default: 7 } }, required: ["x"] }
    ],
    ["suspended schemas", Schema.suspend(() => Port), portJson],
    [
      "several rules",
      Schema.Struct({ a: Schema.Int, b: Schema.Int }).pipe(
        Field.rule({
          optionalOldSelf: true,
          message: "a first",
          rule: "self.a < self.b",
          reason: "FieldValueForbidden",
          fieldPath: ".a"
        }),
        Field.rule({ rule: "self.b < 9", messageExpression: "'not ' + string(self.b)" })
      ),
      {
        type: "object",
        properties: { a: { type: "integer" }, b: { type: "integer" } },
        required: ["a", "b"],
        "x-kubernetes-validations": [
          {
            rule: "self.a < self.b",
            message: "a first",
            reason: "FieldValueForbidden",
            fieldPath: ".a",
            optionalOldSelf: true
          },
          { rule: "self.b < 9", messageExpression: "'not ' + string(self.b)" }
        ]
      }
    ],
    [
      "a custom filter with its bound",
      Schema.String.check(Schema.makeFilter((text) => text !== "x", { toJsonSchema: () => ({ pattern: "[^x]" }) })),
      { type: "string", pattern: "[^x]" }
    ],
    [
      "a group of checks",
      Schema.Number.check(Schema.isInt32()),
      {
        type: "integer",
        format: "int32",
        minimum: -(2 ** 31),
        maximum: 2 ** 31 - 1
      }
    ],
    [
      "a custom filter with a rule for the server",
      Schema.String.check(Schema.makeFilter((text) => text !== "x")).pipe(Field.rule({ rule: "self != 'x'" })),
      { type: "string", "x-kubernetes-validations": [{ rule: "self != 'x'" }] }
    ],
    [
      "a transformation that states its stored form",
      Schema.NumberFromString.annotate({ jsonSchema: { type: "string", pattern: "^[0-9]+$" } }),
      { type: "string", pattern: "^[0-9]+$" }
    ],
    [
      "a filter of decoded values with an explicit stored form",
      Schema.NumberFromString.check(Schema.isBetween({ minimum: 1, maximum: 9 })).annotate({
        jsonSchema: { type: "string", maxLength: 1 }
      }),
      { type: "string", maxLength: 1 }
    ]
  ]
  for (const [name, schema, expected] of features) {
    test(name, () => expect(compile(schema, where)).toEqual(expected))
  }
})

describe("A property", () => {
  const optional: ReadonlyArray<readonly [string, Schema.Top, StructuralSchema]> = [
    ["may be absent", Schema.optional(Schema.Int), { type: "integer" }],
    ["may be absent, but not undefined", Schema.optionalKey(Schema.Int), { type: "integer" }],
    [
      "may be absent or null",
      Schema.optional(Schema.NullOr(Schema.Int)).pipe(
        Schema.decodeTo(Schema.optionalKey(Schema.Int), {
          decode: SchemaGetter.transformOptional(Option.filter((value) => value !== undefined && value !== null)),
          encode: SchemaGetter.passthrough()
        })
      ),
      { type: "integer", nullable: true }
    ],
    ["may become an Option", Schema.OptionFromOptional(Schema.Int), { type: "integer" }],
    [
      "has a default",
      Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(2))),
      { type: "integer", default: 2 }
    ],
    [
      "has an exact default",
      Schema.Int.pipe(Schema.withDecodingDefaultTypeKey(Effect.succeed(2))),
      { type: "integer", default: 2 }
    ],
    [
      "has a default, also for null",
      Schema.optional(Schema.NullOr(Schema.Int)).pipe(
        Schema.decodeTo(Schema.Int, {
          decode: SchemaGetter.transformOptional((value) => Option.some(Option.getOrNull(value) ?? 2)),
          encode: SchemaGetter.passthrough()
        })
      ),
      { type: "integer", nullable: true, default: 2 }
    ],
    [
      "has a default on decoding",
      Schema.Int.pipe(Schema.withDecodingDefault(Effect.succeed(2))),
      { type: "integer", default: 2 }
    ],
    [
      "has a default of the server only",
      Schema.optional(Schema.Int.annotate({ default: -1 })),
      { type: "integer", default: -1 }
    ],
    [
      "has a default that is false",
      Schema.Boolean.pipe(Schema.withDecodingDefaultType(Effect.succeed(false))),
      { type: "boolean", default: false }
    ],
    [
      "has a default in its wire form",
      Field.Quantity.pipe(Schema.withDecodingDefaultType(Effect.succeed("500m"))),
      { pattern: expect.any(String), default: "500m", "x-kubernetes-int-or-string": true }
    ],
    [
      "has a struct with defaults as its default",
      Point.pipe(Schema.withDecodingDefaultType(Effect.sync(() => new Point({ x: 1, y: 7 })))),
      {
        type: "object",
        default: { x: 1, y: 7 },
        properties: { x: { type: "integer" }, y: { type: "integer", default: 7 } },
        required: ["x"]
      }
    ],
    [
      "is described",
      Schema.optional(Schema.Int).annotate({ description: "How many." }),
      { description: "How many.", type: "integer" }
    ],
    [
      "with a default is described",
      Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(2))).annotate({ description: "How many." }),
      { description: "How many.", type: "integer", default: 2 }
    ],
    [
      "has the annotations of a union inside",
      Schema.optional(Field.IntOrString.pipe(Field.rule({ rule: "self != 0" }))),
      { "x-kubernetes-int-or-string": true, "x-kubernetes-validations": [{ rule: "self != 0" }] }
    ],
    [
      "with a default has its bounds and rules once",
      Schema.String.check(Schema.isPattern(/a/), Schema.isPattern(/b/))
        .pipe(Field.rule({ rule: "self != ''" }), Schema.withDecodingDefaultType(Effect.succeed("ab")))
        .pipe(Field.rule({ rule: "self != 'b'" })),
      {
        type: "string",
        default: "ab",
        pattern: "a",
        allOf: [{ pattern: "b" }],
        "x-kubernetes-validations": [{ rule: "self != ''" }, { rule: "self != 'b'" }]
      }
    ],
    [
      "has another description than its type",
      Schema.optional(Schema.Int.annotate({ description: "A number." })).annotate({ description: "How many." }),
      { description: "How many.", type: "integer" }
    ],
    [
      "has the annotations of its type",
      Schema.optional(Schema.Array(Port)).pipe(Field.listMap("port"), Field.immutable),
      {
        type: "array",
        items: portJson,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"],
        "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "is immutable" }]
      }
    ],
    [
      "with a default has annotations",
      Schema.String.pipe(Schema.withDecodingDefaultType(Effect.succeed("a"))).pipe(
        Field.rule({ rule: "self != ''" }),
        Field.rule({ rule: "self != 'b'" })
      ),
      {
        type: "string",
        default: "a",
        "x-kubernetes-validations": [{ rule: "self != ''" }, { rule: "self != 'b'" }]
      }
    ]
  ]
  for (const [name, field, expected] of optional) {
    test(`${name}, and is not required`, () => {
      const schema = compile(Schema.Struct({ a: field, b: Schema.String }), where)
      expect(schema.properties?.a).toEqual(expected)
      expect(schema.required).toEqual(["b"])
    })
  }

  test("keeps its own description next to one with a default", () => {
    const schema = compile(
      Schema.Struct({
        a: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(2))),
        b: Schema.String.annotateKey({ description: "Words." })
      }).annotate({ description: "Both." }),
      where
    )
    expect(schema.description).toBe("Both.")
    expect(schema.properties?.b).toEqual({ description: "Words.", type: "string" })
  })

  test("has its encoded name", () => {
    const schema = compile(
      Schema.Struct({
        inside: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(3)))
      }).pipe(Schema.encodeKeys({ inside: "outside" })),
      where
    )
    expect(schema).toEqual({ type: "object", properties: { outside: { type: "integer", default: 3 } } })
  })

  test("with a constructor default is required in the stored form", () => {
    const schema = compile(
      Schema.Struct({
        a: Schema.String.pipe(Schema.withConstructorDefault(Effect.succeed("x")))
      }),
      where
    )
    expect(schema).toEqual({ type: "object", properties: { a: { type: "string" } }, required: ["a"] })
  })

  test("does not get the descriptions of Effect's filters", () => {
    const filters: ReadonlyArray<Schema.Top> = [
      Schema.String.check(
        Schema.isMinLength(1),
        Schema.isMaxLength(2),
        Schema.isBetweenLength(2, 2),
        Schema.isBetweenLength(1, 2)
      ),
      Schema.String.check(
        Schema.isNonEmpty(),
        Schema.isPattern(/a\n?/),
        Schema.isTrimmed(),
        Schema.isBetweenLength(1, 1)
      ),
      Schema.String.check(Schema.isStartingWith("a"), Schema.isEndingWith("b"), Schema.isIncluding("c")),
      Schema.String.check(
        Schema.isLowercased(),
        Schema.isUppercased(),
        Schema.isCapitalized(),
        Schema.isUncapitalized()
      ),
      Schema.Number.check(
        Schema.isInt(),
        Schema.isFinite(),
        Schema.isMultipleOf(2),
        Schema.isBetween({ minimum: 1, maximum: 2 })
      ),
      Schema.Number.check(
        Schema.isGreaterThan(0),
        Schema.isLessThan(0),
        Schema.isLessThanOrEqualTo(0),
        Schema.isGreaterThanOrEqualTo(0)
      ),
      Schema.Number.check(
        Schema.isGreaterThan(1),
        Schema.isGreaterThanOrEqualTo(1),
        Schema.isLessThan(1),
        Schema.isLessThanOrEqualTo(1)
      ),
      Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(2), Schema.isBetweenLength(2, 2))
    ]
    for (const schema of filters) expect(compile(schema, where).description).toBeUndefined()
  })
})

test("The keys of a schema have a fixed order", () => {
  const one = Schema.Array(Port).pipe(
    Field.listMap("port"),
    Schema.check(Schema.isMaxLength(3)),
    Schema.check(Schema.isMinLength(1))
  )
  const other = Schema.Array(Port).check(Schema.isMinLength(1), Schema.isMaxLength(3)).pipe(Field.listMap("port"))
  expect(JSON.stringify(compile(one, where))).toBe(JSON.stringify(compile(other, where)))
})
