/**
 * The bottom of the stack: one request, one answer, nothing retried. Over the network it is Bun's fetch with the
 * cluster's TLS; another implementation may answer in memory.
 *
 * Why a hand-written layer over `Bun.FetchSession`: it costs 0.05 to 0.12 ms of CPU per request over the bare call, where
 * @effect/platform's HttpClient costs 0.3 to 0.5 ms, and the protocol is chosen per request. One HTTP/2 connection
 * carries everything, watches included (Bun opens another one at 100 streams), which takes less CPU than HTTP/1.1 and
 * one connection per watch.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as ApiError from "./ApiError.ts"
import type { Cluster, Credentials, CredentialsError, Tls } from "./Cluster.ts"
import * as Disconnect from "./Disconnect.ts"
import * as Fence from "./Fence.ts"
import * as ProxySettings from "./ProxySettings.ts"
import { infoOf, type Request } from "./Request.ts"
import type { Response, Streaming } from "./Response.ts"

/**
 * Carries requests to one API server. Any status is an answer, errors included: only the lack of one fails. Interrupting
 * ends the request on the wire, and so does the `abort` of a request: then it fails, with whatever error.
 */
export class Transport extends Context.Tag("@homeostat/runtime/Transport")<
  Transport,
  {
    /** Its URL or another name of it, for messages and spans. */
    readonly server: string
    /** Sends a request and reads the whole answer. */
    readonly send: (request: Request) => Effect.Effect<Response, ApiError.Transport | ApiError.Fenced>
    /** Sends a request whose answer goes on: a watch. Closing the scope ends it. */
    readonly open: (request: Request) => Effect.Effect<Streaming, ApiError.Transport | ApiError.Fenced, Scope.Scope>
  }
>() {}

/**
 * Makes an effect that knows nothing of a request's `abort` obey it: for transports in memory. It does so where the caller
 * cannot be interrupted, too (the last words of a reconcile): a race ends when its loser has been interrupted.
 */
export const abortable = <A, E, R>(
  request: Request,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ApiError.Transport, R> => {
  const signal = request.abort?.signal
  if (signal === undefined) return effect
  const aborted = Effect.async<never, ApiError.Transport>((resume) => {
    const abort = () => resume(Effect.fail(Disconnect.make(infoOf(request), "memory", "ABORTED", "aborted")))
    if (signal.aborted) abort()
    else signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })
  return Effect.raceFirst(Effect.interruptible(effect), Effect.interruptible(aborted))
}

/** How to reach the cluster. */
export interface Options {
  /**
   * `http2` (default) wherever it is possible: over TLS, without a proxy, and until the server declines it. Bun marks it
   * experimental, so `http1.1` is there to switch it off.
   */
  readonly protocol?: "http2" | "http1.1" | undefined
  /** The proxy settings; read from the environment by default. */
  readonly proxy?: ProxySettings.Environment | undefined
}

type Fetch = Bun.FetchSession["fetch"]

const sessionTls = (tls: Tls) => ({
  ...(tls.ca !== undefined && { ca: tls.ca }),
  ...(tls.cert !== undefined && { cert: tls.cert }),
  ...(tls.key !== undefined && { key: tls.key }),
  ...(tls.serverName !== undefined && { serverName: tls.serverName }),
  // Said aloud: without it, NODE_TLS_REJECT_UNAUTHORIZED decides.
  rejectUnauthorized: tls.insecure !== true
})

const refused = (request: Request, server: string, error: CredentialsError): ApiError.Transport =>
  new ApiError.Transport({
    message: `${request.method} ${infoOf(request).path}: ${error.message}`,
    code: "CREDENTIALS",
    reason: error.message,
    outcome: "unsent",
    server,
    request: infoOf(request)
  })

/** A transport to the cluster over the network. Its connections close with the scope. */
export const make = Effect.fnUntraced(function* (cluster: Cluster, options: Options = {}) {
  const scope = yield* Effect.scope
  const environment = options.proxy ?? (yield* ProxySettings.environment)
  const url = new URL(cluster.server)
  // Go's clients ignore NO_PROXY for a proxy that the kubeconfig names, and so do we.
  const proxy = cluster.proxy ?? ProxySettings.resolve(url, environment)
  let http2 = options.protocol !== "http1.1" && url.protocol === "https:" && proxy === undefined

  let session: Bun.FetchSession | undefined
  let sessionKey: Tls | undefined
  const fetchWith = (tls: Tls): Fetch => {
    if (session === undefined || sessionKey !== tls) {
      // After a rotation: what is under way ends on the old connection, what is new uses the new certificate.
      session?.close()
      session = new Bun.FetchSession({
        ...(url.protocol === "https:" && { tls: sessionTls(tls) }),
        proxy: proxy === undefined ? false : { url: proxy, respectNoProxy: false }
      })
      sessionKey = tls
    }
    return session.fetch
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => session?.close()))

  const start = (request: Request, credentials: Credentials, signal: AbortSignal) =>
    fetchWith(credentials.tls)(cluster.server + request.path, {
      method: request.method,
      headers: { ...request.headers, ...credentials.headers },
      ...(request.body !== undefined && { body: request.body }),
      signal,
      redirect: "manual",
      // On HTTP/2 Bun's timer belongs to the connection: it has to be off for every request, or watches die with it.
      timeout: false,
      ...(url.protocol === "https:" && { protocol: http2 ? "http2" : "http1.1" })
    })

  const place = proxy === undefined ? cluster.server : `proxy ${ProxySettings.shown(proxy)} to ${cluster.server}`
  const failed = (request: Request) => (error: unknown) =>
    Disconnect.fromThrown(infoOf(request), cluster.server, error, place)

  /**
   * Waits for credentials until the request is aborted. A plugin goes on then, for the requests that follow: it may take longer than
   * any of them.
   */
  const inTime = (request: Request, reading: Cluster["renew"]) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkIn(Effect.interruptible(reading), scope), (fiber) =>
        Effect.onInterrupt(restore(abortable(request, Fiber.join(fiber))), () => Fiber.interrupt(fiber))
      )
    )

  const credentialsFor = (request: Request) =>
    Effect.suspend(() => {
      const current = cluster.current?.()
      return current === undefined ? inTime(request, cluster.credentials) : Effect.succeed(current)
    })

  /**
   * Attempts with the credentials of the moment, and once more where that is free of risk, as nothing was done yet: when the
   * server does not know us, or we no longer trust the server, and reading the credentials again brought new ones.
   */
  const negotiate = <A extends { readonly status: number }, R>(
    request: Request,
    sendOnce: (credentials: Credentials) => Effect.Effect<A, ApiError.Transport, R>,
    discard: (answer: A) => Effect.Effect<void>
  ): Effect.Effect<A, ApiError.Transport | ApiError.Fenced, R> => {
    // Asking a plugin may have taken half a minute, in which a leader may have ceased to be one.
    const attempt = (credentials: Credentials) => Fence.guard(request, sendOnce(credentials))
    const attemptDowngraded = (credentials: Credentials) =>
      Effect.catchAll(attempt(credentials), (error) => {
        // The TLS handshake reported it before any byte was sent. Later requests do not ask.
        if (error._tag !== "Transport" || error.code !== "HTTP2Unsupported") return Effect.fail(error)
        const first = http2
        http2 = false
        return Effect.zipRight(
          first ? Effect.logInfo(`${cluster.server} does not speak HTTP/2: using HTTP/1.1`) : Effect.void,
          attempt(credentials)
        )
      })
    const renewed = (
      refused: Credentials,
      otherwise: Effect.Effect<A, ApiError.Transport>,
      before: Effect.Effect<void>
    ): Effect.Effect<A, ApiError.Transport | ApiError.Fenced, R> =>
      Effect.matchEffect(inTime(request, cluster.renew), {
        onFailure: () => otherwise,
        onSuccess: (credentials) =>
          credentials.headers.authorization === refused.headers.authorization && credentials.tls === refused.tls
            ? otherwise
            : Effect.zipRight(before, attemptDowngraded(credentials))
      })
    return credentialsFor(request).pipe(
      Effect.mapError((error) => (error._tag === "Transport" ? error : refused(request, cluster.server, error))),
      Effect.flatMap((credentials) =>
        Effect.matchEffect(attemptDowngraded(credentials), {
          onFailure: (error) =>
            error._tag === "Transport" && Disconnect.isUntrusted(error)
              ? renewed(credentials, Effect.fail(error), Effect.void)
              : Effect.fail(error),
          onSuccess: (answer) =>
            answer.status === 401
              ? renewed(credentials, Effect.succeed(answer), discard(answer))
              : Effect.succeed(answer)
        })
      )
    )
  }

  const sendOnce = (request: Request) => (credentials: Credentials) =>
    Effect.async<Response, ApiError.Transport>((resume) => {
      const controller = request.abort ?? new AbortController()
      const fail = (error: unknown) => resume(Effect.fail(failed(request)(error)))
      try {
        start(request, credentials, controller.signal).then(
          (answer) =>
            answer
              .text()
              .then((body) => resume(Effect.succeed({ status: answer.status, headers: answer.headers, body })), fail),
          fail
        )
      } catch (error) {
        fail(error)
      }
      return Effect.sync(() => controller.abort())
    })

  const openOnce = (request: Request) => (credentials: Credentials) =>
    Effect.gen(function* () {
      const controller = request.abort ?? new AbortController()
      const abort = Effect.sync(() => controller.abort())
      // Before the request leaves, so that there is no moment in which an interruption forgets it.
      yield* Effect.addFinalizer(() => abort)
      const answer = yield* Effect.tryPromise({
        try: (signal) => {
          signal.addEventListener("abort", () => controller.abort())
          return start(request, credentials, controller.signal)
        },
        catch: failed(request)
      })
      const reader = answer.body?.getReader()
      const streaming: Streaming & { readonly cancel: Effect.Effect<void> } = {
        status: answer.status,
        headers: answer.headers,
        abort,
        // Ends this answer alone: the signal is that of the whole request.
        cancel: Effect.ignore(Effect.tryPromise(() => reader?.cancel() ?? Promise.resolve())),
        next:
          reader === undefined
            ? Effect.sync(() => undefined)
            : Effect.tryPromise({ try: () => reader.read(), catch: failed(request) }).pipe(
                Effect.map((part) => (part.done ? undefined : part.value))
              )
      }
      return streaming
    })

  return Transport.of({
    server: cluster.server,
    send: (request) => negotiate(request, sendOnce(request), () => Effect.void),
    open: (request) => negotiate(request, openOnce(request), ({ cancel }) => cancel)
  })
})

/** The transport to a cluster over the network. */
export const layer = (cluster: Cluster, options?: Options): Layer.Layer<Transport> =>
  Layer.scoped(Transport, make(cluster, options))
