import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Field from "./Field.ts"
import * as SchemaCompiler from "./SchemaCompiler.ts"
import * as SchemaFields from "./SchemaFields.ts"

class Point extends Schema.Class<Point>("Point")({
  x: Schema.Int,
  y: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(7)))
}) {}

const pair = Schema.Struct({ left: Schema.String, right: Schema.optional(Schema.NullOr(Schema.String)) })

const schemas: { readonly [what: string]: Schema.Constraint } = {
  "a struct": pair,
  "a class": Schema.Struct({ at: Point }),
  "stored names": Schema.Struct({ from: pair.pipe(Schema.encodeKeys({ left: "l" })) }),
  "a default": Schema.Struct({
    size: pair.pipe(Schema.withDecodingDefaultType(Effect.succeed({ left: "a", right: undefined })))
  }),
  "a list of structs": Schema.Struct({ all: Schema.Array(pair) }),
  "a list that is not empty": Schema.Struct({ all: Schema.NonEmptyArray(pair) }),
  "a record of structs": Schema.Struct({ all: Schema.Record(Schema.String, pair) }),
  "a list of texts, a record of texts": Schema.Struct({
    all: Schema.Array(Schema.String),
    labels: Schema.Record(Schema.String, Schema.String)
  }),
  "a struct or null": Schema.Struct({ maybe: Schema.optional(Schema.NullOr(pair)) }),
  "an int or a string": Schema.Struct({ port: Field.IntOrString }),
  "an unknown value": Schema.Struct({ any: Schema.Unknown }),
  "a struct in itself later": Schema.Struct({ inner: Schema.suspend(() => pair) }),
  "a schema that an annotation gives": Schema.Struct({
    any: Schema.Unknown.annotate({
      jsonSchema: { type: "object", properties: { deep: { type: "array", items: { type: "string" } } } }
    })
  })
}

describe("The fields of a schema", () => {
  test.each(Object.entries(schemas))("are those of its compiled schema: %s", (_, schema) => {
    const compiled = SchemaCompiler.compile(schema, { kind: "Widget", field: "spec" })
    expect(SchemaFields.of(schema)).toEqual(SchemaFields.ofStructural(compiled))
    expect(SchemaFields.lacking(SchemaFields.of(schema), compiled, "spec")).toEqual([])
  })
})

const fields: SchemaFields.Fields = {
  properties: {
    name: {},
    list: { each: { properties: { a: {}, b: {} } } },
    map: { each: { properties: { a: {} } } }
  }
}
const whole = {
  properties: {
    name: { type: "string" },
    list: { items: { properties: { a: {}, b: {} } } },
    map: { additionalProperties: { properties: { a: {} } } }
  }
}
const { list: _, ...rest } = whole.properties

describe("A served schema lacks", () => {
  const rows: ReadonlyArray<readonly [string, unknown, ReadonlyArray<string>]> = [
    ["no field of the same schema", whole, []],
    ["no field of one that keeps unknown fields", { "x-kubernetes-preserve-unknown-fields": true }, []],
    ["all fields of an empty one", {}, ["spec.name", "spec.list", "spec.map"]],
    ["a field", { properties: rest }, ["spec.list"]],
    [
      "a field of an item",
      { properties: { ...whole.properties, list: { items: { properties: { a: {} } } } } },
      ["spec.list[].b"]
    ],
    [
      "a field of a value",
      { properties: { ...whole.properties, map: { additionalProperties: true } } },
      ["spec.map.*.a"]
    ],
    [
      "no field of a struct that became a record",
      { additionalProperties: { "x-kubernetes-preserve-unknown-fields": true } },
      []
    ],
    ["all fields of anything else", ["x"], ["spec.name", "spec.list", "spec.map"]]
  ]
  test.each(rows)("%s", (_, served, lacking) => {
    expect(SchemaFields.lacking(fields, served, "spec")).toEqual(lacking)
  })
})
