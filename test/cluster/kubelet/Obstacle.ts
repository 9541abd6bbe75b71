/** The simulated reason why a container does not start. */
import * as Effect from "effect/Effect"
import type * as Events from "./Events.ts"
import * as SimulatedPods from "./SimulatedPods.ts"

/** Waits until the plan of a container lets it start. `setWaiting` sets the waiting reason and message of the container. */
export const wait = <R, R2>(
  container: string,
  planned: () => SimulatedPods.Plan,
  setWaiting: (reason: string, message: string) => Effect.Effect<void, never, R>,
  record: (event: Events.PodEvent) => Effect.Effect<void, never, R2>
): Effect.Effect<void, never, R | R2> =>
  Effect.gen(function* () {
    let reported = ""
    while (true) {
      const { waits } = planned()
      if (waits === undefined) return
      const { message, reason } = waits
      if (reported !== `${reason} ${message}`) {
        reported = `${reason} ${message}`
        if (reason === "FailedMount") yield* record({ type: "Warning", reason, message })
        else {
          yield* setWaiting(reason, message)
          yield* record({ type: "Warning", reason: "Failed", message: `Error: ${message}`, container })
        }
      }
      yield* Effect.sleep(SimulatedPods.patience)
    }
  })
