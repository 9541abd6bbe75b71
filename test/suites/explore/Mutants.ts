/** The tests that Explore finds every mutant, and finds nothing in its twin. */
import { describe, expect } from "bun:test"
import * as Explore from "@homeostat/testkit/Explore"
import * as Message from "@homeostat/testkit/explore/Message"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { crashes } from "./Crashes.ts"
import { errors } from "./Errors.ts"
import { leaks } from "./Leaks.ts"
import { memories } from "./Memories.ts"
import { faultsOf, isBy, type Mutant, storyOf } from "./Mutant.ts"
import { others } from "./Others.ts"
import { outages } from "./Outages.ts"

/** All mutants. */
export const mutants: ReadonlyArray<Mutant> = [...crashes, ...memories, ...others, ...errors, ...leaks, ...outages]

const limitMillis = 60_000

/** The mutants with a new combination of twin and story. */
const distinct = mutants.filter(
  ({ steps, twin }, at) => mutants.findIndex((other) => other.twin === twin && other.steps === steps) === at
)

/** Declares the tests of the mutants that are selected by their place in the list. */
export const test = (isSelected: (place: number) => boolean): void => {
  describe("Explore finds a controller that", () => {
    for (const mutant of mutants.filter((_, place) => isSelected(place))) {
      live(
        mutant.name,
        () =>
          Effect.gen(function* () {
            const story = storyOf(mutant.mutant, mutant)
            const found = yield* Explore.run(story, { faults: faultsOf(mutant) })
            const shown = found.violations.some(isBy(mutant)) ? "found" : Message.of(story, found)
            expect(shown).toBe("found")
          }),
        limitMillis
      )
    }
  })

  describe("Explore finds nothing in the twin of a controller that", () => {
    for (const mutant of distinct.filter((_, place) => isSelected(place))) {
      live(
        mutant.name,
        () =>
          Effect.gen(function* () {
            const story = storyOf(mutant.twin, mutant)
            const found = yield* Explore.run(story)
            expect(found.violations.length === 0 ? "nothing" : Message.of(story, found)).toBe("nothing")
            expect(found.schedules).toBeGreaterThan(0)
          }),
        limitMillis
      )
    }
  })
}
