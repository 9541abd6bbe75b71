/**
 * The test command: `bun run test [--lanes LANE,...] [--budget] [WORD...]` runs test files in lanes. It runs the files whose path
 * contains one of the words.
 *
 * - unit: in virtual time and in one process, or with the compiled program. It needs only Bun.
 * - embedded (`*.embedded.test.ts`, `*.cluster.test.ts`): on the embedded cluster, in real time and over HTTP. It needs only Bun.
 * - deep (`*.deep.test.ts`): long tests, such as whole explorations. It needs only Bun. The two lanes above have a sample of each.
 * - tools (`*.tools.test.ts`): with programs of the machine, such as git and bubblewrap (README.md lists them).
 * - real (`*.real.test.ts`, and `*.cluster.test.ts` and `*.cluster.deep.test.ts` again): on a real control plane, which `KUBEBUILDER_ASSETS`,
 *   `TEST_ASSET_KUBE_APISERVER` or `USE_EXISTING_CLUSTER` names.
 *
 * The default lanes are unit and embedded, and real if the environment configures a control plane. A requested lane that cannot run
 * fails. With `--budget`, the run fails if the lanes unit and embedded need more CPU than `test/lanes/Budget.ts` allows. The last line is
 * `N passed, N failed`; `test/lanes/Verdict.ts` defines failed tests.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Broker from "@homeostat/testkit/Broker"
import * as Lane from "@homeostat/testkit/Lane"
import { Glob } from "bun"
import { Effect, Exit, Scope } from "effect"
import * as Batch from "./lanes/Batch.ts"
import * as Budget from "./lanes/Budget.ts"
import * as Pool from "./lanes/Pool.ts"
import * as Schedule from "./lanes/Schedule.ts"
import * as Verdict from "./lanes/Verdict.ts"

const root = join(import.meta.dir, "..")
const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** The lanes. `processes` is the number of parallel processes, and `usual` the usual seconds of a file. */
const lanes = {
  unit: {
    processes: 2,
    usual: 0.4,
    has: (file: string) => !/\.(cluster|deep|embedded|real|tools)\.test\.ts$/.test(file)
  },
  // Tests on a cluster spend most of their time waiting.
  embedded: { processes: 3, usual: 2, has: (file: string) => /\.(cluster|embedded)\.test\.ts$/.test(file) },
  deep: { processes: 2, usual: 20, has: (file: string) => file.endsWith(".deep.test.ts") },
  tools: { processes: 2, usual: 10, has: (file: string) => file.endsWith(".tools.test.ts") },
  real: { processes: 3, usual: 4, has: (file: string) => /\.(cluster|cluster\.deep|real)\.test\.ts$/.test(file) }
}
type Name = keyof typeof lanes
const names = Object.keys(lanes) as ReadonlyArray<Name>
const isName = (name: string): name is Name => names.some((one) => one === name)

const usage = (problem: string): never => {
  process.stderr.write(`${problem}\n`)
  process.exit(2)
}
const parsed = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        budget: { type: "boolean", default: false },
        lanes: { type: "string" },
        "record-durations": { type: "boolean", default: false }
      }
    })
  } catch (error) {
    return usage(error instanceof Error ? error.message : String(error))
  }
}
const { positionals: words, values } = parsed()
const wanted = values.lanes?.split(",") ?? ["unit", "embedded", ...(Lane.realIsNamed ? ["real"] : [])]
const unknown = wanted.find((name) => !isName(name))
if (unknown !== undefined) usage(`unknown lane: ${unknown} (must be one of ${names.join(", ")})`)
/** The lanes with a budget of CPU time. */
const fast: ReadonlyArray<Name> = ["unit", "embedded"]
if (values.budget && (words.length > 0 || !fast.every((name) => wanted.includes(name)))) {
  usage("--budget: it needs all files of the lanes unit and embedded (leave out the words, and ask for both lanes)")
}

const files = ["controllers", "observability", "runtime", "test"]
  .flatMap((folder) => Array.from(new Glob(`${folder}/**/*.test.ts`).scanSync(root)))
  .filter((file) => !file.includes("node_modules"))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()

const durationsFile = join(import.meta.dir, "lanes", "durations.json")
const durations: { [lane: string]: { [file: string]: number } } = JSON.parse(readFileSync(durationsFile, "utf8"))

let stopped = false
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    stopped = true
    Batch.stop()
  })
}

const runs: Array<Verdict.Run> = []
const began = performance.now()
const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed()} s`

/** Prints the output of a batch with a failure, without the tests that passed. */
const show = ({ output }: Batch.Report): void => {
  process.stderr.write(output.replaceAll(/^\(pass\) .*\n/gm, ""))
}

/** Runs a batch of a lane, and repeats it if a test failed. */
const batch = async (lane: Name, chosen: ReadonlyArray<string>, environment: { readonly [name: string]: string }) => {
  const start = performance.now()
  // The cluster of the lane deep is the embedded one, even if the environment names a real one.
  const cluster = lane === "deep" ? "embedded" : lane
  const run = () => Batch.run(root, chosen, { HOMEOSTAT_TEST_LANE: cluster, ...environment })
  const first = await run()
  print(
    `${lane}: ${first.passed.length} passed, ${first.failed.length} failed in ${chosen.length} files, ${seconds(start)} (CPU ${first.cpuSeconds.toFixed()} s)`
  )
  durations[lane] = { ...durations[lane], ...Object.fromEntries(first.seconds) }
  const failed = first.failed.length > 0 || first.error !== undefined
  if (failed) show(first)
  if (!failed || stopped) return runs.push({ lane, first, repeat: undefined })
  print(`${lane}: repeating ${chosen.length} files: ${first.error ?? first.failed.map(({ name }) => name).join("; ")}`)
  const repeat = await run()
  print(`${lane}: on the repeat ${repeat.passed.length} passed, ${repeat.failed.length} failed`)
  if (repeat.failed.length > 0 || repeat.error !== undefined) show(repeat)
  return runs.push({ lane, first, repeat })
}

/** The batches of a lane. */
const jobsOf = (lane: Name, environment: { readonly [name: string]: string }): ReadonlyArray<Pool.Job<Name>> => {
  const { has, processes, usual } = lanes[lane]
  const chosen = files.filter(has)
  const known = { known: durations[lane] ?? {}, usual }
  const parts = Schedule.batches(chosen, known, processes)
  if (parts.length > 0) print(`# Lane ${lane}: ${chosen.length} files in ${parts.length} batches`)
  return parts.map((part) => ({
    lane,
    seconds: Schedule.secondsOf(part, known),
    run: () => batch(lane, part, environment)
  }))
}

const calibrate = () => (values.budget ? Budget.calibrate(lanes.unit.processes) : [])
const before = await calibrate()
const planes = Scope.makeUnsafe()
const folder = mkdtempSync(join(tmpdir(), "homeostat-run-"))
const asked = names.filter((name) => wanted.includes(name))
const needsPlanes = (name: Name): boolean => Lane.realIsNamed && (name === "real" || name === "tools")
// A control plane starts when the first test asks for it.
const shared = asked.some(needsPlanes)
  ? { [Broker.variable]: await Effect.runPromise(Scope.provide(Broker.serve, planes)) }
  : {}
await Pool.run(
  asked.flatMap((name) => jobsOf(name, { HOMEOSTAT_TEST_FOLDER: folder, ...(needsPlanes(name) ? shared : {}) })),
  {
    lanes: {
      unit: lanes.unit.processes,
      embedded: lanes.embedded.processes,
      // Tests on a real control plane need CPU time in time.
      deep: wanted.includes("real") ? 1 : lanes.deep.processes,
      tools: lanes.tools.processes,
      real: lanes.real.processes
    },
    all: Math.max(...asked.map((name) => lanes[name].processes))
  },
  () => stopped
)
await Effect.runPromise(Scope.close(planes, Exit.void))
rmSync(folder, { recursive: true, force: true })
const calibration = [...before, ...(await calibrate())]

const verdict = Verdict.of(runs)
const { flaky, passed } = verdict
const list = (title: string, tests: ReadonlyArray<string>): void => {
  if (tests.length > 0) print(`\n${title}\n${tests.map((test) => `  ${test}`).join("\n")}`)
}
if (values["record-durations"]) {
  const long = Object.entries(durations).map(([lane, times]) => [
    lane,
    Object.fromEntries(
      Object.entries(times)
        .filter(([file, time]) => time > 3 && files.includes(file))
        .map(([file, time]) => [file, Math.round(time)] as const)
        .sort()
    )
  ])
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(long), null, 2)}\n`)
}
const reportsOf = (name: Name) => runs.filter(({ lane }) => lane === name).map(({ first }) => first)
const cpuSecondsOf = (name: Name): number => reportsOf(name).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
const counted = names.map((name) => {
  const tests = reportsOf(name).flatMap(({ failed, passed }) => [...passed, ...failed]).length
  return `${name} ${tests}${tests === 0 ? "" : ` (CPU ${cpuSecondsOf(name).toFixed()} s)`}`
})
print(`\nTests by lane: ${counted.join(", ")}; ${seconds(began)}`)
const spent = values.budget
  ? Budget.of(
      fast.reduce((sum, name) => sum + cpuSecondsOf(name), 0),
      calibration
    )
  : undefined
if (spent !== undefined) {
  const loops = calibration.map((cpuSeconds) => cpuSeconds.toFixed(2)).join(", ")
  print(
    `CPU of ${fast.join(" and ")}: ${spent.loops.toFixed()} calibration loops of ${Budget.allowed} (CPU of loops: ${loops} s)`
  )
}
const failed = [...verdict.failed, ...(spent?.problem === undefined || stopped ? [] : [spent.problem])]
list(`Flaky: failed, and passed on the repeat (up to ${Verdict.tolerated} are tolerated)`, flaky)
list("Failed:", stopped ? [...failed, "a signal stopped the run"] : failed)
// A reader of CI sees the end of a log first.
if (failed.length > 0)
  list(
    "The last lines of each failed test:",
    runs.flatMap(({ first, repeat }) => [first, ...(repeat === undefined ? [] : [repeat])]).flatMap(Batch.excerpts)
  )
const left = names.filter((name) => !wanted.includes(name))
if (left.length > 0) print(`\nNot asked for: ${left.join(", ")} (see "Tests" in CONTRIBUTING.md)`)
const none = runs.length === 0
if (none) print(`no test file matches: ${words.join(" ")}`)
print(`\n${passed} passed, ${failed.length + (none ? 1 : 0) + (stopped ? 1 : 0)} failed`)
process.exit(failed.length === 0 && !none && !stopped ? 0 : 1)
