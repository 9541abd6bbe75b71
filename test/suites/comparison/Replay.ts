/** The tests that compare the embedded server with a recording. */
import { expect, test } from "bun:test"
import * as ApiServer from "@homeostat/testkit/server/ApiServer"
import type { Json } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import { Clock, Effect, Exit, Scope } from "effect"
import * as Dialogue from "./Dialogue.ts"
import * as Dialogues from "./Dialogues.ts"
import * as Recording from "./Recording.ts"
import * as Server from "./Server.ts"

/** When every replay begins, in milliseconds since 1970. */
const beginning = Date.parse("2027-03-04T05:06:07Z")

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/** An embedded server with the custom kinds of a suite. */
const embedded = ({ definitions = [] }: Dialogues.Suite) =>
  Effect.gen(function* () {
    const server = Server.embedded(yield* ApiServer.make({ seed: 1 }))
    for (const definition of definitions) {
      const body = JSON.parse(JSON.stringify(definition)) as Json
      const { body: said, status } = yield* server({ method: "POST", path: definitionsPath, body }, beginning)
      if (status !== 201) return yield* Effect.dieMessage(`the definition was refused: ${JSON.stringify(said)}`)
    }
    return server
  }).pipe(Effect.withClock({ ...Clock.make(), unsafeCurrentTimeMillis: () => beginning }))

/** Has a dialogue with an embedded server, at the times of its recording. */
const replay = (server: Server.Server, dialogue: Dialogue.Dialogue, index: number, recorded: Recording.Entry) =>
  Effect.gen(function* () {
    const namespace = `replay-${index}`
    yield* server({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: namespace } } }, beginning)
    const offsets = recorded.answers.map((answer) => (Array.isArray(answer) ? Number(answer[0]) : 0))
    return Dialogues.entry(
      yield* Dialogue.play(server, dialogue, namespace, (step) =>
        Effect.succeed(beginning + (offsets[step] ?? 0) * 1000)
      )
    )
  })

/**
 * The answer of the embedded server, to be compared with the recorded one. A kube-apiserver that panics over a request does not
 * answer: then the embedded server has to refuse the request, and both have to hold the same object as before.
 */
const besides = (embedded: Json, recorded: Json | undefined): Json => {
  const { live, status } = J.object(J.isList(embedded) ? embedded[1] : undefined)
  const { status: wanted } = J.object(J.isList(recorded) ? recorded[1] : undefined)
  if (wanted !== Server.silent || (J.number(status) ?? 0) < 400 || !J.isList(embedded)) return embedded
  return [embedded[0] ?? null, { status: Server.silent, body: null, ...(live !== undefined && { live }) }]
}

/** A test for each dialogue: the embedded server answers as the recorded kube-apiserver did. For the unit lane. */
export const tests = (suite: Dialogues.Suite): void => {
  const { dialogues, name } = suite
  const recording = Recording.read(name)
  const started = Effect.runPromise(Effect.provideService(embedded(suite), Scope.Scope, Effect.runSync(Scope.make())))
  test(`the recording of ${name} has every dialogue of the catalogue`, () => {
    expect(() =>
      Recording.complete(
        name,
        recording,
        dialogues.map((dialogue) => dialogue.name)
      )
    ).not.toThrow()
  })
  for (const [index, dialogue] of dialogues.entries()) {
    test(dialogue.name, async () => {
      const recorded = recording.get(dialogue.name)
      if (recorded === undefined)
        throw new Recording.Stale({ suite: name, reason: `"${dialogue.name}" is not recorded` })
      const server = await started
      const exit = await Effect.runPromiseExit(replay(server, dialogue, index, recorded))
      if (!Exit.isSuccess(exit)) throw exit.cause
      expect(exit.value.answers.map((answer, step) => besides(answer, recorded.answers[step]))).toEqual([
        ...recorded.answers
      ])
      if (exit.value.asked !== recorded.asked) {
        throw new Recording.Stale({ suite: name, reason: `"${dialogue.name}" asks for something else` })
      }
    })
  }
}
