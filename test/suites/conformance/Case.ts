/** Declares the cases of the conformance suite. They hold for every API server, and run on the cluster of the lane. */
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Lane from "@homeostat/testkit/Lane"
import * as Shared from "@homeostat/testkit/Shared"
import { Cause, Data, Effect, Exit, Schedule, type Scope } from "effect"
import { type Gap, gaps } from "./Gaps.ts"
import * as Scene from "./Scene.ts"

export interface Options {
  /** One of the forty most important cases. */
  readonly starred?: boolean | undefined
  /** The case needs kube-controller-manager. */
  readonly needsControllers?: boolean | undefined
}

/** A case passes although it is in the list of gaps. */
export class NoGap extends Data.TaggedError("NoGap")<{ readonly number: number }> {
  override get message(): string {
    return `case ${this.number} passes (remove it from the gaps)`
  }
}

/** Declares a case in its own namespace. A case in the list of gaps must fail on the embedded server. */
export const conformance = <E>(
  number: number,
  title: string,
  options: Options,
  body: (scene: Scene.Scene) => Effect.Effect<unknown, E, Scope.Scope>
): void => {
  const starred = options.starred === true
  const gap = Lane.current === "embedded" ? gaps.get(number) : undefined
  const run = (cluster: ControlPlane) => Effect.flatMap(Scene.make(cluster), body)
  Shared.cluster(
    `${number}${starred ? "★" : ""} ${title}${gap === undefined ? "" : ` (known gap: ${gap.reason})`}`,
    (cluster) => (gap === undefined ? counted(starred, run(cluster)) : refused(number, starred, gap, run(cluster))),
    options.needsControllers === true ? { controllers: true } : {}
  )
}

/** Repeats `look` until its assertions pass, for 40 seconds at most. */
export const eventually = <A, E, R>(look: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  look.pipe(
    Effect.sandbox,
    Effect.retry(Schedule.spaced("100 millis").pipe(Schedule.upTo({ duration: "40 seconds" }))),
    Effect.catch(Effect.failCause)
  )

interface Count {
  passed: number
  failed: number
  gaps: number
}

const count = (): Count => ({ passed: 0, failed: 0, gaps: 0 })

const all = count()
const starredOnes = count()

const note = (starred: boolean, what: keyof Count): void => {
  if (all.passed + all.failed + all.gaps === 0) AtEnd.add(report)
  all[what]++
  if (starred) starredOnes[what]++
}

const report = async (): Promise<void> => {
  const starred = starredOnes.passed + starredOnes.failed + starredOnes.gaps
  process.stdout.write(
    `conformance (${Lane.current}): ${all.passed} passed, ${all.failed} failed, ${all.gaps} known gaps; ` +
      `starred ${starredOnes.passed} of ${starred}\n`
  )
}

const counted = <A, E, R>(starred: boolean, run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.onExit(run, (exit) => Effect.sync(() => note(starred, Exit.isSuccess(exit) ? "passed" : "failed")))

/** Succeeds if the case fails with the message of its gap. Fails with NoGap if the case passes. */
const refused = <E, R>(
  number: number,
  starred: boolean,
  { refusal }: Gap,
  run: Effect.Effect<unknown, E, R>
): Effect.Effect<void, E | NoGap, R> =>
  Effect.gen(function* () {
    const exit = yield* Effect.exit(run)
    const isRefused = Exit.isFailure(exit) && Cause.pretty(exit.cause).includes(refusal)
    note(starred, isRefused ? "gaps" : "failed")
    if (Exit.isSuccess(exit)) return yield* new NoGap({ number })
    if (!isRefused) yield* exit
  })
