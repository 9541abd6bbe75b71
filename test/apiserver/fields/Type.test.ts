import { describe, expect, test } from "bun:test"
import { schemaOf } from "../model/OpenApiDefinitions.ts"
import type { Schema } from "../model/Schema.ts"
import * as Type from "./Type.ts"

const text: Schema = { type: "string" }

/** Returns the type of a property of a custom kind. */
const typeOf = (schema: Schema): Type.Type | undefined =>
  Type.ofKind({ custom: true, schema: { type: "object", properties: { it: schema } } }).map?.fields.get("it")?.type

describe("A schema defines how values are merged", () => {
  test.each<[string, Schema, Type.Scalar]>([
    ["text", text, "string"],
    ["bytes", { type: "string", format: "byte" }, "string"],
    ["times, which are not looked into", { type: "string", format: "date-time" }, "untyped"],
    ["integers", { type: "integer" }, "numeric"],
    ["numbers", { type: "number" }, "numeric"],
    ["truths", { type: "boolean" }, "boolean"]
  ])("of %s", (_, schema, scalar) => {
    expect(typeOf(schema)).toEqual({ scalar })
  })

  test.each<[string, Schema, boolean, ReadonlyArray<string>]>([
    ["an empty schema", {}, true, []],
    ["atomic", { "x-kubernetes-list-type": "atomic" }, true, []],
    ["a set", { "x-kubernetes-list-type": "set" }, false, []],
    ["by keys", { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"] }, false, ["a", "b"]],
    [
      "merged by a patch",
      { "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "a" },
      false,
      ["a"]
    ],
    ["a set for a patch", { "x-kubernetes-patch-strategy": "merge" }, false, []],
    ["replaced by a patch", { "x-kubernetes-patch-strategy": "retainKeys" }, true, []]
  ])("of lists: %s", (_, schema, atomic, keys) => {
    expect(typeOf({ ...schema, type: "array", items: text })?.list).toMatchObject({ atomic, keys })
  })

  test("an atomic object is one value", () => {
    expect(typeOf({ type: "object", "x-kubernetes-map-type": "atomic" })?.map?.atomic).toBe(true)
    expect(typeOf({ type: "object", "x-kubernetes-map-type": "granular" })?.map?.atomic).toBe(false)
  })

  test.each<[string, Schema, boolean]>([
    ["named members only", { type: "object", properties: { a: text } }, false],
    ["no members named", { type: "object" }, true],
    ["values of one type", { type: "object", additionalProperties: text }, true],
    [
      "unknown ones kept",
      { type: "object", properties: { a: text }, "x-kubernetes-preserve-unknown-fields": true },
      true
    ]
  ])("of objects: whether there may be other members: %s", (_, schema, open) => {
    expect(typeOf(schema)?.map?.element !== undefined).toBe(open)
  })

  test("preserving unknown fields applies to all nested fields", () => {
    const inside = { type: "object", properties: { a: text } } as const
    const around: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { inside } }
    expect(typeOf(around)?.map?.fields.get("inside")?.type.map?.element).toBeDefined()
    expect(
      typeOf({ type: "object", properties: { inside } })?.map?.fields.get("inside")?.type.map?.element
    ).toBeUndefined()
  })

  test("an int-or-string field accepts any value", () => {
    const type = typeOf({ "x-kubernetes-int-or-string": true })
    expect([type?.scalar, type?.list?.atomic, type?.map?.atomic]).toEqual(["untyped", true, false])
  })

  test("every custom object has metadata, and so has an embedded one", () => {
    const type = typeOf({ type: "object", "x-kubernetes-embedded-resource": true })
    const labels = type?.map?.fields.get("metadata")?.type.map?.fields.get("labels")?.type
    expect(labels?.map?.element).toEqual({ scalar: "string" })
  })

  test("a recursive schema has a recursive type", () => {
    const schema = schemaOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition") ?? {}
    expect(Type.ofKind({ custom: false, schema }).map?.fields.has("spec")).toBe(true)
  })

  test("quantities are scalars, and a value of an unknown type is atomic", () => {
    const revision = Type.ofKind({ custom: false, schema: schemaOf("apps", "v1", "ControllerRevision") ?? {} })
    expect(revision.map?.fields.get("data")?.type.map?.atomic).toBe(true)
    const quota = Type.ofKind({ custom: false, schema: schemaOf("", "v1", "ResourceQuota") ?? {} })
    expect(quota.map?.fields.get("spec")?.type.map?.fields.get("hard")?.type.map?.element).toEqual({
      scalar: "untyped"
    })
  })
})
