/**
 * The control planes, real or embedded, that tests share. A plane starts when the first test asks for its options, and stops when
 * the run is over. The test command shares the real planes `{}` and `Envtest.everything` among all its processes. Tests share a
 * plane without conflicts because each has a namespace of its own.
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

/** Why there is no control plane. */
export type Failure = Envtest.Failure | EmbeddedControlPlane.Failure | Broker.BrokerFailed

interface Running {
  readonly scope: Scope.CloseableScope
  readonly started: Promise<Exit.Exit<ControlPlane, Failure>>
}

/** By their options. They belong to the process, so that an interrupted test does not stop one that the next test uses. */
const running = new Map<string, Running>()

/**
 * The control plane with these options that all tests of this run share. One that failed to start is not tried again:
 * every test that wants it fails for the same reason.
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
 * A control plane of the lane that no other test has, until the end of the Scope.
 *
 * @internal
 */
export const own = (options: Envtest.Options = {}): Effect.Effect<ControlPlane, Failure, Scope.Scope> =>
  start(options, Lane.current)

/**
 * Stops all of them. The next test that needs one starts it again.
 *
 * @internal
 */
export const stop: Effect.Effect<void> = Effect.suspend(() => {
  const all = [...running.values()]
  running.clear()
  return Effect.forEach(
    all,
    ({ scope, started }) =>
      Effect.zipRight(
        Effect.promise(() => started),
        Scope.close(scope, Exit.void)
      ),
    { concurrency: "unbounded", discard: true }
  )
})

/** The needs of a test besides its control plane. */
export interface TestOptions extends Envtest.Options {
  /** The plane is of this process alone: the test changes what tests in other processes rely on. */
  readonly alone?: boolean | undefined
  /** How long the test may take, the start of the control plane not counted; default 240 000, which a slow machine does not reach. */
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
          // The limit is inside, as a test that `bun test` gives up on could not say why it was waiting.
          body(cluster).pipe(Effect.timeout(timeoutMillis), showingLogs(cluster))
        ),
      timeoutMillis + startMillis
    )

/**
 * A test, in real time, on the real control plane that all tests with the same options share. When it fails, what the programs
 * of the control plane wrote meanwhile is shown. For files named `*.real.test.ts`.
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
 * The same on the cluster of the lane, real or embedded. For files named `*.cluster.test.ts`.
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
 * The same on the embedded cluster, whatever the lane: what `*.real.test.ts` shows of the real one can be shown of it too.
 *
 * @internal
 */
export const embedded = on("embedded")

/** The longest that `bun test` waits for the control plane to start, and for what the test leaves to be taken away. */
const startMillis = 180_000

const start = (options: Envtest.Options, lane: Lane.Lane): Effect.Effect<ControlPlane, Failure, Scope.Scope> =>
  lane === "real" ? Envtest.start(options) : EmbeddedControlPlane.start(options)

/** The plane of the broker, where one serves these options. */
const shared = (options: Envtest.Options, lane: Lane.Lane): Effect.Effect<ControlPlane, Failure, Scope.Scope> => {
  const broker = process.env[Broker.variable]
  const brokered = [{}, Envtest.everything].find((one) => keyOf(one, lane) === keyOf(options, lane))
  return lane === "real" && broker !== undefined && brokered !== undefined
    ? Broker.connect(broker, brokered)
    : start(options, lane)
}

const begin = (key: string, start: Effect.Effect<ControlPlane, Failure, Scope.Scope>): Running => {
  if (running.size === 0) AtEnd.add(() => Effect.runPromise(stop))
  const scope = Effect.runSync(Scope.make())
  const made = { scope, started: Effect.runPromiseExit(Scope.extend(start, scope)) }
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
    Effect.tapErrorCause(effect, () =>
      Effect.sync(() => {
        for (const { name, log } of cluster.logFiles) {
          const lines = Log.tail(log, 20, before.get(name))
          if (lines !== "") process.stderr.write(`--- ${name} wrote during the test that failed\n${lines}\n`)
        }
      })
    )
}
