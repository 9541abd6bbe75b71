/**
 * A kind, an API server in memory, and the real client, cache, recorder and runner with it, in virtual time. For the tests of controllers
 * and managers.
 */
import type * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Cache from "../cache/Cache.ts"
import * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Condition from "../resource/Condition.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Admission from "../webhook/Admission.ts"
import { type Attempt, log, Observers, Outcome } from "./Attempt.ts"
import * as Controller from "./Controller.ts"
import * as Reachability from "./Reachability.ts"
import type { Result } from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import type * as Runner from "./Runner.ts"

/** The kind that the tests reconcile. */
export const Widget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({
    phase: Schema.optionalKey(Schema.String),
    seen: Schema.optionalKey(Schema.Int),
    observedGeneration: Schema.optionalKey(Schema.Int),
    conditions: Schema.optionalKey(Condition.list)
  })
})

/** A Widget as a reconcile receives it. */
export type Widget = typeof Widget.Type

/** A Widget for the server. */
export const widget = (name: string, size = 1): Cluster.Put => ({ metadata: { name }, spec: { size } })

/** The controls of a test. */
export interface World {
  readonly server: Cluster.Cluster
  /** Lines of the log from INFO on: level, then message. */
  readonly logs: ReadonlyArray<string>
  readonly attempts: ReadonlyArray<Attempt>
}

/** The services of a test. */
export type Services = Controller.Services | Reachability.Reachability

/** The options of the cluster of a test. */
export interface Options extends Pick<EmbeddedCluster.Options, "webhooks"> {
  /** The custom kinds of its CRDs. Default: Widget. */
  readonly kinds?: ReadonlyArray<CustomResource.Any>
  /** The memory of the cache. */
  readonly memory?: number
}

/** A cluster with a webhook that changes the data of each ConfigMap. */
export const altering = (change: (data: { readonly [key: string]: string }) => object | undefined): Options => ({
  webhooks: [
    Admission.default(ConfigMap, ({ data }) => {
      const changed = data === undefined ? undefined : change(data)
      return changed === undefined ? undefined : { data: changed }
    })
  ]
})

/** Runs a test with its own cluster and services. Randomness is fixed, so jitter is the same in every run. */
export const withWorld =
  (
    body: (world: World) => Effect.Effect<void, unknown, Services | Scope.Scope>,
    { kinds = [Widget], memory, ...options }: Options = {}
  ) =>
  (): Effect.Effect<void, unknown, Scope.Scope> =>
    Effect.gen(function* () {
      const server = yield* Cluster.make(kinds, options)
      const logs: Array<string> = []
      const attempts: Array<Attempt> = []
      const client = Client.layer({ userAgent: "test" }).pipe(Layer.provide(server.transport))
      const services = Layer.mergeAll(
        Cache.layer({ memory }),
        EventRecorder.layer({ instance: "test" }),
        Layer.effect(Reachability.Reachability, Reachability.ofCluster)
      ).pipe(Layer.provideMerge(client), Layer.provide(server.transport))
      const observe = (attempt: Attempt) => Effect.sync(() => void attempts.push(attempt))
      return yield* body({ server, logs, attempts }).pipe(
        Effect.provide(services),
        Effect.provideService(Observers, [observe, log]),
        Effect.provide(capture(logs)),
        Random.withSeed("homeostat")
      )
    })

/** Replaces the log by an array of lines. */
export const capture = (lines: Array<string>): Layer.Layer<never> =>
  Layer.merge(
    Logger.layer([
      Logger.make(({ fiber, logLevel, message }) => {
        const text = (Array.isArray(message) ? message : [message]).map(String).join(" ")
        const cause = "stacktrace" in fiber.getRef(References.CurrentLogAnnotations) ? " (with its stack)" : ""
        lines.push(`${logLevel.toUpperCase()} ${text}${cause}`)
      })
    ]),
    Layer.succeed(References.MinimumLogLevel, "Info")
  )

/** Runs all fibers until they wait. */
export const settle = TestClock.adjust(0)

/** A reconcile whose behavior depends on the number of its run, from 1, and the times of its runs. */
export const counted = <E, R>(behave: (run: number, widget: Widget) => Effect.Effect<Result, E, R>) => {
  const runs: Array<{ readonly name: string; readonly at: number; readonly widget: Widget }> = []
  return {
    reconcile: (widget: Widget) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        runs.push({ name: widget.metadata.name, at, widget })
        return behave(runs.length, widget)
      }),
    runs,
    /** The times of the runs, in milliseconds of the virtual clock. */
    times: () => runs.map(({ at }) => at),
    names: () => runs.map(({ name }) => name)
  }
}

/**
 * Runs a controller of Widgets until the test ends, and waits until its workers have started and the first work is done. The end of the
 * test interrupts work in progress, because the virtual clock no longer moves.
 */
export const run = <E, R, CE = never, CR = never, TR = never, SR = never>(
  options: Omit<Controller.Options<Widget, E, R, CE, CR, TR, SR>, "for">,
  settings?: Runner.Settings
) =>
  Effect.gen(function* () {
    const controller = Controller.make("widgets", { for: Widget, ...options })
    const runner = yield* RunnerFixture.start(controller, { gracePeriod: 0, syncPeriod: 0, ...settings })
    yield* runner.started
    yield* settle
    return runner
  })

/** A scope that a test can close and observe: `close` starts the closing, and the returned fiber ends with it. */
export const closable = Effect.gen(function* () {
  const scope = yield* Scope.make()
  return { scope, close: Effect.forkChild(Scope.close(scope, Exit.void)) }
})

/** True if a fiber has ended. */
export const ended = (fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<boolean> =>
  Effect.sync(() => fiber.pollUnsafe() !== undefined)

/** The outcomes of attempts in short: `Failed +100` for one that is retried after 100 ms. */
export const story = (attempts: ReadonlyArray<Attempt>): ReadonlyArray<string> =>
  attempts.map(({ next, outcome }) =>
    next._tag === "Run"
      ? `${outcome._tag} +${next.afterMillis}`
      : next._tag === "GiveUp"
        ? `${outcome._tag} !`
        : outcome._tag
  )

/** True if an outcome has this tag. */
export const is = Outcome.$is

/** An error without a response of a server. */
export const unreachable = new ApiError.Transport({
  message: "GET /: connection refused",
  code: "ECONNREFUSED",
  reason: "connection refused",
  outcome: "unsent",
  server: "memory",
  request: { method: "GET", path: "/" }
})

/** Moves the clock. */
export const pass = (duration: Duration.Input): Effect.Effect<void> =>
  TestClock.adjust(Duration.fromInputUnsafe(duration))
