/** `mover`: the verb of the mover's image. */
import type * as Verb from "@homeostat/runtime/command/Verb"
import * as Effect from "effect/Effect"

/** The verb. It ends the process with the mover's exit code. */
export const verb: Verb.Verb<never, never> = {
  name: "mover",
  description: "Save or restore volumes with restic, in the pod of a Backup or Restore",
  words: "OPERATION…",
  flags: [],
  run: ({ args, environment }) =>
    Effect.flatMap(
      Effect.promise(() => import("./main.ts")),
      ({ main }) => main(args, environment)
    )
}
