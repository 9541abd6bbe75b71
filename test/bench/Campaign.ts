/**
 * The order of runs: each scenario for one manager, then for the next, and again (A B C A B C …), so that whatever happens to
 * the host and to the API server over time happens to all.
 *
 * All managers see the same objects. What one made or changed, the others take over first, without being measured: so
 * all start from objects that are converged for them, and of the same bytes.
 */
import { Console, Effect } from "effect"
import * as Driver from "./Driver.ts"
import type { Scenario, Size } from "./Scenario.ts"

/** What came of all runs of a scenario. */
export interface Outcome {
  readonly scenario: Scenario
  /** By manager; `round` is the field that tells which two were made one after the other. */
  readonly kept: ReadonlyMap<string, ReadonlyArray<Driver.Result>>
  /** Runs that were thrown away, because something else was busy on the host. */
  readonly noisy: number
  /** What went wrong. */
  readonly failures: ReadonlyArray<string>
}

/** How a campaign is run. */
export interface Options {
  readonly site: Driver.Site
  readonly managers: ReadonlyArray<Driver.Manager>
  readonly scenarios: ReadonlyArray<Scenario>
  readonly size: Size
  /** Instead of those of the scenarios. */
  readonly repeats: number | undefined
  /** How much of a core others may use, on average, in a run that counts. */
  readonly foreignCores: number
}

/** A noisy run is made again, this often. */
const spare = 2

/** The driver's own runs. */
const alone: Driver.Manager = { name: "driver alone", command: "" }

/** Runs the scenarios. A run that fails is told, and the others go on. */
export const run = (options: Options): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.gen(function* () {
    const { site, size } = options
    const start = starter(options)

    // The first creations meet an API server with cold caches; they count for nobody.
    const few = String(Math.ceil(size.create / 4))
    for (const manager of options.managers) {
      yield* Console.error(`warm up ${manager.name}`)
      yield* Driver.run(site, "warm-up", manager, ["-scenario", "create", "-m", few, "-n", "0"]).pipe(
        Effect.catchAll(({ message }) => Console.error(`  failed: ${message}`))
      )
    }
    return yield* Effect.forEach(options.scenarios, (scenario) => inTurn(scenario, options, start))
  })

type Start = (scenario: Scenario, manager: Driver.Manager) => Effect.Effect<Driver.Result, Driver.RunFailed>

/** Single runs, on objects that are converged for every manager where the scenario needs some. */
const starter = ({ managers, site, size }: Options): Start => {
  /** Those that would find nothing to do. */
  const settled = new Set<Driver.Manager>()
  const settle = (manager: Driver.Manager) =>
    Effect.gen(function* () {
      if (settled.has(manager)) return
      yield* Console.error(`  seed ${manager.name}`)
      yield* Driver.run(site, "seed", manager, ["-scenario", "seed", "-headless", "-n", String(size.objects)])
      settled.add(manager)
    })

  return (scenario, manager) =>
    Effect.gen(function* () {
      if (scenario.seeded === true) yield* Effect.forEach(managers, settle)
      if (scenario.unsettles === true) settled.clear()
      const objects = scenario.seeded === true ? size.objects : 0
      const args = [...scenario.args(size), "-n", String(objects)]
      const result = yield* Driver.run(site, scenario.name, manager, args)
      if (scenario.unsettles === true) settled.add(manager)
      return result
    })
}

const inTurn = (scenario: Scenario, options: Options, start: Start): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const managers =
      scenario.driverAlone === true
        ? [alone]
        : options.managers.filter(({ isAlone }) => isAlone !== true || scenario.elects !== true)
    const repeats = options.repeats ?? scenario.repeats
    const kept = new Map<string, Array<Driver.Result>>(managers.map(({ name }) => [name, []]))
    const failures: Array<string> = []
    let noisy = 0

    const measure = (manager: Driver.Manager, round: number, left: number): Effect.Effect<void, Driver.RunFailed> =>
      Effect.gen(function* () {
        const result = yield* start(scenario, manager)
        // Not every scenario can tell.
        if (Number(result.foreign_cores ?? 0) <= options.foreignCores) {
          kept.get(manager.name)?.push({ ...result, round })
          return
        }
        noisy += 1
        yield* Console.error(`  thrown away: others used ${result.foreign_cores} cores`)
        if (left > 0) yield* measure(manager, round, left - 1)
      })

    for (let round = 1; round <= repeats; round += 1) {
      for (const manager of managers) {
        yield* Console.error(`${scenario.name} ${round}/${repeats} ${manager.name}`)
        yield* Effect.catchAll(measure(manager, round, spare), ({ message }) => {
          failures.push(`${scenario.name}, ${manager.name}: ${message}`)
          return Console.error(`  failed: ${message}`)
        })
      }
    }
    return { scenario, kept, noisy, failures }
  })
