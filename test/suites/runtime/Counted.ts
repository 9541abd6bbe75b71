/**
 * A manager of which is known what it does: every request that it sends, and every reconcile.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import type { Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import * as Manager from "@homeostat/runtime/manager/Manager"
import type { User } from "@homeostat/testkit/envtest/User"
import { Context, Effect, Layer, Logger, LogLevel, type Scope } from "effect"

/** A manager at work, and what it has done so far. */
export interface Counted {
  /** `PATCH /apis/…`, without the query, in order; watches are not among them. */
  readonly requests: ReadonlyArray<string>
  /** Those that succeeded and wrote something, as the client tells of them. */
  readonly writes: ReadonlyArray<string>
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  /** What it logged as a warning or an error. */
  readonly warnings: ReadonlyArray<string>
  readonly runners: Effect.Effect.Success<ReturnType<typeof Manager.start>>
}

/** The cluster as this user is known to it. */
export const clusterOf = (user: User): Cluster.Cluster =>
  Cluster.make({ server: user.server, token: user.token, tls: { ca: user.ca, cert: user.cert, key: user.key } })

const counting = (requests: Array<string>) =>
  Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, (transport) => ({
      ...transport,
      send: (request: Request) =>
        Effect.suspend(() => {
          requests.push(`${request.method} ${request.path.replace(/\?.*/, "")}`)
          return transport.send(request)
        })
    }))
  )

/** Starts controllers as a user. Does not wait until they have started. */
export const start = (
  user: User,
  controllers: ReadonlyArray<Controller<Manager.Runtime>>,
  { namespaces, ...settings }: Manager.Settings & { readonly namespaces: ReadonlyArray<string> }
): Effect.Effect<Counted, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests: Array<string> = []
    const writes: Array<string> = []
    const attempts: Array<Attempt.Attempt> = []
    const warnings: Array<string> = []
    const log = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (LogLevel.greaterThanEqual(logLevel, LogLevel.Warning)) warnings.push(String(message))
    })
    const transport = Layer.provide(counting(requests), Transport.layer(clusterOf(user)))
    const services = Manager.layer({ namespaces, instance: "test" }).pipe(Layer.provide(transport))
    const runners = yield* Effect.gen(function* () {
      const context = yield* Layer.build(services)
      yield* Context.get(context, Client.Client).onWrite(({ key, resource, subresource, verb }) => {
        writes.push(`${verb} ${resource.kind} ${key.name}${subresource === undefined ? "" : `/${subresource}`}`)
      })
      return yield* Effect.provide(Manager.start(controllers, settings), context)
    }).pipe(
      Effect.provideService(Attempt.Observers, [
        Attempt.log,
        (attempt) =>
          Effect.sync(() => {
            attempts.push(attempt)
          })
      ]),
      Effect.provide(Logger.replace(Logger.defaultLogger, log))
    )
    return { requests, writes, attempts, warnings, runners }
  })

/** Waits until all controllers have started. */
export const started = ({ runners }: Pick<Counted, "runners">): Effect.Effect<void> =>
  Effect.forEach(runners, (runner) => runner.started, { discard: true })
