/**
 * The bottom of the stack: one request, one response, no retries. Over the network it is Bun's fetch with the cluster's TLS; another
 * implementation may respond from memory.
 *
 * Why not Effect's HttpClient: this layer adds 3 µs of CPU to a fetch, and HttpClient of Effect 4.1 adds 43 µs, an eighth of what a write
 * costs. The protocol is an option of each fetch. One HTTP/2 connection carries everything, including watches (Bun opens another one at
 * 100 streams), which takes less CPU than HTTP/1.1 with one connection per watch.
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
import { infoOf, mostBytes, mostErrorBytes, type Request } from "./Request.ts"
import type { Response, Streaming } from "./Response.ts"

/**
 * Sends requests to one API server. Every status is a response, also an error; it fails only without a response. An interruption or
 * the `abort` of a request ends the request on the wire. After `abort` it fails with any error.
 */
export class Transport extends Context.Service<
  Transport,
  {
    /** The server's URL or another name, for messages and spans. */
    readonly server: string
    /** Sends a request and reads the whole response. */
    readonly send: (request: Request) => Effect.Effect<Response, ApiError.Transport | ApiError.Fenced>
    /** Sends a request with a streaming response: a watch. Closing the scope ends it. */
    readonly open: (request: Request) => Effect.Effect<Streaming, ApiError.Transport | ApiError.Fenced, Scope.Scope>
  }
>()("@homeostat/runtime/Transport") {}

/**
 * Makes an effect obey the `abort` of a request: for transports in memory. Also where the caller cannot be interrupted, such as the
 * last writes of a reconcile, because a race completes only after its loser was interrupted.
 *
 * @internal
 */
export const abortable = <A, E, R>(
  request: Request,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ApiError.Transport, R> => {
  const signal = request.abort?.signal
  if (signal === undefined) return effect
  const aborted = Effect.callback<never, ApiError.Transport>((resume) => {
    const abort = () => resume(Effect.fail(Disconnect.make(infoOf(request), "memory", "ABORTED", "aborted")))
    if (signal.aborted) abort()
    else signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })
  return Effect.raceFirst(Effect.interruptible(effect), Effect.interruptible(aborted))
}

/** Options of the connection. */
export interface Options {
  /**
   * `http2` (default) where possible: over TLS, without a proxy, and until the server declines it. Bun marks it experimental, so
   * `http1.1` can switch it off.
   */
  readonly protocol?: "http2" | "http1.1" | undefined
  /** The proxy settings; by default those of the environment. */
  readonly proxy?: ProxySettings.Environment | undefined
}

type Fetch = Bun.FetchSession["fetch"]

const sessionTls = (tls: Tls) => ({
  ...(tls.ca !== undefined && { ca: tls.ca }),
  ...(tls.cert !== undefined && { cert: tls.cert }),
  ...(tls.key !== undefined && { key: tls.key }),
  ...(tls.serverName !== undefined && { serverName: tls.serverName }),
  // Explicit, because otherwise NODE_TLS_REJECT_UNAUTHORIZED decides.
  rejectUnauthorized: tls.insecure !== true
})

/** A body that has more bytes than a request allows. */
class TooLarge extends Error {
  readonly code = "TOO_LARGE"
}

/**
 * Reads the whole body, and not the rest of one that is larger than allowed. Then the body is an empty text if the request has a limit, and the
 * first part if it is an error. Otherwise the request fails. The limits hold for the body without its compression.
 */
const textOf = async (answer: globalThis.Response, { maxBytes }: Request, abort: AbortController) => {
  const { body, headers, status } = answer
  if (body === null) return ""
  const isError = status >= 400
  const most = isError ? mostErrorBytes : (maxBytes ?? mostBytes)
  const length = headers.get("content-encoding") === null ? headers.get("content-length") : null
  // Reading in parts takes a sixth more CPU.
  if (length !== null && Number(length) <= most) return answer.text()
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.length
    if (bytes > most) {
      abort.abort()
      if (isError) return text
      if (maxBytes !== undefined) return ""
      throw new TooLarge()
    }
    text += decoder.decode(part.value, { stream: true })
  }
  return text + decoder.decode()
}

/**
 * A response with an empty body if its body is larger than the request allows: for transports in memory.
 *
 * @internal
 */
export const within = ({ maxBytes }: Pick<Request, "maxBytes">, response: Response): Response =>
  maxBytes === undefined || response.body.length <= maxBytes ? response : { ...response, body: "" }

const refused = (request: Request, server: string, error: CredentialsError): ApiError.Transport =>
  new ApiError.Transport({
    message: `${request.method} ${infoOf(request).path}: ${error.message}`,
    code: "CREDENTIALS",
    reason: error.message,
    outcome: "unsent",
    server,
    request: infoOf(request)
  })

/**
 * A transport to the cluster over the network. Its connections close with the scope.
 *
 * @internal
 */
export const make = Effect.fnUntraced(function* (cluster: Cluster, options: Options = {}) {
  const scope = yield* Effect.scope
  const environment = options.proxy ?? (yield* ProxySettings.environment)
  const url = new URL(cluster.server)
  // Like Go's clients, we ignore NO_PROXY for the proxy of a kubeconfig.
  const proxy = cluster.proxy ?? ProxySettings.resolve(url, environment)
  let http2 = options.protocol !== "http1.1" && url.protocol === "https:" && proxy === undefined

  let session: Bun.FetchSession | undefined
  let sessionKey: Tls | undefined
  const fetchWith = (tls: Tls): Fetch => {
    if (session === undefined || sessionKey !== tls) {
      // After a rotation, requests in progress finish on the old connection, and new requests use the new certificate.
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
      // On HTTP/2 Bun's timer belongs to the connection, so every request must switch it off, or watches end with it.
      timeout: false,
      ...(url.protocol === "https:" && { protocol: http2 ? "http2" : "http1.1" })
    })

  const place = proxy === undefined ? cluster.server : `proxy ${ProxySettings.shown(proxy)} to ${cluster.server}`
  const failed = (request: Request) => (error: unknown) =>
    Disconnect.fromThrown(infoOf(request), cluster.server, error, place)

  /**
   * Waits for credentials until the request is aborted. A plugin then continues for later requests, because it may take longer than
   * one request.
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
   * Sends a request with the current credentials. If the server rejects them, or its certificate is not trusted, and a renewal returns
   * new credentials, it sends the request again. The first attempt had no effect.
   */
  const negotiate = <A extends { readonly status: number }, R>(
    request: Request,
    sendOnce: (credentials: Credentials) => Effect.Effect<A, ApiError.Transport, R>,
    discard: (answer: A) => Effect.Effect<void>
  ): Effect.Effect<A, ApiError.Transport | ApiError.Fenced, R> => {
    // A plugin may have taken half a minute, in which the leadership may have ended.
    const attempt = (credentials: Credentials) => Fence.guard(request, sendOnce(credentials))
    const attemptDowngraded = (credentials: Credentials) =>
      Effect.catch(attempt(credentials), (error) => {
        // The TLS handshake reported it before any byte was sent. Later requests use HTTP/1.1 at once.
        if (error._tag !== "Transport" || error.code !== "HTTP2Unsupported") return Effect.fail(error)
        const first = http2
        http2 = false
        return Effect.andThen(
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
            : Effect.andThen(before, attemptDowngraded(credentials))
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
    Effect.callback<Response, ApiError.Transport>((resume) => {
      const controller = request.abort ?? new AbortController()
      const fail = (error: unknown) => resume(Effect.fail(failed(request)(error)))
      try {
        start(request, credentials, controller.signal).then(
          (answer) =>
            textOf(answer, request, controller).then(
              (body) => resume(Effect.succeed({ status: answer.status, headers: answer.headers, body })),
              fail
            ),
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
      // Registered before the request is sent, so that every interruption aborts it.
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
        // Ends only this response: the signal is that of the whole request.
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

/**
 * The transport to a cluster over the network.
 *
 * @example
 * ```ts
 * const transport = Transport.layer(Cluster.make({ server: "http://127.0.0.1:8001" }))
 * const manager = Effect.provide(Manager.launch([controller]), transport)
 * ```
 */
export const layer = (cluster: Cluster, options?: Options): Layer.Layer<Transport> =>
  Layer.effect(Transport, make(cluster, options))
