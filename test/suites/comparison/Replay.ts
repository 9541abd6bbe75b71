import { expect, test } from "bun:test"
import { Effect, Exit, Scope } from "effect"
import * as Dialogues from "./Dialogues.ts"
import * as Embedded from "./Embedded.ts"
import * as Recording from "./Recording.ts"

/** Tests of the unit lane that compare the embedded server with a recording, one for each dialogue. */
export const tests = (suite: Dialogues.Suite): void => {
  const { dialogues, name } = suite
  const recording = Recording.read(name)
  const started = Effect.runPromise(
    Effect.provideService(Embedded.make(suite), Scope.Scope, Effect.runSync(Scope.make()))
  )
  test(`the recording of ${name} has every dialogue and definition of the catalogue`, () => {
    const definitions = Dialogues.definitionsOf(suite)
    Recording.complete(name, recording, [...definitions.keys(), ...dialogues.map((dialogue) => dialogue.name)])
    for (const [what, { asked }] of definitions) {
      if (asked !== recording.get(what)?.asked) throw new Recording.Stale({ suite: name, reason: `other ${what}` })
    }
  })
  for (const [index, dialogue] of dialogues.entries()) {
    test(dialogue.name, async () => {
      const recorded = recording.get(dialogue.name)
      if (recorded === undefined)
        throw new Recording.Stale({ suite: name, reason: `"${dialogue.name}" is not recorded` })
      const real = Dialogues.answersOf(recorded)
      const seconds = Dialogues.secondsOf(recorded)
      const exit = await Effect.runPromiseExit(Embedded.replay(await started, dialogue, `replay-${index}`, seconds))
      if (!Exit.isSuccess(exit)) throw exit.cause
      expect(exit.value.map(({ answer }, step) => Embedded.besides(answer, real[step]))).toEqual([...real])
      expect(exit.value.map(({ at }) => at)).toEqual([...seconds])
      const { asked } = Dialogues.entry(exit.value)
      if (asked !== recorded.asked) {
        throw new Recording.Stale({ suite: name, reason: `"${dialogue.name}" asks for something else` })
      }
    })
  }
}
