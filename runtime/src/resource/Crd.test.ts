import { describe, expect, test } from "bun:test"
import { Effect, Schema } from "effect"
import * as Crd from "./Crd.ts"
import * as CustomResource from "./CustomResource.ts"
import * as Field from "./Field.ts"

const Widget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  shortNames: ["wd"],
  categories: ["all"],
  description: "A thing.",
  spec: Schema.Struct({
    size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
      .pipe(Schema.withDecodingDefaultType(Effect.succeed(2)))
      .annotate({
        description: "How big."
      }),
    tags: Schema.optional(Schema.Array(Schema.String.check(Schema.isMaxLength(9))).pipe(Field.listSet))
  }),
  status: Schema.Struct({
    size: Schema.optional(Schema.Int),
    selector: Schema.optional(Schema.String),
    since: Schema.optional(Field.Time)
  }),
  columns: [
    { name: "Size", path: ".spec.size" },
    { name: "Since", path: ".status.since", priority: 1, description: "Since when." },
    { name: "Tags", path: ".spec.tags", type: "string" },
    { name: "Age", path: ".metadata.creationTimestamp" }
  ],
  scale: { spec: ".spec.size", status: ".status.size", selector: ".status.selector" },
  rules: [{ rule: "self.metadata.name.size() < 9", message: "short names only", fieldPath: ".metadata.name" }]
})

test("The CRD of a kind contains all declarations, in a stable order", () => {
  const expected = `{
  "apiVersion": "apiextensions.k8s.io/v1",
  "kind": "CustomResourceDefinition",
  "metadata": { "name": "widgets.example.com" },
  "spec": {
    "group": "example.com",
    "names": {
      "kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget",
      "shortNames": ["wd"], "categories": ["all"]
    },
    "scope": "Namespaced",
    "versions": [{
      "name": "v1", "served": true, "storage": true,
      "schema": { "openAPIV3Schema": {
        "description": "A thing.",
        "type": "object",
        "properties": {
          "metadata": { "type": "object", "properties": { "name": { "type": "string" } } },
          "spec": {
            "type": "object",
            "properties": {
              "size": { "description": "How big.", "type": "integer", "format": "int32", "default": 2, "minimum": 1, "maximum": 9 },
              "tags": { "type": "array", "items": { "type": "string", "maxLength": 9 }, "x-kubernetes-list-type": "set" }
            }
          },
          "status": {
            "type": "object",
            "properties": {
              "size": { "type": "integer" },
              "selector": { "type": "string" },
              "since": { "type": "string", "format": "date-time", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$" }
            }
          }
        },
        "required": ["spec"],
        "x-kubernetes-validations": [{ "rule": "self.metadata.name.size() < 9", "message": "short names only", "fieldPath": ".metadata.name" }]
      } },
      "subresources": {
        "status": {},
        "scale": { "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.selector" }
      },
      "additionalPrinterColumns": [
        { "name": "Size", "type": "integer", "jsonPath": ".spec.size" },
        { "name": "Since", "type": "date", "description": "Since when.", "priority": 1, "jsonPath": ".status.since" },
        { "name": "Tags", "type": "string", "jsonPath": ".spec.tags" },
        { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" }
      ]
    }]
  }
}`
  // Compares the text, because the order of keys matters.
  expect(JSON.stringify(Crd.of(Widget), null, 2)).toBe(JSON.stringify(JSON.parse(expected), null, 2))
})

test("The CRD of a minimal kind has no empty fields", () => {
  const Policy = CustomResource.make({
    group: "example.com",
    version: "v1alpha1",
    kind: "Policy",
    scope: "Cluster",
    spec: Schema.Struct({})
  })
  expect(Crd.of(Policy)).toEqual({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "policies.example.com" },
    spec: {
      group: "example.com",
      names: { kind: "Policy", listKind: "PolicyList", plural: "policies", singular: "policy" },
      scope: "Cluster",
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } }, required: ["spec"] }
          }
        }
      ]
    }
  })
})

test("Empty descriptions and formats are omitted, as the API server does", () => {
  const column = { name: "Size", path: ".spec.size" }
  const kind = (description: string, more: Partial<CustomResource.Column>) =>
    CustomResource.make({
      group: "example.com",
      version: "v1",
      kind: "Widget",
      spec: Schema.Struct({ size: Schema.Int }),
      description,
      columns: [{ ...column, ...more }]
    })
  const [version] = Crd.of(kind("", { priority: 0, description: "", format: "" })).spec.versions
  expect(version?.additionalPrinterColumns).toStrictEqual([{ name: "Size", type: "integer", jsonPath: ".spec.size" }])
  expect(version?.schema?.openAPIV3Schema).not.toHaveProperty("description")
  const [described] = Crd.of(kind("", { priority: 1, description: "How big.", format: "int32" })).spec.versions
  expect(described?.additionalPrinterColumns).toStrictEqual([
    { name: "Size", type: "integer", format: "int32", description: "How big.", priority: 1, jsonPath: ".spec.size" }
  ])
})

test("The CRD has the declared subresources", () => {
  const spec = Schema.Struct({ size: Schema.Int })
  const options = { group: "example.com", version: "v1", kind: "Widget", spec } as const
  const status = Schema.Struct({ size: Schema.Int })
  const subresources = (kind: CustomResource.Any) => Crd.of(kind).spec.versions[0]?.subresources
  expect(subresources(CustomResource.make(options))).toBeUndefined()
  expect(subresources(CustomResource.make({ ...options, status }))).toEqual({ status: {} })
  const scale = { spec: ".spec.size", status: ".status.size" }
  expect(subresources(CustomResource.make({ ...options, status, scale }))).toEqual({
    status: {},
    scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" }
  })
})

describe("The default status of a CRD", () => {
  const observedGeneration = Schema.optionalKey(Schema.Int)
  const defaultOf = <A, I>(status: Schema.Codec<A, I>) => {
    const kind = { group: "example.com", version: "v1", kind: "Box", spec: Schema.Struct({}) }
    const crd = Crd.of(CustomResource.make({ ...kind, status }))
    return crd.spec.versions[0]?.schema?.openAPIV3Schema?.properties?.status?.default
  }
  test("is an observedGeneration of -1", () =>
    expect(defaultOf(Schema.Struct({ observedGeneration }))).toEqual({ observedGeneration: -1 }))
  test("is absent without observedGeneration", () =>
    expect(defaultOf(Schema.Struct({ phase: Schema.optional(Schema.String) }))).toBeUndefined())
  test("is absent if another field is required", () =>
    expect(defaultOf(Schema.Struct({ observedGeneration, phase: Schema.String }))).toBeUndefined())
  test("is absent if observedGeneration must not be negative", () =>
    expect(defaultOf(Schema.Struct({ observedGeneration: Schema.optional(Schema.Natural) }))).toBeUndefined())
  test("is absent if observedGeneration is a string", () =>
    expect(defaultOf(Schema.Struct({ observedGeneration: Schema.optional(Schema.String) }))).toBeUndefined())
})
