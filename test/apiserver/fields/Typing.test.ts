import { describe, expect, test } from "bun:test"
import type { Json } from "../model/Json.ts"
import type { Schema } from "../model/Schema.ts"
import * as Type from "./Type.ts"
import { sentence, validate } from "./Typing.ts"

const text: Schema = { type: "string" }

const type = Type.ofKind({
  custom: false,
  schema: {
    type: "object",
    properties: {
      text,
      number: { type: "integer" },
      truth: { type: "boolean" },
      time: { type: "string", format: "date-time" },
      map: { type: "object", additionalProperties: text },
      set: { type: "array", "x-kubernetes-list-type": "set", items: text },
      atoms: { type: "array", items: text },
      items: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        items: { type: "object", properties: { port: { type: "integer" }, protocol: text } }
      },
      open: { type: "object", "x-kubernetes-preserve-unknown-fields": true }
    }
  }
})

describe("A value of a wrong type is rejected with the message of structured-merge-diff", () => {
  test.each<[Json, string]>([
    [{ other: 1 }, ".other: field not declared in schema"],
    [
      { number: "1", other: 1, text: 1 },
      "errors:\n  .number: expected numeric (int or float), got string\n  .other: field not declared in schema"
    ],
    [{ text: 1 }, ".text: expected string, got &value.valueUnstructured{Value:1}"],
    [
      { text: { a: ["x", null, true] } },
      '.text: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{"x", interface {}(nil), true}}}'
    ],
    [{ number: "1" }, ".number: expected numeric (int or float), got string"],
    [{ number: {} }, ".number: expected numeric (int or float), got map[string]interface {}"],
    [{ number: [] }, ".number: expected numeric (int or float), got []interface {}"],
    [{ number: true }, ".number: expected numeric (int or float), got bool"],
    [{ truth: "yes" }, ".truth: expected boolean, got &{yes}"],
    [{ time: [1, "a"] }, ".time: expected any scalar, got &{[1 a]}"],
    [{ map: "a" }, ".map: expected map, got &{a}"],
    [{ map: { "a.b": 1 } }, ".map.a.b: expected string, got &value.valueUnstructured{Value:1}"],
    [{ set: { b: 2, a: null } }, ".set: expected list, got &{map[a:<nil> b:2]}"],
    [{ set: ["a", "a"] }, '.set: duplicate entries for key [="a"]'],
    [{ set: [["a"]] }, ".set: element 0: not supported: associative list with lists as elements"],
    [{ set: [{}] }, ".set: element 0: associative list without keys has an element that's a map type"],
    [{ set: ["a", null] }, ".set: element 1: associative list without keys has an element that's an explicit null"],
    [{ atoms: ["a", 1.5] }, ".atoms[1]: expected string, got &value.valueUnstructured{Value:1.5}"],
    [{ items: [null] }, ".items: element 0: associative list with keys may not have a null element"],
    [{ items: ["a"] }, ".items: element 0: associative list with keys may not have non-map elements"],
    [
      { items: [{}] },
      '.items: element 0: associative list with keys has an element that omits all key fields ["port" "protocol"] (and doesn\'t have default values for any key fields)'
    ],
    [
      { items: [{ port: 1, protocol: 2 }] },
      ".items[port=1,protocol=2].protocol: expected string, got &value.valueUnstructured{Value:2}"
    ],
    [
      { number: "x", items: [{ port: 1 }, { port: 1 }, { port: 1 }] },
      "errors:\n  .number: expected numeric (int or float), got string\n  .items: duplicate entries for key [port=1]\n  .items: duplicate entries for key [port=1]"
    ]
  ])("%j", (value, expected) => {
    expect(sentence(validate(type, value, "refused"))).toBe(expected)
  })

  test.each<Json>([
    { text: null, number: null, map: null, set: null, items: null },
    { text: "", number: 1.5, truth: false, time: 3, map: {}, set: [], open: { a: [1, { b: null }] } },
    { items: [{ port: 1 }, { port: 1, protocol: "x" }] }
  ])("but not %j", (value) => {
    expect(validate(type, value, "refused")).toEqual([])
  })

  test("a stored object may have items with equal keys", () => {
    expect(validate(type, { set: ["a", "a"], items: [{ port: 1 }, { port: 1 }] }, "allowed")).toEqual([])
  })
})
