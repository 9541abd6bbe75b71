import { expect, test } from "bun:test"
import * as Json from "../../model/Json.ts"
import * as Defaults from "./Defaults.ts"
import { schemaOf } from "./StructuralSchema.ts"

const inner = { type: "object", properties: { a: { type: "string", default: "A" } } }
const schema = schemaOf({
  type: "object",
  properties: {
    plain: { type: "integer", default: 1 },
    off: { type: "boolean", default: false },
    maybe: { type: "string", nullable: true, default: "m" },
    inner,
    made: { ...inner, default: {} },
    list: { type: "array", items: inner },
    map: { type: "object", additionalProperties: inner }
  }
})

test.each([
  [
    "what is missing is filled in, objects only where a default makes them",
    {},
    { plain: 1, off: false, maybe: "m", made: { a: "A" } }
  ],
  [
    "what is there stays",
    { plain: 0, off: true, maybe: "", made: { a: "b" } },
    { plain: 0, off: true, maybe: "", made: { a: "b" } }
  ],
  [
    "null is no value unless it may be one",
    { plain: null, maybe: null },
    { plain: 1, off: false, maybe: null, made: { a: "A" } }
  ],
  [
    "inside of what is there",
    { inner: {}, list: [{}, { a: "b" }], map: { k: {} } },
    {
      plain: 1,
      off: false,
      maybe: "m",
      inner: { a: "A" },
      made: { a: "A" },
      list: [{ a: "A" }, { a: "b" }],
      map: { k: { a: "A" } }
    }
  ]
])("%s", (_, value: Json.JsonObject, expected: Json.JsonObject) => {
  const draft = Json.copy(value)
  Defaults.fill(draft, schema)
  expect<Json.JsonObject>(draft).toEqual(expected)
  Defaults.fill(draft, schema)
  expect<Json.JsonObject>(draft).toEqual(expected)
})
