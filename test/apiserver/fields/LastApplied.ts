/**
 * The annotation in which client-side `kubectl apply` stores the last applied configuration. A user who changes to `kubectl
 * apply --server-side` must not get conflicts with fields that the same user applied before.
 */
import * as GoText from "../model/GoText.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as Comparison from "./Comparison.ts"
import * as FieldSet from "./FieldSet.ts"
import { fieldsOf } from "./Ownership.ts"
import type { Type } from "./Type.ts"
import * as Typing from "./Typing.ts"

/** The only manager for which the annotation is read. */
export const kubectl = "kubectl"

/**
 * Returns the fields that still have the value recorded in the annotation, and were therefore applied by kubectl. Returns
 * undefined if the annotation is missing or unusable.
 */
export const appliedFields = (type: Type, apiVersion: string, live: JsonObject): FieldSet.FieldSet | undefined => {
  const last = parsed(textOf(live))
  if (last === undefined || last.apiVersion !== apiVersion) return undefined
  if ([live, last].some((object) => Typing.validate(type, object, "refused").length > 0)) return undefined
  const { added, modified, removed } = Comparison.compare(type, last, live)
  return [modified, added, removed].reduce(FieldSet.difference, fieldsOf(type, last))
}

/**
 * Returns the object with its annotation updated to `intent`, if it has one. The annotation is removed if all annotations
 * together become too large.
 */
export const refreshed = (object: JsonObject, intent: JsonObject): JsonObject => {
  if (textOf(object) === "") return object
  const { [annotation]: _, ...others } = J.texts(J.at(object, "metadata", "annotations"))
  const annotations = { ...others, [annotation]: written(intent) }
  const kept = sizeOf(annotations) > maxSize ? others : annotations
  return { ...object, metadata: { ...J.object(object.metadata), annotations: kept } }
}

const annotation = "kubectl.kubernetes.io/last-applied-configuration"

/** The limit of all annotations together, in bytes. */
const maxSize = 256 * 1024

const textOf = (object: JsonObject): string => J.text(J.at(object, "metadata", "annotations", annotation)) ?? ""

const parsed = (text: string): JsonObject | undefined => {
  try {
    const value = JSON.parse(text) as Json
    return J.isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Encodes JSON as Go does: sorted members, HTML characters escaped, a line feed at the end. */
const written = (intent: JsonObject): string => {
  const metadata = J.object(intent.metadata)
  const annotations = metadata.annotations
  const bare = J.isObject(annotations)
    ? { ...intent, metadata: { ...metadata, annotations: { ...annotations, [annotation]: undefined } } }
    : intent
  return `${GoText.json(bare)}\n`
}

const sizeOf = (annotations: { readonly [name: string]: string }): number =>
  Object.entries(annotations).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0
  )
