/**
 * One control plane per test run, real or embedded: started by the first test that needs it, used by all others of the process,
 * ended when the run is over. Tests keep out of each other's way by a namespace per test.
 */
import { Effect, Exit, Scope } from "effect"
import * as EmbeddedControlPlane from "./EmbeddedControlPlane.ts"
import * as AtEnd from "./envtest/AtEnd.ts"
import type { ControlPlane } from "./envtest/ControlPlane.ts"
import * as Envtest from "./envtest/Envtest.ts"
import * as Log from "./envtest/Log.ts"
import * as Lane from "./Lane.ts"
import { live } from "./Test.ts"

/** Why there is no control plane. */
export type Failure = Envtest.Failure | EmbeddedControlPlane.Failure

interface Running {
  readonly scope: Scope.CloseableScope
  readonly started: Promise<Exit.Exit<ControlPlane, Failure>>
}

/** By what was asked for. Of the process and no test's: a test that is interrupted shall not take it away from the next. */
const running = new Map<string, Running>()

/**
 * The control plane with these options that all tests of this run share. One that failed to start is not tried again:
 * every test that wants it fails for the same reason.
 */
export const controlPlane = (
  options: Envtest.Options = {},
  lane: Lane.Lane = "real"
): Effect.Effect<ControlPlane, Failure> =>
  Effect.suspend(() => {
    const key = keyOf(options, lane)
    const found = running.get(key) ?? begin(key, start(options, lane))
    return Effect.flatten(Effect.promise(() => found.started))
  })

/** A control plane of the lane that no other test has, until the end of the Scope. */
export const own = (options: Envtest.Options = {}): Effect.Effect<ControlPlane, Failure, Scope.Scope> =>
  start(options, Lane.current)

/** Ends all of them. The next test that needs one starts it anew. */
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

/** What a test wants besides its control plane. */
export interface TestOptions extends Envtest.Options {
  /** How long the test may take, the start of the control plane not counted; default 120 000: no limit to be met. */
  readonly timeoutMillis?: number | undefined
}

const on =
  (lane: Lane.Lane) =>
  <A, E>(
    name: string,
    body: (cluster: ControlPlane) => Effect.Effect<A, E, Scope.Scope>,
    { timeoutMillis = 120_000, ...options }: TestOptions = {}
  ): void =>
    live(
      name,
      () =>
        Effect.flatMap(controlPlane(options, lane), (cluster) =>
          // The limit is inside, as a test that `bun test` gives up on could not say why it was waiting.
          body(cluster).pipe(Effect.timeout(timeoutMillis), showingLogs(cluster))
        ),
      timeoutMillis + startMillis
    )

/**
 * A test, in real time, on the real control plane that all tests with the same options share. When it fails, what the programs
 * of the control plane wrote meanwhile is shown. For files named `*.real.test.ts`.
 */
export const real = on("real")

/** The same on the cluster of the lane, real or embedded. For files named `*.cluster.test.ts`. */
export const cluster = on(Lane.current)

/** The same on the embedded cluster, whatever the lane: what `*.real.test.ts` shows of the real one can be shown of it too. */
export const embedded = on("embedded")

/** The longest that `bun test` waits for the control plane to start, and for what the test leaves to be taken away. */
const startMillis = 180_000

const start = (options: Envtest.Options, lane: Lane.Lane): Effect.Effect<ControlPlane, Failure, Scope.Scope> =>
  lane === "real" ? Envtest.start(options) : EmbeddedControlPlane.start(options)

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
  const before = new Map(cluster.processes.map((process) => [process.name, Log.size(process.log)]))
  return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapErrorCause(effect, () =>
      Effect.sync(() => {
        for (const { name, log } of cluster.processes) {
          const lines = Log.tail(log, 20, before.get(name))
          if (lines !== "") process.stderr.write(`--- ${name} wrote during the test that failed\n${lines}\n`)
        }
      })
    )
}
