import { expect, test } from "bun:test"
import { jsonPatch } from "../fields/JsonPatch.ts"
import { mergePatch } from "../fields/MergePatch.ts"
import { strategicMergePatch } from "../fields/StrategicMergePatch.ts"
import * as Json from "../model/Json.ts"
import * as Decode from "./Decode.ts"

const strange = '{"__proto__":{"a":1},"constructor":2,"toString":null}'
const parsed = Decode.parse(strange, "json").value

test("names that are special in JavaScript are read and copied as they are", () => {
  expect(JSON.stringify(parsed)).toBe(strange)
  expect(JSON.stringify(Json.copy(parsed))).toBe(strange)
  expect(Json.equal(parsed, Json.copy(parsed))).toBe(true)
  expect(Json.equal(parsed, { constructor: 2, toString: null })).toBe(false)
  expect(Json.equal({}, parsed)).toBe(false)
  expect(Json.at({}, "constructor")).toBeUndefined()
})

const patches: ReadonlyArray<readonly [what: string, patch: () => Json.Json, made: string]> = [
  ["a merge patch", () => mergePatch({}, parsed), '{"__proto__":{"a":1},"constructor":2}'],
  [
    "a merge patch of such",
    () => mergePatch(parsed, Decode.parse('{"__proto__":{"b":2}}', "json").value),
    '{"__proto__":{"a":1,"b":2},"constructor":2,"toString":null}'
  ],
  [
    "a strategic merge patch",
    () => strategicMergePatch({}, {}, Json.copy(parsed)),
    '{"__proto__":{"a":1},"constructor":2}'
  ],
  ["a JSON patch", () => jsonPatch({}, [{ op: "add", path: "/__proto__", value: { a: 1 } }]), '{"__proto__":{"a":1}}']
]

for (const [what, patch, made] of patches) {
  test(`${what} makes them members`, () => {
    expect(JSON.stringify(patch())).toBe(made)
    expect(Object.hasOwn(Object.prototype, "a")).toBe(false)
  })
}

test("a JSON patch cannot double the object again and again", () => {
  const copies = Array.from({ length: 40 }, (_, at) => ({ op: "copy", from: "/a", path: `/a/${at}` }))
  expect(() => jsonPatch({ a: { text: "x".repeat(1000) } }, copies)).toThrow()
})
