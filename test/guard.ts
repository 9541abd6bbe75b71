/**
 * `bun run guard [ROW...]` compares the cost of the program with that of a baseline commit, and fails where a row costs more than 10 %
 * more. `test/guard/baseline.json` names the commit and the rows that may cost more. Without words, it measures all rows.
 *
 * Both programs are compiled and measured at the same time, so no limit is a time. It needs git, and a clone with the baseline's commit. The
 * last line is `N passed, N failed`.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Baseline from "./guard/Baseline.ts"
import * as Experiment from "./guard/Experiment.ts"
import * as Program from "./guard/Program.ts"
import * as Verdict from "./guard/Verdict.ts"

const root = join(import.meta.dir, "..")
const began = performance.now()
const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const step = (line: string): void => print(`guard: ${line} (${((performance.now() - began) / 1000).toFixed()} s)`)

const folder = mkdtempSync(join(tmpdir(), "guard-"))
process.on("exit", () => {
  Program.stopAll()
  rmSync(folder, { recursive: true, force: true })
})

const refuse = (problem: string): never => {
  process.stderr.write(`guard: ${problem}\n`)
  process.exit(1)
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => refuse(`${signal} stopped it`))

/** Makes a clone of the baseline's commit with its own dependencies. */
const checkout = async (commit: string): Promise<string> => {
  const baseline = join(folder, "baseline")
  await Program.run(["git", "cat-file", "-e", `${commit}^{commit}`], root).catch(() =>
    refuse(`the commit of test/guard/baseline.json is not in this clone: ${commit} (run git fetch --unshallow)`)
  )
  await Program.run(["git", "clone", "--quiet", "--shared", "--no-checkout", root, baseline], root)
  await Program.run(["git", "checkout", "--quiet", "--detach", commit], baseline)
  await Program.run([process.execPath, "install", "--frozen-lockfile"], baseline)
  return baseline
}

/** Measures the chosen rows of an experiment until each has a verdict, and returns the pairs of the rows that failed in words. */
const conduct = async (
  { open, rows }: Experiment.Experiment,
  context: Experiment.Context,
  { raised }: Baseline.Baseline
): Promise<ReadonlyArray<string>> => {
  const measure = await open(context)
  const measured = rows.map((row) => ({ row, raised: raised[row.name]?.to, pairs: [] as Verdict.Pair[] }))
  const unfinished = () => measured.filter(({ pairs, raised, row }) => Verdict.of(pairs, row, raised) === undefined)
  for (let open = unfinished(); open.length > 0; open = unfinished()) {
    const isOpen = (name: string): boolean => open.some(({ row }) => row.name === name)
    const [baseline, tree] = await Promise.all(context.programs.map((program) => measure(program, isOpen)))
    for (const { pairs, row } of open)
      pairs.push({ baseline: baseline?.[row.name] ?? Number.NaN, tree: tree?.[row.name] ?? Number.NaN })
  }
  Program.stopAll()
  return measured.flatMap(({ pairs, raised, row }) => {
    const hasPassed = Verdict.of(pairs, row, raised) === true
    const text = Verdict.describe(row, pairs, raised)
    step(`${hasPassed ? "passed" : "failed"}: ${text}`)
    if (Verdict.medians(pairs).ratio < 0.8)
      step(`${row.name} is cheaper than at the baseline: set the commit of test/guard/baseline.json after this change`)
    return hasPassed ? [] : [text]
  })
}

const names = Experiment.all.flatMap(({ rows }) => rows.map(({ name }) => name))
const words = process.argv.slice(2)
const unknown = words.find((word) => !names.includes(word))
if (unknown !== undefined) refuse(`unknown row: ${unknown} (must be one of ${names.join(", ")})`)

const main = async (): Promise<void> => {
  const text = readFileSync(join(import.meta.dir, "guard/baseline.json"), "utf8")
  const baseline = Baseline.parse(text, names)
  const sources = await checkout(baseline.commit)
  const context: Experiment.Context = {
    programs: [
      await Program.build("baseline", sources, join(folder, "built-baseline")),
      await Program.build("tree", root, join(folder, "built-tree"))
    ],
    serve: () => Program.serve(root, folder)
  }
  step(`compiled the baseline ${baseline.commit.slice(0, 8)} and the tree`)
  const chosen = Experiment.all
    .map((experiment) => ({
      ...experiment,
      rows: experiment.rows.filter(({ name }) => words.length === 0 || words.includes(name))
    }))
    .filter(({ rows }) => rows.length > 0)
  const failed: Array<string> = []
  for (const experiment of chosen) failed.push(...(await conduct(experiment, context, baseline)))
  if (failed.length > 0) {
    const remedy = "make the row cheaper, or raise it in test/guard/baseline.json with the reason"
    print(["\nFailed:", ...failed.map((row) => `  guard: ${row}: ${remedy}`)].join("\n"))
  }
  const total = chosen.reduce((sum, { rows }) => sum + rows.length, 0)
  print(`\n${total - failed.length} passed, ${failed.length} failed`)
  process.exit(failed.length === 0 ? 0 : 1)
}

await main().catch((error: unknown) => refuse(error instanceof Error ? error.message : String(error)))
