/** The test of the promises about snapshots in random histories of a Backup. */
import { test as declare, expect } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import { at } from "./Backups.fixture.ts"
import * as History from "./History.fixture.ts"

const day = 86_400_000

type Step =
  | { readonly _tag: "night" }
  | { readonly _tag: "pause"; readonly days: number }
  | { readonly _tag: "clock"; readonly days: number }
  | { readonly _tag: "volume"; readonly files: number }
  | { readonly _tag: "damage"; readonly isDamaged: boolean }
  | { readonly _tag: "truncate" | "exchange" | "recreate" }

/** Most steps are nights. */
const steps = FastCheck.oneof(
  { weight: 8, arbitrary: FastCheck.constant<Step>({ _tag: "night" }) },
  { weight: 1, arbitrary: FastCheck.constantFrom(2, 20, 90).map((days): Step => ({ _tag: "pause", days })) },
  { weight: 1, arbitrary: FastCheck.constantFrom(-1, 1, -60, 400).map((days): Step => ({ _tag: "clock", days })) },
  {
    weight: 3,
    arbitrary: FastCheck.constantFrom(0, 10, History.full, History.full).map(
      (files): Step => ({ _tag: "volume", files })
    )
  },
  { weight: 1, arbitrary: FastCheck.boolean().map((isDamaged): Step => ({ _tag: "damage", isDamaged })) },
  { weight: 1, arbitrary: FastCheck.constant<Step>({ _tag: "truncate" }) },
  { weight: 1, arbitrary: FastCheck.constantFrom<Step>({ _tag: "exchange" }, { _tag: "recreate" }) }
)
const faults = FastCheck.array(
  FastCheck.constantFrom<History.Fault>("none", "none", "none", "killed", "fails", "lost"),
  {
    maxLength: 4
  }
)
const histories = FastCheck.array(FastCheck.tuple(steps, faults), { minLength: 1, maxLength: 20, size: "max" })
const specs = FastCheck.constantFrom<{ readonly [field: string]: unknown }>(
  { retention: { keepLast: 1 } },
  { retention: { keepLast: 3 } },
  { retentionPolicy: "7d" },
  { retentionPolicy: "1d", pruneInterval: "1d", checkInterval: "7d" },
  { retentionPolicy: "30d", allowEmpty: false, backoffLimit: 4 }
)

const play = (
  spec: { readonly [field: string]: unknown },
  history: ReadonlyArray<readonly [Step, ReadonlyArray<History.Fault>]>
) => {
  const world = History.make(spec, at("2026-03-20T10:00:00Z"))
  world.settle()
  for (const [step, wrong] of history) {
    switch (step._tag) {
      case "pause":
      case "clock":
        world.pass(step.days * day)
        break
      case "volume":
        world.fill(step.files)
        break
      case "damage":
        world.damage(step.isDamaged)
        break
      case "truncate":
        world.truncate()
        break
      case "exchange":
        world.exchange()
        break
      case "recreate":
        world.recreate()
    }
    world.faults(wrong)
    if (step._tag !== "clock") world.pass(day)
    world.settle()
  }
  return world
}

/** Declares the test for this number of histories. */
export const test = (count: number): void =>
  declare(
    `In ${count} histories, no deletion removes the newest good snapshot, and no empty run succeeds`,
    () => {
      const total = { runs: 0, forgotten: 0, held: 0, refused: 0 }
      FastCheck.assert(
        FastCheck.property(specs, histories, (spec, history) => {
          const { counts, violations } = play(spec, history)
          for (const [what, count] of Object.entries(counts)) total[what as keyof typeof total] += count
          expect(violations).toEqual([])
        }),
        { numRuns: count, seed: Seed.current() }
      )
      // The histories reach what they are about.
      expect(Math.min(...Object.values(total))).toBeGreaterThan(count / 10)
    },
    300_000
  )
