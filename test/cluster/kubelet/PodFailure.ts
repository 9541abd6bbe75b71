/** The failures of a pod as a whole: its eviction, and its deadline. */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as SimulatedPods from "./SimulatedPods.ts"

/** The failure in the status of the pod. */
export interface PodFailure {
  readonly reason: string
  readonly message: string
  /** Whether the pod has the condition DisruptionTarget. */
  readonly disruption: boolean
}

/**
 * Returns an effect that waits for the failure of a pod that started at this time, in epoch milliseconds. Returns undefined for a pod that
 * does not fail.
 */
export const next = (
  pod: Pod,
  started: number,
  times: SimulatedPods.Times,
  pods: SimulatedPods.Pods | undefined
): Effect.Effect<PodFailure> | undefined => {
  const after = (delay: Duration.Duration, failure: PodFailure) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.as(Effect.sleep(Duration.subtract(delay, Duration.millis(now - started))), failure)
    )
  const eviction = SimulatedPods.eviction(pod, times, pods)
  if (eviction !== undefined) {
    return after(Duration.fromInputUnsafe(eviction.after), {
      reason: "Evicted",
      message: eviction.message,
      disruption: true
    })
  }
  const deadline = pod.spec?.activeDeadlineSeconds
  if (deadline === undefined) return undefined
  const message = "Pod was active on the node longer than the specified deadline"
  return after(Duration.seconds(deadline), { reason: "DeadlineExceeded", message, disruption: false })
}
