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
import * as Effect from "effect/Effect"
import * as Explorer from "./explore/Explorer.ts"
import type { Fault } from "./explore/Fault.ts"
import * as Message from "./explore/Message.ts"
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
  fromSpecs: false,
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
}

/** Explores a story, and returns what happened. */
export const run = (
  story: Story.Story,
  { depth = 1, faults, pairs = 1000, seed = 1 }: Options = {}
): Effect.Effect<Explorer.Report> =>
  Explorer.explore(story, { depth, pairs, seed, isTried: ({ _tag }) => faults === undefined || faults.includes(_tag) })

/** Declares a test that explores a story. It fails with each violation as a schedule in words. */
export const test = (name: string, story: Story.Story, options: Options = {}, timeoutMillis = 300_000): void =>
  live(
    name,
    () =>
      Effect.flatMap(run(story, options), (report) =>
        report.violations.length === 0 ? Effect.void : Effect.dieMessage(Message.of(story, report))
      ),
    timeoutMillis
  )
