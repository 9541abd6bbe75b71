/** A schedule that fails on the embedded cluster also fails on a real kube-apiserver, and the correct twin passes there. */
import { expect } from "bun:test"
import { join } from "node:path"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Explore from "@homeostat/testkit/Explore"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Process from "@homeostat/testkit/envtest/Process"
import { identifier, type Schedule } from "@homeostat/testkit/explore/Fault"
import * as Reference from "@homeostat/testkit/explore/Reference"
import * as Schedules from "@homeostat/testkit/explore/Schedules"
import * as Shared from "@homeostat/testkit/Shared"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { crashes } from "./Crashes.ts"
import { errors } from "./Errors.ts"
import { memories } from "./Memories.ts"
import { faultsOf, isBy, type Mutant, storyOf, Volume } from "./Mutant.ts"
import { others } from "./Others.ts"
import { outages } from "./Outages.ts"
import { webapp } from "./Stories.ts"

/** At least one mutant for each fault and each promise. */
const names = [
  "makes the second of two writes only if the first was necessary",
  "repeats a create after its answer was lost",
  "removes its finalizer before the clean-up",
  "takes the write of another controller of its process for its own",
  "acts when it sees the transition from one phase to the next",
  "creates its child only once in the life of its process",
  "takes a conflict for success",
  "stops to retry after the third failure",
  "applies a child by force that its cache does not have",
  "replaces an object without the resourceVersion that it read",
  "dies if another client has deleted the child",
  "deletes what belongs to an object that its cache does not have yet",
  "leaves the old child after a rename",
  "does not report that the API server rejects the spec",
  "goes on to write after the end of its leadership",
  "starts a fiber that nothing ends"
]

const mutants: ReadonlyArray<Mutant> = [...crashes, ...memories, ...others, ...errors, ...outages].filter(({ name }) =>
  names.includes(name)
)

/** The number of mutants that run at a time. They mostly wait. */
const concurrency = 6

const controllers = ["garbage-collector-controller"]

/** Returns the first schedule that fails on the embedded cluster. */
const failing = (mutant: Mutant) =>
  Effect.map(
    Explore.run(storyOf(mutant.mutant, mutant), { faults: faultsOf(mutant) }),
    ({ violations }) => violations.find(isBy(mutant))?.schedule
  )

/** Returns the schedule of the twin with this identifier, or the first one with this fault. */
const ofTwin = (mutant: Mutant, schedule: Schedule) =>
  Effect.map(Reference.play(storyOf(mutant.twin, mutant), 1), (known): Schedule => {
    const all = Schedules.single(known).filter(({ step }) => step === schedule.step)
    const [planned] = schedule.faults
    return (
      all.find((one) => planned !== undefined && identifier(one) === identifier(schedule)) ??
      all.find(({ faults }) => Bun.deepEquals(faults[0]?.fault, planned?.fault)) ?? { ...schedule, faults: [] }
    )
  })

Shared.real(
  "nine of ten mutants break the same promise on a real kube-apiserver, and no twin breaks one",
  (cluster) =>
    Effect.gen(function* () {
      yield* cluster.install(Crd.of(Volume))
      const results = yield* Effect.forEach(
        mutants,
        (mutant) =>
          Effect.gen(function* () {
            const schedule = yield* failing(mutant)
            if (schedule === undefined) return yield* Effect.die(new Error(`no violation: ${mutant.name}`))
            const found = yield* Explore.onReal(storyOf(mutant.mutant, mutant), schedule, cluster)
            const twin = yield* Explore.onReal(storyOf(mutant.twin, mutant), yield* ofTwin(mutant, schedule), cluster)
            return {
              name: mutant.name,
              isSame: found.violations.some(isBy(mutant)),
              ofTwin: twin.violations.map(({ message, oracle }) => `${mutant.name}: ${oracle}: ${message}`),
              isReached: twin.reached
            }
          }),
        { concurrency }
      )
      expect(results).toHaveLength(names.length)
      expect(results.flatMap((one) => one.ofTwin)).toEqual([])
      expect(results.filter(({ isReached }) => !isReached).map(({ name }) => name)).toEqual([])
      const others = results.filter(({ isSame }) => !isSame).map(({ name }) => name)
      expect(others.length > names.length / 10 ? others : []).toEqual([])
    }),
  { controllers, timeoutMillis: 240_000 }
)

Shared.real(
  "a WebApp with pods survives a crash on a real kube-apiserver",
  (cluster) =>
    Effect.gen(function* () {
      const known = yield* Reference.play(webapp, 1)
      const schedule = Schedules.find(known, "1/r0.crash-before")
      if (schedule === undefined) return yield* Effect.die(new Error("schedule not found"))
      const { reached, violations } = yield* Explore.onReal(webapp, schedule, cluster)
      expect({ reached, violations }).toEqual({ reached: true, violations: [] })
    }),
  Envtest.everything
)

live(
  "the command of a failure plays its schedule on a real kube-apiserver",
  () =>
    Effect.gen(function* () {
      const fixture = join(import.meta.dirname, "Failing.fixture.ts")
      const env = { ...process.env, HOMEOSTAT_SCHEDULE: "0/r0.crash-after", HOMEOSTAT_SERVER: "real" }
      const args = ["test", fixture, "-t", "two\\)$"]
      const { exitCode, stderr, stdout } = yield* Process.run(process.execPath, args, { env })
      const output = stdout + stderr
      expect(output).toContain('ConfigMap default/v-data data.resizes: "2" instead of "1"')
      // On the embedded cluster, the process after the crash is the first one of another world.
      expect(output).toContain("manager-1 PATCH configmaps/default/v-data → 200")
      expect(exitCode).toBe(1)
    }),
  240_000
)
