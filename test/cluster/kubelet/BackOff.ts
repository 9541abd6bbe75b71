/** The delay before a container restarts. */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Events from "./Events.ts"

/** Returns the delay of a container with this number of restarts: none, 10 s, 20 s, … up to 5 min. */
export const delay = (restarts: number): Duration.Duration =>
  restarts === 0 ? Duration.zero : Duration.seconds(Math.min(10 * 2 ** (restarts - 1), 300))

/** The end of a container that will restart. */
export interface Ended {
  readonly pod: Pod
  readonly container: string
  readonly restarts: number
  /** The time since the end of the container. */
  readonly spent: Duration.Duration
  /** Whether an earlier kubelet has reported the back-off. */
  readonly isReported: boolean
}

/** Waits for the rest of the delay, and reports the back-off. `setWaiting` sets the waiting reason and message of the container. */
export const wait = <R, R2>(
  { container, isReported, pod: { metadata }, restarts, spent }: Ended,
  setWaiting: (reason: string, message: string) => Effect.Effect<void, never, R>,
  record: (event: Events.PodEvent) => Effect.Effect<void, never, R2>
): Effect.Effect<void, never, R | R2> =>
  Effect.gen(function* () {
    const time = delay(restarts)
    const left = Duration.subtract(time, spent)
    if (Duration.equals(left, Duration.zero)) return
    if (!isReported) {
      const pod = `${metadata.name}_${metadata.namespace}(${metadata.uid})`
      const message = `back-off ${Duration.format(time)} restarting failed container=${container} pod=${pod}`
      yield* setWaiting("CrashLoopBackOff", message)
      yield* record({
        type: "Warning",
        reason: "BackOff",
        message: `Back-off restarting failed container ${container} in pod ${pod}`,
        container
      })
    }
    yield* Effect.sleep(left)
  })
