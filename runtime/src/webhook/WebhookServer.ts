/**
 * The HTTPS server that the API server calls for admission and conversion.
 *
 * The API server sends its time limit with each request. After this time the server interrupts the webhook and answers with 504. Larger
 * bodies than those of an API server get 413, see {@link mostBytes}.
 */
import type { Socket } from "node:net"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Time from "../resource/Time.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import { Tracing } from "../telemetry/Tracing.ts"
import * as WebhookMetric from "../telemetry/WebhookMetric.ts"
import * as Body from "./Body.ts"
import * as Call from "./Call.ts"
import * as HttpConnection from "./HttpConnection.ts"
import type * as HttpHead from "./HttpHead.ts"
import * as Integers from "./Integers.ts"
import * as Listener from "./Listener.ts"
import * as OpenConnections from "./OpenConnections.ts"
import * as Pace from "./Pace.ts"
import * as Reply from "./Reply.ts"
import * as Series from "./Series.ts"
import * as Uploads from "./Uploads.ts"

/**
 * The largest accepted body, in bytes, as in controller-runtime. The new object has at most 3 MiB: `MaxRequestBodyBytes` in
 * k8s.io/apiserver v0.37.1, pkg/server/config.go. The old one has at most 1.5 MiB in etcd: `DefaultMaxRequestBytes` in etcd v3.7.0,
 * server/embed/config.go. Built-in kinds are stored in protobuf, and the API server expects up to twice as much JSON: another 3 MiB. The
 * user with groups comes from a header or a certificate, and has less than 1 MiB.
 */
export const mostBytes = 7 * 1024 * 1024

/**
 * The bodies of concurrent answers, in KiB: as a parsed value, a body needs many times its memory. The small ones have as much again, so
 * that large ones do not hinder them.
 */
const mostAnswered = 16 * 1024

/** The least time between two warnings about rejected clients, in ms. */
const warnInterval = 60_000

/** How often waiting requests look for memory. */
const retryInterval = Duration.millis(100)

/** The time limit without one in the request, which is the longest that the API server allows. */
const longestLimit = Duration.seconds(30)

/** An endpoint with its kind of metrics. */
export interface Route<out R = never> {
  readonly endpoint: Reply.Endpoint<R>
  readonly type: "admission" | "conversion"
}

/** The settings of the server. */
export interface Options<R> extends Listener.Options {
  readonly routes: ReadonlyMap<string, Route<R>>
}

/** The time limit in a request's query, such as `?timeout=5s`, with a tenth less for the way back. */
const limitOf = (query: string): Duration.Duration => {
  const [, amount, unit] = /(?:^|&)timeout=(\d+)(ms|s)(?:&|$)/.exec(query) ?? []
  if (amount === undefined) return longestLimit
  return Duration.min(longestLimit, Duration.millis(Number(amount) * (unit === "s" ? 900 : 0.9)))
}

const tooLarge = { status: 413, message: `request body too large (at most ${mostBytes} bytes)` }

const overloaded = { status: 503, message: "too many requests are being answered; try again" }

/** Why the server rejects a request before it reads the body; `undefined` if it does not. */
const problemOf = ({
  length,
  request: { headers, method }
}: HttpHead.Head): { readonly status: number; readonly message: string } | undefined => {
  const type = headers.get("content-type") ?? ""
  if (method !== "POST") return { status: 405, message: `method not allowed: ${method} (must be POST)` }
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    return {
      status: 415,
      message: `invalid content type: ${JSON.stringify(type.slice(0, 100))} (must be application/json)`
    }
  }
  if (length === undefined) {
    return { status: 411, message: "the request has no content-length header (chunks are not accepted)" }
  }
  return length > mostBytes ? tooLarge : undefined
}

/**
 * The root span of a request: a child of the span in its `traceparent`. Only a verified client decides whether to sample the requests of
 * the check.
 */
const rootOf = (
  method: string,
  path: string,
  headers: Headers,
  { isVerified }: Call.Call["client"],
  startTime: bigint
) => {
  const parent = TraceParent.parse(headers.get("traceparent") ?? undefined)
  const sampled = isVerified ? parent?.sampled : undefined
  return Recording.root(SpanName.webhook(method, path), { parent, startTime, kind: "server", sampled })
}

/** The exit of a request's span. A denial is not a failure, and neither is a client error, by OpenTelemetry's conventions. */
const exitOf = ({ admission, conversion, panicked, problem, status }: Call.Call): Exit.Exit<void, Reply.Rejected> => {
  if (status === undefined) return Exit.interrupt()
  if (status < 500 && !panicked) return Exit.void
  const message = problem ?? admission?.answer?.denial ?? conversion?.failure ?? ""
  return Exit.fail(new Reply.Rejected({ status: panicked ? 500 : status, message }))
}

/** The port of a server that listens. */
export interface Listening {
  /** The address, with the actual port if the setting was 0. */
  readonly port: number
}

/** Serves until the scope closes. Running requests may then finish within five seconds. */
export const make = <R>(options: Options<R>): Effect.Effect<Listening, Listener.BindFailed, R | Scope.Scope> =>
  Effect.gen(function* () {
    const { clients, routes } = options
    const registry = yield* Metrics.Metrics
    const clock = yield* Clock.Clock
    const observers = yield* Call.Observers
    const isTraced = (yield* Tracing) !== undefined
    const runtime = FiberSet.makeRuntime<R, void, never>()
    const run = yield* isTraced ? Effect.withTracer(runtime, Recording.tracer) : runtime
    const series = new Map([...routes].map(([path, { type }]) => [path, Series.of(registry, path, type)]))
    const connections = OpenConnections.make(clock, OpenConnections.webhook)
    const uploads = Uploads.make(clock)
    const small = yield* Semaphore.make(mostAnswered)
    const large = yield* Semaphore.make(mostAnswered)
    const host: Pace.Host = {
      immediate: (next) => void setImmediate(next),
      later: (millis, next) => void run(Effect.delay(Effect.sync(next), millis))
    }
    const pace = Pace.make(clock, host)
    const reads = Pace.make(clock, host)
    const rejections = registry.counter(WebhookMetric.rejectedConnections, {})
    /** Why the clients of connections are not API servers. */
    const refusals = new WeakMap<Socket, string>()
    let warnedAt = Number.NEGATIVE_INFINITY
    const rejected = (reason: string): void => {
      rejections.add()
      const now = Time.monotonic(clock)
      if (clients === undefined || now - warnedAt < warnInterval) return
      warnedAt = now
      run(
        Effect.logWarning(
          `A client of the webhooks was rejected: ${reason} (an API server needs a certificate of --webhook-client-ca)`
        )
      )
    }
    let ending = false

    const refuse = ({ answer }: HttpConnection.Exchange, status: number, message: string): void =>
      answer({ status, type: "text/plain; charset=utf-8", body: `${message}\n` })

    const begin = ({ head, socket }: HttpConnection.Exchange, path: string): Call.Call => {
      const { headers, method } = head.request
      const startedAt = clock.currentTimeMillisUnsafe()
      const client = {
        address: socket.remoteAddress ?? "",
        isVerified: clients !== undefined && !refusals.has(socket)
      }
      return {
        method,
        path,
        client,
        startedAt,
        finishedAt: startedAt,
        admission: undefined,
        conversion: undefined,
        status: undefined,
        problem: undefined,
        panicked: false,
        root: isTraced ? rootOf(method, path, headers, client, clock.currentTimeNanosUnsafe()) : undefined
      }
    }
    const finish = (call: Call.Call, startedAt: number): void => {
      call.finishedAt += Time.monotonic(clock) - startedAt
      call.root?.end(clock.currentTimeNanosUnsafe(), exitOf(call))
      for (const observe of observers) observe(call)
    }

    /** Answers a request whose body has arrived. */
    const answer = (call: Call.Call, route: Route<R>, body: Buffer, limit: Duration.Duration) => {
      const json = route.type === "conversion" ? Integers : JSON
      const parsed = Effect.try({
        try: (): unknown => json.parse(body.toString("utf8")),
        catch: () => Reply.badRequest("invalid request body (must be JSON)")
      })
      const most = Body.mostValues[route.type]
      const checked = Effect.suspend(() => {
        const problem = Body.problemOf(body, most)
        if (problem === undefined) return Effect.void
        return problem === "deep"
          ? Effect.fail(Reply.badRequest("invalid request body (nested too deeply)"))
          : Effect.fail(new Reply.Rejected({ status: 413, message: `too many values in the body (at most ${most})` }))
      })
      const each = checked.pipe(
        Effect.andThen(parsed),
        Effect.flatMap((review) => route.endpoint(review, call)),
        Effect.map((reply) => ({ ...reply, text: json.stringify(reply.body) }))
      )
      const bodies = body.length > Uploads.smallBytes ? large : small
      const replied = Effect.andThen(
        pace.turn(body.length, call.client.address),
        bodies.withPermits(Math.ceil(body.length / 1024))(each)
      )
      const traced =
        call.root === undefined ? replied : Effect.withParentSpan(replied, call.root, { captureStackTrace: false })
      return traced.pipe(
        Effect.timeoutOrElse({
          duration: limit,
          orElse: () =>
            Effect.fail(
              new Reply.Rejected({
                status: 504,
                message: `no answer within ${Duration.format(limit)} (raise the timeout)`
              })
            )
        }),
        Effect.catchDefect((defect) =>
          Effect.andThen(
            Effect.logError(`Answering ${call.path} failed unexpectedly`, defect),
            Effect.fail(new Reply.Rejected({ status: 500, message: "internal error" }))
          )
        )
      )
    }

    let isRetrying = false
    /** Looks for memory until no request waits. */
    const retryLater = (): void => {
      if (isRetrying) return
      isRetrying = true
      run(
        Effect.delay(
          Effect.sync(() => {
            isRetrying = false
            uploads.retry()
            if (uploads.isWaiting()) retryLater()
          }),
          retryInterval
        )
      )
    }

    const answerTo = (exchange: HttpConnection.Exchange): void => {
      const { head, socket } = exchange
      const { pathname: path, search } = new URL(head.request.url)
      const route = routes.get(path)
      const meters = series.get(path)
      if (route === undefined || meters === undefined) {
        refuse(exchange, 404, `not found: ${path.slice(0, 200)}`)
        return
      }
      const startedAt = Time.monotonic(clock)
      const call = begin(exchange, path)
      const close = (status: number, message: string): void => {
        call.status = status
        call.problem = message
        refuse(exchange, status, message)
      }
      const reject = (status: number, message: string): void => {
        meters.count(status)
        close(status, message)
      }
      const refusal = route.type === "admission" ? refusals.get(socket) : undefined
      if (refusal !== undefined) rejected(refusal)
      const invalid =
        refusal === undefined
          ? problemOf(head)
          : { status: 403, message: "a client certificate of --webhook-client-ca is required" }
      if (invalid !== undefined) {
        reject(invalid.status, invalid.message)
        finish(call, startedAt)
        return
      }
      const limit = limitOf(search.slice(1))
      const abort = (): void => reject(overloaded.status, overloaded.message)
      const { arrived } = exchange
      const upload = uploads.add({ length: head.length ?? 0, arrived }, Duration.toMillis(limit), () => read(), abort)
      if (upload === undefined) {
        abort()
        finish(call, startedAt)
        return
      }
      if (uploads.isWaiting()) retryLater()
      connections.enter(socket, "receiving")
      meters.inFlight.add(1)
      let finished = false
      /** Once: after the answer, or when the API server closes the connection. */
      const record = (): void => {
        if (finished) return
        finished = true
        finish(call, startedAt)
      }
      exchange.onEnd(() => {
        record()
        uploads.remove(upload)
        meters.inFlight.add(-1)
      })
      const read = (): void =>
        exchange.read((body) => {
          upload.isComplete = true
          connections.enter(socket, "working")
          const fiber = run(
            Effect.matchEffect(answer(call, route, body, limit), {
              onSuccess: ({ code, panicked, text }) =>
                Effect.sync(() => {
                  meters.count(code)
                  if (panicked) meters.panics.add()
                  call.status = 200
                  call.panicked = panicked
                  exchange.answer({ status: 200, type: "application/json", body: text })
                }),
              onFailure: ({ message, status }) => Effect.sync(() => reject(status, message))
            }).pipe(
              Effect.ensuring(
                Effect.sync(() => {
                  meters.latency.observe((Time.monotonic(clock) - startedAt) / 1000)
                  if (exchange.isOpen()) close(503, "the process is shutting down")
                  record()
                })
              )
            )
          )
          // The API server no longer waits for the answer.
          exchange.onEnd(() => fiber.interruptUnsafe())
        })
      if (upload.isReading) read()
    }

    const owner: HttpConnection.Owner = {
      clock,
      connections,
      handle: answerTo,
      isEnding: () => ending,
      turn: (bytes, address, next) => void run(Effect.andThen(reads.turn(bytes, address), Effect.sync(next)))
    }
    // The scope closes its parts in the reverse order, so the port closes first.
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        ending = true
        return connections.drain(() => uploads.size() === 0)
      })
    )
    const port = yield* Listener.make(options, {
      connected: (socket) => connections.add(socket, socket.remoteAddress ?? ""),
      accept: (socket, refusal) => {
        if (refusal !== undefined) refusals.set(socket, refusal)
        HttpConnection.serve(socket, owner)
      },
      rejected,
      // An API server has no client certificate for conversions.
      others: [...routes.values()].some(({ type }) => type === "conversion") ? "accepted" : "refused"
    })
    yield* Effect.forkScoped(connections.sweep)
    return { port }
  })
