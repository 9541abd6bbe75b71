/** A kind whose schema becomes strict after an object is stored. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { defined } from "./Definitions.ts"

const text: JsonObject = { type: "string", maxLength: 20 }

const kind = (plural: string, strict: boolean): JsonObject => {
  const only = (rules: JsonObject) => (strict ? rules : {})
  const spec: JsonObject = {
    type: "object",
    ...only({ "x-kubernetes-validations": [{ rule: "self.a != 'bad'", message: "a is bad" }] }),
    properties: {
      a: {
        ...text,
        ...only({ pattern: "^[a-z]{1,3}$", "x-kubernetes-validations": [{ rule: "self != 'zzz'", message: "zzz" }] })
      },
      b: text,
      nested: {
        type: "object",
        ...only({ required: ["x"] }),
        properties: { x: text, y: { ...text, ...only({ enum: ["p"] }) } }
      },
      atomic: { type: "array", maxItems: 5, items: { ...text, ...only({ maxLength: 2 }) } },
      map: {
        type: "array",
        maxItems: 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: {
          type: "object",
          required: ["k"],
          properties: { k: text, v: { type: "integer", ...only({ maximum: 5 }) } },
          ...only({ "x-kubernetes-validations": [{ rule: "!has(self.v) || self.v < 4", message: "v is big" }] })
        }
      },
      set: { type: "array", maxItems: 5, items: text, ...only({ "x-kubernetes-list-type": "set" }) },
      labels: { type: "object", maxProperties: 5, additionalProperties: { ...text, ...only({ maxLength: 2 }) } },
      one: {
        type: "object",
        properties: { p: text, q: text },
        ...only({ oneOf: [{ required: ["p"] }, { required: ["q"] }] })
      },
      all: { ...text, ...only({ allOf: [{ maxLength: 2 }] }) },
      was: {
        ...text,
        ...only({ "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "was is immutable" }] })
      }
    }
  }
  const status: JsonObject = {
    type: "object",
    properties: { phase: { ...text, ...only({ enum: ["Ready"] }) }, other: text }
  }
  return defined(plural, spec, {
    root: { properties: { spec, status } },
    version: { subresources: { status: {} } }
  })
}

export const loose = (plural: string): JsonObject => kind(plural, false)

export const strict = (plural: string): JsonObject => kind(plural, true)

const pairs = (...pairs: ReadonlyArray<readonly [k: string, v: number]>) => pairs.map(([k, v]) => ({ k, v }))

/** The stored spec. */
export const spec: JsonObject = {
  a: "TOO LONG",
  b: "b",
  nested: { y: "z" },
  atomic: ["long"],
  map: pairs(["a", 9], ["b", 1]),
  set: ["x", "x"],
  labels: { a: "long", b: "b" },
  one: {},
  all: "long",
  was: "was"
}

/** The new specs. */
export const next: ReadonlyArray<JsonObject> = [
  spec,
  { ...spec, b: "c" },
  { ...spec, a: "ALSO LONG" },
  { ...spec, a: "bad" },
  { ...spec, a: "zzz" },
  { ...spec, nested: { y: "z", x: "x" } },
  { ...spec, nested: { y: "q" } },
  { ...spec, nested: {} },
  { ...spec, atomic: ["long", "b"] },
  { ...spec, map: pairs(["b", 1], ["a", 9]) },
  { ...spec, map: pairs(["a", 8], ["b", 1]) },
  { ...spec, map: pairs(["a", 9], ["b", 9]) },
  { ...spec, map: pairs(["a", 9], ["c", 4]) },
  { ...spec, set: ["y", "y"] },
  { ...spec, labels: { a: "long", b: "c" } },
  { ...spec, labels: { a: "longer", b: "b" } },
  { ...spec, one: { p: "1" } },
  { ...spec, one: { p: "1", q: "2" } },
  { ...spec, all: "longer" },
  { ...spec, was: "is" },
  { b: "b" },
  {}
]

/** New statuses of an object with an old phase. */
export const statuses: ReadonlyArray<JsonObject> = [
  { phase: "Old" },
  { phase: "Old", other: "x" },
  { phase: "Older" },
  { phase: "Ready" },
  { other: "x" },
  {}
]
