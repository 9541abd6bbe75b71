/** The simulated reason why a container does not start. */
import * as Effect from "effect/Effect"
import type * as Events from "./Events.ts"
import * as SimulatedPods from "./SimulatedPods.ts"

/** Waits until the plan of a container lets it start. `say` sets the waiting reason and message of the container. */
export const wait = <R, R2>(
  container: string,
  planned: () => SimulatedPods.Plan,
  say: (reason: string, message: string) => Effect.Effect<void, never, R>,
  tell: (told: Events.Told) => Effect.Effect<void, never, R2>
): Effect.Effect<void, never, R | R2> =>
  Effect.gen(function* () {
    let said = ""
    while (true) {
      const { waits } = planned()
      if (waits === undefined) return
      const { message, reason } = waits
      if (said !== `${reason} ${message}`) {
        said = `${reason} ${message}`
        if (reason === "FailedMount") yield* tell({ type: "Warning", reason, message })
        else {
          yield* say(reason, message)
          yield* tell({ type: "Warning", reason: "Failed", message: `Error: ${message}`, container })
        }
      }
      yield* Effect.sleep(SimulatedPods.patience)
    }
  })
