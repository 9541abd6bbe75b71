/**
 * The test command: every test file, by lanes.
 *
 * - unit: always. Virtual time, nothing but this process (and, for the binary's own tests, the compiled program).
 * - embedded (`*.cluster.test.ts`): always. On the embedded cluster, in real time and over HTTP.
 * - real (`*.cluster.test.ts` again, and `*.real.test.ts`): on a real control plane, when one is named by
 *   `KUBEBUILDER_ASSETS`, `TEST_ASSET_KUBE_APISERVER` or `USE_EXISTING_CLUSTER`. A lane that is asked for and can't run fails.
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

let passed = 0
let failed = 0
let stopped = false

/** Runs the files of a lane: in one process, or each folder in one of its own, that many at a time, the largest first. */
const lane = async (name: string, chosen: ReadonlyArray<string>, processes = 1): Promise<void> => {
  if (chosen.length === 0 || stopped) return
  process.stdout.write(`\n# Lane ${name}: ${chosen.length} files\n`)
  const parts = processes === 1 ? [chosen] : [...Map.groupBy(chosen, dirname).values()]
  parts.sort((one, other) => other.length - one.length)
  const work = async (): Promise<void> => {
    for (let part = parts.shift(); part !== undefined && !stopped; part = parts.shift()) await run(name, part)
  }
  await Promise.all(Array.from({ length: processes }, work))
}

const run = async (name: string, chosen: ReadonlyArray<string>): Promise<void> => {
  const child = Bun.spawn([process.execPath, "test", "--timeout", "120000", ...chosen.map((file) => `./${file}`)], {
    cwd: root,
    // The child ends when this pipe does: with us, even if we are killed (see the preloaded hook).
    stdin: "pipe",
    stdout: "inherit",
    stderr: "pipe",
    env: { ...process.env, FORCE_COLOR: "0", HOMEOSTAT_TEST_LANE: name, HOMEOSTAT_TEST_INPUT: "pipe" }
  })
  const stop = () => {
    stopped = true
    child.kill("SIGTERM")
  }
  process.on("SIGINT", stop).on("SIGTERM", stop)
  let report = ""
  for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
    process.stderr.write(chunk)
    report = (report + chunk).slice(-4000)
  }
  const code = await child.exited
  process.off("SIGINT", stop).off("SIGTERM", stop)
  const count = (what: string): number => Number(new RegExp(`^\\s*(\\d+) ${what}$`, "m").exec(report)?.[1] ?? 0)
  passed += count("pass")
  const failures = count("fail")
  // A run that died, or that failed outside of a test, is a failure even if no test says so.
  failed += code === 0 || failures > 0 ? failures : 1
}

await lane(
  "unit",
  files.filter((file) => !isReal(file) && !isCluster(file))
)
// These tests mostly wait, and a cluster costs nothing.
await lane("embedded", files.filter(isCluster), 3)
const real = files.filter((file) => isReal(file) || isCluster(file))
if (Lane.realIsNamed) await lane("real", real)
else process.stdout.write("\n# Lane real: not asked for. Set KUBEBUILDER_ASSETS to run it (see README.md)\n")

if (passed + failed === 0) {
  process.stdout.write(`No test file matches ${words.join(", ")}\n`)
  failed = 1
}
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exit(failed === 0 && !stopped ? 0 : 1)
