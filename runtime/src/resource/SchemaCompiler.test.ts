import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
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
  y: Schema.optionalWith(Schema.Int, { default: () => 7 })
}) {}

const Port = Schema.Struct({
  port: Schema.Int,
  protocol: Schema.optionalWith(Schema.Literal("TCP", "UDP"), { default: () => "TCP" as const })
})
const portJson: StructuralSchema = {
  type: "object",
  properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP", enum: ["TCP", "UDP"] } },
  required: ["port"]
}

describe("SchemaCompiler compiles the encoded side of", () => {
  const features: ReadonlyArray<readonly [string, Schema.Schema.All, StructuralSchema]> = [
    ["text", Schema.String, { type: "string" }],
    ["numbers", Schema.Number, { type: "number" }],
    ["numbers in JSON have no NaN", Schema.Number.pipe(Schema.finite(), Schema.nonNaN()), { type: "number" }],
    ["booleans", Schema.Boolean, { type: "boolean" }],
    ["whole numbers", Schema.Int, { type: "integer" }],
    [
      "integers bounded within 32 bits",
      Schema.Int.pipe(Schema.between(1, 50)),
      { type: "integer", format: "int32", minimum: 1, maximum: 50 }
    ],
    [
      "integers bounded beyond 32 bits",
      Schema.Int.pipe(Schema.between(0, 2 ** 31)),
      { type: "integer", format: "int64", minimum: 0, maximum: 2 ** 31 }
    ],
    [
      "integers with the minimum of 32 bits",
      Schema.Int.pipe(Schema.between(-(2 ** 31), 2 ** 31 - 1)),
      { type: "integer", format: "int32", minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }
    ],
    [
      "integers bounded below 32 bits",
      Schema.Int.pipe(Schema.between(-(2 ** 31) - 1, 0)),
      { type: "integer", format: "int64", minimum: -(2 ** 31) - 1, maximum: 0 }
    ],
    [
      "integers with a custom format",
      Schema.NonNegativeInt.pipe(Field.format("int64")),
      { type: "integer", format: "int64", minimum: 0 }
    ],
    [
      "exclusive bounds",
      Schema.Number.pipe(Schema.greaterThan(0), Schema.lessThan(1)),
      { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true }
    ],
    [
      "chained bounds, of which the narrower one applies",
      Schema.Number.pipe(Schema.between(1, 9), Schema.greaterThanOrEqualTo(3), Schema.lessThan(9), Schema.lessThan(20)),
      { type: "number", minimum: 3, maximum: 9, exclusiveMaximum: true }
    ],
    [
      "an inclusive and an exclusive bound, of which the stricter one applies",
      Schema.Number.pipe(
        Schema.greaterThanOrEqualTo(3),
        Schema.greaterThan(3),
        Schema.lessThan(9),
        Schema.lessThanOrEqualTo(9)
      ),
      { type: "number", minimum: 3, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: true }
    ],
    ["multiples", Schema.Int.pipe(Schema.multipleOf(5)), { type: "integer", multipleOf: 5 }],
    [
      "chained multiples",
      Schema.Int.pipe(Schema.multipleOf(2), Schema.multipleOf(3)),
      { type: "integer", multipleOf: 2, allOf: [{ multipleOf: 3 }] }
    ],
    [
      "lengths",
      Schema.String.pipe(Schema.maxLength(9), Schema.minLength(2), Schema.minLength(1), Schema.maxLength(20)),
      { type: "string", minLength: 2, maxLength: 9 }
    ],
    [
      "patterns, whose slashes need no escape",
      Schema.String.pipe(Schema.pattern(/^a\/b$/)),
      { type: "string", pattern: "^a/b$" }
    ],
    ["patterns with flags", Schema.String.pipe(Schema.pattern(/^a$/i)), { type: "string", pattern: "(?i)^a$" }],
    [
      "chained patterns",
      Schema.String.pipe(Schema.pattern(/^a/), Schema.pattern(/b$/)),
      { type: "string", pattern: "^a", allOf: [{ pattern: "b$" }] }
    ],
    [
      "a prefix with special characters",
      Schema.String.pipe(Schema.startsWith("a+")),
      { type: "string", pattern: "^a\\+" }
    ],
    ["a suffix", Schema.String.pipe(Schema.endsWith(".io")), { type: "string", pattern: "\\.io$" }],
    ["a substring", Schema.String.pipe(Schema.includes("(")), { type: "string", pattern: "\\(" }],
    ["formats", Schema.String.pipe(Field.format("ipv4")), { type: "string", format: "ipv4" }],
    ["brands", Schema.String.pipe(Schema.brand("Image"), Schema.maxLength(3)), { type: "string", maxLength: 3 }],
    [
      "a description on either side of a filter",
      Schema.String.annotations({ description: "An image." }).pipe(Schema.minLength(1)),
      { description: "An image.", type: "string", minLength: 1 }
    ],
    [
      "a description on a filter",
      Schema.Int.annotations({ description: "How many." }),
      { description: "How many.", type: "integer" }
    ],
    ["one literal", Schema.Literal("a"), { type: "string", enum: ["a"] }],
    ["literals", Schema.Literal("a", "b"), { type: "string", enum: ["a", "b"] }],
    ["whole numbers as literals", Schema.Literal(1, 2), { type: "integer", enum: [1, 2] }],
    ["numbers as literals", Schema.Literal(1, 2.5), { type: "number", enum: [1, 2.5] }],
    ["booleans as literals", Schema.Literal(true), { type: "boolean", enum: [true] }],
    ["enumerations", Schema.Enums(Tier), { type: "string", enum: ["low", "high"] }],
    [
      "literals in unions of unions",
      Schema.Union(Schema.Literal("a"), Schema.Union(Schema.Literal("b", "c"), Schema.Enums(Tier))),
      { type: "string", enum: ["a", "b", "c", "low", "high"] }
    ],
    ["template literals", Schema.TemplateLiteral("v", Schema.String), { type: "string", pattern: "^v[\\s\\S]*?$" }],
    ["a nullable value", Schema.NullOr(Schema.Int), { type: "integer", nullable: true }],
    ["a nullable struct", Schema.NullOr(Port), { ...portJson, nullable: true }],
    ["numbers or text", Field.IntOrString, { "x-kubernetes-int-or-string": true }],
    [
      "bounded numbers or bounded text",
      Schema.Union(Schema.String.pipe(Schema.pattern(/%$/)), Schema.Int.pipe(Schema.between(1, 5)), Schema.Null),
      { nullable: true, minimum: 1, maximum: 5, pattern: "%$", "x-kubernetes-int-or-string": true }
    ],
    ["lists", Schema.Array(Schema.String), { type: "array", items: { type: "string" } }],
    [
      "bounded lists",
      Schema.Array(Schema.String).pipe(Schema.minItems(1), Schema.maxItems(3)),
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
      Schema.Record({ key: Schema.String, value: Schema.Int }),
      { type: "object", additionalProperties: { type: "integer" } }
    ],
    [
      "atomic records with a custom bound",
      Schema.Record({ key: Schema.String, value: Port }).pipe(
        Field.mapAtomic,
        Schema.annotations({ jsonSchema: { maxProperties: 3 } })
      ),
      { type: "object", maxProperties: 3, additionalProperties: portJson, "x-kubernetes-map-type": "atomic" }
    ],
    ["unknown values", Schema.Unknown, { "x-kubernetes-preserve-unknown-fields": true }],
    ["any object", Schema.Object, { type: "object", "x-kubernetes-preserve-unknown-fields": true }],
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
      Schema.Struct({ spec: Schema.Object }).pipe(Field.embeddedResource),
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
      "a custom filter with a rule for the server",
      Schema.String.pipe(
        Schema.filter((text) => text !== "x"),
        Field.rule({ rule: "self != 'x'" })
      ),
      { type: "string", "x-kubernetes-validations": [{ rule: "self != 'x'" }] }
    ],
    [
      "a transformation that states its stored form",
      Schema.NumberFromString.annotations({ jsonSchema: { type: "string", pattern: "^[0-9]+$" } }),
      { type: "string", pattern: "^[0-9]+$" }
    ],
    [
      "a filter of decoded values with an explicit stored form",
      Schema.NumberFromString.pipe(Schema.between(1, 9)).annotations({ jsonSchema: { type: "string", maxLength: 1 } }),
      { type: "string", maxLength: 1 }
    ]
  ]
  for (const [name, schema, expected] of features) {
    test(name, () => expect(compile(schema, where)).toEqual(expected))
  }
})

describe("A property", () => {
  const optional: ReadonlyArray<readonly [string, Schema.Struct.Field, StructuralSchema]> = [
    ["may be absent", Schema.optional(Schema.Int), { type: "integer" }],
    ["may be absent, but not undefined", Schema.optionalWith(Schema.Int, { exact: true }), { type: "integer" }],
    ["may be absent or null", Schema.optionalWith(Schema.Int, { nullable: true }), { type: "integer", nullable: true }],
    ["may become an Option", Schema.optionalWith(Schema.Int, { as: "Option" }), { type: "integer" }],
    ["has a default", Schema.optionalWith(Schema.Int, { default: () => 2 }), { type: "integer", default: 2 }],
    [
      "has an exact default",
      Schema.optionalWith(Schema.Int, { default: () => 2, exact: true }),
      { type: "integer", default: 2 }
    ],
    [
      "has a default, also for null",
      Schema.optionalWith(Schema.Int, { default: () => 2, nullable: true }),
      { type: "integer", nullable: true, default: 2 }
    ],
    [
      "has a default on decoding",
      Schema.optional(Schema.Int).pipe(Schema.withDecodingDefault(() => 2)),
      { type: "integer", default: 2 }
    ],
    [
      "has a default of the server only",
      Schema.optional(Schema.Int.annotations({ default: -1 })),
      { type: "integer", default: -1 }
    ],
    [
      "has a default that is false",
      Schema.optionalWith(Schema.Boolean, { default: () => false }),
      { type: "boolean", default: false }
    ],
    [
      "has a default in its wire form",
      Schema.optionalWith(Field.Quantity, { default: () => "500m" }),
      { pattern: expect.any(String), default: "500m", "x-kubernetes-int-or-string": true }
    ],
    [
      "has a struct with defaults as its default",
      Schema.optionalWith(Point, { default: () => new Point({ x: 1 }) }),
      {
        type: "object",
        default: { x: 1, y: 7 },
        properties: { x: { type: "integer" }, y: { type: "integer", default: 7 } },
        required: ["x"]
      }
    ],
    [
      "is described",
      Schema.optional(Schema.Int).annotations({ description: "How many." }),
      { description: "How many.", type: "integer" }
    ],
    [
      "with a default is described",
      Schema.optionalWith(Schema.Int, { default: () => 2 }).annotations({ description: "How many." }),
      { description: "How many.", type: "integer", default: 2 }
    ],
    [
      "has another description than its type",
      Schema.optional(Schema.Int.annotations({ description: "A number." })).annotations({ description: "How many." }),
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
      Schema.optionalWith(Schema.String, { default: () => "a" }).pipe(
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
        a: Schema.optionalWith(Schema.Int, { default: () => 2 }),
        b: Schema.propertySignature(Schema.String).annotations({ description: "Words." })
      }).annotations({ description: "Both." }),
      where
    )
    expect(schema.description).toBe("Both.")
    expect(schema.properties?.b).toEqual({ description: "Words.", type: "string" })
  })

  test("has its encoded name", () => {
    const schema = compile(
      Schema.Struct({ inside: Schema.optionalWith(Schema.Int, { default: () => 3 }).pipe(Schema.fromKey("outside")) }),
      where
    )
    expect(schema).toEqual({ type: "object", properties: { outside: { type: "integer", default: 3 } } })
  })

  test("with a constructor default is required in the stored form", () => {
    const schema = compile(
      Schema.Struct({
        a: Schema.String.pipe(
          Schema.propertySignature,
          Schema.withConstructorDefault(() => "x")
        )
      }),
      where
    )
    expect(schema).toEqual({ type: "object", properties: { a: { type: "string" } }, required: ["a"] })
  })

  test("does not get the descriptions of Effect's filters", () => {
    const filters: ReadonlyArray<Schema.Schema.All> = [
      Schema.String.pipe(Schema.minLength(1), Schema.maxLength(2), Schema.length(2), Schema.length({ min: 1, max: 2 })),
      Schema.String.pipe(Schema.nonEmptyString(), Schema.pattern(/a\n?/), Schema.trimmed(), Schema.length(1)),
      Schema.String.pipe(Schema.startsWith("a"), Schema.endsWith("b"), Schema.includes("c")),
      Schema.String.pipe(Schema.lowercased(), Schema.uppercased(), Schema.capitalized(), Schema.uncapitalized()),
      Schema.Number.pipe(Schema.int(), Schema.finite(), Schema.nonNaN(), Schema.multipleOf(2), Schema.between(1, 2)),
      Schema.Number.pipe(Schema.positive(), Schema.negative(), Schema.nonPositive(), Schema.nonNegative()),
      Schema.Number.pipe(
        Schema.greaterThan(1),
        Schema.greaterThanOrEqualTo(1),
        Schema.lessThan(1),
        Schema.lessThanOrEqualTo(1)
      ),
      Schema.Array(Schema.String).pipe(Schema.minItems(1), Schema.maxItems(2), Schema.itemsCount(2))
    ]
    for (const schema of filters) expect(compile(schema, where).description).toBeUndefined()
  })
})

test("The keys of a schema have a fixed order", () => {
  const one = Schema.Array(Port).pipe(Field.listMap("port"), Schema.maxItems(3), Schema.minItems(1))
  const other = Schema.Array(Port).pipe(Schema.minItems(1), Schema.maxItems(3), Field.listMap("port"))
  expect(JSON.stringify(compile(one, where))).toBe(JSON.stringify(compile(other, where)))
})
