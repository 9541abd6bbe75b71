/**
 * A case of the conformance suite: what any API server must do, told in one sentence, shown on the cluster of the lane. The
 * numbers are those of the list that the suite was made from; the starred ones matter most.
 */
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Lane from "@homeostat/testkit/Lane"
import * as Shared from "@homeostat/testkit/Shared"
import { Cause, Data, Effect, Exit, Schedule, type Scope } from "effect"
import { type Gap, gaps } from "./Gaps.ts"
import * as Scene from "./Scene.ts"

/** What a case is besides its sentence. */
export interface Options {
  /** One of the forty that matter most. */
  readonly starred?: boolean | undefined
  /** It shows what kube-controller-manager and the server do together. */
  readonly needsControllers?: boolean | undefined
}

/** A case that is in the list of gaps passes. */
export class NoGap extends Data.TaggedError("NoGap")<{ readonly number: number }> {
  override get message(): string {
    return `case ${this.number} passes: take it off the list`
  }
}

/** A case, as a test in a namespace of its own. */
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

/** Waits until what is looked at is as the assertions in `look` want it: the last of them to fail says what it is instead. */
export const eventually = <A, E, R>(look: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  look.pipe(
    Effect.sandbox,
    Effect.retry(Schedule.spaced("100 millis").pipe(Schedule.upTo("40 seconds"))),
    Effect.unsandbox
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

/** Succeeds if the case fails by the refusal of its gap. */
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
