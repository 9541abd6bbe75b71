/** The wait before a container starts again after its end. */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Events from "./Events.ts"

/** How long a container with this number of restarts waits: not at all, 10 s, 20 s, … 5 min. */
export const delay = (restarts: number): Duration.Duration =>
  restarts === 0 ? Duration.zero : Duration.seconds(Math.min(10 * 2 ** (restarts - 1), 300))

/** Waits, and reports the wait. `say` sets the reason why the container waits. */
export const wait = <R, R2>(
  { metadata }: Pod,
  container: string,
  restarts: number,
  say: (reason: string, message: string) => Effect.Effect<void, never, R>,
  tell: (told: Events.Told) => Effect.Effect<void, never, R2>
): Effect.Effect<void, never, R | R2> =>
  Effect.gen(function* () {
    const time = delay(restarts)
    if (Duration.equals(time, Duration.zero)) return
    const pod = `${metadata.name}_${metadata.namespace}(${metadata.uid})`
    const message = `back-off ${Duration.format(time)} restarting failed container=${container} pod=${pod}`
    yield* say("CrashLoopBackOff", message)
    yield* tell({
      type: "Warning",
      reason: "BackOff",
      message: `Back-off restarting failed container ${container} in pod ${pod}`,
      container
    })
    yield* Effect.sleep(time)
  })
