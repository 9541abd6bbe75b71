/** Mutants that survive one failed request, and not the failure of all requests for some time. */
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { Duration, Effect, Schedule } from "effect"
import { apply, controller, growth, lifetime, type Mutant, plain, Volume } from "./Mutant.ts"

/** Makes a controller with one child and a retry schedule. */
const retried = (retry: Schedule.Schedule<unknown, unknown>) => () => [
  Controller.make("volumes", {
    for: Volume,
    owns: [ConfigMap],
    retry,
    reconcile: (volume) => Effect.as(apply(volume, "data"), Result.done)
  })
]

const limited: Mutant = {
  name: "stops to retry after the third failure",
  oracle: "end",
  fault: "Outage",
  mutant: retried(Schedule.recurs(3)),
  twin: retried(Schedule.spaced(Duration.minutes(3))),
  steps: growth
}

const tired: Mutant = {
  name: "remembers its failures and leaves an object alone after three of them",
  oracle: "end",
  fault: "Outage",
  mutant: () => {
    const failures = new Map<string, number>()
    return [
      controller((volume) => {
        const { uid } = volume.metadata
        const before = failures.get(uid) ?? 0
        return before === 3
          ? Effect.void
          : Effect.tapError(apply(volume, "data"), () => Effect.sync(() => failures.set(uid, before + 1)))
      })
    ]
  },
  twin: plain,
  steps: lifetime
}

/** Applies the child, and retries that in the attempt itself while the server fails. */
const persistent = (volume: Volume, schedule: Schedule.Schedule<unknown>) =>
  Effect.retry(apply(volume, "data"), { schedule, while: ({ _tag }) => _tag === "ServerError" })

const impatient: Mutant = {
  name: "ignores an error that stays for ten seconds",
  oracle: "end",
  fault: "Outage",
  mutant: () => [
    controller((volume) =>
      Effect.catchTag(
        persistent(volume, Schedule.upTo(Schedule.spaced("5 seconds"), { times: 2 })),
        "ServerError",
        () => Effect.void
      )
    )
  ],
  // A reconcile may take two minutes.
  twin: () => [controller((volume) => persistent(volume, Schedule.spaced("25 seconds")))],
  steps: lifetime
}

/** The mutants. */
export const outages: ReadonlyArray<Mutant> = [limited, tired, impatient]
