/**
 * Decides at the end of a trace whether to export it: if the reconcile changed something, failed, was slow, or was the first for a
 * generation. It exports at most a share of all other traces. For a request to a webhook, the caller decides if it has a trace, and a
 * client certificate.
 */
import type { Attempt } from "@homeostat/runtime/controller/Attempt"
import * as Bounded from "@homeostat/runtime/resource/Bounded"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import type { Call } from "@homeostat/runtime/webhook/Call"
import * as Option from "effect/Option"

/**
 * The first reason that applies:
 * - `parent`: the API server, with a client certificate, sampled the trace of which a request to a webhook is a part
 * - `wrote`: the reconcile or the webhook changed an object, or may have
 * - `failed`: it failed or was interrupted
 * - `denied`: the webhook denied the request
 * - `event`: it recorded a Kubernetes Event with the trace's ID
 * - `slow`: it took {@link slowMillis} or longer
 * - `first`: it was the first for this generation of its object
 * - `sampled`: no other reason, but in the exported share
 * - `quiet`: no reason; not exported
 */
export type Decision = (typeof decisions)[number]

/** All decisions. */
export const decisions = ["parent", "wrote", "failed", "denied", "event", "slow", "first", "sampled", "quiet"] as const

/** The duration from which a reconcile is slow, in ms. */
export const slowMillis = 1000

/** The number of objects whose last generation is kept. Only needed for objects without an observed generation. */
const mostKept = 4096

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const statusOf = (object: KubernetesObject): Readonly<Record<string, unknown>> | undefined => {
  const status = "status" in object ? object.status : undefined
  return isRecord(status) && Object.keys(status).length > 0 ? status : undefined
}

/**
 * Whether a trace is in the share, with the same result in every process: by the last 56 bits of the ID, as in OpenTelemetry's
 * consistent sampling.
 *
 * @param ratio from 0 (none) to 1 (all)
 */
export const isSampled = (traceId: string, ratio: number): boolean =>
  ratio > 0 && Number.parseInt(traceId.slice(-14), 16) < ratio * 2 ** 56

const wrote = ({ exchanges }: Attempt): boolean =>
  exchanges.some(({ write }) => write !== undefined && write.changed !== false)

const failed = ({ outcome }: Attempt): boolean => {
  switch (outcome._tag) {
    case "Failed":
    case "Terminal":
    case "Unreachable":
    case "Interrupted":
      return true
    default:
      return false
  }
}

/** Whether a request of a webhook to the API server changed an object, or may have. */
const hasWritten = ({ root }: Call): boolean =>
  root?.recording.spans.some(
    ({ attributes, kind }) =>
      kind === "client" && attributes.get(Attribute.httpMethod) !== "GET" && attributes.get(Attribute.changed) !== false
  ) === true

const hasFailed = ({ conversion, panicked, status }: Call): boolean =>
  status === undefined || status >= 400 || panicked || conversion?.failure !== undefined

/**
 * Decides for requests to webhooks.
 *
 * @param parentBased whether a parent that is not sampled excludes the trace
 */
export const ofCall =
  ({ parentBased, ratio }: { readonly ratio: number; readonly parentBased: boolean }) =>
  (call: Call): Decision => {
    const { admission, client, finishedAt, root, startedAt } = call
    if (root === undefined) return "quiet"
    // Any pod can send a request with a sampled parent, and with an ID that is in the share.
    const claimed = Option.getOrUndefined(root.parent)
    const parent = client.isVerified ? claimed : undefined
    if (parent?.sampled === true) return "parent"
    if (parent !== undefined && parentBased) return "quiet"
    if ((admission?.answer?.patch.length ?? 0) > 0 || hasWritten(call)) return "wrote"
    if (hasFailed(call)) return "failed"
    if (admission?.answer?.denial !== undefined) return "denied"
    if (finishedAt - startedAt >= slowMillis) return "slow"
    return isSampled(parent === claimed ? root.traceId : root.spanId, ratio) ? "sampled" : "quiet"
  }

/** Decides for the attempts of one process, in the order of their ends. */
export const make = ({ ratio }: { readonly ratio: number }): ((attempt: Attempt) => Decision) => {
  const seen = new Map<string, number>()

  /**
   * `status.observedGeneration` survives a restart, so a known generation is not first again. A kind without this field needs the
   * generations that this process has seen.
   */
  const isFirst = ({ generation, object, uid }: Attempt): boolean => {
    if (object === undefined || generation === undefined || uid === undefined) return false
    const status = statusOf(object)
    const observed = status?.observedGeneration
    if (typeof observed === "number" && observed >= generation) return false
    const before = seen.get(uid)
    if (before === generation) return false
    Bounded.put(seen, uid, generation, mostKept)
    return status === undefined || typeof observed === "number" || before !== undefined
  }

  return (attempt) => {
    const first = isFirst(attempt)
    if (wrote(attempt)) return "wrote"
    if (failed(attempt)) return "failed"
    if (attempt.root?.recording.hasEvent === true) return "event"
    if (attempt.finishedAt - attempt.startedAt >= slowMillis) return "slow"
    if (first) return "first"
    return attempt.root !== undefined && isSampled(attempt.root.traceId, ratio) ? "sampled" : "quiet"
  }
}
