/** A process that runs since the start meets a new object with the name of a deleted one. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import * as Explore from "@homeostat/testkit/Explore"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { create, plain, remove, storyOf } from "./Mutant.ts"

test("Explore.kind creates a new object with the same name, and finds only the mutant", () => {
  const file = join(import.meta.dirname, "Again.fixture.ts")
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "test", file], {
    env: { ...process.env, NO_COLOR: "1" },
    stderr: "pipe"
  })
  const output = stderr.toString()
  expect(output).toContain("create again, without a fault\n  broken: a process that keeps running")
  expect(output).toContain('Volume default/explored status.phase: absent instead of "Created"')
  expect(output).toContain(" 1 pass\n 1 fail\n")
  expect(exitCode).toBe(1)
}, 60_000)

live(
  "no fault occurs in a step with faults: false",
  () =>
    Effect.gen(function* () {
      const again = { ...create(), name: "create again", faults: false }
      const story = storyOf(plain, { name: "", oracle: "end", fault: "none", mutant: plain, twin: plain, steps: [] })
      const explored = (steps: typeof story.steps) => Explore.run({ ...story, steps }, { faults: ["LostAnswer"] })
      const short = yield* explored([create(), remove])
      const long = yield* explored([create(), remove, again])
      expect(long.violations).toEqual([])
      expect(long.schedules).toBe(short.schedules)
      expect((yield* explored([create(), remove, { ...again, faults: true }])).schedules).toBe(short.schedules + 1)
    }),
  60_000
)
