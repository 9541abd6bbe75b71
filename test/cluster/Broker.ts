/**
 * Control planes that several test processes share. The test command serves them, and `Shared` connects each process to them.
 * A control plane starts when the first process requests its options. It stops with the Scope of `serve`.
 */
import { Data, Effect, Exit, Scope } from "effect"
import * as ControlPlane from "./envtest/ControlPlane.ts"
import * as Directory from "./envtest/Directory.ts"
import * as Envtest from "./envtest/Envtest.ts"
import type { User } from "./envtest/User.ts"

/** The broker did not respond, or could not start the control plane. */
export class BrokerFailed extends Data.TaggedError("BrokerFailed")<{ readonly reason: string }> {
  override get message(): string {
    return `no shared control plane: ${this.reason}`
  }
}

/** The environment variable with the address of the broker. */
export const variable = "HOMEOSTAT_TEST_BROKER"

/** The user for `ControlPlane.addUser`. */
type NewUser = Parameters<ControlPlane.ControlPlane["addUser"]>[0]

/** A request of a process. */
type Request =
  | { readonly want: "plane"; readonly options: Envtest.Options }
  | { readonly want: "user"; readonly options: Envtest.Options; readonly user: NewUser }
  | { readonly want: "restart"; readonly options: Envtest.Options }

/** The response for a control plane. */
interface Described {
  readonly admin: User
  readonly logs: ReadonlyArray<ControlPlane.LogFile>
}

/** Serves control planes on the loopback interface. Returns the URL. */
export const serve: Effect.Effect<string, never, Scope.Scope> = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const run = Effect.runPromiseExitWith(yield* Effect.context<never>())
  const planes = new Map<string, Promise<Exit.Exit<ControlPlane.ControlPlane, Envtest.Failure>>>()
  const plane = (options: Envtest.Options) =>
    Effect.suspend(() => {
      const key = JSON.stringify(options)
      const started = planes.get(key) ?? run(Scope.provide(Envtest.start(options), scope))
      planes.set(key, started)
      return Effect.flatten(Effect.promise(() => started))
    })
  const answer = (request: Request) =>
    Effect.gen(function* () {
      const found = yield* plane(request.options)
      if (request.want === "user") return yield* found.addUser(request.user)
      if (request.want === "restart") return yield* Effect.as(found.restartControllers, {})
      return { admin: found.admin, logs: found.logFiles } satisfies Described
    })
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        // A control plane takes longer to start than Bun's default idle timeout of a request.
        idleTimeout: 0,
        fetch: async (request) => {
          const exit = await run(answer(JSON.parse(await request.text()) as Request))
          return Exit.isSuccess(exit) ? Response.json(exit.value) : new Response(String(exit.cause), { status: 500 })
        }
      })
    ),
    (server) => Effect.promise(() => server.stop(true))
  )
  return `http://127.0.0.1:${server.port}`
})

/**
 * Connects to the control plane with these options. The broker owns its programs, so a test that stops them needs its own control plane.
 */
export const connect = (
  broker: string,
  options: Envtest.Options
): Effect.Effect<ControlPlane.ControlPlane, BrokerFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { admin, logs } = yield* ask<Described>(broker, { want: "plane", options })
    return ControlPlane.make({
      admin,
      addUser: (user) => Effect.orDie(ask<User>(broker, { want: "user", options, user })),
      processes: [],
      logFiles: logs,
      restartControllers: Effect.orDie(ask(broker, { want: "restart", options })),
      auditLogPath: undefined,
      directory: yield* Directory.make
    })
  })

const ask = <A>(broker: string, request: Request): Effect.Effect<A, BrokerFailed> =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(broker, { method: "POST", body: JSON.stringify(request) })
      const text = await response.text()
      if (!response.ok) throw new Error(text)
      return JSON.parse(text) as A
    },
    catch: (error) => new BrokerFailed({ reason: String(error) })
  })
