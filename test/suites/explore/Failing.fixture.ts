/** The fixture of Failure.deep.test.ts, in which one test fails. */
import * as Explore from "@homeostat/testkit/Explore"
import { crashes } from "./Crashes.ts"
import { create, plain, storyOf } from "./Mutant.ts"

const mutant = crashes.find(({ name }) => name.startsWith("counts the resizes"))
if (mutant === undefined) throw new Error("mutant not found")

Explore.test("it's one (of two)", storyOf(mutant.mutant, mutant), { faults: ["Crash"] })

const short = storyOf(plain, { ...mutant, steps: [create()] })
Explore.test("it's one (of two) without a second step", short, { faults: ["Crash"] })
