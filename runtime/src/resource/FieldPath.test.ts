import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import * as FieldPath from "./FieldPath.ts"
import type { StructuralSchema } from "./StructuralSchema.ts"

const root: StructuralSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        image: { type: "string" },
        labels: { type: "object", additionalProperties: { type: "integer" } },
        any: { "x-kubernetes-preserve-unknown-fields": true },
        ports: { type: "array", items: { type: "object", properties: { port: { type: "number" } } } }
      }
    }
  }
}

describe("FieldPath.resolve finds the schema of", () => {
  const found: ReadonlyArray<readonly [string, StructuralSchema]> = [
    [".spec.image", { type: "string" }],
    [".spec['image']", { type: "string" }],
    ['.spec["image"]', { type: "string" }],
    [".spec.labels.app", { type: "integer" }],
    [".spec.any.thing[3].else", { "x-kubernetes-preserve-unknown-fields": true }],
    [".spec.ports[0].port", { type: "number" }],
    [".spec.ports[*].port", { type: "number" }],
    ['.spec.ports[?(@.name=="a[0]")].port', { type: "number" }],
    ...[
      "name",
      "namespace",
      "generateName",
      "uid",
      "resourceVersion",
      "annotations.a",
      "labels.a",
      "finalizers[0]"
    ].map((field): readonly [string, StructuralSchema] => [`.metadata.${field}`, { type: "string" }]),
    [".metadata.annotations", { type: "object", additionalProperties: { type: "string" } }],
    [".metadata.labels", { type: "object", additionalProperties: { type: "string" } }],
    [".metadata.finalizers", { type: "array", items: { type: "string" } }],
    [".metadata.generation", { type: "integer" }],
    [".metadata.deletionTimestamp", { type: "string", format: "date-time" }],
    [".metadata", expect.objectContaining({ type: "object" })],
    [".metadata.ownerReferences", { type: "array", items: { "x-kubernetes-preserve-unknown-fields": true } }],
    [".metadata.ownerReferences[0].uid", { "x-kubernetes-preserve-unknown-fields": true }],
    [String.raw`.metadata.labels.app\.kubernetes\.io/name`, { type: "string" }],
    [".metadata.creationTimestamp", { type: "string", format: "date-time" }]
  ]
  for (const [path, schema] of found) {
    test(path, () => expect(FieldPath.resolve(root, path)).toEqual(Result.succeed(schema)))
  }

  const lost: ReadonlyArray<readonly [string, string]> = [
    [".spec.imag", ".spec.imag not found: the schema has no field imag"],
    [".spec.image.tag", ".spec.image.tag not found: the schema has no field tag"],
    [".spec.toString", ".spec.toString not found: the schema has no field toString"],
    [".spec.image[0]", ".spec.image[0] takes an item of a field that is not a list"],
    ["spec.image", 'spec.image cannot be read from "spec.image" on'],
    [".spec..image", '.spec..image cannot be read from "..image" on'],
    ["", "the path is empty"]
  ]
  for (const [path, problem] of lost) {
    test(`an error for ${path || "an empty path"}`, () =>
      expect(FieldPath.resolve(root, path)).toEqual(Result.fail(problem)))
  }

  test("FieldPath.parse returns unescaped names and list items", () =>
    expect(FieldPath.parse(String.raw`.a\.b['c\'d'][1:2]`)).toEqual(
      Result.succeed([{ name: "a.b" }, { name: "c'd" }, { item: "1:2" }])
    ))
})
