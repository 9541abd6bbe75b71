/** Suites of dialogues, and how the answers of a kube-apiserver are recorded. */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { CustomResourceDefinition } from "@homeostat/testkit/envtest/Crds"
import { Clock, Effect, Schedule } from "effect"
import * as Dialogue from "./Dialogue.ts"
import * as Recording from "./Recording.ts"
import * as Server from "./Server.ts"

/** Dialogues that are recorded in one file. */
export interface Suite {
  /** The folder below `test/suites` that holds the recording. */
  readonly name: string
  /** Custom kinds that the dialogues use. */
  readonly definitions?: ReadonlyArray<CustomResourceDefinition> | undefined
  readonly dialogues: ReadonlyArray<Dialogue.Dialogue>
}

/** The entry that an exchange with a server becomes in a recording. */
export const entry = (exchanges: ReadonlyArray<Dialogue.Exchange>): Recording.Entry => ({
  asked: Recording.digest(exchanges.map(({ asked }) => asked)),
  answers: exchanges.map(({ answer, at }) => [at, answer])
})

/** Waits for a moment from which a request ends within the same second; with `spaced`, for one of the next second. */
const pace =
  (spaced: boolean): Dialogue.Pace =>
  (index) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const early = now % 1000 < 700
      if (early && !(spaced && index > 0)) return now
      yield* Effect.sleep(1010 - (now % 1000))
      return yield* Clock.currentTimeMillis
    })

/** Has a dialogue with a real server, in a new namespace. */
export const live = (cluster: ControlPlane, dialogue: Dialogue.Dialogue) =>
  Effect.gen(function* () {
    const namespace = yield* cluster.namespace("dialogue")
    const server = Server.real(cluster.admin)
    return entry(yield* Dialogue.play(server, dialogue, namespace, pace(dialogue.spaced === true)))
  }).pipe(
    Effect.scoped,
    // A dialogue that straddled a second begins again.
    Effect.retry({ while: ({ _tag }) => _tag === "Straddled", schedule: Schedule.recurs(20) })
  )

/** The suite as something that `bun run record` records: several dialogues at a time. */
export const recorded = ({ definitions = [], dialogues, name }: Suite): Recording.Recorded => ({
  name,
  record: (cluster) =>
    Effect.gen(function* () {
      yield* cluster.install(...definitions)
      const entries = yield* Effect.forEach(
        dialogues,
        (dialogue) => Effect.map(live(cluster, dialogue), (entry) => [dialogue.name, entry] as const),
        { concurrency: 8 }
      )
      return new Map(entries)
    })
})
