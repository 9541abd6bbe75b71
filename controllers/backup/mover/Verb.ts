/** `mover`: the verb of the mover's image. */
import type * as Verb from "@homeostat/runtime/command/Verb"
import * as Effect from "effect/Effect"

/** The verb. It ends the process with the mover's exit code. */
export const verb: Verb.Verb<never, never> = {
  name: "mover",
  description: "Save or restore volumes with restic, in the pod of a Backup or Restore",
  words: "OPERATION…",
  flags: [],
  // Uninterruptible, because the mover itself ends restic after a signal.
  run: ({ args, environment }) =>
    Effect.uninterruptible(
      Effect.promise(async () => {
        const { main } = await import("./main.ts")
        process.exit(await main(args, environment))
      })
    )
}
