/**
 * The control planes, real or embedded, that tests share. A control plane starts when the first test requests its options. It stops at
 * the end of the run.
 * The test command shares the real control planes `{}` and `Envtest.everything` among all its processes. Tests share a control plane
 * without conflicts, because each test has its own namespace.
 */
import { Effect, Exit, Scope } from "effect"
import * as Broker from "./Broker.ts"
import * as EmbeddedControlPlane from "./EmbeddedControlPlane.ts"
import * as AtEnd from "./envtest/AtEnd.ts"
import type { ControlPlane } from "./envtest/ControlPlane.ts"
import * as Envtest from "./envtest/Envtest.ts"
import * as Log from "./envtest/Log.ts"
import * as Lane from "./Lane.ts"
import { live } from "./Test.ts"

/** The reasons why a control plane is not available. */
export type Failure = Envtest.Failure | EmbeddedControlPlane.Failure | Broker.BrokerFailed

interface Running {
  readonly scope: Scope.Closeable
  readonly started: Promise<Exit.Exit<ControlPlane, Failure>>
}

/**
 * The control planes by their options. They belong to the process, so an interrupted test does not stop a control plane of the next test.
 */
const running = new Map<string, Running>()

/**
 * Returns the shared control plane with these options. A failed start is not retried: every test that needs this control plane fails with
 * the same error.
 *
 * @internal
 */
export const controlPlane = (
  options: Envtest.Options = {},
  lane: Lane.Lane = "real",
  alone = false
): Effect.Effect<ControlPlane, Failure> =>
  Effect.suspend(() => {
    const key = `${keyOf(options, lane)}${alone}`
    const found = running.get(key) ?? begin(key, alone ? start(options, lane) : shared(options, lane))
    return Effect.flatten(Effect.promise(() => found.started))
  })

/**
 * Starts a control plane of the lane for one test. It stops at the end of the Scope.
 *
 * @internal
 */
export const own = (options: Envtest.Options = {}): Effect.Effect<ControlPlane, Failure, Scope.Scope> =>
  start(options, Lane.current)

/**
 * Stops all shared control planes. The next test that needs one starts it again.
 *
 * @internal
 */
export const stop: Effect.Effect<void> = Effect.suspend(() => {
  const all = [...running.values()]
  running.clear()
  return Effect.forEach(
    all,
    ({ scope, started }) =>
      Effect.andThen(
        Effect.promise(() => started),
        Scope.close(scope, Exit.void)
      ),
    { concurrency: "unbounded", discard: true }
  )
})

/** The options of a test, including those of its control plane. */
export interface TestOptions extends Envtest.Options {
  /** Whether this process has its own control plane, because the test changes state that tests in other processes use. */
  readonly alone?: boolean | undefined
  /**
   * The timeout of the test in milliseconds, without the start of the control plane. Default 240 000, which also suffices on a slow
   * machine.
   */
  readonly timeoutMillis?: number | undefined
}

const on =
  (lane: Lane.Lane) =>
  <A, E>(
    name: string,
    body: (cluster: ControlPlane) => Effect.Effect<A, E, Scope.Scope>,
    { alone = false, timeoutMillis = 240_000, ...options }: TestOptions = {}
  ): void =>
    live(
      name,
      () =>
        Effect.flatMap(controlPlane(options, lane, alone), (cluster) =>
          // The timeout applies inside the test: a timeout of `bun test` could not show what the test waited for.
          body(cluster).pipe(Effect.timeout(timeoutMillis), showingLogs(cluster))
        ),
      timeoutMillis + startMillis
    )

/**
 * Declares a test in real time on the real control plane that all tests with the same options share. A failed test shows what the
 * programs of the control plane logged meanwhile. For files named `*.real.test.ts`.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test"
 * import { real } from "@homeostat/testkit/Shared"
 * import { Effect } from "effect"
 *
 * real("a real API server answers", (cluster) =>
 *   Effect.map(cluster.request("GET", "/readyz"), ({ status }) => expect(status).toBe(200))
 * )
 * ```
 */
export const real = on("real")

/**
 * Declares a test on the cluster of the lane, real or embedded. For files named `*.cluster.test.ts`.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test"
 * import { cluster } from "@homeostat/testkit/Shared"
 * import { Effect } from "effect"
 *
 * cluster("an API server answers", (cluster) =>
 *   Effect.map(cluster.request("GET", "/readyz"), ({ status }) => expect(status).toBe(200))
 * )
 * ```
 */
export const cluster = on(Lane.current)

/**
 * Declares a test on the embedded cluster in every lane. It can check the embedded cluster for what `*.real.test.ts` checks on the real
 * one.
 *
 * @internal
 */
export const embedded = on("embedded")

/** The most milliseconds that `bun test` waits for the start of the control plane and for the cleanup of the test. */
const startMillis = 180_000

const start = (options: Envtest.Options, lane: Lane.Lane): Effect.Effect<ControlPlane, Failure, Scope.Scope> =>
  lane === "real" ? Envtest.start(options) : EmbeddedControlPlane.start(options)

/** The control plane of the broker if the broker serves these options, or else a new one. */
const shared = (options: Envtest.Options, lane: Lane.Lane): Effect.Effect<ControlPlane, Failure, Scope.Scope> => {
  const broker = process.env[Broker.variable]
  const brokered = [{}, Envtest.everything].find((one) => keyOf(one, lane) === keyOf(options, lane))
  return lane === "real" && broker !== undefined && brokered !== undefined
    ? Broker.connect(broker, brokered)
    : start(options, lane)
}

const begin = (key: string, start: Effect.Effect<ControlPlane, Failure, Scope.Scope>): Running => {
  if (running.size === 0) AtEnd.add(() => Effect.runPromise(stop))
  const scope = Scope.makeUnsafe()
  const made = { scope, started: Effect.runPromiseExit(Scope.provide(start, scope)) }
  running.set(key, made)
  return made
}

const keyOf = (options: Envtest.Options, lane: Lane.Lane): string =>
  JSON.stringify([
    lane,
    options.controllers ?? false,
    options.scheduler ?? false,
    options.kwok ?? false,
    options.audit ?? false,
    options.tokens ?? false,
    options.apiServerFlags ?? []
  ])

const showingLogs = (cluster: ControlPlane) => {
  const before = new Map(cluster.logFiles.map((file) => [file.name, Log.size(file.log)]))
  return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapCause(effect, () =>
      Effect.sync(() => {
        for (const { name, log } of cluster.logFiles) {
          const lines = Log.tail(log, 20, before.get(name))
          if (lines !== "") process.stderr.write(`--- ${name} wrote during the test that failed\n${lines}\n`)
        }
      })
    )
}
