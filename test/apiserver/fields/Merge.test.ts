import { describe, expect, test } from "bun:test"
import type { Json } from "../model/Json.ts"
import * as Comparison from "./Comparison.ts"
import type * as FieldSet from "./FieldSet.ts"
import { merge } from "./Merge.ts"
import { fieldsOf } from "./Ownership.ts"
import { reconciled, withNamedFields } from "./Reconciliation.ts"
import { remove } from "./Removal.ts"
import type { MapType, Type } from "./Type.ts"

const text: Type = { scalar: "string" }
const object = (fields: { readonly [name: string]: Type }, more: Partial<MapType> = {}): Type => ({
  map: {
    fields: new Map(Object.entries(fields).map(([name, type]) => [name, { type, default: undefined }])),
    element: undefined,
    atomic: false,
    ...more
  }
})
const atomicAny: Type = { scalar: "untyped", list: { element: text, atomic: true, keys: [] } }
const any: Type = { ...atomicAny, map: { fields: new Map(), element: text, atomic: false } }
const item = object({ name: text, value: text })

/** A type with one field for each way of merging. */
const type = object({
  text,
  any,
  map: object({}, { element: text }),
  whole: object({}, { element: text, atomic: true }),
  items: { list: { element: item, atomic: false, keys: ["name"] } },
  set: { list: { element: text, atomic: false, keys: [] } },
  atoms: { list: { element: text, atomic: true, keys: [] } },
  inner: object({ a: text, b: text })
})

const items = (...names: ReadonlyArray<string>): ReadonlyArray<Json> => names.map((name) => ({ name }))
const x = (value: string): Json => ({ items: [{ name: "x", value }] })

describe("Merging", () => {
  test.each<[string, Json, Json, Json]>([
    ["what is applied wins", { text: "a" }, { text: "b" }, { text: "b" }],
    ["members come together", { map: { a: "1" } }, { map: { b: "2" } }, { map: { a: "1", b: "2" } }],
    ["an atomic object is replaced", { whole: { a: "1" } }, { whole: { b: "2" } }, { whole: { b: "2" } }],
    ["an atomic list is replaced", { atoms: ["a"] }, { atoms: ["b"] }, { atoms: ["b"] }],
    ["an empty list takes nothing away", { set: ["a"] }, { set: [] }, { set: ["a"] }],
    ["null takes nothing away", { map: { a: "1" } }, { map: null }, { map: { a: "1" } }],
    ["null is a value of a scalar", { text: "a" }, { text: null }, { text: null }],
    ["empty stays empty", { map: {} }, { map: {} }, { map: {} }],
    ["items are merged by key", x("1"), { items: items("y") }, { items: [{ name: "x", value: "1" }, { name: "y" }] }],
    ["items are merged inside", x("1"), { items: items("x") }, x("1")],
    ["of another form, it is replaced", { any: "a" }, { any: { a: "b" } }, { any: { a: "b" } }],
    ["a list of an unknown is replaced", { any: ["a", "b"] }, { any: ["c"] }, { any: ["c"] }]
  ])("%s", (_, live, applied, merged) => {
    expect(merge(type, live, applied)).toEqual(merged)
  })

  test.each<[string, string, string, string]>([
    ["the same order", "abc", "abc", "abc"],
    ["the applied order, of what both have", "abc", "cba", "cba"],
    ["what is live stays before what it came before", "abc", "c", "abc"],
    ["what is new comes after", "abc", "abcd", "abcd"],
    ["what is new comes first where it is applied first", "bc", "abc", "abc"],
    ["live ones in between, which come before what both have", "axbyc", "cab", "xycab"],
    ["new ones before what both have", "bx", "nb", "nbx"],
    ["nothing in common", "ab", "cd", "abcd"]
  ])("keeps order: %s", (_, live, applied, merged) => {
    expect(merge(type, { set: [...live] }, { set: [...applied] })).toEqual({ set: [...merged] })
  })
})

describe("Comparing", () => {
  test.each<[string, Json, Json, Partial<Comparison.Comparison>]>([
    ["nothing", { text: "a", set: ["x"] }, { text: "a", set: ["x"] }, {}],
    ["a value", { text: "a" }, { text: "b" }, { modified: { "f:text": {} } }],
    ["a new member, and what is in it", {}, { inner: { a: "1" } }, { added: { "f:inner": { ".": {}, "f:a": {} } } }],
    ["a member that goes", { inner: { a: "1" } }, {}, { removed: { "f:inner": { ".": {}, "f:a": {} } } }],
    [
      "a member inside",
      { inner: { a: "1" } },
      { inner: { b: "1" } },
      { added: { "f:inner": { "f:b": {} } }, removed: { "f:inner": { "f:a": {} } } }
    ],
    ["an atomic object", { whole: { a: "1" } }, { whole: { a: "2" } }, { modified: { "f:whole": {} } }],
    ["an atomic list", { atoms: ["a"] }, { atoms: ["a", "b"] }, { modified: { "f:atoms": {} } }],
    ["an empty object for none", {}, { inner: {} }, { added: { "f:inner": {} } }],
    ["an empty object for null", { inner: null }, { inner: {} }, { modified: { "f:inner": {} } }],
    ["the order of items is no difference", { items: items("x", "y") }, { items: items("y", "x") }, {}],
    ["an item", { items: items("x") }, x("1"), { added: { "f:items": { 'k:{"name":"x"}': { "f:value": {} } } } }],
    [
      "an item of a set",
      { set: ["a"] },
      { set: ["b"] },
      { added: { "f:set": { 'v:"b"': {} } }, removed: { "f:set": { 'v:"a"': {} } } }
    ],
    [
      "items with the same keys, as one",
      { set: ["a", "a"] },
      { set: ["a", "a", "a"] },
      { modified: { "f:set": { 'v:"a"': {} } } }
    ],
    [
      "items that had the same keys",
      { set: ["a", "a"] },
      { set: ["a"] },
      { added: { "f:set": { 'v:"a"': {} } }, removed: { "f:set": { 'v:"a"': {} } } }
    ],
    [
      "items that now have the same keys",
      { set: ["a"] },
      { set: ["a", "a"] },
      { added: { "f:set": { 'v:"a"': {} } }, removed: { "f:set": { 'v:"a"': {} } } }
    ],
    [
      "another form: both what it was and what it is",
      { any: "a" },
      { any: { b: "c" } },
      { modified: { "f:any": {} }, added: { "f:any": { "f:b": {} } } }
    ]
  ])("finds %s", (_, before, after, found) => {
    expect(Comparison.compare(type, before, after)).toEqual({ added: {}, modified: {}, removed: {}, ...found })
  })
})

describe("Owning", () => {
  test.each<[string, Json, FieldSet.FieldSet]>([
    ["a scalar", { text: "a" }, { "f:text": {} }],
    ["the members of a struct, not the struct", { inner: { a: "1" } }, { "f:inner": { "f:a": {} } }],
    ["an empty struct", { inner: {} }, { "f:inner": {} }],
    ["null", { inner: null, text: null }, { "f:inner": {}, "f:text": {} }],
    ["each entry of a map", { map: { a: "1" } }, { "f:map": { "f:a": {} } }],
    ["an atomic object", { whole: { a: "1" } }, { "f:whole": {} }],
    [
      "items, and what is in them",
      { items: [{ name: "x" }] },
      { "f:items": { 'k:{"name":"x"}': { ".": {}, "f:name": {} } } }
    ],
    ["items of a set", { set: ["b", "a"] }, { "f:set": { 'v:"a"': {}, 'v:"b"': {} } }],
    ["no empty list", { set: [], items: [] }, {}],
    ["an empty atomic list", { atoms: [] }, { "f:atoms": {} }],
    [
      "items with the same keys, once",
      { items: items("x", "x", "y") },
      { "f:items": { 'k:{"name":"x"}': {}, 'k:{"name":"y"}': { ".": {}, "f:name": {} } } }
    ]
  ])("who applies owns %s", (_, value, fields) => {
    expect(fieldsOf(type, value)).toEqual(fields)
  })
})

describe("Removing", () => {
  test.each<[string, Json, FieldSet.FieldSet, Json]>([
    ["a member", { text: "a", inner: { a: "1" } }, { "f:text": {} }, { inner: { a: "1" } }],
    ["a member inside", { inner: { a: "1", b: "2" } }, { "f:inner": { "f:a": {} } }, { inner: { b: "2" } }],
    ["the last member: null is left", { inner: { a: "1" } }, { "f:inner": { "f:a": {} } }, { inner: null }],
    ["an item", { items: items("x", "y") }, { "f:items": { 'k:{"name":"x"}': {} } }, { items: items("y") }],
    ["of an item", x("1"), { "f:items": { 'k:{"name":"x"}': { "f:value": {} } } }, { items: items("x") }],
    ["an item of a set", { set: ["a", "b"] }, { "f:set": { 'v:"a"': {} } }, { set: ["b"] }],
    ["nothing of what is not there", { set: ["a"] }, { "f:set": { 'v:"z"': {} } }, { set: ["a"] }]
  ])("%s", (_, value, fields, left) => {
    expect(remove(type, value, fields)).toEqual(left)
  })
})

describe("A set that was written with another schema", () => {
  test.each<[string, FieldSet.FieldSet, FieldSet.FieldSet]>([
    [
      "owns an object that became one value, for what it owned of it",
      { "f:whole": { ".": {}, "f:a": {} } },
      { "f:whole": {} }
    ],
    ["owns a list that became one value", { "f:atoms": { 'v:"a"': {} } }, { "f:atoms": {} }],
    ["stays as it is where nothing changed", { "f:inner": { "f:a": {} } }, { "f:inner": { "f:a": {} } }],
    ["stays as it is where the schema knows nothing", { "f:gone": { "f:a": {} } }, { "f:gone": { "f:a": {} } }]
  ])("%s", (_, written, now) => {
    expect(reconciled(type, written)).toEqual(now)
  })

  test("has the members that the schema names as fields, not those of maps", () => {
    const set = { "f:inner": { "f:a": {} }, "f:items": { 'k:{"name":"x"}': { "f:value": {} } } }
    expect(withNamedFields(type, set)).toEqual({
      "f:inner": { ".": {}, "f:a": {} },
      "f:items": { ".": {}, 'k:{"name":"x"}': { "f:value": {} } }
    })
  })
})
