/**
 * The Go types that a kube-apiserver decodes built-in kinds into, as far as the schemas name them. Its messages show these names.
 * The schemas do not name types of strings (`v1.PullPolicy`), which are called `string` here.
 */
import * as Documents from "./OpenApiDefinitions.ts"
import type { Schema } from "./Schema.ts"

/** Types that read themselves, in ways of their own. */
export type Special = "Time" | "MicroTime" | "Quantity" | "IntOrString"

/** The special type that a schema stands for. */
export const specialOf = (schema: Schema): Special | undefined => {
  const name = nameOf(schema)
  return specials.find((special) => special === name)
}

/** The name of a struct: `DeploymentSpec`. Empty where the schema is of none. */
export const nameOf = (schema: Schema): string => Documents.definitionOf(schema)?.split(".").at(-1) ?? ""

/** The type as Go writes it: `int32`, `[]v1.Container`, `map[string]string`. */
export const written = (schema: Schema): string => {
  if (schema.type === "array") return `[]${written(schema.items ?? {})}`
  if (typeof schema.additionalProperties === "object") return `map[string]${written(schema.additionalProperties)}`
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? "[]uint8" : "string"
    case "integer":
      return schema.format ?? "int64"
    case "number":
      return "float64"
    case "boolean":
      return "bool"
    default:
      return Documents.definitionOf(schema)?.split(".").slice(-2).join(".") ?? "interface {}"
  }
}

/** A field's path in a message: with the name of the embedded struct that it is a field of. */
export const fieldPath = (struct: string, field: string): string => {
  const embedded = embeddedIn.get(struct)?.(field)
  return embedded === undefined ? field : `${embedded}.${field}`
}

const specials: ReadonlyArray<Special> = ["Time", "MicroTime", "Quantity", "IntOrString"]

type Embedding = (field: string) => string | undefined

const all =
  (embedded: string, but: ReadonlyArray<string>): Embedding =>
  (field) =>
    but.includes(field) ? undefined : embedded

const only =
  (embedded: string, fields: ReadonlyArray<string>): Embedding =>
  (field) =>
    fields.includes(field) ? embedded : undefined

const reference = only("LocalObjectReference", ["name"])

const embeddedIn = new Map<string, Embedding>([
  ["Volume", all("VolumeSource", ["name"])],
  ["Probe", only("ProbeHandler", ["exec", "grpc", "httpGet", "tcpSocket"])],
  ["EphemeralContainer", all("EphemeralContainerCommon", ["targetContainerName"])],
  ["ConfigMapEnvSource", reference],
  ["ConfigMapKeySelector", reference],
  ["ConfigMapProjection", reference],
  ["ConfigMapVolumeSource", reference],
  ["SecretEnvSource", reference],
  ["SecretKeySelector", reference],
  ["SecretProjection", reference],
  [
    "PersistentVolumeSpec",
    all("PersistentVolumeSource", [
      "accessModes",
      "capacity",
      "claimRef",
      "mountOptions",
      "nodeAffinity",
      "persistentVolumeReclaimPolicy",
      "storageClassName",
      "volumeAttributesClassName",
      "volumeMode"
    ])
  ]
])
