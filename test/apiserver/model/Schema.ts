/**
 * The OpenAPI v3 schema of a kind with the extensions of Kubernetes, its references resolved. The schema of a built-in kind
 * comes from the document of kube-apiserver, that of a custom kind from its CRD. A schema may contain itself
 * (JSONSchemaProps).
 */
import type { Json } from "./Json.ts"

/** A CEL rule of `x-kubernetes-validations`. */
export interface Rule {
  readonly rule: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: string
  readonly fieldPath?: string
  readonly optionalOldSelf?: boolean
}

/** A schema. Without a type and extensions, it allows any value. */
export interface Schema {
  readonly type?: "string" | "integer" | "number" | "boolean" | "object" | "array"
  readonly format?: string
  readonly description?: string
  readonly nullable?: boolean
  readonly default?: Json
  readonly enum?: ReadonlyArray<Json>
  readonly minimum?: number
  readonly exclusiveMinimum?: boolean
  readonly maximum?: number
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly items?: Schema
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: Schema | boolean
  readonly allOf?: ReadonlyArray<Schema>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly not?: Schema
  readonly "x-kubernetes-int-or-string"?: boolean
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean
  readonly "x-kubernetes-embedded-resource"?: boolean
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map"
  readonly "x-kubernetes-list-map-keys"?: ReadonlyArray<string>
  readonly "x-kubernetes-map-type"?: "atomic" | "granular"
  readonly "x-kubernetes-patch-strategy"?: string
  readonly "x-kubernetes-patch-merge-key"?: string
  readonly "x-kubernetes-validations"?: ReadonlyArray<Rule>
}
