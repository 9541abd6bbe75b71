/**
 * Explores a controller: each crash point, each stale view and each failing request of a story, in virtual time.
 *
 * ```ts
 * const story = Explore.story({
 *   controllers: [controller],
 *   steps: [
 *     Explore.step("create", Client.create(Widget, { metadata: key, spec: { size: 3 } })),
 *     Explore.step("resize", Client.patch(Widget, key, Patch.merge({ spec: { size: 5 } }))),
 *     Explore.step("delete", Client.delete(Widget, key))
 *   ]
 * })
 *
 * Explore.test("a Widget survives every fault", story)
 * ```
 */
import * as Kinds from "@homeostat/runtime/command/Kinds"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import type { ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Explorer from "./explore/Explorer.ts"
import type { Fault } from "./explore/Fault.ts"
import * as Message from "./explore/Message.ts"
import * as States from "./explore/States.ts"
import type * as Story from "./explore/Story.ts"
import { live } from "./Test.ts"

/** The parts of a story. */
export interface StoryOptions extends Partial<Omit<Story.Story, "controllers" | "steps">> {
  readonly controllers: ReadonlyArray<Controller<Manager.Runtime>>
  readonly steps: ReadonlyArray<Story.Step>
}

/** A step: what a user does. The time that passes afterwards is by default only that until the cluster is at rest. */
export const step = (name: string, act: Story.Step["act"], passes?: Story.Step["passes"]): Story.Step => ({
  name,
  act,
  passes
})

/** The moment when a story begins: Friday, 2026-11-20, midnight UTC. */
const begin = Date.parse("2026-11-20T00:00:00Z")

/** A story. */
export const story = ({ cluster, controllers, steps, ...options }: StoryOptions): Story.Story => ({
  controllers: controllers as Story.Story["controllers"],
  steps,
  manager: (settings) => Manager.launch(controllers, settings),
  before: undefined,
  roles: Rbac.of(controllers, { lease: { namespace: "default", name: "explored" } }),
  begin,
  ignore: [],
  ...options,
  cluster: { converted: Kinds.of({ controllers }), ...cluster }
})

/** The faults to try. */
export interface Options {
  /** Default: all. */
  readonly faults?: ReadonlyArray<Fault["_tag"]> | undefined
  /** The number of faults in a schedule. Default 1. */
  readonly depth?: 1 | 2 | undefined
  /** The number of schedules with two faults. Default 1000. */
  readonly pairs?: number | undefined
  readonly seed?: number | undefined
  /** The identifier of the only schedule to run. Default: that of the variable `HOMEOSTAT_SCHEDULE`, or all. */
  readonly only?: string | undefined
}

/** Explores a story, and returns what happened. */
export const run = (
  story: Story.Story,
  { depth = 1, faults, only, pairs = 1000, seed = 1 }: Options = {}
): Effect.Effect<Explorer.Report> =>
  Explorer.explore(story, {
    depth,
    only,
    pairs,
    seed,
    isTried: ({ _tag }) => faults === undefined || faults.includes(_tag)
  })

/**
 * Declares a test that explores a story. It fails with each violation as a schedule in words. With the variable `HOMEOSTAT_SCHEDULE`, it
 * runs that schedule alone, and prints the requests and attempts.
 */
export const test = (name: string, story: Story.Story, options: Options = {}, timeoutMillis = 300_000): void =>
  live(
    name,
    () =>
      Effect.gen(function* () {
        const only = options.only ?? process.env.HOMEOSTAT_SCHEDULE
        const report = yield* run(story, { ...options, only })
        if (only !== undefined) yield* Console.log(report.trace.join("\n"))
        if (report.violations.length > 0) yield* Effect.dieMessage(Message.of(story, report))
      }),
    timeoutMillis
  )

/** The options of {@link states}. */
export interface StatesOptions extends Partial<StoryOptions> {
  readonly controllers: StoryOptions["controllers"]
  /** The number of pairs of specs. Default 20. */
  readonly runs?: number | undefined
  readonly seed?: number | undefined
  /** The object that gets the specs. Default: `default/explored`. */
  readonly key?: ObjectKey | undefined
}

/** Explores the specs of a kind, and returns what happened. */
export const runStates = (
  kind: CustomResource.Any,
  { key = { namespace: "default", name: "explored" }, runs = 20, seed = 1, ...options }: StatesOptions
): Effect.Effect<States.StatesReport> => States.explore(story({ steps: [], ...options }), kind, key, { runs, seed })

/**
 * Declares a test that generates specs from the schema of a kind. The state after S1 and then S2 must be that of a new object with S2, and
 * after S1, S2 and S1 that of S1. It fails with the simplest sequences that it found.
 */
export const states = (name: string, kind: CustomResource.Any, options: StatesOptions, timeoutMillis = 300_000): void =>
  live(
    name,
    () =>
      Effect.gen(function* () {
        const report = yield* runStates(kind, options)
        if (report.sequences === 0) yield* Effect.dieMessage(`the API server rejected all ${report.rejected} specs`)
        if (report.violations.length > 0) yield* Effect.dieMessage(Message.ofStates(report))
      }),
    timeoutMillis
  )
