/**
 * Runs each scenario for one manager, then for the next, and again (A B C A B C …). So a change of the host or of the API server over
 * time affects all managers.
 *
 * All managers use the same objects. Before a run, the other managers converge the objects that one manager created or changed, and this
 * is not measured. So all managers start from objects that are converged for them, with the same bytes.
 */
import { Console, Effect } from "effect"
import * as Disagreement from "./Disagreement.ts"
import * as Driver from "./Driver.ts"
import type { Scenario, Size } from "./Scenario.ts"

/** The results of all runs of a scenario. */
export interface Outcome {
  readonly scenario: Scenario
  /** The results by manager. Results with the same `round` come from neighbouring runs. */
  readonly kept: ReadonlyMap<string, ReadonlyArray<Driver.Result>>
  /** The number of discarded runs, during which other programs used the host. */
  readonly noisy: number
  /** The messages of the failed runs. */
  readonly failures: ReadonlyArray<string>
}

/** The options of a campaign. */
export interface Options {
  readonly site: Driver.Site
  readonly managers: ReadonlyArray<Driver.Manager>
  readonly scenarios: ReadonlyArray<Scenario>
  readonly size: Size
  /** The number of runs, instead of the scenarios' own numbers. */
  readonly repeats: number | undefined
  /** The most that other programs may use of the processors in a run that counts, in cores on average. */
  readonly foreignCores: number
}

/** The number of times that a noisy run is repeated. */
const spare = 2

/** The name of the driver for runs without a manager. */
const alone: Driver.Manager = { name: "driver alone", command: "" }

/** Runs the scenarios. Reports a failed run, and continues with the others. */
export const run = (options: Options): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.gen(function* () {
    const { site, size } = options
    const start = starter(options)

    // The first creations use an API server with cold caches, so they do not count for any manager.
    const few = String(Math.ceil(size.create / 4))
    for (const manager of options.managers) {
      yield* Console.error(`warm up ${manager.name}`)
      yield* Driver.run(site, "warm-up", manager, ["-scenario", "create", "-m", few, "-n", "0"]).pipe(
        Effect.catch(({ message }) => Console.error(`  failed: ${message}`))
      )
    }
    return yield* Effect.forEach(options.scenarios, (scenario) => inTurn(scenario, options, start))
  })

type Start = (scenario: Scenario, manager: Driver.Manager) => Effect.Effect<Driver.Result, Driver.RunFailed>

/** Makes a single run. It first converges the objects for every manager if the scenario needs converged objects. */
const starter = ({ managers, site, size }: Options): Start => {
  /** The managers for which the objects are converged. */
  const settled = new Set<Driver.Manager>()
  /** The manager that wrote last, by the plural of the kind. */
  const writers = new Map<string, string>()
  const settle = (manager: Driver.Manager) =>
    Effect.gen(function* () {
      if (settled.has(manager)) return
      yield* Console.error(`  seed ${manager.name}`)
      const args = ["-scenario", "seed", "-headless", "-n", String(size.objects)]
      Disagreement.note(writers, manager.name, yield* Driver.run(site, "seed", manager, args))
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
      const disagreement = scenario.writesNothing === true ? Disagreement.of(writers, manager.name, result) : undefined
      Disagreement.note(writers, manager.name, result)
      return disagreement === undefined ? result : yield* new Driver.RunFailed({ message: disagreement })
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
        // Some scenarios do not measure the use by other programs.
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
        yield* Effect.catch(measure(manager, round, spare), ({ message }) => {
          failures.push(`${scenario.name}, ${manager.name}: ${message}`)
          return Console.error(`  failed: ${message}`)
        })
      }
    }
    return { scenario, kept, noisy, failures }
  })
