/**
 * Calls the admission webhooks that match a write. Mutating webhooks come first, one after the other. Validating webhooks receive the final
 * object, in parallel. The messages are those of a kube-apiserver.
 */
import { Effect } from "effect"
import * as Attributes from "../model/Attributes.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import { type Kind, typeOf } from "../model/Kind.ts"
import { quote } from "../model/Quote.ts"
import * as Step from "../storage/Step.ts"
import type { Answered } from "../webhook/Outside.ts"
import * as Request from "./AdmissionRequest.ts"
import * as Mutation from "./Mutation.ts"
import type * as Reinvocation from "./Reinvocation.ts"
import type { ServerState, WriteOptions } from "./ServerState.ts"
import * as WebhookAccessor from "./WebhookAccessor.ts"

/** A webhook that matches a write. */
interface Call {
  readonly hook: WebhookAccessor.Webhook
  /** The attributes in the version that the webhook receives. */
  readonly attributes: Attributes.Attributes
  readonly matched: Kind
}

/**
 * The object after one round of mutating webhooks; the same object if no webhook changes it. Throws a Failure if a webhook denies the write
 * or fails, or `Step.Pending`.
 */
export const mutate = (
  state: ServerState,
  attributes: Attributes.Attributes,
  options: WriteOptions,
  calls: Reinvocation.Calls
): JsonObject | null => {
  const hooks = WebhookAccessor.all(state, "mutating", attributes)
  if (hooks.length === 0) return attributes.object
  const given =
    attributes.object === null ? null : { ...attributes.object, ...typeOf(attributes.kind ?? attributes.resource) }
  let object: JsonObject | null = given
  calls.begin(given)
  for (const hook of hooks) {
    const call = callOf(state, hook, { ...attributes, object }, options)
    if (call === undefined || calls.skips(hook.id)) continue
    const next = changed(call, answerOf(state, call, options, calls.round), options)
    if (next !== undefined) {
      const back = Attributes.converted(next, call.matched, attributes.resource)
      const complete = Mutation.decoded(state, attributes, back ?? next, options)
      calls.patched(attributes.resource, object, complete)
      object = complete
    }
    calls.called(hook.id, hook.read.reinvocationPolicy)
  }
  calls.end(object)
  return object === given ? attributes.object : object
}

/** Runs the validating webhooks. Throws a Failure if a webhook denies the write or fails, or `Step.Pending`. */
export const validate = (state: ServerState, attributes: Attributes.Attributes, options: WriteOptions): void => {
  const hooks = WebhookAccessor.all(state, "validating", attributes)
  if (hooks.length === 0) return
  const calls = hooks.flatMap((hook) => callOf(state, hook, attributes, options) ?? [])
  if (calls.length === 0) return
  for (const { hook } of calls) checkDryRun(hook, options)
  const reviews = calls.map((call) => ({ call, review: reviewOf(call, options) }))
  const answers = Step.ask(JSON.stringify(reviews.map(({ call, review }) => [call.hook.id, review])), () =>
    Effect.all(
      reviews.map(({ call: { hook }, review }) => state.outside.post(hook.clientConfig, review, hook.seconds)),
      { concurrency: "unbounded" }
    )
  )
  let refusal: unknown
  for (const [index, { call }] of reviews.entries()) {
    try {
      const answer = answers[index]
      if (answer !== undefined) verified(call, answer, options)
    } catch (error) {
      refusal ??= error
    }
  }
  if (refusal !== undefined) throw refusal
}

const callOf = (
  state: ServerState,
  hook: WebhookAccessor.Webhook,
  attributes: Attributes.Attributes,
  options: WriteOptions
): Call | undefined => {
  const matched = WebhookAccessor.matched(state, hook, attributes)
  if (matched === undefined) return undefined
  const input = Request.inputOf(state, attributes, matched, null, options)
  const met = WebhookAccessor.conditionsMet(hook, Request.conditionInput(input, attributes))
  if (met === false) return undefined
  if (met !== true) throw Failure.forbidden(attributes.resource, attributes.name, met.problem)
  return { hook, matched, attributes: { ...attributes, object: input.object, oldObject: input.oldObject } }
}

const checkDryRun = ({ name, sideEffects }: WebhookAccessor.Webhook, { dryRun }: WriteOptions): void => {
  if (dryRun && sideEffects !== "None" && sideEffects !== "NoneOnDryRun") {
    throw Failure.badRequest(`admission webhook ${quote(name)} does not support dry run`)
  }
}

const reviewOf = ({ attributes, hook, matched }: Call, options: WriteOptions) => ({
  apiVersion: `admission.k8s.io/${hook.reviewVersion}`,
  kind: "AdmissionReview",
  request: {
    ...Request.requestOf({ ...attributes, resource: attributes.resource }, matched, options),
    object: attributes.object,
    oldObject: attributes.oldObject
  }
})

const answerOf = (state: ServerState, call: Call, options: WriteOptions, round: number): Answered => {
  const { hook } = call
  checkDryRun(hook, options)
  const review = reviewOf(call, options)
  return Step.ask(JSON.stringify([round, hook.id, review]), () =>
    state.outside.post(hook.clientConfig, review, hook.seconds)
  )
}

/** The object after the change of a webhook; undefined if the webhook does not change it. */
const changed = (call: Call, answer: Answered, options: WriteOptions): JsonObject | undefined => {
  const { attributes, hook } = call
  const response = verified(call, answer, options)
  const patch = Json.text(response?.patch) ?? ""
  if (patch === "") return undefined
  try {
    return Mutation.patched(hook, attributes.object, patch, response?.patchType)
  } catch (error) {
    if (!(error instanceof WebhookAccessor.Unusable)) throw error
    return failing(hook, error.message)
  }
}

/** The response of a webhook that allows the write; undefined if the call failed and the failure policy is Ignore. */
const verified = ({ hook }: Call, { outcome, uid }: Answered, options: WriteOptions): JsonObject | undefined => {
  if ("problem" in outcome) return failing(hook, `failed to call webhook: ${outcome.problem}`)
  const problem = WebhookAccessor.responseError(hook, outcome.review, uid)
  if (problem !== undefined) return failing(hook, `received invalid webhook response: ${problem}`)
  const response = Json.object(outcome.review.response)
  for (const warning of Json.list(response.warnings)) {
    if (typeof warning === "string") (options.warnAlways ?? options.warn)(warning)
  }
  if (response.allowed !== true) throw WebhookAccessor.denial(hook.name, Json.object(response.status))
  return response
}

const failing = (hook: WebhookAccessor.Webhook, reason: string): undefined => {
  if (!hook.ignored) throw Failure.internal(`failed calling webhook ${quote(hook.name)}: ${reason}`)
}
