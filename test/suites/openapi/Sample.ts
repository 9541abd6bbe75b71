/** Parts of the samples of built-in kinds. */
import * as J from "@homeostat/apiserver/model/Json"

/** An object and its status. */
export interface Sample {
  readonly apiVersion: string
  readonly plural: string
  readonly namespaced: boolean
  readonly object: J.JsonObject
  readonly status?: J.JsonObject
}

/** A placeholder for a time before the request. */
export const ago = (seconds: number): string => `AGO-${seconds}Z`

export const labels = { app: "web", tier: "a" }
export const container = { name: "main", image: "registry.example.com/main:1" }
export const spec = { containers: [container, { name: "side", image: "side" }] }
export const template = { metadata: { labels }, spec }
export const selector = { matchLabels: labels }
export const expressions = {
  matchLabels: { app: "web" },
  matchExpressions: [
    { key: "tier", operator: "In", values: ["b", "a"] },
    { key: "a-old", operator: "DoesNotExist" },
    { key: "new", operator: "Exists" },
    { key: "zone", operator: "NotIn", values: ["x"] }
  ]
}

export const of =
  (apiVersion: string, plural: string, namespaced = true) =>
  (name: string, object: J.JsonObject, status?: J.JsonObject): Sample => ({
    apiVersion,
    plural,
    namespaced,
    object: { ...object, metadata: { name, ...J.object(object.metadata) } },
    ...(status === undefined ? {} : { status })
  })
