/** Parts of structural schemas. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"

export const text = { type: "string" }
export const integer = { type: "integer" }
export const texts = { type: "object", additionalProperties: text }

export const object = <Properties extends JsonObject>(properties: Properties) => ({ type: "object", properties })

export const set = (items: JsonObject) => ({ type: "array", "x-kubernetes-list-type": "set", items })

/** A list of objects by keys, of which the first is required. */
export const map = ([key = "", ...more]: ReadonlyArray<string>, properties: JsonObject, limits: JsonObject = {}) => ({
  type: "array",
  ...limits,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": [key, ...more],
  items: { type: "object", required: [key], properties }
})

/** A served version with the subresources status and scale. */
export const version = (name: string, storage: boolean, schema: JsonObject, replicas: string) => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: schema },
  subresources: {
    status: {},
    scale: { specReplicasPath: `.spec.${replicas}`, statusReplicasPath: `.status.${replicas}` }
  }
})

export const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
export const embedded = {
  type: "object",
  "x-kubernetes-embedded-resource": true,
  "x-kubernetes-preserve-unknown-fields": true
}
