/** Applies the JSON patches of mutating webhooks, and decodes the results as the body of a request. */

import * as Decode from "../codec/Decode.ts"
import { jsonPatch } from "../fields/JsonPatch.ts"
import * as Managers from "../fields/Managers.ts"
import type * as Attributes from "../model/Attributes.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject, Json as JsonValue } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import * as JsonText from "../model/JsonText.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import { quote } from "../model/Quote.ts"
import type { ServerState, WriteOptions } from "./ServerState.ts"
import * as WebhookAccessor from "./WebhookAccessor.ts"

/** Applies the patch of a webhook (base64). Undefined if the patch is empty. Throws a Failure (500), or `Unusable`. */
export const patched = (
  { name, reviewVersion }: WebhookAccessor.Webhook,
  object: JsonObject | null,
  patch: string,
  patchType: JsonValue | undefined
): JsonObject | undefined => {
  const operations = operationsOf(patch)
  if (operations.length === 0) return undefined
  if (object === null) {
    throw Failure.internal(
      `admission webhook ${quote(name)} attempted to modify the object, which is not supported for this operation`
    )
  }
  // A kube-apiserver ignores the patch type of v1beta1.
  if (patchType !== "JSONPatch" && reviewVersion === "v1") {
    throw new WebhookAccessor.Unusable(`unsupported patch type ${quote(String(patchType))}`)
  }
  try {
    return Json.object(jsonPatch(object, operations))
  } catch (error) {
    if (!(error instanceof Failure.Failure)) throw error
    throw Failure.internal(error.message)
  }
}

const operationsOf = (patch: string): ReadonlyArray<JsonValue> => {
  const undecodable = (problem: string) =>
    new WebhookAccessor.Unusable(`received undecodable patch in webhook response: ${problem}`)
  try {
    const { value } = JsonText.parse(Buffer.from(patch, "base64").toString())
    if (Json.isList(value)) return value
    if (value === null) return []
    throw undecodable(`json: cannot unmarshal ${goName(value)} into Go value of type jsonpatch.Patch`)
  } catch (error) {
    throw error instanceof Failure.Failure ? undecodable(error.message) : error
  }
}

const goName = (value: JsonValue): string => (typeof value === "boolean" ? "bool" : typeof value)

/** Decodes an object like the body of a request. Throws a Failure (500). */
export const decoded = (
  { registry }: ServerState,
  { kind, resource }: Attributes.Attributes,
  object: JsonObject,
  { warn }: WriteOptions
): JsonObject => {
  if (kind !== undefined) return object
  try {
    const patch = { value: object, errors: [], shown: () => "", decoder: "values" } as const
    const draft = Decode.patched(resource, patch, { fieldValidation: "Ignore", warn, knows: registry.knows })
    resource.strategy.default(draft)
    return draft
  } catch (error) {
    if (!(error instanceof Failure.Failure)) throw error
    throw Failure.internal(error.message)
  }
}

/** Validates the namespace, owners and managers of a changed object. Throws a Failure (400) if its namespace has changed. */
export const validated = (
  { kind, namespace, object, resource }: Attributes.Attributes,
  next: JsonObject,
  { warn }: WriteOptions
): JsonObject => {
  if (kind !== undefined) return next
  const draft = Json.copy(next)
  const metadata = ObjectMeta.draftOf(draft)
  ObjectMeta.ensureNamespace(resource, metadata, namespace)
  ObjectMeta.dedupOwnerReferences(metadata, warn, true)
  if (Managers.written(metadata.managedFields) !== undefined) return draft
  warn(
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests"
  )
  return Managers.put(draft, Json.list(Managers.entriesOf(object ?? undefined)))
}
