/** Valid CRDs, and one CRD for each common mistake. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"

/** A CRD with one version, whose spec has the schema. */
export const defined = (
  plural: string,
  schema: JsonObject,
  {
    root = {},
    spec = {},
    version = {}
  }: { readonly root?: JsonObject; readonly spec?: JsonObject; readonly version?: JsonObject } = {}
): JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.crd.example.com` },
  spec: {
    group: "crd.example.com",
    scope: "Namespaced",
    names: { plural, kind: kindOf(plural) },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: schema }, ...root } },
        ...version
      }
    ],
    ...spec
  }
})

/** The kind of a plural: `Widget` of `widgets`. */
export const kindOf = (plural: string): string => `${plural.charAt(0).toUpperCase()}${plural.slice(1, -1)}`

/** A CRD of Things with an empty spec. */
const things = (options: Parameters<typeof defined>[2]) => defined("things", { type: "object" }, options)
const one = (schema: JsonObject) => defined("things", { type: "object", properties: { x: schema } })
/** A CRD with one rule on the spec. */
export const ruled = (rule: JsonObject): JsonObject =>
  defined("things", {
    type: "object",
    properties: {
      n: { type: "integer" },
      s: { type: "string" },
      l: { type: "array", maxItems: 10, items: { type: "integer" } },
      a: { type: "object", properties: { b: { type: "string" } } }
    },
    "x-kubernetes-validations": [rule]
  })
const versions = (...versions: ReadonlyArray<JsonObject>) => defined("things", {}, { spec: { versions } })
const version = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: { type: "object", description: name } },
  ...more
})
const column = (more: JsonObject) =>
  things({ version: { additionalPrinterColumns: [{ name: "C", type: "string", jsonPath: ".spec.c", ...more }] } })
const scaled = (scale: JsonObject) => things({ version: { subresources: { scale } } })
const byKey = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] }
const selectable = (...paths: ReadonlyArray<string>) =>
  defined(
    "things",
    { type: "object", properties: { s: { type: "string" }, n: { type: "number" }, o: { type: "object" } } },
    { version: { selectableFields: paths.map((jsonPath) => ({ jsonPath })) } }
  )
const names = (more: JsonObject) => things({ spec: { names: { plural: "things", kind: "Thing", ...more } } })

/** Valid CRDs by their special feature. */
export const definitions: { readonly [about: string]: JsonObject } = {
  plain: one({ type: "string" }),
  "mismatched name": { ...one({ type: "string" }), metadata: { name: "wrong.crd.example.com" } },
  "no kind": names({ kind: "" }),
  "kind with capitals": names({ kind: "Thing_1" }),
  "short name": names({ shortNames: ["ok", "No_t"] }),
  categories: names({ categories: ["All"] }),
  "list kind is kind": names({ listKind: "Thing" }),
  "no group": defined("things", {}, { spec: { group: "" } }),
  "group without a dot": defined("things", {}, { spec: { group: "example" } }),
  "group with capitals": defined("things", {}, { spec: { group: "Example.com" } }),
  "protected group": {
    ...things({ spec: { group: "x.k8s.io" } }),
    metadata: { name: "things.x.k8s.io" }
  },
  "no scope": things({ spec: { scope: "" } }),
  "wrong scope": things({ spec: { scope: "Somewhere" } }),
  "no schema": defined("things", {}, { version: { schema: null } }),
  "no versions": versions(),
  "no storage version": versions(version("v1")),
  "two storage versions": versions(version("v1", { storage: true }), version("v2", { storage: true })),
  "same version twice": versions(version("v1", { storage: true }), version("v1")),
  "version with capitals": versions(version("V1", { storage: true })),
  "deprecation warning without deprecated": versions(version("v1", { storage: true, deprecationWarning: "x" })),
  "empty deprecation warning": versions(version("v1", { storage: true, deprecated: true, deprecationWarning: "" })),
  "no type": one({}),
  "no type at the root": things({ root: { type: null } }),
  "string at the root": things({ root: { type: "string" } }),
  "unknown type": one({ type: "text" }),
  "null type": one({ type: "null" }),
  "array without items": one({ type: "array" }),
  "items without type": one({ type: "array", items: {} }),
  "items as list": one({ type: "array", items: [{ type: "string" }] }),
  "type in anyOf": one({ type: "string", anyOf: [{ type: "string" }] }),
  "description in oneOf": one({ type: "string", oneOf: [{ description: "d", minLength: 1 }, { maxLength: 1 }] }),
  "default in allOf": one({ type: "string", allOf: [{ default: "d" }] }),
  "property only in anyOf": one({ type: "object", anyOf: [{ properties: { y: { minLength: 1 } } }] }),
  "required only in anyOf": one({
    type: "object",
    properties: { y: { type: "string" } },
    anyOf: [{ required: ["y"] }]
  }),
  "items only in not": one({ type: "array", items: { type: "string" }, not: { items: { minLength: 1 } } }),
  "items of a string in not": one({ type: "string", not: { items: { minLength: 1 } } }),
  "int or string": one({ "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] }),
  "int or string and preserving": one({
    "x-kubernetes-int-or-string": true,
    "x-kubernetes-preserve-unknown-fields": true
  }),
  "properties and additionalProperties": one({
    type: "object",
    properties: { a: { type: "string" } },
    additionalProperties: { type: "string" }
  }),
  "additionalProperties at the root": things({ root: { additionalProperties: { type: "string" }, properties: null } }),
  "additionalProperties false": one({ type: "object", additionalProperties: false }),
  "metadata with labels": defined(
    "things",
    {},
    { root: { properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } } } }
  ),
  "metadata with name": defined(
    "things",
    {},
    { root: { properties: { metadata: { type: "object", properties: { name: { type: "string", maxLength: 5 } } } } } }
  ),
  "kind as integer": defined("things", {}, { root: { properties: { kind: { type: "integer" } } } }),
  "unique items": one({ type: "array", uniqueItems: true, items: { type: "string" } }),
  reference: one({ type: "object", $ref: "#/x" }),
  "pattern properties": one({ type: "object", patternProperties: { a: { type: "string" } } }),
  "broken pattern": one({ type: "string", pattern: "a(b" }),
  "pattern with a lookahead": one({ type: "string", pattern: "^(?=a)b" }),
  "not preserving": one({ type: "object", "x-kubernetes-preserve-unknown-fields": false }),
  "preserving at the spec": defined("things", {}, { spec: { preserveUnknownFields: true } }),
  "embedded without type": one({
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true
  }),
  "embedded without properties": one({ type: "object", "x-kubernetes-embedded-resource": true }),
  "nullable at the root": things({ root: { nullable: true } }),
  "unknown list type": one({ type: "array", items: { type: "string" }, "x-kubernetes-list-type": "bag" }),
  "list type of an object": one({ type: "object", "x-kubernetes-list-type": "set" }),
  "set of objects": one({ type: "array", items: { type: "object" }, "x-kubernetes-list-type": "set" }),
  "set of atomic objects": one({
    type: "array",
    items: { type: "object", "x-kubernetes-map-type": "atomic" },
    "x-kubernetes-list-type": "set"
  }),
  "map without keys": one({ type: "array", items: { type: "object" }, "x-kubernetes-list-type": "map" }),
  "keys without map": one({ type: "array", items: { type: "object" }, "x-kubernetes-list-map-keys": ["k"] }),
  "keys that are not properties": one({
    type: "array",
    items: { type: "object" },
    ...byKey
  }),
  "keys that are not required": one({
    type: "array",
    items: { type: "object", properties: { k: { type: "string" } } },
    ...byKey
  }),
  "keys that are objects": one({
    type: "array",
    items: { type: "object", required: ["k"], properties: { k: { type: "object" } } },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k", "k"]
  }),
  "map of strings": one({
    type: "array",
    items: { type: "string" },
    ...byKey
  }),
  "unknown map type": one({ type: "object", "x-kubernetes-map-type": "loose" }),
  "map type of a list": one({ type: "array", items: { type: "string" }, "x-kubernetes-map-type": "atomic" }),
  "default of another type": one({ type: "integer", default: "a" }),
  "default outside of enum": one({ type: "string", enum: ["a"], default: "b" }),
  "default with unknown fields": one({ type: "object", properties: { a: { type: "string" } }, default: { b: 1 } }),
  "default that breaks a rule": one({
    type: "string",
    default: "b",
    "x-kubernetes-validations": [{ rule: "self == 'a'" }]
  }),
  "default in metadata": defined("things", {}, { root: { properties: { metadata: { type: "object", default: {} } } } }),
  "unknown format": one({ type: "string", format: "telephone" }),
  "column without type": column({ type: "" }),
  "column with an unknown type": column({ type: "text" }),
  "column with an unknown format": column({ format: "text" }),
  "column without path": column({ jsonPath: "" }),
  "column with an invalid path": column({ jsonPath: "spec.c" }),
  "column without a name": column({ name: "" }),
  "scale without paths": scaled({ specReplicasPath: "", statusReplicasPath: "" }),
  "scale with invalid paths": scaled({
    specReplicasPath: ".replicas",
    statusReplicasPath: "status.replicas",
    labelSelectorPath: ".metadata.labels"
  }),
  "status and rules at the root": things({ root: { minProperties: 1 }, version: { subresources: { status: {} } } }),
  "selectable metadata": selectable(".metadata.name"),
  "selectable number": selectable(".spec.n", ".spec.o"),
  "selectable twice": selectable(".spec.s", ".spec.s"),
  "selectable unknown paths": selectable(".spec.z", "spec.s", ".spec['s']", ""),
  "conversion with an unknown strategy": things({ spec: { conversion: { strategy: "Magic" } } }),
  "conversion None with a webhook": things({
    spec: { conversion: { strategy: "None", webhook: { conversionReviewVersions: ["v1"] } } }
  }),
  "no rule": ruled({ rule: " " }),
  "rule with an empty message": ruled({ rule: "true", message: " " }),
  "rule with line breaks in its message": ruled({ rule: "true", message: "a\nb" }),
  "rule with line breaks and no message": ruled({ rule: "true\n&& true" }),
  "rule with an unknown reason": ruled({ rule: "true", reason: "Because" }),
  "rule with an empty message expression": ruled({ rule: "true", messageExpression: " " }),
  "rule with an unknown field path": ruled({ rule: "true", fieldPath: ".z" }),
  "rule with a field path": ruled({ rule: "self.n > 0", fieldPath: ".a.b" }),
  "rule that is not a boolean": ruled({ rule: "self.n" }),
  "rule with a message expression that is not a string": ruled({ rule: "true", messageExpression: "self.n" }),
  "rule with a needless optionalOldSelf": ruled({ rule: "true", optionalOldSelf: true }),
  "rule of oldSelf in a list": one({
    type: "array",
    maxItems: 5,
    items: { type: "string", maxLength: 5, "x-kubernetes-validations": [{ rule: "self == oldSelf" }] }
  })
}

export const first = defined(
  "firsts",
  { type: "object" },
  { spec: { names: { plural: "firsts", singular: "both", kind: "Both", shortNames: ["bo", "th"] } } }
)

/** A CRD whose names conflict with some of the first one. */
export const second = defined(
  "seconds",
  { type: "object" },
  { spec: { names: { plural: "seconds", singular: "second", kind: "Both", shortNames: ["bo", "ok"] } } }
)

/** Rules that the server cannot compile. */
export const uncompilable: ReadonlyArray<string> = [
  "self.nope == 1",
  "self.n ==",
  "self.n == 'a'",
  "self.s + 1 == 'a'",
  "nope(self.n)",
  "self.s.nope()",
  "other == 1",
  "self.s.matches('(?=a)')",
  "self.s.matches('a(')",
  "self.l.all(x, x == 'a')",
  "[1, 'a'].size() == 2",
  "cel.bind(a, 1, a == 1)",
  "duration('x') > duration('1s')",
  "timestamp('x') > timestamp('2024-01-01T00:00:00Z')",
  "math.greatest(1, 2) == 2",
  "base64.encode(b'a') == ''",
  "b'a'.hex() == ''",
  "self.s.reverse() == ''",
  "self.a == self.s",
  "has(self.a.z)",
  "self.n in self.s",
  "size(self.n) == 1"
]
