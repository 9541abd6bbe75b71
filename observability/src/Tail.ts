/**
 * Which traces are worth sending, decided when they have ended: those of reconciles that did something, went wrong, took long, or
 * were the first to see what somebody had asked for. Of the thousands that looked and found all well, a share at most.
 */
import type { Attempt } from "@homeostat/runtime/controller/Attempt"
import * as Bounded from "@homeostat/runtime/resource/Bounded"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"

/**
 * The first that fits:
 * - `wrote`: it changed something in the cluster, or may have
 * - `failed`: it failed or was cut off
 * - `told`: it recorded a Kubernetes Event, which bears the trace's id
 * - `slow`: it took {@link slowMillis} or longer
 * - `first`: it was the first that saw this generation of its object
 * - `sampled`: none of these, but of the share that is sent all the same
 * - `quiet`: none of these; not sent
 */
export type Decision = (typeof decisions)[number]

/** All of them. */
export const decisions = ["wrote", "failed", "told", "slow", "first", "sampled", "quiet"] as const

/** From so many milliseconds on, a reconcile is slow. */
export const slowMillis = 1000

/** Of so many objects it is remembered which generation was seen. Needed of those only whose status does not say it. */
const mostRemembered = 4096

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const statusOf = (object: KubernetesObject): Readonly<Record<string, unknown>> | undefined => {
  const status = "status" in object ? object.status : undefined
  return isRecord(status) && Object.keys(status).length > 0 ? status : undefined
}

/**
 * Whether a trace is of the share, which is the same for everybody who sees this id: the last 56 bits, as OpenTelemetry's
 * consistent sampling has it.
 *
 * @param ratio from 0, none, to 1, all
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

/** Decides for the attempts of one process, in the order in which they ended. */
export const make = ({ ratio }: { readonly ratio: number }): ((attempt: Attempt) => Decision) => {
  const seen = new Map<string, number>()

  /**
   * `status.observedGeneration` outlives the process, so that after a restart nothing is first that was seen before. An object
   * with a status that lacks it is of a kind that does not tell: there, only what this process saw before counts.
   */
  const isFirst = ({ generation, object, uid }: Attempt): boolean => {
    if (object === undefined || generation === undefined || uid === undefined) return false
    const status = statusOf(object)
    const observed = status?.observedGeneration
    if (typeof observed === "number" && observed >= generation) return false
    const before = seen.get(uid)
    if (before === generation) return false
    Bounded.put(seen, uid, generation, mostRemembered)
    return status === undefined || typeof observed === "number" || before !== undefined
  }

  return (attempt) => {
    const first = isFirst(attempt)
    if (wrote(attempt)) return "wrote"
    if (failed(attempt)) return "failed"
    if (attempt.root?.recording.told === true) return "told"
    if (attempt.finishedAt - attempt.startedAt >= slowMillis) return "slow"
    if (first) return "first"
    return attempt.root !== undefined && isSampled(attempt.root.traceId, ratio) ? "sampled" : "quiet"
  }
}
