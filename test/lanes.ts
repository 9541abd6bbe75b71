/**
 * The test command: every test file, by lanes.
 *
 * - unit: always. Virtual time, nothing but this process (and, for the binary's own tests, the compiled program).
 * - embedded (`*.cluster.test.ts`): always. On the embedded cluster, in real time and over HTTP.
 * - real (`*.cluster.test.ts` again, and `*.real.test.ts`): on a real control plane, when one is named by
 *   `KUBEBUILDER_ASSETS`, `TEST_ASSET_KUBE_APISERVER` or `USE_EXISTING_CLUSTER`. A lane that is asked for and can't run fails.
 *
 * Some tests see real time pass, beside others and on machines that have more to do. A file with a failure is therefore run once
 * more, alone: what fails again has failed, and what does not is named as unsteady.
 *
 * Words on the command line choose files whose path contains one of them. Ends with `N passed, N failed`.
 */
import { dirname, join } from "node:path"
import * as Lane from "@homeostat/testkit/Lane"
import { Glob } from "bun"

const root = join(import.meta.dir, "..")
const words = process.argv.slice(2)

const files = ["controllers", "observability", "runtime", "test"]
  .flatMap((folder) => Array.from(new Glob(`${folder}/**/*.test.ts`).scanSync(root)))
  .filter((file) => !file.includes("node_modules"))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()

const isReal = (file: string): boolean => file.endsWith(".real.test.ts")
const isCluster = (file: string): boolean => file.endsWith(".cluster.test.ts")

/** What a process of tests came to. */
interface Report {
  readonly passed: number
  /** The tests that failed, or 1 if only the process did. */
  readonly failed: number
  /** Whether the process came to its end, and nothing failed outside of a test. */
  readonly whole: boolean
  readonly failures: ReadonlyArray<{ readonly file: string; readonly test: string }>
}

let stopped = false

/** Runs test files in a process of their own. */
const run = async (lane: string, chosen: ReadonlyArray<string>): Promise<Report> => {
  const child = Bun.spawn([process.execPath, "test", "--timeout", "120000", ...chosen.map((file) => `./${file}`)], {
    cwd: root,
    // The child ends when this pipe does: with us, even if we are killed (see the preloaded hook).
    stdin: "pipe",
    stdout: "inherit",
    stderr: "pipe",
    env: { ...process.env, FORCE_COLOR: "0", HOMEOSTAT_TEST_LANE: lane, HOMEOSTAT_TEST_INPUT: "pipe" }
  })
  const stop = () => {
    stopped = true
    child.kill("SIGTERM")
  }
  process.on("SIGINT", stop).on("SIGTERM", stop)
  const failures: Array<{ readonly file: string; readonly test: string }> = []
  const counts = new Map<string, number>()
  let file = ""
  let summary = false
  const read = (line: string): void => {
    // Bun repeats the failures below its list, as many as there are.
    summary ||= /^\d+ tests? (failed|skipped):$/.test(line)
    file = /^(\S+\.test\.ts):$/.exec(line)?.[1] ?? file
    const test = /^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/.exec(line)?.[1]
    if (test !== undefined && !summary) failures.push({ file, test })
    const [, count, what] = /^\s*(\d+) (pass|fail|errors?)$/.exec(line) ?? []
    if (what !== undefined) counts.set(what, Number(count))
  }
  let rest = ""
  for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
    process.stderr.write(chunk)
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    lines.forEach(read)
  }
  read(rest)
  const code = await child.exited
  process.off("SIGINT", stop).off("SIGTERM", stop)
  const failed = counts.get("fail") ?? 0
  const errors = (counts.get("error") ?? 0) + (counts.get("errors") ?? 0)
  return {
    passed: counts.get("pass") ?? 0,
    // A run that died, or that failed outside of a test, is a failure even if no test says so.
    failed: code === 0 || failed > 0 ? failed : 1,
    whole: counts.has("pass") && errors === 0 && failed === failures.length,
    failures
  }
}

let passed = 0
let failed = 0
const lasting: Array<string> = []
const unsteady: Array<string> = []

/** Runs a file again whose tests failed, and says which of them do not any more. */
const again = async (lane: string, first: Report): Promise<void> => {
  // Of a process that died nobody knows what else would have failed.
  if (!first.whole) {
    failed = Math.max(failed, 1)
    lasting.push(`${lane}: a process ended early, or failed outside of a test`)
    lasting.push(...first.failures.map(({ file, test }) => `${lane}: ${file} > ${test}`))
    return
  }
  for (const [file, failures] of Map.groupBy(first.failures, (failure) => failure.file)) {
    if (stopped) return
    process.stdout.write(`\n# Lane ${lane}, once more: ${file}\n`)
    const second = await run(lane, [file])
    const still = new Set(second.failures.map(({ test }) => test))
    const known = new Set(failures.map(({ test }) => test))
    const mended = second.whole ? failures.filter(({ test }) => !still.has(test)) : []
    const fresh = second.failures.filter(({ test }) => !known.has(test))
    passed += mended.length - fresh.length
    failed += fresh.length - mended.length
    for (const failure of [...failures, ...fresh]) {
      const list = mended.includes(failure) ? unsteady : lasting
      list.push(`${lane}: ${file} > ${failure.test}`)
    }
  }
}

/** Runs the files of a lane: in one process, or each folder in one of its own, that many at a time, the largest first. */
const lane = async (name: string, chosen: ReadonlyArray<string>, processes = 1): Promise<void> => {
  if (chosen.length === 0 || stopped) return
  process.stdout.write(`\n# Lane ${name}: ${chosen.length} files\n`)
  const parts = processes === 1 ? [chosen] : [...Map.groupBy(chosen, dirname).values()]
  parts.sort((one, other) => other.length - one.length)
  const reports: Array<Report> = []
  const work = async (): Promise<void> => {
    for (let part = parts.shift(); part !== undefined && !stopped; part = parts.shift()) {
      reports.push(await run(name, part))
    }
  }
  await Promise.all(Array.from({ length: processes }, work))
  for (const report of reports) {
    passed += report.passed
    failed += report.failed
  }
  for (const report of reports) await again(name, report)
}

await lane(
  "unit",
  files.filter((file) => !isReal(file) && !isCluster(file))
)
// These tests mostly wait, and a cluster costs nothing.
await lane("embedded", files.filter(isCluster), 3)
// A control plane costs a quarter of a core.
const real = files.filter((file) => isReal(file) || isCluster(file))
if (Lane.realIsNamed) await lane("real", real, 2)
else process.stdout.write("\n# Lane real: not asked for. Set KUBEBUILDER_ASSETS to run it (see README.md)\n")

if (passed + failed === 0) {
  process.stdout.write(`No test file matches ${words.join(", ")}\n`)
  failed = 1
}
const list = (title: string, tests: ReadonlyArray<string>): void => {
  if (tests.length > 0) process.stdout.write(`\n${title}\n${tests.map((test) => `  ${test}\n`).join("")}`)
}
list("Unsteady: failed beside others, passed alone", unsteady)
list("Failed:", lasting)
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exit(failed === 0 && !stopped ? 0 : 1)
