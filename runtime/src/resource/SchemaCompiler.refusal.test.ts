import { describe, expect, test } from "bun:test"
import { Effect, Result, Schema, SchemaGetter } from "effect"
import * as Field from "./Field.ts"
import { InvalidDefinition } from "./InvalidDefinition.ts"
import { compile } from "./SchemaCompiler.ts"

const Port = Schema.Struct({
  port: Schema.Int,
  protocol: Schema.Literals(["TCP", "UDP"]).pipe(Schema.withDecodingDefaultType(Effect.succeed("TCP" as const)))
})
describe("SchemaCompiler rejects what a CRD cannot express, with the field and advice:", () => {
  interface Tree {
    readonly children: ReadonlyArray<Tree>
  }
  const Tree: Schema.Codec<Tree> = Schema.Struct({ children: Schema.Array(Schema.suspend(() => Tree)) })
  const whole = 'Annotate the outermost schema with the stored form, { jsonSchema: { type: "string", … } }'
  const refused: ReadonlyArray<readonly [string, Schema.Top, string]> = [
    [
      "a transformation",
      Schema.NumberFromString,
      `WebApp spec.a: its stored form differs from its decoded one, (string <-> number). ${whole}`
    ],
    [
      "a bound on the result of a transformation",
      Schema.Trim.annotate({ jsonSchema: { type: "string" } }).check(Schema.isMinLength(1)),
      `WebApp spec.a: this filter bounds what is decoded, not what is stored. ${whole}`
    ],
    [
      "a filter without a rule",
      Schema.String.check(Schema.makeFilter((text) => text !== "x")),
      "WebApp spec.a: the API server does not know what this filter asks for. Say it to the server too: pipe Field.rule onto it, or give the filter a toJsonSchema annotation such as () => ({ pattern })"
    ],
    [
      "a union of structs",
      Schema.Union([Schema.Struct({ b: Schema.String }), Schema.Struct({ c: Schema.String })]),
      'WebApp spec.a: a CRD cannot hold a union of structs. Use one struct with an optional property per variant, and Field.rule({ rule: "has(self.a) != has(self.b)" })'
    ],
    [
      "a union of types",
      Schema.Union([Schema.String, Schema.Boolean]),
      "WebApp spec.a: a CRD has one type per field, this is string | boolean. Use one type, or Field.IntOrString"
    ],
    [
      "an unbounded number or text",
      Schema.Union([Schema.String, Schema.Number]),
      "WebApp spec.a: a CRD has one type per field, this is string | number. Use one type, or Field.IntOrString"
    ],
    [
      "a number or a literal",
      Schema.Union([Schema.Int, Schema.Literal("auto")]),
      'WebApp spec.a: a CRD has one type per field, this is Int | "auto". Use one type, or Field.IntOrString'
    ],
    [
      "a rule for only the numbers of IntOrString",
      Schema.Union([Schema.Int.pipe(Field.rule({ rule: "self < 9" })), Schema.String]),
      "WebApp spec.a: a CRD has one type per field, this is Int | string. Use one type, or Field.IntOrString"
    ],
    [
      "literals of several types",
      Schema.Literals(["a", 1]),
      "WebApp spec.a: a CRD has one type per field, these literals have several or none. Use strings"
    ],
    [
      "null among literals",
      Schema.NullOr(Schema.Literals(["a", "b"])),
      "WebApp spec.a: the API server accepts no null where there is an enum. Leave the property out instead: Schema.optional"
    ],
    [
      "nothing but null",
      Schema.Null,
      "WebApp spec.a: a CRD has one type per field, these literals have several or none. Use strings"
    ],
    [
      "a tuple",
      Schema.Tuple([Schema.String, Schema.Int]),
      "WebApp spec.a: a CRD has no tuples. Use Schema.Array, or a struct with a name for each place"
    ],
    [
      "a list in a list in itself",
      Tree,
      "WebApp spec.a.children[]: the schema contains itself. Use Schema.Unknown at this place: it is kept, but not validated"
    ],
    [
      "undefined",
      Schema.UndefinedOr(Schema.String),
      "WebApp spec.a: JSON has no undefined. Make the property optional with Schema.optional"
    ],
    [
      "a value without a JSON form",
      Schema.Date,
      "WebApp spec.a: Date has no JSON form. Use the schema of what is stored, such as Schema.String or Field.Time"
    ],
    [
      "big integers",
      Schema.BigInt,
      "WebApp spec.a: bigint has no JSON form. Use the schema of what is stored, such as Schema.String or Field.Time"
    ],
    [
      "bounds on keys",
      Schema.Record(Schema.NonEmptyString, Schema.String),
      "WebApp spec.a: a CRD cannot constrain the keys of a record. Use Schema.String keys and Field.rule({ rule: \"self.all(key, key.matches('…'))\" })"
    ],
    [
      "properties next to a record",
      Schema.StructWithRest(Schema.Struct({ b: Schema.String }), [Schema.Record(Schema.String, Schema.String)]),
      "WebApp spec.a: named properties and a record in one struct. Put the record into a property of its own"
    ],
    [
      "a pattern beyond RE2",
      Schema.Record(Schema.String, Schema.Array(Schema.String.check(Schema.isPattern(/^(?!x)/)))),
      "WebApp spec.a.*[]: its pattern has a look-around, which the API server's RE2 does not know. Say it in other words, or as a CEL rule with Field.rule"
    ],
    [
      "a default that its schema refuses",
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 })).pipe(
        Schema.withDecodingDefaultType(Effect.succeed(0))
      ),
      "WebApp spec.a: the default does not fit: Expected a number between 1 and 50, actual 0. Give a default that the schema accepts"
    ],
    [
      "a default that fails",
      Schema.Int.pipe(
        Schema.withDecodingDefaultType(
          Effect.sync(() => {
            throw new Error("no number")
          })
        )
      ),
      "WebApp spec.a: the default fails: Error: no number. Give a default that the schema accepts"
    ],
    [
      "a change of a struct's values",
      Schema.Struct({ b: Schema.String }).pipe(
        Schema.decodeTo(Schema.Struct({ b: Schema.String }), {
          decode: SchemaGetter.transform(({ b }) => ({ b: b.trim() })),
          encode: SchemaGetter.passthrough()
        })
      ),
      `WebApp spec.a: its stored form differs from its decoded one, (object <-> object). ${whole}`
    ],
    [
      "a list that merges by a key its items lack",
      Schema.Array(Port).pipe(Field.listMap("name")),
      "WebApp spec.a: its items have no property name to merge by. Name a property of the items in Field.listMap"
    ],
    [
      "a list that merges by a key its items may lack",
      Schema.Array(Schema.Struct({ name: Schema.optional(Schema.String) })).pipe(Field.listMap("name")),
      "WebApp spec.a: its items may lack name, by which they merge. Make name required or give it a default"
    ],
    [
      "a list that merges by an object",
      Schema.Array(Schema.Struct({ port: Port })).pipe(Field.listMap("port")),
      "WebApp spec.a: its items merge by port, which is not a scalar. Merge by a string, an integer or a boolean"
    ],
    [
      "a list that merges by what may be null",
      Schema.Array(Schema.Struct({ name: Schema.NullOr(Schema.String) })).pipe(Field.listMap("name")),
      "WebApp spec.a: its items merge by name, which is not a scalar. Merge by a string, an integer or a boolean"
    ],
    [
      "a set of objects",
      Schema.Array(Port).pipe(Field.listSet),
      "WebApp spec.a: a set has scalar items. Use scalars, or Field.listMap with the keys of the items"
    ],
    [
      "a list type on text",
      Schema.String.pipe(Field.listSet),
      "WebApp spec.a: a list of type set is not an array. Use Schema.Array"
    ],
    [
      "a map type on text",
      Schema.String.pipe(Field.mapAtomic),
      "WebApp spec.a: only objects merge field by field. Use Schema.Struct"
    ],
    [
      "a jsonSchema annotation that no CRD can hold",
      Schema.String.annotate({ jsonSchema: { contentEncoding: "base64" } }),
      'WebApp spec.a: its jsonSchema annotation has "contentEncoding", which a CRD cannot hold. Say it in other words, or as a CEL rule with Field.rule'
    ]
  ]
  for (const [name, field, message] of refused) {
    test(name, () => {
      const refusal = Result.try({
        try: () => compile(Schema.Struct({ a: field }), { kind: "WebApp", field: "spec" }),
        catch: (error) => error
      })
      expect(Result.isFailure(refusal) && refusal.failure).toBeInstanceOf(InvalidDefinition)
      expect(Result.isFailure(refusal) && refusal.failure).toHaveProperty("message", message)
    })
  }
})
