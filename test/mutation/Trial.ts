/** Mutants on trial: each one's tests run on a copy with the mutation, nearest first, until one fails. */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Clock, Data, Duration, Effect, Queue, type Scope } from "effect"
import * as Copy from "./Copy.ts"
import type { TestsOf } from "./Imports.ts"
import * as Mutant from "./Mutant.ts"
import * as TestRun from "./TestRun.ts"
import * as TypeCheck from "./TypeCheck.ts"

/** What came of a mutant. */
export type Verdict = Data.TaggedEnum<{
  Killed: { readonly file: string; readonly test: string }
  TimedOut: { readonly file: string }
  /** All tests passed, and the type check fails. */
  Refused: { readonly error: string }
  /** `passed` of `known` test files passed, and there was no time for the others. */
  Survived: { readonly passed: number; readonly known: number }
  /** The source does not hold the replaced text exactly once. */
  Stale: {}
}>

const Verdict = Data.taggedEnum<Verdict>()

/** A mutant with its verdict. */
export interface Tried {
  readonly mutant: Mutant.Mutant
  /** What it changes, or undefined for a stale one. */
  readonly change: Mutant.Change | undefined
  readonly verdict: Verdict
}

/** The result of a run. */
export interface Outcome {
  /** In the order of the mutants. */
  readonly tried: ReadonlyArray<Tried>
  /** Test files that fail without a mutation, and their first test that does. They were not used. */
  readonly failing: ReadonlyArray<{ readonly file: string; readonly test: string }>
  /** Test files that take longer than the limit without a mutation. They were not used. */
  readonly slow: ReadonlyArray<string>
}

/** What a run needs. */
export interface Options {
  /** The project. Nothing in its folder changes. */
  readonly root: string
  readonly mutants: ReadonlyArray<Mutant.Mutant>
  /** All test files, for those that mutants name. */
  readonly tests: ReadonlyArray<string>
  readonly testsOf: TestsOf
  /** How long the tests of one mutant may run. A test file may take longer than that once it began. */
  readonly limit: Duration.Duration
  /** How many mutants are tried at a time. */
  readonly jobs: number
  /** A test file may take three times as long as without the mutation, and this much. Default: 10 s. */
  readonly patience?: Duration.Duration | undefined
  readonly report: (tried: Tried) => Effect.Effect<void>
}

/** Tries all mutants. */
export const run = (options: Options): Effect.Effect<Outcome, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { jobs, limit, mutants, patience = Duration.seconds(10), root, tests, testsOf } = options
    const pristine = yield* Copy.make(root)
    const failing: Array<Outcome["failing"][number]> = []
    const slow: Array<string> = []

    /** How long a test file takes without a mutation, measured once, or undefined for one that cannot be used. */
    const measured = yield* Effect.cachedFunction((file: string) =>
      Effect.map(TestRun.run(pristine, file, limit), (result) => {
        if (result._tag === "Passed") return result.millis
        if (result._tag === "Failed") failing.push({ file, test: result.test })
        else slow.push(file)
        return undefined
      })
    )

    /** Whether the type check can be used: it passes without a mutation. */
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
          // Most files pass, and are then not measured.
          const first = yield* TestRun.run(folder, file, Duration.min(limit, Duration.times(patience, 2)))
          if (first._tag === "Passed") {
            passed++
            continue
          }
          const millis = yield* measured(file)
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
