/**
 * Converts custom objects between versions: with the strategy None, which changes only the apiVersion, or by a webhook. The errors are
 * those of apiextensions-apiserver.
 */

import { type Convert, none } from "../kinds/crd/CustomKinds.ts"
import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import * as GoText from "../model/GoText.ts"
import * as Json from "../model/Json.ts"
import * as ObjectMetaValidation from "../model/ObjectMetaValidation.ts"
import * as Step from "../storage/Step.ts"
import * as Envelope from "./Envelope.ts"
import type { Answered, Outside } from "./Outside.ts"

/** The timeout of a conversion webhook, in seconds. */
const seconds = 30

/** The conversion that a CRD configures. */
export const of = (crd: Json.JsonObject, outside: Outside): Convert => {
  const conversion = Json.object(Json.at(crd, "spec", "conversion"))
  return conversion.strategy === "Webhook" ? byWebhook(Json.object(conversion.webhook), outside) : none
}

const byWebhook =
  ({ clientConfig, conversionReviewVersions }: Json.JsonObject, outside: Outside): Convert =>
  (objects, apiVersion) => {
    if (objects.every(isEmpty)) return none(objects, apiVersion)
    const sent = objects.filter((object) => object.apiVersion !== apiVersion).map(withoutRevision)
    if (sent.length === 0) return objects
    const version = Json.list(conversionReviewVersions).find((one) => one === "v1" || one === "v1beta1")
    if (version === undefined) throw Failure.plain("no supported conversion review versions")
    const review = {
      apiVersion: `apiextensions.k8s.io/${String(version)}`,
      kind: "ConversionReview",
      request: { desiredAPIVersion: apiVersion, objects: sent }
    }
    const config = Json.object(clientConfig)
    const answered = Step.ask(JSON.stringify([config, review]), () => outside.post(config, review, seconds))
    const converted = checked(sent, answered, apiVersion, review)
    let next = 0
    return objects.map((object) =>
      object.apiVersion === apiVersion ? object : restored(object, converted[next++] ?? object)
    )
  }

/** True if an object has only its type and empty metadata, so that it needs no webhook. */
const isEmpty = ({ apiVersion: _, kind: __, metadata, ...others }: Json.JsonObject): boolean =>
  Json.isEmpty(Json.object(metadata)) && Json.isEmpty(others)

/** The object without its resourceVersion. Objects in the storage of a kube-apiserver have no resourceVersion, so no webhook sees one. */
const withoutRevision = (object: Json.JsonObject): Json.JsonObject => {
  const { resourceVersion: _, ...metadata } = Json.object(object.metadata)
  return { ...object, metadata }
}

const checked = (
  sent: ReadonlyArray<Json.JsonObject>,
  { outcome, uid }: Answered,
  apiVersion: string,
  expected: Envelope.Type
): ReadonlyArray<Json.JsonObject> => {
  const name = Envelope.shown(sent[0] ?? {})
  const failed = (problem: string): Failure.Failure =>
    Failure.plain(`conversion webhook for ${name} failed: ${problem}`)
  const returned = (problem: string): Failure.Failure =>
    Failure.plain(`conversion webhook for ${name} returned ${problem}`)
  if ("problem" in outcome) throw failed(outcome.problem)
  const { review } = outcome
  const isStrict = expected.apiVersion.endsWith("/v1")
  const unnamed = isStrict ? Envelope.unnamed(review, expected) : undefined
  if (unnamed !== undefined) throw failed(unnamed)
  if (!Json.isObject(review.response)) throw failed("no response provided")
  const misaddressed = isStrict ? Envelope.misaddressed(review.response, uid) : undefined
  if (misaddressed !== undefined) throw failed(misaddressed)
  const { convertedObjects, result } = review.response
  const { message, status } = Json.object(result)
  if (status !== "Success") {
    const reason = Json.text(message) ?? ""
    throw failed(reason === "" ? `response.result.status was '${Json.text(status) ?? ""}', not 'Success'` : reason)
  }
  const converted = Json.list(convertedObjects).map(Json.object)
  if (converted.length !== sent.length) throw returned(`${converted.length} objects, expected ${sent.length}`)
  for (const [index, original] of sent.entries()) {
    const object = converted[index] ?? {}
    const problem = conversionError(original, object, apiVersion)
    if (problem === undefined) continue
    if (problem.at === "version") throw returned(`invalid object at index ${index}: ${problem.message}`)
    throw returned(`${problem.at === "metadata" ? "invalid metadata" : "invalid object"}: ${problem.message}`)
  }
  return converted
}

interface ConversionError {
  readonly at: "version" | "object" | "metadata"
  readonly message: string
}

/** The error for a webhook that changed more than it may change. */
const conversionError = (
  original: Json.JsonObject,
  object: Json.JsonObject,
  apiVersion: string
): ConversionError | undefined => {
  const version = Json.text(object.apiVersion) ?? ""
  if (version !== apiVersion) {
    return { at: "version", message: `invalid groupVersion (expected ${apiVersion}, received ${version})` }
  }
  const kind = Json.text(object.kind) ?? ""
  if (kind !== original.kind) {
    return { at: "version", message: `invalid kind (expected ${String(original.kind)}, received ${kind})` }
  }
  for (const [field, label] of identifying) {
    const [before, after] = [original, object].map((one) => Json.text(Json.at(one, "metadata", field)) ?? "")
    if (before !== after) return { at: "object", message: `must have the same ${label}: ${before} != ${after}` }
  }
  const { metadata } = object
  if (metadata === undefined) return { at: "metadata", message: "missing metadata in converted object" }
  if (!Json.isObject(metadata)) {
    return { at: "metadata", message: `invalid metadata of type ${GoText.typeName(metadata)} in converted object` }
  }
  const message = textsError("labels", metadata.labels) ?? textsError("annotations", metadata.annotations)
  return message === undefined ? undefined : { at: "metadata", message }
}

const textsError = (field: "labels" | "annotations", value: Json.Json | undefined): string | undefined => {
  if (value === undefined || value === null) return undefined
  if (!Json.isObject(value)) return `invalid metadata.${field} of type ${GoText.typeName(value)} in converted object`
  for (const [key, one] of Object.entries(value)) {
    if (typeof one === "string") continue
    return `metadata.${field}[${key}] must be a string, but is ${GoText.typeName(one ?? null)} in converted object`
  }
  const errors = ObjectMetaValidation.validateTexts(field, value)
  const sentences = errors.map(FieldError.sentence)
  return sentences.length > 1 ? `[${sentences.join(", ")}]` : sentences[0]
}

const identifying = [
  ["name", "name"],
  ["namespace", "namespace"],
  ["uid", "UID"]
] as const

/** The converted object with the metadata of the original. A webhook may change only labels and annotations. */
const restored = (original: Json.JsonObject, converted: Json.JsonObject): Json.JsonObject => {
  const { annotations: _, labels: __, ...metadata } = Json.object(original.metadata)
  const { annotations, labels } = Json.object(converted.metadata)
  return {
    ...converted,
    metadata: {
      ...metadata,
      ...(Json.isObject(labels) && !Json.isEmpty(labels) && { labels }),
      ...(Json.isObject(annotations) && !Json.isEmpty(annotations) && { annotations })
    }
  }
}
