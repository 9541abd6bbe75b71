/**
 * Measures Homeostat alone, against limits. Each number is the median of the runs. The bench fails if a number is above its limit.
 */
import { appendFile } from "node:fs/promises"
import { join } from "node:path"
import type * as Client from "@homeostat/runtime/client/Client"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Port from "@homeostat/testkit/envtest/Port"
import { Cause, Console, Effect, type Scope } from "effect"
import * as Binary from "../suites/binary/Binary.ts"
import * as Endpoint from "../suites/binary/Endpoint.ts"
import * as Replica from "../suites/binary/Replica.ts"
import * as Running from "../suites/binary/Running.ts"
import { definitions } from "../suites/binary/Scene.ts"
import * as Managed from "../suites/Managed.ts"
import * as Collector from "../suites/tracing/Collector.ts"
import * as Exporting from "../suites/tracing/Exporting.ts"
import type { Result } from "./Driver.ts"
import * as FirstPass from "./FirstPass.ts"
import type { Size } from "./Scenario.ts"
import * as Table from "./Table.ts"

/** Numbers by field. */
type Numbers = { readonly [field: string]: number }

/** A scenario. */
export interface Scenario {
  readonly name: string
  readonly title: string
  readonly repeats: number
  readonly measures: ReadonlyArray<Table.Limited>
  /** One run. */
  readonly run: (cluster: ControlPlane, size: Size) => Effect.Effect<Numbers, unknown, Scope.Scope | Client.Client>
}

/** The results of all runs of a scenario. */
export interface Outcome {
  readonly scenario: Scenario
  readonly results: ReadonlyArray<Numbers>
  readonly failures: ReadonlyArray<string>
}

const medianOf = (values: ReadonlyArray<number>): number => Table.median(values) ?? Number.NaN

/** Measures `homeostat version` from its start to its end, in milliseconds. */
const version = Effect.gen(function* () {
  const executable = yield* Binary.path
  const env = Binary.bare(yield* Directory.make)
  return yield* Effect.sync(() => {
    const startedAt = performance.now()
    const { exitCode, resourceUsage } = Bun.spawnSync([executable, "version"], { env })
    if (exitCode !== 0) throw new Error(`homeostat version ended with ${exitCode}`)
    return {
      millis: performance.now() - startedAt,
      // The CPU time of all threads. It does not include the time that the program waits for a processor.
      work: Number(resourceUsage.cpuTime.total) / 1000
    }
  })
})

/**
 * Measures `homeostat run` from its start to the first response of `/healthz`, in milliseconds. The program waits for its kubeconfig, so
 * it does nothing else.
 */
const healthz = Effect.gen(function* () {
  const [home, port] = [yield* Directory.make, yield* Port.free]
  const kubeconfig = join(home, "kubeconfig")
  Bun.spawnSync(["mkfifo", kubeconfig])
  const startedAt = performance.now()
  const program = yield* Binary.start(
    [
      "run",
      `--kubeconfig=${kubeconfig}`,
      `--health-probe-bind-address=${Port.host}:${port}`,
      "--metrics-bind-address=0"
    ],
    Binary.bare(home)
  )
  yield* Effect.promise(async () => {
    // The loop does not wait longer, because the wait would be part of the result.
    while ((await fetch(`http://${Port.host}:${port}/healthz`).catch(() => undefined))?.status !== 200) {
      await Bun.sleep(2)
    }
  })
  return { millis: performance.now() - startedAt, work: yield* Running.busyMillis(program.pid) }
}).pipe(Effect.scoped)

const program: Scenario = {
  name: "program",
  title: "the start of the program",
  repeats: 3,
  measures: [
    { field: "version_ms", label: "`version`, start to end, median ms" },
    { field: "version_work_ms", label: "work in that, of all threads, least ms", limit: 60 },
    { field: "healthz_ms", label: "`run` to `/healthz` 200, median ms" },
    { field: "healthz_work_ms", label: "work in that, of the main thread, least ms", limit: 150 }
  ],
  run: (_, { quick }) =>
    Effect.gen(function* () {
      yield* Binary.path
      const versions = yield* Effect.replicateEffect(version, quick ? 3 : 60)
      const starts = yield* Effect.replicateEffect(healthz, quick ? 2 : 10)
      return {
        version_ms: medianOf(versions.map(({ millis }) => millis)),
        version_work_ms: Math.min(...versions.map(({ work }) => work)),
        healthz_ms: medianOf(starts.map(({ millis }) => millis)),
        healthz_work_ms: Math.min(...starts.map(({ work }) => work))
      }
    })
}

const resting: Scenario = {
  name: "resting",
  title: "the default overlay, nothing there",
  repeats: 3,
  measures: [{ field: "rss_mib", label: "RSS, median of ten seconds, MiB", limit: 80 }],
  run: (cluster, { quick }) =>
    Effect.gen(function* () {
      yield* cluster.install(...definitions)
      const namespace = yield* cluster.namespace("resting")
      const replica = yield* Replica.homeostat(cluster, { namespace, flags: ["--metrics-secure"] })
      yield* replica.written(/Leading/)
      yield* Managed.eventually("that it is ready", Endpoint.get(replica, "/readyz"), ({ status }) => status === 200)
      // The program releases the memory of its start within some seconds.
      yield* Effect.sleep(quick ? "1 second" : "15 seconds")
      const sample = Effect.tap(Running.residentMiB(replica.pid), Effect.sleep("100 millis"))
      return { rss_mib: medianOf(yield* Effect.replicateEffect(sample, quick ? 5 : 100)) }
    })
}

const settled = (place: Exporting.Place) =>
  Managed.stays(
    "the reconciles",
    Effect.map(Exporting.counts(place), ({ reconciles }) => reconciles)
  ).pipe(Effect.retry({ times: 20 }), Effect.andThen(Exporting.counts(place)))

const collector: Scenario = {
  name: "collector",
  title: "a collector that fails",
  repeats: 1,
  measures: [
    { field: "healthy_ms", label: "CPU per reconcile, healthy, ms" },
    ...Exporting.sick.map((mode) => ({ field: mode, label: `the same, ${mode}, relative to healthy`, limit: 1.1 })),
    { field: "growth_mib", label: "RSS at the end less that at the beginning, MiB", limit: 32 }
  ],
  run: (cluster, { quick }) =>
    Effect.gen(function* () {
      yield* cluster.install(...definitions)
      const namespace = yield* cluster.namespace("collector")
      const receiver = yield* Collector.start()
      const running = yield* Exporting.start(cluster, namespace, receiver)
      const names = Array.from({ length: quick ? 10 : 100 }, (_, index) => `app-${index}`)
      yield* Effect.forEach(names, (name) => Exporting.create(namespace, name), { concurrency: 8, discard: true })
      const place: Exporting.Place = { namespace, names, program: running, collector: receiver }
      const change = (mode: Collector.Mode, round: number) =>
        Effect.gen(function* () {
          yield* receiver.become(mode)
          const before = yield* settled(place)
          yield* Exporting.change(place, `${mode}:${round}`)
          const after = yield* settled(place)
          const millis = ((after.cpu - before.cpu) * 1000) / (after.reconciles - before.reconciles)
          return { mode, millis, resident: yield* Running.residentMiB(running.pid) }
        })
      // The first rounds run until the engine has compiled the frequent functions.
      for (let round = 0; round < (quick ? 1 : 3); round++) yield* change("healthy", -round)
      const seen: Array<Effect.Success<ReturnType<typeof change>>> = []
      for (let round = 1; round <= (quick ? 1 : 5); round++) {
        for (const mode of ["healthy", ...Exporting.sick] as const) seen.push(yield* change(mode, round))
      }
      // Other programs can only increase the cost of a round, so the least cost counts.
      const cost = (mode: Collector.Mode) => Math.min(...seen.flatMap((one) => (one.mode === mode ? [one.millis] : [])))
      const least = (some: typeof seen) => Math.min(...some.map(({ resident }) => resident))
      return {
        healthy_ms: cost("healthy"),
        ...Object.fromEntries(Exporting.sick.map((mode) => [mode, cost(mode) / cost("healthy")])),
        growth_mib: least(seen.slice(-4)) - least(seen.slice(0, 4))
      }
    })
}

const firstPass: Scenario = {
  name: "first-pass",
  title: "responsive during the first pass",
  repeats: 1,
  measures: FirstPass.measures,
  run: (cluster, { objects }) => FirstPass.run(objects, cluster)
}

/** The scenarios in the order in which they run. The last one leaves its WebApps in the cluster. */
export const all: ReadonlyArray<Scenario> = [program, resting, collector, firstPass]

/** The options of the runs. */
interface Options {
  readonly out: string
  readonly size: Size
  readonly repeats: number | undefined
}

/** Runs each scenario by itself, and appends the results to `results.jsonl` in the folder. After a failed run, the other runs continue. */
export const run = (
  cluster: ControlPlane,
  scenarios: ReadonlyArray<Scenario>,
  options: Options
): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.forEach(scenarios, (scenario) =>
    repeat(
      scenario,
      options,
      Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(scenario.run(cluster, options.size), client))
    )
  )

/** Runs the first pass, which is the only scenario that needs no cluster. */
export const runInMemory = (options: Options): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.map(repeat(firstPass, options, FirstPass.run(options.size.objects)), (outcome) => [outcome])

const repeat = (
  scenario: Scenario,
  { out, repeats = scenario.repeats }: Options,
  once: Effect.Effect<Numbers, unknown, Scope.Scope>
): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const results: Array<Numbers> = []
    const failures: Array<string> = []
    for (let round = 1; round <= repeats; round++) {
      yield* Console.error(`${scenario.name} ${round}/${repeats} homeostat`)
      yield* Effect.matchCauseEffect(Effect.scoped(once), {
        onFailure: (cause) => {
          const text = `${scenario.name}: ${Cause.pretty(cause)}`
          failures.push(text)
          return Console.error(`  failed: ${text}`)
        },
        onSuccess: (numbers) => {
          results.push(numbers)
          const result: Result = { ...numbers, scenario: scenario.name, round }
          return Effect.promise(() => appendFile(`${out}/results.jsonl`, `${JSON.stringify(result)}\n`))
        }
      })
    }
    return { scenario, results, failures }
  })

/** Returns a line for each number that is above its limit. */
export const excesses = (outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> =>
  outcomes.flatMap(({ results, scenario }) => Table.excesses(scenario.title, scenario.measures, results))

/** Returns the results as a Markdown table, followed by the exceeded limits and the failures. */
export const render = (outcomes: ReadonlyArray<Outcome>): string => {
  const above = excesses(outcomes)
  const failures = outcomes.flatMap((outcome) => outcome.failures)
  return [
    "| homeostat alone | number | | limit | runs |",
    "|---|---|---|---|---|",
    ...outcomes.flatMap(({ results, scenario }) =>
      scenario.measures.map((measure, index) => {
        const [title, runs] = index === 0 ? [scenario.title, results.length] : ["", ""]
        return `| ${title} | ${measure.label} | ${Table.spread(Table.values(results, measure))} | ${measure.limit ?? ""} | ${runs} |`
      })
    ),
    "",
    `Above the limit: ${above.length}. Failed: ${failures.length}.`,
    ...[...above, ...failures].map((line) => `- ${line}`),
    ""
  ].join("\n")
}
