/**
 * Explores a controller in virtual time: each crash point, each stale view and each failing request of a story.
 *
 * ```ts
 * Explore.kind("a Widget survives every fault", Widget, { controllers: [controller], specs: [{ size: 3 }, { size: 5 }] })
 * ```
 */
// With an older major version of Effect, Bun does not find this module, and prints its name as the error.
import "#Homeostat needs effect 4.1 or a newer 4.x (bun add effect@4)"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import type { ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { ControlPlane } from "./envtest/ControlPlane.ts"
import * as Explorer from "./explore/Explorer.ts"
import type { Fault, Schedule } from "./explore/Fault.ts"
import { launch } from "./explore/Launch.ts"
import * as Life from "./explore/Life.ts"
import * as Message from "./explore/Message.ts"
import * as OnReal from "./explore/OnReal.ts"
import * as Replay from "./explore/Replay.ts"
import type * as Specs from "./explore/Specs.ts"
import * as States from "./explore/States.ts"
import type * as Story from "./explore/Story.ts"
import { live } from "./Test.ts"

/**
 * The parts of a story besides its steps. The controllers need only the services of a manager, a `layer`, or a `manager` that starts
 * them.
 */
export type Program<R = Manager.Runtime> = Partial<Omit<Story.Story, "controllers" | "manager" | "steps">> &
  (
    | {
        readonly controllers: ReadonlyArray<Controller<Manager.Runtime>>
        readonly layer?: undefined
        readonly manager?: undefined
      }
    | {
        readonly controllers: ReadonlyArray<Controller<R>>
        /** The other services of the controllers. Each process builds them at its start. */
        readonly layer: Layer.Layer<Exclude<R, Manager.Runtime>>
        readonly manager?: undefined
      }
    | {
        readonly controllers: ReadonlyArray<Controller<R>>
        readonly layer?: undefined
        /** Starts the program, with all services of the controllers. */
        readonly manager: Story.Story["manager"]
      }
  )

/** The parts of a story. */
export type StoryOptions<R = Manager.Runtime> = Program<R> & {
  /** The actions of the users, in their order (see {@link step}). */
  readonly steps: ReadonlyArray<Story.Step>
}

/**
 * Makes a step of a story: an action of a user. `passes` is the time that the program needs afterwards, for example for a Job. Default:
 * only the time until the cluster is at rest.
 *
 * @example
 * ```ts
 * import { BuiltIn, Client } from "@homeostat/runtime"
 * import * as Explore from "@homeostat/testkit/Explore"
 *
 * const step = Explore.step("delete", Client.delete(BuiltIn.Service, { namespace: "default", name: "shop" }), "1 minute")
 * ```
 */
export const step = (name: string, act: Story.Step["act"], passes?: Story.Step["passes"]): Story.Step => ({
  name,
  act,
  passes
})

const managerOf = <R>(program: Program<R>): Story.Story["manager"] => {
  if (program.manager !== undefined) return program.manager
  if (program.layer === undefined) return (settings) => Manager.launch(program.controllers, settings)
  return (settings) => launch(program.controllers, settings, program.layer)
}

/** The time at the start of a story: Friday, 2026-11-20, midnight UTC. */
const begin = Date.parse("2026-11-20T00:00:00Z")

/**
 * Makes a story: controllers, and the steps of their user. The cluster has the CRDs of the kinds. The program has exactly the permissions
 * that `homeostat rbac` prints.
 *
 * @example
 * ```ts
 * import { BuiltIn, Client, Controller, Owned, Result } from "@homeostat/runtime"
 * import * as Explore from "@homeostat/testkit/Explore"
 * import { Effect } from "effect"
 *
 * const controller = Controller.make("copy", {
 *   for: BuiltIn.Service,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (service) =>
 *     Effect.as(Owned.apply(service, BuiltIn.ConfigMap, { metadata: { name: service.metadata.name } }), Result.done)
 * })
 *
 * const key = { namespace: "default", name: "shop" }
 *
 * const story = Explore.story({
 *   controllers: [controller],
 *   steps: [
 *     Explore.step("create", Client.create(BuiltIn.Service, { metadata: key, spec: { ports: [{ port: 80 }] } })),
 *     Explore.step("delete", Client.delete(BuiltIn.Service, key))
 *   ]
 * })
 *
 * Explore.test("each Service has a ConfigMap", story)
 * ```
 */
export const story = <R = Manager.Runtime>(options: StoryOptions<R>): Story.Story => {
  const { before, cluster, controllers, fromSpecs = false, ignore = [], lasting = true, steps } = options
  return {
    controllers,
    steps,
    manager: managerOf(options),
    before,
    roles: options.roles ?? Rbac.of(controllers, { lease: { namespace: "default", name: "explored" } }),
    begin: options.begin ?? begin,
    ignore,
    fromSpecs,
    lasting,
    cluster: { converted: Kinds.of({ controllers }), ...cluster }
  }
}

/** The faults to explore. */
export interface Options {
  /** Default: all. */
  readonly faults?: ReadonlyArray<Fault["_tag"]> | undefined
  /** The number of faults in a schedule. Default 1. */
  readonly depth?: 1 | 2 | undefined
  /** The number of schedules with two faults. Default 1000. */
  readonly pairs?: number | undefined
  readonly seed?: number | undefined
  /** The identifier of the only schedule to run. Default: the value of the variable `HOMEOSTAT_SCHEDULE`, or all schedules. */
  readonly only?: string | undefined
}

/**
 * Explores a story. Returns a report with the violations and the explored schedules and faults.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test"
 * import { BuiltIn, Client, Controller, Owned, Result } from "@homeostat/runtime"
 * import * as Explore from "@homeostat/testkit/Explore"
 * import { live } from "@homeostat/testkit/Test"
 * import { Effect } from "effect"
 *
 * const controller = Controller.make("copy", {
 *   for: BuiltIn.Service,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (service) =>
 *     Effect.as(Owned.apply(service, BuiltIn.ConfigMap, { metadata: { name: service.metadata.name } }), Result.done)
 * })
 *
 * const key = { namespace: "default", name: "shop" }
 *
 * const story = Explore.story({
 *   controllers: [controller],
 *   steps: [Explore.step("create", Client.create(BuiltIn.Service, { metadata: key, spec: { ports: [{ port: 80 }] } }))]
 * })
 *
 * live("a crash does no harm", () =>
 *   Effect.map(Explore.run(story, { faults: ["Crash"] }), ({ violations }) => expect(violations).toEqual([]))
 * )
 * ```
 */
export const run = (story: Story.Story, options: Options = {}): Effect.Effect<Explorer.Report> =>
  Effect.orDie(explore(story, options))

const explore = (story: Story.Story, { depth = 1, faults, only, pairs = 1000, seed = 1 }: Options) =>
  Explorer.explore(story, {
    depth,
    only,
    pairs,
    seed,
    isTried: ({ _tag }) => faults === undefined || faults.includes(_tag)
  })

/**
 * Runs a schedule of a violation on a real kube-apiserver, and compares it with the same steps without its faults. The violations should
 * be the same as on the embedded cluster.
 *
 * The controllers work in their own namespaces, so many schedules share a cluster. The controllers' clock leaps over waits, and the
 * cluster's clock does not. The cluster needs its garbage collector, and kwok for pods.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test"
 * import { BuiltIn, Client, Controller, Owned, Result } from "@homeostat/runtime"
 * import * as Explore from "@homeostat/testkit/Explore"
 * import { real } from "@homeostat/testkit/Shared"
 * import { Effect } from "effect"
 *
 * const controller = Controller.make("copy", {
 *   for: BuiltIn.Service,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (service) =>
 *     Effect.as(Owned.apply(service, BuiltIn.ConfigMap, { metadata: { name: service.metadata.name } }), Result.done)
 * })
 *
 * const key = { namespace: "default", name: "shop" }
 *
 * const story = Explore.story({
 *   controllers: [controller],
 *   steps: [Explore.step("create", Client.create(BuiltIn.Service, { metadata: key, spec: { ports: [{ port: 80 }] } }))]
 * })
 *
 * real(
 *   "the undisturbed first step keeps all promises on a real kube-apiserver",
 *   (cluster) =>
 *     Effect.map(Explore.onReal(story, { step: 0, faults: [] }, cluster), ({ violations }) =>
 *       expect(violations).toEqual([])
 *     ),
 *   { controllers: ["garbage-collector-controller"] }
 * )
 * ```
 */
export const onReal = (
  story: Story.Story,
  schedule: Schedule,
  cluster: ControlPlane
): Effect.Effect<OnReal.RealReport> => OnReal.play(story, schedule, cluster)

/**
 * Declares a test that explores a story. It fails with each violation as a schedule in words. With the variable `HOMEOSTAT_SCHEDULE`, it
 * runs only that schedule, and prints the requests and attempts. With `HOMEOSTAT_SERVER=real` in addition, it runs the schedule on a real
 * kube-apiserver.
 *
 * @example
 * ```ts
 * import { BuiltIn, Client, Controller, Owned, Result } from "@homeostat/runtime"
 * import * as Explore from "@homeostat/testkit/Explore"
 * import { Effect } from "effect"
 *
 * const controller = Controller.make("copy", {
 *   for: BuiltIn.Service,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (service) =>
 *     Effect.as(Owned.apply(service, BuiltIn.ConfigMap, { metadata: { name: service.metadata.name } }), Result.done)
 * })
 *
 * const key = { namespace: "default", name: "shop" }
 *
 * const story = Explore.story({
 *   controllers: [controller],
 *   steps: [Explore.step("create", Client.create(BuiltIn.Service, { metadata: key, spec: { ports: [{ port: 80 }] } }))]
 * })
 *
 * Explore.test("each Service has a ConfigMap", story)
 * ```
 */
export const test = (name: string, story: Story.Story, options: Options = {}, timeoutMillis = 300_000): void =>
  live(
    name,
    () =>
      Replay.body(
        name,
        story,
        (only) =>
          only !== undefined && OnReal.isWanted() ? OnReal.alone(story, only) : explore(story, { ...options, only }),
        options.only
      ),
    timeoutMillis
  )

/** The options of {@link kind}. */
export type KindOptions<Spec, R = Manager.Runtime> = Program<R> &
  Options & {
    /** Further steps before the deletion. Default: none. */
    readonly steps?: ReadonlyArray<Story.Step> | undefined
    /** The specs that the object gets, one after the other. */
    readonly specs: readonly [Spec, ...ReadonlyArray<Spec>]
    /** The time that passes after each step, besides the time until the cluster is at rest. Default: none. */
    readonly passes?: Story.Step["passes"]
    /** The namespace and the name of the object. Default: `default/explored`. */
    readonly key?: { readonly namespace: string; readonly name: string } | undefined
  }

const explored = { namespace: "default", name: "explored" }

/**
 * Declares a test that explores the life of an object. The test creates it with the first spec, applies each further spec, deletes its
 * children, and deletes it. Without faults, it also creates and deletes a new object of the same name.
 *
 * @example
 * ```ts
 * import { BuiltIn, Controller, CustomResource, Owned, Result } from "@homeostat/runtime"
 * import * as Explore from "@homeostat/testkit/Explore"
 * import { Effect, Schema } from "effect"
 *
 * const Page = CustomResource.make({
 *   group: "example.com",
 *   version: "v1",
 *   kind: "Page",
 *   spec: Schema.Struct({ text: Schema.String })
 * })
 *
 * const controller = Controller.make("page", {
 *   for: Page,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (page) =>
 *     Effect.as(
 *       Owned.apply(page, BuiltIn.ConfigMap, { metadata: { name: page.metadata.name }, data: { ...page.spec } }),
 *       Result.done
 *     )
 * })
 *
 * Explore.kind("a Page survives every fault", Page, { controllers: [controller], specs: [{ text: "a" }, { text: "b" }] })
 * ```
 */
export const kind = <Spec, SpecEncoded, Status, R = Manager.Runtime>(
  name: string,
  kind: CustomResource.CustomResource<Spec, SpecEncoded, Status>,
  options: KindOptions<SpecEncoded, R>,
  timeoutMillis?: number
): void => {
  const { key = explored } = options
  const steps = Life.steps(kind, { ...options, key })
  test(name, story({ ...options, steps }), options, timeoutMillis)
}

/** The options of {@link states}. */
export type StatesOptions<R = Manager.Runtime> = Program<R> & {
  /** The number of pairs of specs. Default 20. */
  readonly runs?: number | undefined
  readonly seed?: number | undefined
  /** A valid spec and valid values of fields, for a kind whose rules reject most generated specs. */
  readonly seeds?: Specs.Seeds | undefined
  /** The time that passes after each spec, besides the time until the cluster is at rest. Default: none. */
  readonly passes?: Story.Step["passes"]
  /** The namespace and the name of the object. Default: `default/explored`. */
  readonly key?: ObjectKey | undefined
}

/**
 * Explores the specs of a kind. Returns a report with the violations and the explored sequences of specs.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test"
 * import { BuiltIn, Controller, CustomResource, Owned, Result } from "@homeostat/runtime"
 * import * as Explore from "@homeostat/testkit/Explore"
 * import { live } from "@homeostat/testkit/Test"
 * import { Effect, Schema } from "effect"
 *
 * const Page = CustomResource.make({
 *   group: "example.com",
 *   version: "v1",
 *   kind: "Page",
 *   spec: Schema.Struct({ text: Schema.String })
 * })
 *
 * const controller = Controller.make("page", {
 *   for: Page,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (page) =>
 *     Effect.as(
 *       Owned.apply(page, BuiltIn.ConfigMap, { metadata: { name: page.metadata.name }, data: { ...page.spec } }),
 *       Result.done
 *     )
 * })
 *
 * live("a Page does not depend on its former specs", () =>
 *   Effect.map(Explore.runStates(Page, { controllers: [controller], runs: 2 }), ({ violations }) =>
 *     expect(violations).toEqual([])
 *   )
 * )
 * ```
 */
export const runStates = <R = Manager.Runtime>(
  kind: CustomResource.Any,
  options: StatesOptions<R>
): Effect.Effect<States.StatesReport> => {
  const { key = explored, passes = 0, runs = 20, seed = 1, seeds = {} } = options
  return States.explore(story({ ...options, steps: [] }), kind, key, { passes, runs, seed, seeds })
}

/**
 * Declares a test that generates specs from the schema of a kind. The state after S1 and then S2 must be that of a new object with S2, and
 * after S1, S2 and S1 that of S1. It fails with the simplest sequences that it found.
 *
 * @example
 * ```ts
 * import { BuiltIn, Controller, CustomResource, Owned, Result } from "@homeostat/runtime"
 * import * as Explore from "@homeostat/testkit/Explore"
 * import { Effect, Schema } from "effect"
 *
 * const Page = CustomResource.make({
 *   group: "example.com",
 *   version: "v1",
 *   kind: "Page",
 *   spec: Schema.Struct({ text: Schema.String })
 * })
 *
 * const controller = Controller.make("page", {
 *   for: Page,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (page) =>
 *     Effect.as(
 *       Owned.apply(page, BuiltIn.ConfigMap, { metadata: { name: page.metadata.name }, data: { ...page.spec } }),
 *       Result.done
 *     )
 * })
 *
 * Explore.states("a Page does not depend on its former specs", Page, { controllers: [controller], runs: 2 })
 * ```
 */
export const states = <R = Manager.Runtime>(
  name: string,
  kind: CustomResource.Any,
  options: StatesOptions<R>,
  timeoutMillis = 300_000
): void =>
  live(
    name,
    () =>
      Effect.gen(function* () {
        const report = yield* runStates(kind, options)
        if (report.specs === 0)
          return yield* Effect.die(new Error(`the API server rejected all ${report.rejected} specs`))
        if (report.violations.length > 0) return yield* Effect.die(new Error(Message.ofStates(report)))
      }),
    timeoutMillis
  )
