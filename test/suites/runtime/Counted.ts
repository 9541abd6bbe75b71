/** A manager whose requests and reconciles are counted. */
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

export interface Counted {
  /** The requests except watches, such as `PATCH /apis/…`, without the query, in order. */
  readonly requests: ReadonlyArray<string>
  /** The requests with their responses. */
  readonly exchanges: ReadonlyArray<Exchange>
  /** The paths of the watches with the query, in order. */
  readonly watches: ReadonlyArray<string>
  /** The successful writes. */
  readonly writes: ReadonlyArray<string>
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  readonly metrics: () => ReadonlyArray<Metrics.Family>
  /** The warnings and errors of the log. */
  readonly warnings: ReadonlyArray<string>
  /** The number of requests without a response. */
  readonly pending: () => number
  readonly runners: Effect.Success<ReturnType<typeof Manager.start>>
}

/** One attempt of a request. */
export interface Exchange {
  readonly request: string
  /** The time of `performance.now()`, in milliseconds. */
  readonly at: number
  readonly status: number | undefined
}

/** The cluster with the credentials of the user. */
export const clusterOf = (user: User): Cluster.Cluster =>
  Cluster.make({ server: user.server, token: user.token, tls: { ca: user.ca, cert: user.cert, key: user.key } })

/** The requests of a manager. `pending` returns the number of requests without a response. */
export interface Sent {
  readonly requests: Array<string>
  readonly exchanges: Array<Exchange>
  readonly watches: Array<string>
  pending: number
}

/** Counts the requests over the transport. */
export const counting = (sent: Sent) =>
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
          sent.requests.push(exchange.request)
          sent.exchanges.push(exchange)
          sent.pending++
          return transport.send(request).pipe(
            Effect.tap(({ status }) =>
              Effect.sync(() => {
                exchange.status = status
              })
            ),
            Effect.ensuring(Effect.sync(() => sent.pending--))
          )
        }),
      open: (request: Request) =>
        Effect.suspend(() => {
          sent.watches.push(request.path)
          sent.pending++
          return Effect.ensuring(
            transport.open(request),
            Effect.sync(() => sent.pending--)
          )
        })
    }))
  )

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** Records the attempts and the warnings of an effect. */
export const recorder = () => {
  const attempts: Array<Attempt.Attempt> = []
  const warnings: Array<string> = []
  const log = Logger.make<unknown, void>(({ logLevel, message }) => {
    if (LogLevel.isGreaterThanOrEqualTo(logLevel, "Warn")) warnings.push(String(message))
  })
  const observe = (attempt: Attempt.Attempt) => Effect.sync(() => void attempts.push(attempt))
  const observed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    effect.pipe(Effect.provideService(Attempt.Observers, [Attempt.log, observe]), Effect.provide(Logger.layer([log])))
  return { attempts, warnings, observed }
}

/** Starts controllers as a user without waiting for them. */
export const start = (
  user: User,
  controllers: ReadonlyArray<Controller<Manager.Runtime>>,
  { namespaces, ...settings }: Manager.Settings & { readonly namespaces: ReadonlyArray<string> }
): Effect.Effect<Counted, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sent: Sent = { requests: [], exchanges: [], watches: [], pending: 0 }
    const writes: Array<string> = []
    const { attempts, observed, warnings } = recorder()
    const transport = Layer.provide(counting(sent), Transport.layer(clusterOf(user)))
    const services = Manager.layer({ namespaces, instance: "test" }).pipe(Layer.provide(transport))
    const { metrics, runners } = yield* Effect.gen(function* () {
      const context = yield* Layer.build(services)
      yield* Context.get(context, Client.Client).onWrite(({ key, resource, subresource, verb }) => {
        writes.push(`${verb} ${resource.kind} ${key.name}${subresource === undefined ? "" : `/${subresource}`}`)
      })
      const { read } = yield* Effect.provide(Metrics.Metrics, context)
      return { metrics: read, runners: yield* Effect.provide(Manager.start(controllers, settings), context) }
    }).pipe(observed)
    const { exchanges, requests, watches } = sent
    return { requests, exchanges, watches, writes, attempts, metrics, warnings, runners, pending: () => sent.pending }
  })

/** Waits until all controllers have started. */
export const started = ({ runners }: Pick<Counted, "runners">): Effect.Effect<void> =>
  Effect.forEach(runners, (runner) => runner.started, { discard: true })
