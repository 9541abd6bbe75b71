/** The admission webhooks of all configurations, in the order of the configurations' names, and then in the order of each configuration. */

import type * as AdmissionExpressions from "../kinds/cel/AdmissionExpressions.ts"
import type * as Attributes from "../model/Attributes.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject, Json as JsonValue } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import { quote } from "../model/Quote.ts"
import * as Envelope from "../webhook/Envelope.ts"
import * as Evaluation from "./Evaluation.ts"
import * as Matching from "./Matching.ts"
import type { ServerState } from "./ServerState.ts"

/** A webhook. */
export interface Webhook {
  /** The id, which is unique among all webhooks. */
  readonly id: string
  readonly name: string
  readonly mutating: boolean
  readonly read: JsonObject
  readonly clientConfig: JsonObject
  readonly seconds: number
  readonly sideEffects: JsonValue | undefined
  /** True if the server ignores a failed call. */
  readonly ignored: boolean
  readonly reviewVersion: string
  readonly conditions: ReadonlyArray<Evaluation.Expression>
}

const storages = {
  mutating: "admissionregistration.k8s.io/mutatingwebhookconfigurations",
  validating: "admissionregistration.k8s.io/validatingwebhookconfigurations"
} as const

const known = new WeakMap<JsonObject, ReadonlyArray<Webhook>>()

/** The groups of reviews, which the server does not store. */
const virtual: ReadonlySet<string> = new Set(["authentication.k8s.io", "authorization.k8s.io"])

/** All webhooks that the server may call for a write. Reviews, and writes of webhooks and policies, call no webhook. */
export const all = (
  { store }: ServerState,
  phase: keyof typeof storages,
  attributes: Attributes.Attributes
): ReadonlyArray<Webhook> => {
  const configurations = store.list(storages[phase])
  if (configurations.length === 0 || Matching.isExempt(attributes) || virtual.has(attributes.resource.group)) return []
  return configurations.flatMap((configuration) => {
    const found = known.get(configuration)
    if (found !== undefined) return found
    const made = Json.objects(configuration.webhooks).map((read, index) =>
      webhookOf(`${phase} ${ObjectMeta.nameOf(configuration)} ${index}`, phase === "mutating", read)
    )
    known.set(configuration, made)
    return made
  })
}

const webhookOf = (id: string, mutating: boolean, read: JsonObject): Webhook => {
  return {
    id,
    name: Json.text(read.name) ?? "",
    mutating,
    read,
    clientConfig: Json.object(read.clientConfig),
    seconds: Json.number(read.timeoutSeconds) ?? 10,
    sideEffects: read.sideEffects,
    ignored: read.failurePolicy === "Ignore",
    reviewVersion: String(Json.list(read.admissionReviewVersions).find((one) => one === "v1" || one === "v1beta1")),
    conditions: Evaluation.conditionsOf({ matchConditions: read.matchConditions ?? null })
  }
}

/** The version of the resource that the webhook receives; undefined if the webhook does not match the write. */
export const matched = (state: ServerState, { read }: Webhook, attributes: Attributes.Attributes): Kind | undefined =>
  Matching.selects(state, read, attributes)
    ? Matching.matched(state, read.rules, read.matchPolicy, attributes)
    : undefined

/** True if all match conditions are true, or their errors. With the failure policy Ignore, errors count as false. */
export const conditionsMet = (
  { conditions, ignored }: Webhook,
  input: AdmissionExpressions.Input
): ReturnType<typeof Evaluation.conditionsMet> => {
  const met = Evaluation.conditionsMet(conditions, input)
  return typeof met === "boolean" || !ignored ? met : false
}

/** The response of a webhook is invalid. */
export class Unusable extends Error {}

/** The error for the response of a webhook; undefined if the response is valid. */
export const responseError = (
  { mutating, reviewVersion }: Webhook,
  review: JsonObject,
  uid: string
): string | undefined => {
  const { response } = review
  if (!Json.isObject(response)) return "webhook response was absent"
  if (reviewVersion !== "v1") return undefined
  const { patch, patchType } = response
  const hasPatch = (Json.text(patch) ?? "") !== ""
  const hasType = typeof patchType === "string"
  const type = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }
  const error = Envelope.misaddressed(response, uid) ?? Envelope.unnamed(review, type)
  if (error !== undefined) return error
  if (!mutating && hasPatch) return "validating webhook may not return response.patch"
  if (!mutating && hasType) return "validating webhook may not return response.patchType"
  if (hasPatch && !hasType) return "webhook returned response.patch but not response.patchType"
  if (!hasPatch && hasType) return "webhook returned response.patchType but not response.patch"
  return patchType === "" ? 'webhook returned invalid response.patchType of ""' : undefined
}

/** The denial of a webhook, made from the Status in its response. */
export const denial = (name: string, status: JsonObject): Failure.Failure => {
  const denied = `admission webhook ${quote(name)} denied the request`
  const message = Json.text(status.message) ?? ""
  const reason = Json.text(status.reason) ?? ""
  const code = Json.number(status.code) ?? 0
  const details = status.details
  return new Failure.Failure({
    code: Math.max(code, 400),
    reason,
    message:
      message !== ""
        ? `${denied}: ${message}`
        : reason !== ""
          ? `${denied}: ${reason}`
          : `${denied} without explanation`,
    ...(Json.isObject(details) && { details: details as Failure.Failure["details"] })
  })
}
