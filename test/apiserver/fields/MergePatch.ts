/**
 * JSON Merge Patch (RFC 7386) as kube-apiserver implements it with `evanphx/json-patch`. In values that the patch adds, null
 * members are removed from objects inside lists too.
 */
import * as Failure from "../model/Failure.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"

/**
 * Returns the document with the patch merged into it. The result shares the values that the patch does not change. Throws a Failure
 * (400) if the patch is not an object.
 */
export const mergePatch = (document: Json, patch: Json): Json => {
  if (patch === null) throw Failure.badRequest("Invalid JSON Patch")
  if (J.isObject(patch)) return merged(document, patch)
  const found = J.isList(patch) ? "array" : typeof patch === "boolean" ? "bool" : typeof patch
  throw Failure.badRequest(
    `error decoding patch: json: cannot unmarshal ${found} into Go value of type map[string]interface {}`
  )
}

const merged = (value: Json | undefined, patch: Json): Json => {
  if (!J.isObject(value)) return withoutNulls(patch)
  return J.isObject(patch) ? mergedObject(value, patch) : patch
}

const mergedObject = (value: JsonObject, patch: JsonObject): JsonObject => {
  const result: { [name: string]: Json | undefined } = { ...value }
  for (const [name, member] of Object.entries(patch)) {
    if (member === null || member === undefined) delete result[name]
    else J.put(result, name, merged(J.at(value, name), member))
  }
  return result
}

const withoutNulls = (value: Json): Json => {
  if (J.isList(value)) return value.map(withoutNulls)
  if (!J.isObject(value)) return value
  const result: { [name: string]: Json } = {}
  for (const [name, member] of Object.entries(value)) {
    if (member !== null && member !== undefined) J.put(result, name, withoutNulls(member))
  }
  return result
}
