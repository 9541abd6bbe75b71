/**
 * What the samples of built-in kinds are made of.
 */
import * as J from "@homeostat/testkit/server/Json"

/** An object, and the status that it is given when it is there. */
export interface Sample {
  readonly apiVersion: string
  readonly plural: string
  readonly namespaced: boolean
  readonly object: J.JsonObject
  readonly status?: J.JsonObject
}

/** Stands for a time so many seconds before the request. */
export const ago = (seconds: number): string => `AGO-${seconds}Z`

/** Labels. */
export const labels = { app: "web", tier: "a" }
/** A container. */
export const container = { name: "main", image: "registry.example.com/main:1" }
/** A pod of two containers. */
export const spec = { containers: [container, { name: "side", image: "side" }] }
/** A template of pods. */
export const template = { metadata: { labels }, spec }
/** Selects the pods of the template. */
export const selector = { matchLabels: labels }
/** Selects with each operator. */
export const expressions = {
  matchLabels: { app: "web" },
  matchExpressions: [
    { key: "tier", operator: "In", values: ["b", "a"] },
    { key: "a-old", operator: "DoesNotExist" },
    { key: "new", operator: "Exists" },
    { key: "zone", operator: "NotIn", values: ["x"] }
  ]
}

/** Makes samples of a kind. */
export const of =
  (apiVersion: string, plural: string, namespaced = true) =>
  (name: string, object: J.JsonObject, status?: J.JsonObject): Sample => ({
    apiVersion,
    plural,
    namespaced,
    object: { ...object, metadata: { name, ...J.object(object.metadata) } },
    ...(status === undefined ? {} : { status })
  })
