import { describe, expect, test } from "bun:test"
import * as Fields from "../../../docs/generate/Fields.ts"

const integer = { type: "integer", minimum: 0, maximum: 9 }
const either = { "x-kubernetes-int-or-string": true }
const quantity = { ...either, pattern: "^[0-9]+$" }
const object = { type: "object", properties: { a: { type: "string" }, b: integer }, required: ["a"] }

/** The cells of each row without the description. */
const cells = (field: Fields.Field) =>
  Fields.table("spec", { properties: { f: field } }, true)
    .split("\n")
    .slice(2)
    .map((line) => line.split(" | ").slice(0, 3).join(" | ").replace("| ", ""))

describe("A field's row", () => {
  const types: ReadonlyArray<readonly [type: string, field: Fields.Field]> = [
    ["integer, 0 to 9", integer],
    ["integer or string", either],
    ["quantity", quantity],
    ["time", { type: "string", format: "date-time" }],
    ["`A`, `B`", { type: "string", enum: ["A", "B"] }],
    ["anything", {}],
    ["list of integers, 0 to 9", { type: "array", items: integer }],
    ["list of integers or strings", { type: "array", items: either }],
    ["list of quantities", { type: "array", items: quantity }],
    ["map of quantities", { type: "object", additionalProperties: quantity }],
    ["map of lists of strings", { type: "object", additionalProperties: { items: { type: "string" } } }]
  ]
  for (const [type, field] of types) {
    test(`has the type ${type}`, () => expect(cells(field)).toEqual([`\`spec.f\` | ${type} | `]))
  }

  const defaults: ReadonlyArray<readonly [what: string, value: unknown, text: string]> = [
    ["text", "Retain", "Retain"],
    ["a number", 0, "0"],
    ["an object", { keep: 3, of: ["a"] }, '{"keep":3,"of":["a"]}'],
    ["text with a bar", "a|b", "a\\|b"]
  ]
  for (const [what, value, text] of defaults) {
    test(`has ${what} as its default`, () =>
      expect(cells({ type: "string", default: value })).toEqual([`\`spec.f\` | string | \`${text}\``]))
  }

  test("precedes the rows of its objects, also in lists and maps", () => {
    const below = (path: string) => [`\`${path}.a\` | string | required`, `\`${path}.b\` | integer, 0 to 9 | `]
    expect(cells(object)).toEqual(["`spec.f` | object | ", ...below("spec.f")])
    expect(cells({ type: "array", items: object })).toEqual(["`spec.f` | list of objects | ", ...below("spec.f[]")])
    const map = { type: "object", additionalProperties: object }
    expect(cells(map)).toEqual(["`spec.f` | map of objects | ", ...below("spec.f.*")])
    const maps = { type: "array", items: map }
    expect(cells(maps)).toEqual(["`spec.f` | list of maps of objects | ", ...below("spec.f[].*")])
  })
})
