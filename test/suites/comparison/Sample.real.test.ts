/** Compares a random sample of the recordings with a kube-apiserver, seeded by the state of the sources. */
import { describe, expect } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import { real } from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as FastCheck from "fast-check"
import * as Comparable from "./Comparable.ts"
import * as Dialogues from "./Dialogues.ts"
import * as Recording from "./Recording.ts"
import { dialogues as suites } from "./Suites.ts"

/** The maximum number of dialogues of each suite, and the maximum duration of a dialogue in seconds. The sample takes under 20 seconds. */
const most = 7
const longest = 5

/** The recorded dialogues that a shared control plane can play. */
const candidatesOf = (suite: Dialogues.Suite) => {
  const recording = Recording.read(suite.name)
  return suite.dialogues.flatMap((dialogue) => {
    const recorded = recording.get(dialogue.name)
    if (recorded === undefined || dialogue.alone === true) return []
    const name = `${suite.name}: ${dialogue.name}`
    return Math.max(...Dialogues.secondsOf(recorded)) > longest ? [] : [{ name, dialogue, recorded }]
  })
}

const choice = FastCheck.tuple(
  ...suites.map((suite) => {
    const candidates = candidatesOf(suite)
    const size = Math.min(most, candidates.length)
    return FastCheck.shuffledSubarray(candidates, { minLength: size, maxLength: size })
  })
)

describe("A sample of the recorded dialogues", () => {
  real("gets the recorded answers of a kube-apiserver", (cluster) =>
    Effect.gen(function* () {
      const sample = FastCheck.sample(choice, { seed: Seed.current(), numRuns: 1 }).flat(2)
      yield* cluster.install(...suites.flatMap(({ definitions = [] }) => definitions))
      const answers = yield* Effect.forEach(
        sample,
        ({ dialogue, name }) => Effect.map(Dialogues.live(cluster, dialogue), (entry) => [name, entry] as const),
        { concurrency: 8 }
      )
      expect(answers.length).toBeGreaterThan(30)
      expect(comparable(answers)).toEqual(comparable(sample.map(({ name, recorded }) => [name, recorded])))
    })
  )
})

const comparable = (entries: ReadonlyArray<readonly [name: string, Recording.Entry]>) =>
  Object.fromEntries(entries.map(([name, entry]) => [name, Dialogues.answersOf(entry).map(Comparable.withoutTimes)]))
