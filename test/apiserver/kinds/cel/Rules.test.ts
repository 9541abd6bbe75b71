import { expect, test } from "bun:test"
import type { Json, JsonObject } from "../../model/Json.ts"
import { schemaOf } from "../crd/StructuralSchema.ts"
import * as Rules from "./Rules.ts"

const properties: JsonObject = {
  n: { type: "integer" },
  f: { type: "number" },
  s: { type: "string" },
  port: { "x-kubernetes-int-or-string": true },
  list: { type: "array", items: { type: "integer" } },
  set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
  map: { type: "object", additionalProperties: { type: "string" } },
  maybe: { type: "string", nullable: true },
  o: { type: "object", properties: { "a-b": { type: "string" } } },
  items: { type: "array", items: { type: "object", properties: { a: { type: "string" } } } },
  none: { type: "string" }
}
const value: JsonObject = {
  n: 3,
  f: 2,
  s: "abc",
  port: 80,
  list: [1, 2],
  set: ["a", "b"],
  map: { k: "v" },
  maybe: null,
  o: { "a-b": "x" },
  items: [{ a: "x" }, { a: "y" }, { a: "x" }]
}

const messages = (rule: JsonObject, old?: Json) =>
  Rules.compile(schemaOf({ type: "object", properties, "x-kubernetes-validations": [rule] }), { root: false })
    .check(value, old, { path: "spec" })
    .map(({ field, message }) => `${field}: ${message}`)

// test/suites/crd compares many more rules with a real server.
test.each([
  ["integers are integers, also beside doubles", "self.n / 2 == 1 && self.f / 4.0 == 0.5 && self.f < self.n"],
  ["int-or-string is what it is", "type(self.port) == int && self.port == 80"],
  ["sets are equal in any order", "self.set == ['b', 'a']"],
  ["names are escaped", "self.o.a__dash__b == 'x'"],
  ["what is missing is missing", "!has(self.none) && self.?none.orValue('x') == 'x'"],
  ["null is there", "has(self.maybe) && self.maybe == null"],
  ["patterns are RE2", "self.s.matches('^(?i)A[[:alpha:]]+\\\\z')"],
  ["objects are equal when their fields are", "self.items[0] != self.items[1] && self.items[0] == self.items[2]"],
  ["items are sorted by a key", "['b', 'c', 'a'].sortBy(x, x) == ['a', 'b', 'c']"],
  ["two variables", "self.map.all(k, v, k == 'k' && v == 'v')"],
  ["an error counts only where it decides", "self.n == 3 || 1 / 0 == 1"]
])("%s", (_, rule) => {
  expect(messages({ rule })).toEqual([])
})

test.each<readonly [JsonObject, string]>([
  [{ rule: "self.n > 5" }, "spec: Invalid value: failed rule: self.n > 5"],
  [
    { rule: "self.n > 5", message: " no ", reason: "FieldValueForbidden", fieldPath: ".o['a-b']" },
    "spec.o.a-b: Forbidden: no"
  ],
  [{ rule: "self.n > 5", messageExpression: "'n is ' + string(self.n)" }, "spec: Invalid value: n is 3"],
  [{ rule: "self.n > 5", message: "no", messageExpression: "self.map['z']" }, "spec: Invalid value: no"],
  [
    { rule: "self.list[7] == 1" },
    'spec: Invalid value: "object": index out of bounds: 7 evaluating rule: self.list[7] == 1'
  ],
  [
    { rule: "self.map['z'] == ''" },
    "spec: Invalid value: \"object\": no such key: z evaluating rule: self.map['z'] == ''"
  ]
])("%j", (rule, message) => {
  expect(messages(rule)).toEqual([message])
})

test("a transition rule is evaluated only if there is an old value", () => {
  expect(messages({ rule: "self.n == oldSelf.n" })).toEqual([])
  expect(messages({ rule: "self.n == oldSelf.n" }, { n: 4 })).toEqual([
    "spec: Invalid value: failed rule: self.n == oldSelf.n"
  ])
  const rule = "oldSelf.hasValue() && oldSelf.value().n == self.n"
  expect(messages({ rule, optionalOldSelf: true })).toHaveLength(1)
  expect(messages({ rule, optionalOldSelf: true }, { n: 3 })).toEqual([])
})

test("items of map lists are compared with the old items of the same keys", () => {
  const items = {
    type: "object",
    properties: { k: { type: "string" }, v: { type: "integer" } },
    "x-kubernetes-validations": [{ rule: "self.v >= oldSelf.v" }]
  }
  const list = { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], items }
  const rules = Rules.compile(schemaOf({ type: "object", properties: { list } }))
  const old = {
    list: [
      { k: "a", v: 5 },
      { k: "b", v: 1 }
    ]
  }
  const next = {
    list: [
      { k: "c", v: 0 },
      { k: "b", v: 1 },
      { k: "a", v: 4 }
    ]
  }
  expect(rules.check(next, old).map(({ field }) => field)).toEqual(["list[2]"])
})
