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
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import type { User } from "@homeostat/testkit/envtest/User"
import { Context, Effect, Layer, Logger, LogLevel, type Scope } from "effect"

/** A manager at work, and what it has done so far. */
export interface Counted {
  /** `PATCH /apis/…`, without the query, in order; watches are not among them. */
  readonly requests: ReadonlyArray<string>
  /** The same, with what became of each. */
  readonly exchanges: ReadonlyArray<Exchange>
  /** The watches that it asked for: `/apis/…`, with the query, in order. */
  readonly watches: ReadonlyArray<string>
  /** Those that succeeded and wrote something, as the client tells of them. */
  readonly writes: ReadonlyArray<string>
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  /** Its metrics, as they are now. */
  readonly metrics: () => ReadonlyArray<Metrics.Family>
  /** What it logged as a warning or an error. */
  readonly warnings: ReadonlyArray<string>
  /** How many requests are on the way; a watch is until its answer begins. */
  readonly pending: () => number
  readonly runners: Effect.Effect.Success<ReturnType<typeof Manager.start>>
}

/** A request that was sent, each attempt on its own. */
export interface Exchange {
  /** As in `requests`. */
  readonly request: string
  /** When it was sent, in ms of `performance.now()`. */
  readonly at: number
  /** What it was answered with; undefined while it was not. */
  readonly status: number | undefined
}

/** The cluster as this user is known to it. */
export const clusterOf = (user: User): Cluster.Cluster =>
  Cluster.make({ server: user.server, token: user.token, tls: { ca: user.ca, cert: user.cert, key: user.key } })

/** What is known of the requests of a manager. `pending` counts the requests that have no answer yet. */
export interface Told {
  readonly requests: Array<string>
  readonly exchanges: Array<Exchange>
  readonly watches: Array<string>
  pending: number
}

/** Counts the requests that a manager sends over the transport below. */
export const counting = (told: Told) =>
  Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, (transport) => ({
      ...transport,
      send: (request: Request) =>
        Effect.suspend(() => {
          const exchange: Mutable<Exchange> = {
            request: `${request.method} ${request.path.replace(/\?.*/, "")}`,
            at: performance.now(),
            status: undefined
          }
          told.requests.push(exchange.request)
          told.exchanges.push(exchange)
          told.pending++
          return transport.send(request).pipe(
            Effect.tap(({ status }) => {
              exchange.status = status
            }),
            Effect.ensuring(Effect.sync(() => told.pending--))
          )
        }),
      open: (request: Request) =>
        Effect.suspend(() => {
          told.watches.push(request.path)
          told.pending++
          return Effect.ensuring(
            transport.open(request),
            Effect.sync(() => told.pending--)
          )
        })
    }))
  )

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** Starts controllers as a user. Does not wait until they have started. */
export const start = (
  user: User,
  controllers: ReadonlyArray<Controller<Manager.Runtime>>,
  { namespaces, ...settings }: Manager.Settings & { readonly namespaces: ReadonlyArray<string> }
): Effect.Effect<Counted, never, Scope.Scope> =>
  Effect.gen(function* () {
    const told: Told = { requests: [], exchanges: [], watches: [], pending: 0 }
    const writes: Array<string> = []
    const attempts: Array<Attempt.Attempt> = []
    const warnings: Array<string> = []
    const log = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (LogLevel.greaterThanEqual(logLevel, LogLevel.Warning)) warnings.push(String(message))
    })
    const transport = Layer.provide(counting(told), Transport.layer(clusterOf(user)))
    const services = Manager.layer({ namespaces, instance: "test" }).pipe(Layer.provide(transport))
    const { metrics, runners } = yield* Effect.gen(function* () {
      const context = yield* Layer.build(services)
      yield* Context.get(context, Client.Client).onWrite(({ key, resource, subresource, verb }) => {
        writes.push(`${verb} ${resource.kind} ${key.name}${subresource === undefined ? "" : `/${subresource}`}`)
      })
      const { read } = yield* Effect.provide(Metrics.Metrics, context)
      return { metrics: read, runners: yield* Effect.provide(Manager.start(controllers, settings), context) }
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
    const { exchanges, requests, watches } = told
    return { requests, exchanges, watches, writes, attempts, metrics, warnings, runners, pending: () => told.pending }
  })

/** Waits until all controllers have started. */
export const started = ({ runners }: Pick<Counted, "runners">): Effect.Effect<void> =>
  Effect.forEach(runners, (runner) => runner.started, { discard: true })
