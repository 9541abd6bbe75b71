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

/** Waits for the failure of a pod that started at this time, in epoch milliseconds. For a pod that does not fail, the effect never ends. */
export const wait = (
  pod: Pod,
  started: number,
  times: SimulatedPods.Times,
  pods: SimulatedPods.Pods | undefined
): Effect.Effect<PodFailure> =>
  Effect.gen(function* () {
    const spent = Duration.millis((yield* Clock.currentTimeMillis) - started)
    const eviction = SimulatedPods.eviction(pod, times, pods)
    if (eviction !== undefined) {
      yield* Effect.sleep(Duration.subtract(eviction.after, spent))
      return { reason: "Evicted", message: eviction.message, disruption: true }
    }
    const deadline = pod.spec?.activeDeadlineSeconds
    if (deadline === undefined) return yield* Effect.never
    yield* Effect.sleep(Duration.subtract(Duration.seconds(deadline), spent))
    const message = "Pod was active on the node longer than the specified deadline"
    return { reason: "DeadlineExceeded", message, disruption: false }
  })
