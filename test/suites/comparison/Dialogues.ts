/** Suites of dialogues, and their recordings. */

import type * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import type { Json } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { CustomResourceDefinition } from "@homeostat/testkit/envtest/Crds"
import { Clock, Effect, Schedule } from "effect"
import * as Dialogue from "./Dialogue.ts"
import * as Recording from "./Recording.ts"
import * as Server from "./Server.ts"

/** Dialogues with their recordings in one file. */
export interface Suite {
  /** The folder below `test/suites` that holds the recording. */
  readonly name: string
  /** Custom kinds that the dialogues use. */
  readonly definitions?: ReadonlyArray<CustomResourceDefinition> | undefined
  readonly dialogues: ReadonlyArray<Dialogue.Dialogue>
  /** The control plane that the dialogues need; default: etcd and kube-apiserver. */
  readonly plane?: Recording.Recorded["plane"]
  /** The options of the embedded server; default: none. */
  readonly server?: ApiServer.Options | undefined
  /** The number of concurrent dialogues. Default: 8. */
  readonly concurrency?: number | undefined
}

/** The entry of a dialogue in a recording. */
export const entry = (exchanges: ReadonlyArray<Dialogue.Exchange>): Recording.Entry => ({
  asked: Recording.digest(exchanges.map(({ asked }) => asked)),
  answers: exchanges.map(({ answer, at }) => [at, answer])
})

/** An entry for the definitions of a suite. Descriptions may change without a new recording. */
export const definitionsOf = ({ definitions = [] }: Suite): Recording.Entries => {
  const asked = JSON.stringify(definitions, (name, value) =>
    name === "description" && typeof value === "string" ? undefined : value
  )
  return new Map(definitions.length === 0 ? [] : [["definitions", { asked: Recording.digest(asked), answers: [] }]])
}

/** The times of an entry's answers, in seconds since the start of the dialogue. */
export const secondsOf = ({ answers }: Recording.Entry): ReadonlyArray<number> =>
  answers.map((answer) => J.number(J.list(answer)[0]) ?? 0)

/** The answers of an entry in their comparable form. */
export const answersOf = ({ answers }: Recording.Entry): ReadonlyArray<Json> =>
  answers.map((answer) => J.list(answer)[1] ?? null)

/** Waits until a request can end within the current second; with `spaced`, within the next one. */
export const pace =
  (spaced: boolean): Dialogue.Pace =>
  (index) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const early = now % 1000 < 700
      if (early && !(spaced && index > 0)) return now
      yield* Effect.sleep(1010 - (now % 1000))
      return yield* Clock.currentTimeMillis
    })

/** Plays a dialogue with a real server. Repeats the dialogue, at most 20 times, if a second ends during an answer. */
export const real = (server: Server.Server, dialogue: Dialogue.Dialogue, namespace: string) =>
  Effect.retry(Dialogue.play(reduced(server, dialogue), dialogue, namespace, pace(dialogue.spaced === true)), {
    while: ({ _tag }) => _tag === "Straddled",
    schedule: Schedule.recurs(20)
  })

/** The real server, reduced to the parts of its answers that the embedded server serves. */
const reduced =
  (server: Server.Server, { served }: Dialogue.Dialogue): Server.Server =>
  (request, now) =>
    Effect.map(server(request, now), (answer) =>
      served === undefined ? answer : { ...answer, body: served(request.path, answer.body) }
    )

/** Plays a dialogue with a real server in a new namespace. */
export const live = (cluster: ControlPlane, dialogue: Dialogue.Dialogue) =>
  Effect.scoped(
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("dialogue")
      return entry(yield* real(Server.real(cluster.admin), dialogue, namespace))
    })
  )

/** The suite for `bun run record`. */
export const recorded = (suite: Suite): Recording.Recorded => ({
  name: suite.name,
  plane: suite.plane,
  record: (cluster) =>
    Effect.gen(function* () {
      yield* cluster.install(...(suite.definitions ?? []))
      const entries = yield* Effect.forEach(
        suite.dialogues,
        (dialogue) => Effect.map(live(cluster, dialogue), (entry) => [dialogue.name, entry] as const),
        { concurrency: suite.concurrency ?? 8 }
      )
      return new Map([...definitionsOf(suite), ...entries])
    })
})
