import { expect, test } from "bun:test"
import type * as Json from "../../model/Json.ts"
import * as Prune from "./Pruning.ts"
import { schemaOf } from "./StructuralSchema.ts"

const schema = schemaOf({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        a: { type: "string" },
        maybe: { type: "string", nullable: true },
        filled: { type: "string", default: "x" },
        list: { type: "array", items: { type: "object", properties: { a: { type: "string" } } } },
        map: { type: "object", additionalProperties: { type: "object", properties: { a: { type: "string" } } } },
        open: {
          type: "object",
          "x-kubernetes-preserve-unknown-fields": true,
          properties: { closed: { type: "object", properties: {} } }
        },
        embedded: { type: "object", "x-kubernetes-embedded-resource": true, properties: { spec: { type: "object" } } }
      }
    }
  }
})

const pruned = (spec: Parameters<typeof Prune.isPruned>[1], more = {}) => {
  const { unknown, value } = Prune.prune(schema, { apiVersion: "g/v", kind: "K", spec, ...more })
  return { spec: value.spec, unknown }
}

test.each([
  ["unknown fields go, and are named", { a: "1", b: 2 }, { a: "1" }, ["spec.b"]],
  [
    "fields of items and of values of maps",
    { list: [{ a: "1", b: 1 }], map: { k: { b: 1 } } },
    { list: [{ a: "1" }], map: { k: {} } },
    ["spec.list[0].b", "spec.map.k.b"]
  ],
  [
    "an open object keeps all but what its closed parts do not know",
    { open: { x: [{ y: 1 }], closed: { z: 1 } } },
    { open: { x: [{ y: 1 }], closed: {} } },
    ["spec.open.closed.z"]
  ],
  [
    "null goes where it means nothing and is no place for a default",
    { a: null, maybe: null, filled: null },
    { maybe: null, filled: null },
    []
  ],
  [
    "an embedded resource has metadata that are empty instead of null",
    { embedded: { apiVersion: "v1", kind: "Pod", metadata: null } },
    { embedded: { apiVersion: "v1", kind: "Pod", metadata: {} } },
    []
  ],
  [
    "an embedded resource keeps what every resource has, and metadata as it is typed",
    { embedded: { apiVersion: "v1", kind: "Pod", metadata: { name: "a", labels: {}, x: 1 }, spec: { y: 1 }, z: 1 } },
    { embedded: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: {} } },
    ["spec.embedded.spec.y", "spec.embedded.z", "spec.embedded.metadata.x"]
  ]
] as const)("%s", (_, spec, expected, unknown) => {
  expect<object>(pruned(spec)).toEqual({ spec: expected, unknown })
})

test("metadata is ObjectMeta with any schema", () => {
  const object = { metadata: { name: "a", strange: 1, annotations: {} }, other: 1 }
  expect<object>(Prune.prune(schema, object)).toEqual({
    value: { metadata: { name: "a" } },
    unknown: ["metadata.strange", "other"]
  })
  expect(object.metadata.strange).toBe(1)
})

const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }
const without = { apiVersion: "", kind: "", name: "", uid: "" }

test.each<readonly [name: string, given: Json.JsonObject, read: Json.JsonObject]>([
  [
    "has no nulls and nothing empty",
    { name: "a", uid: "", labels: {}, annotations: null, generation: 0 },
    { name: "a" }
  ],
  [
    "has empty texts instead of nulls",
    { labels: { a: null }, finalizers: [null] },
    { labels: { a: "" }, finalizers: [""] }
  ],
  [
    "drops unknown fields of an owner",
    { ownerReferences: [{ ...owner, controller: null, blockOwnerDeletion: false, more: 1 }] },
    { ownerReferences: [{ ...owner, blockOwnerDeletion: false }] }
  ],
  [
    "has all fields of an owner",
    { ownerReferences: [null, { name: "p" }] },
    { ownerReferences: [without, { ...without, name: "p" }] }
  ],
  [
    "keeps which fields a manager has",
    { managedFields: [{ manager: "", operation: "Update", time: null, fieldsV1: {} }] },
    { managedFields: [{ operation: "Update", fieldsV1: {} }] }
  ],
  ["of no managers says nothing of them", { managedFields: [] }, {}]
])("metadata %s", (_, given, read) => {
  expect<object>(Prune.prune(schema, { metadata: given }).value).toEqual({ metadata: read })
  const embedded = { apiVersion: "v1", kind: "Pod" }
  expect<unknown>(pruned({ embedded: { ...embedded, metadata: given } }).spec).toEqual({
    embedded: { ...embedded, metadata: read }
  })
})
