import { describe, expect, test } from "bun:test"
import * as FieldSet from "./FieldSet.ts"

const a = { "f:a": {} }
const ab = { "f:a": { "f:b": {} } }
const aAndAb = { "f:a": { ".": {}, "f:b": {} } }

describe("A set of fields", () => {
  test.each([
    ["fields apart", a, { "f:b": {} }, { "f:a": {}, "f:b": {} }],
    ["a field and one below it", a, ab, aAndAb],
    ["one below a field, and the field", ab, a, aAndAb],
    ["steps that come before those there are", { "f:b": {} }, a, { "f:a": {}, "f:b": {} }],
    ["nothing", a, {}, a]
  ])("joined with another has the fields of both: %s", (_, one, other, both) => {
    expect(JSON.stringify(FieldSet.union(one, other))).toBe(JSON.stringify(both))
  })

  test.each([
    ["the same", a, a, {}],
    ["a field above", ab, a, ab],
    ["a field below", aAndAb, ab, a],
    ["the field of which others are below", aAndAb, a, ab],
    ["what it has not", a, { "f:x": {} }, a]
  ])("without the fields of another keeps what is below them: %s", (_, one, other, left) => {
    expect(FieldSet.difference(one, other)).toEqual(left)
  })

  test.each([
    ["a field above", ab, a, {}],
    ["a field below", aAndAb, ab, a],
    ["what only leads to a field of it", { "f:a": { "f:b": {}, "f:c": {} } }, ab, { "f:a": { "f:c": {} } }]
  ])("can be taken away with all that is below: %s", (_, one, other, left) => {
    expect(FieldSet.recursiveDifference(one, other)).toEqual(left)
  })

  test.each([
    ["a field and one below it", a, ab, {}],
    ["one of two", aAndAb, ab, ab],
    ["the same", aAndAb, aAndAb, aAndAb]
  ])("has in common with another what is a field of both: %s", (_, one, other, both) => {
    expect(FieldSet.intersection(one, other)).toEqual(both)
  })

  test("is the same value if a subtraction removes nothing", () => {
    expect(FieldSet.difference(aAndAb, { "f:x": {} })).toBe(aAndAb)
  })

  test("keeps a leaf when fields below it are added, and does not treat the parents of a field as fields", () => {
    const set = {}
    FieldSet.add(set, ["f:a"])
    FieldSet.add(set, ["f:a", "f:b"])
    FieldSet.add(set, ["f:c", "f:d"])
    FieldSet.add(set, ["f:c", "f:e"])
    expect(set).toEqual({ ...aAndAb, "f:c": { "f:d": {}, "f:e": {} } })
    expect(FieldSet.has(set, ["f:a"])).toBe(true)
    expect(FieldSet.has(set, ["f:c"])).toBe(false)
    FieldSet.add(set, ["f:c"])
    expect(FieldSet.has(set, ["f:c"])).toBe(true)
  })

  test("lists the fields of one level before those of the next", () => {
    const set = { "f:b": {}, "f:a": { ".": {}, 'k:{"port":80}': { "f:x": {} }, 'v:"y"': {} }, "i:0": {} }
    expect(FieldSet.paths(set).map(FieldSet.shown)).toEqual([".a", ".b", "[0]", '.a[="y"]', ".a[port=80].x"])
  })

  test("is written in order: members, items by their keys, items by their indexes, items by value", () => {
    const set = {
      'v:"x"': {},
      'k:{"n":443}': {},
      "f:z": {},
      'k:{"n":80}': {},
      ".": {},
      "f:a": { "f:c": {}, "f:b": {} }
    }
    expect(Object.keys(FieldSet.ordered(set))).toEqual([".", "f:a", "f:z", 'k:{"n":80}', 'k:{"n":443}', 'v:"x"'])
  })

  test.each([
    ["keys in any order", { 'k:{"b": 1, "a":"<"}': {} }, { 'k:{"a":"\\u003c","b":1}': {} }],
    ["steps of a kind that is not known", { "x:y": {}, "f:a": {} }, a],
    ["a field with only such steps below it", { "f:a": { "x:y": {} } }, a],
    ["a mark with nothing below", { "f:a": { ".": {} } }, a],
    ["nothing at all", undefined, {}]
  ])("of a client is read as if a server had written it: %s", (_, written, read) => {
    expect(FieldSet.decode(written)).toEqual(read)
  })

  test.each(["f", "fa", "k:x", "v:", "i:x", "k:1"])("of a client is refused where %p is a step", (element) => {
    expect(() => FieldSet.decode({ [element]: {} })).toThrow(SyntaxError)
  })
})
