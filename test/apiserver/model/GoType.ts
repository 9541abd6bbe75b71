/**
 * The Go types into which kube-apiserver decodes built-in kinds, as far as the schemas contain their names. Error messages
 * show these names. The schemas do not name string types (`v1.PullPolicy`), which are called `string` here.
 */
import * as Documents from "./OpenApiDefinitions.ts"
import type { Schema } from "./Schema.ts"

/** Types with a JSON decoder of their own. */
export type Special = "Time" | "MicroTime" | "Quantity" | "IntOrString"

/** Returns the special type of a schema, or undefined if the schema has none. */
export const specialOf = (schema: Schema): Special | undefined => namesOf(schema).special

/** Returns the name of a struct: `DeploymentSpec`. Empty if the schema has no name. */
export const nameOf = (schema: Schema): string => namesOf(schema).struct

interface Names {
  readonly struct: string
  readonly special: Special | undefined
}

const unnamed: Names = { struct: "", special: undefined }

/** The names by definition: decoding needs them for each value. */
const known = new Map<string, Names>()

const namesOf = (schema: Schema): Names => {
  const definition = Documents.definitionOf(schema)
  if (definition === undefined) return unnamed
  const found = known.get(definition)
  if (found !== undefined) return found
  const struct = definition.slice(definition.lastIndexOf(".") + 1)
  const names = { struct, special: specials.find((special) => special === struct) }
  known.set(definition, names)
  return names
}

/** Formats the type as Go does: `int32`, `[]v1.Container`, `map[string]string`. */
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

/** Returns the path of a field in a message. A field of an embedded struct includes the name of that struct. */
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
