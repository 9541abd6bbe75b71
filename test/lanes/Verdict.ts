/**
 * The verdict about the reports of a run. A batch with a failure runs again, with the same files in the same order.
 * The repeat shows whether a failure is flaky. A flaky test passes on the repeat. A test that the repeat does not run has failed.
 *
 * - In the lane unit, and in the lane deep without a cluster over HTTP (`*.cluster.deep.test.ts`, `*.embedded.deep.test.ts`), a flaky test has failed.
 * - In the other lanes together, up to three flaky tests are tolerated. With a fourth, all of them have failed.
 */
import type { Report, Test } from "./Batch.ts"

/** The report of a batch, and that of its repeat if a test failed. */
export interface Run {
  readonly lane: string
  readonly first: Report
  readonly repeat: Report | undefined
}

/** The verdict. `failed` and `flaky` name each test once, with its lane. */
export interface Verdict {
  readonly passed: number
  readonly failed: ReadonlyArray<string>
  readonly flaky: ReadonlyArray<string>
}

/** The number of flaky tests that a run tolerates. */
export const tolerated = 3

/** Whether a flaky test of a file has failed. */
const isStrict = (lane: string, { file }: Test): boolean =>
  lane === "unit" || (lane === "deep" && !/\.(cluster|embedded)\.deep\.test\.ts$/.test(file))

/** Returns the verdict about all runs. */
export const of = (runs: ReadonlyArray<Run>): Verdict => {
  let passed = 0
  const failed: Array<string> = []
  const flaky: Array<string> = []
  for (const { first, lane, repeat } of runs) {
    const named = ({ file, name }: Test): string => `${lane}: ${file} > ${name}`
    passed += first.passed.length
    if (first.error !== undefined) failed.push(`${lane}: ${first.error}`)
    const whole = repeat !== undefined && repeat.error === undefined && first.error === undefined
    const before = new Map(first.failed.map((test) => [named(test), test]))
    const again = new Map(repeat?.failed.map((test) => [named(test), test]))
    const recovered = new Set(repeat?.passed.map(named))
    for (const [name, test] of before) {
      if (!whole || again.has(name) || !recovered.has(name)) failed.push(name)
      else if (isStrict(lane, test)) failed.push(`${name} (flaky: it passed on the repeat)`)
      else flaky.push(name)
    }
    if (!whole) continue
    const fresh = [...again].filter(([name]) => !before.has(name))
    for (const [name, test] of fresh) {
      const outcome = isStrict(lane, test) ? failed : flaky
      outcome.push(`${name} (it failed on the repeat)`)
    }
    passed -= fresh.length
  }
  return flaky.length > tolerated
    ? { passed, failed: [...failed, ...flaky], flaky: [] }
    : { passed: passed + flaky.length, failed, flaky }
}
