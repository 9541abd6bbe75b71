/** Runs the tests of each mutant on a copy with the mutation, the nearest first, until one fails. */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Cache, Clock, Data, Duration, Effect, Queue, type Scope } from "effect"
import * as Copy from "./Copy.ts"
import type { TestsOf } from "./Imports.ts"
import * as Mutant from "./Mutant.ts"
import * as TestRun from "./TestRun.ts"
import * as TypeCheck from "./TypeCheck.ts"

/** The verdict about a mutant. */
export type Verdict = Data.TaggedEnum<{
  Killed: { readonly file: string; readonly test: string }
  TimedOut: { readonly file: string }
  /** All tests passed, but the type check failed. */
  Refused: { readonly error: string }
  /** `passed` of `known` test files passed, and the time was over before the others. */
  Survived: { readonly passed: number; readonly known: number }
  /** The source does not have the replaced text exactly once. */
  Stale: {}
}>

const Verdict = Data.taggedEnum<Verdict>()

/** A mutant with its verdict. */
export interface Tried {
  readonly mutant: Mutant.Mutant
  /** The changed lines; undefined for a stale mutant. */
  readonly change: Mutant.Change | undefined
  readonly verdict: Verdict
}

/** The result of a run. */
export interface Outcome {
  /** The verdicts in the order of the mutants. */
  readonly tried: ReadonlyArray<Tried>
  /** Test files that fail without a mutation, with their first failing test. The run does not use them. */
  readonly failing: ReadonlyArray<{ readonly file: string; readonly test: string }>
  /** Test files that take longer than the limit without a mutation. The run does not use them. */
  readonly slow: ReadonlyArray<string>
}

/** The options of a run. */
export interface Options {
  /** The folder of the project. The run does not change its files. */
  readonly root: string
  readonly mutants: ReadonlyArray<Mutant.Mutant>
  /** All test files, from which mutants can name some. */
  readonly tests: ReadonlyArray<string>
  readonly testsOf: TestsOf
  /** The time limit for the tests of one mutant. A test file that has started may exceed it. */
  readonly limit: Duration.Duration
  /** The number of mutants that run in parallel. */
  readonly jobs: number
  /** The timeout of a test file is three times its duration without the mutation, plus this. Default: 10 s. */
  readonly patience?: Duration.Duration | undefined
  readonly report: (tried: Tried) => Effect.Effect<void>
}

/** Tries all mutants, and returns their verdicts. */
export const run = (options: Options): Effect.Effect<Outcome, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { jobs, limit, mutants, patience = Duration.seconds(10), root, tests, testsOf } = options
    const pristine = yield* Copy.make(root)
    const failing: Array<Outcome["failing"][number]> = []
    const slow: Array<string> = []

    /** The milliseconds that a test file takes without a mutation, measured once; undefined for a file that fails or is too slow. */
    const measured = yield* Cache.make({
      capacity: Number.POSITIVE_INFINITY,
      lookup: (file: string) =>
        Effect.map(TestRun.run(pristine, file, limit), (result) => {
          if (result._tag === "Passed") return result.millis
          if (result._tag === "Failed") failing.push({ file, test: result.test })
          else slow.push(file)
          return undefined
        })
    })

    /** True if the type check passes without a mutation, so that the run can use it. */
    const isChecked = yield* Effect.cached(
      Effect.map(TypeCheck.run(pristine), (error) => {
        if (error !== undefined) failing.push({ file: TypeCheck.settings, test: error })
        return error === undefined
      })
    )

    const mutated = (folder: string, file: string, before: string, after: string) =>
      Effect.acquireRelease(
        Effect.promise(() => writeFile(join(folder, file), after)),
        () => Effect.promise(() => writeFile(join(folder, file), before))
      )

    const judge = (folder: string, mutant: Mutant.Mutant, text: string): Effect.Effect<Verdict> =>
      Effect.gen(function* () {
        const after = Mutant.apply(text, mutant)
        if (after === undefined) return Verdict.Stale()
        yield* mutated(folder, mutant.file, text, after)
        const { test } = mutant
        const named = test === undefined ? [] : tests.filter((file) => file.includes(test))
        const all = [...new Set([...named, ...testsOf(mutant.file)])]
        const end = (yield* Clock.currentTimeMillis) + Duration.toMillis(limit)
        let passed = 0
        for (const file of all) {
          if ((yield* Clock.currentTimeMillis) >= end) break
          if (slow.includes(file) || failing.some((one) => one.file === file)) continue
          // Most files pass, so most need no measurement.
          const first = yield* TestRun.run(folder, file, Duration.min(limit, Duration.times(patience, 2)))
          if (first._tag === "Passed") {
            passed++
            continue
          }
          const millis = yield* Cache.get(measured, file)
          if (millis === undefined) continue
          if (first._tag === "Failed") return Verdict.Killed({ file, test: first.test })
          const second = yield* TestRun.run(folder, file, Duration.sum(Duration.millis(3 * millis), patience))
          if (second._tag === "Failed") return Verdict.Killed({ file, test: second.test })
          if (second._tag === "TimedOut") return Verdict.TimedOut({ file })
          passed++
        }
        const error = yield* TypeCheck.run(folder)
        return error === undefined || !(yield* isChecked)
          ? Verdict.Survived({ passed, known: all.length })
          : Verdict.Refused({ error })
      }).pipe(Effect.scoped)

    const copies = yield* Queue.unbounded<string>()
    for (let at = 0; at < Math.min(jobs, mutants.length); at++) yield* Queue.offer(copies, yield* Copy.make(root))
    const tried = yield* Effect.forEach(
      mutants,
      (mutant) =>
        Effect.acquireUseRelease(
          Queue.take(copies),
          (folder) =>
            Effect.gen(function* () {
              const text = yield* Effect.promise(() => readFile(join(folder, mutant.file), "utf8").catch(() => ""))
              const verdict = yield* judge(folder, mutant, text)
              const tried = { mutant, change: Mutant.changeOf(text, mutant), verdict }
              yield* options.report(tried)
              return tried
            }),
          (folder) => Queue.offer(copies, folder)
        ),
      { concurrency: jobs }
    )
    return { tried, failing, slow }
  })
