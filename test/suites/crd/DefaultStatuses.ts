/** A kind whose status has a default, which a kube-apiserver gives to objects without a status. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { defined } from "./Definitions.ts"

const kind = (plural: string, more: JsonObject): JsonObject => {
  const spec: JsonObject = { type: "object", properties: { a: { type: "string" } } }
  const status: JsonObject = {
    type: "object",
    ...more,
    properties: { observedGeneration: { type: "integer", format: "int64" }, phase: { type: "string" } }
  }
  return defined(plural, spec, { root: { properties: { spec, status } }, version: { subresources: { status: {} } } })
}

/** Without the default, as older versions of the kind. */
export const plain = (plural: string): JsonObject => kind(plural, {})

export const defaulted = (plural: string): JsonObject => kind(plural, { default: { observedGeneration: -1 } })
