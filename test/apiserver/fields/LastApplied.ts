/**
 * The annotation in which `kubectl apply` keeps what it applied last, from before there was server-side apply. Who goes on with
 * `kubectl apply --server-side` shall meet no conflicts with what they applied themselves.
 */
import * as GoText from "../model/GoText.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as Comparison from "./Comparison.ts"
import * as FieldSet from "./FieldSet.ts"
import { fieldsOf } from "./Ownership.ts"
import type { Type } from "./Type.ts"
import * as Typing from "./Typing.ts"

/** The manager that it is done for. */
export const kubectl = "kubectl"

/** The fields that the live object still has as the annotation says: they were applied. Undefined where nothing is known. */
export const appliedFields = (type: Type, apiVersion: string, live: JsonObject): FieldSet.FieldSet | undefined => {
  const last = parsed(textOf(live))
  if (last === undefined || last.apiVersion !== apiVersion) return undefined
  if ([live, last].some((object) => Typing.validate(type, object, "refused").length > 0)) return undefined
  const { added, modified, removed } = Comparison.compare(type, last, live)
  return [modified, added, removed].reduce(FieldSet.difference, fieldsOf(type, last))
}

/** The object with the annotation brought up to date, if it has one. Too long, it goes. */
export const refreshed = (object: JsonObject, intent: JsonObject): JsonObject => {
  if (textOf(object) === "") return object
  const { [annotation]: _, ...others } = J.texts(J.at(object, "metadata", "annotations"))
  const annotations = { ...others, [annotation]: written(intent) }
  const kept = sizeOf(annotations) > maxSize ? others : annotations
  return { ...object, metadata: { ...J.object(object.metadata), annotations: kept } }
}

const annotation = "kubectl.kubernetes.io/last-applied-configuration"

/** Of all annotations together, in bytes. */
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

/** As Go writes JSON: members in order, what HTML takes for its own escaped, a line feed at the end. */
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
