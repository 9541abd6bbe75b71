/**
 * The server on the network: HTTP/1.1, plain or with TLS. This module connects Effect with the handlers of `node:http`. Requests run as
 * fibers of the scope that started the server, with the Clock of that scope. A client that disconnects interrupts its own fibers.
 *
 * `Bun.serve` handles twice as many requests per second (15 000 instead of 8 000, more than this server can process). But it sends the
 * headers of a stream only with the first bytes. Without events, the client of a watch would wait for its headers for hours.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { AddressInfo, Server as NetServer, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { createServer as createTlsServer, type TLSSocket } from "node:tls"
import { gzipSync } from "node:zlib"
import { Data, Effect, FiberSet, type Scope } from "effect"
import * as Authentication from "../access/Authentication.ts"
import * as ClientCertificate from "../access/ClientCertificate.ts"
import { separator } from "../access/Impersonation.ts"
import * as Failure from "../model/Failure.ts"
import type { User } from "../model/User.ts"
import * as Step from "../storage/Step.ts"
import type { ApiServer, HttpResponse } from "./ApiServer.ts"
import * as Exchange from "./Exchange.ts"
import * as Unparsed from "./Unparsed.ts"

/** The server cannot listen at its address. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{ readonly reason: string }> {
  override get message(): string {
    return `the API server cannot listen: ${this.reason}`
  }
}

/** The certificates and keys of TLS, in PEM. */
export interface Tls {
  readonly cert: string
  readonly key: string
  /** The CA of client certificates, which name users. A client can have a token instead. A certificate of another CA gets 401. */
  readonly clientCa?: string | undefined
}

/** The options of a listening server. */
export interface Options {
  /** The host. Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** The port. Default: a free one. */
  readonly port?: number | undefined
  readonly tls?: Tls | undefined
  /** The user of requests without a token or a certificate; `false`: they get 401. Default: the server's `user`. */
  readonly anonymous?: User | false | undefined
}

/** A listening server. */
export interface Listening {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string
  readonly port: number
  /** The number of requests without a complete response, including watches. */
  readonly pending: () => number
}

/** Listens until the scope closes. Closes all connections then. Fails if it cannot listen. */
export const serve = (server: ApiServer, options: Options = {}): Effect.Effect<Listening, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const fibers = yield* FiberSet.make<void>()
    let pending = 0
    const listener: RequestListener = (request, response) => {
      pending++
      request.socket.setTimeout(0)
      const headers = headersOf(request)
      const answer = Effect.flatMap(Effect.all([bodyOf(request), userOf(request, headers, options)]), ([body, user]) =>
        server.handle({ method: request.method ?? "GET", path: request.url ?? "/", headers, body, user })
      )
      const fiber = Effect.runForkWith(context)(
        Effect.flatMap(
          Effect.catch(answer, (failure) => Effect.succeed(unread(failure))),
          (answer) => send(answer, request, response)
        )
      )
      FiberSet.addUnsafe(fibers, fiber)
      response.once("close", () => {
        pending--
        fiber.interruptUnsafe()
      })
    }
    const refused = (error: Unparsed.Refused, socket: Duplex): void => {
      const request = Unparsed.read(error)
      const answer =
        request === undefined
          ? Effect.succeed(Unparsed.refusal(error))
          : Effect.flatMap(withoutCertificate(request.headers, options), (user) =>
              Effect.map(server.handle({ ...request, user }), Unparsed.answer)
            )
      const sent = Effect.map(
        Effect.catch(answer, (failure) => Effect.succeed(Unparsed.answer(unread(failure)))),
        (text) => void socket.end(text)
      )
      FiberSet.addUnsafe(fibers, Effect.runForkWith(context)(sent))
    }
    const host = options.host ?? "127.0.0.1"
    const made = make(listener, options.tls)
    made.keepAliveTimeout = idleMillis
    made.on("clientError", refused)
    made.on("connection", (socket: Socket) => socket.setTimeout(headMillis, () => socket.destroy()))
    const certified = new Set<Socket>()
    const outer = options.tls?.clientCa === undefined ? made : certifying(made, options.tls, certified)
    const listening = yield* Effect.acquireRelease(listen(outer, host, options.port ?? 0), (outer) =>
      close(outer, made, certified)
    )
    // A TCP server always has an address with a port.
    const { port } = listening.address() as AddressInfo
    return { url: `${options.tls === undefined ? "http" : "https"}://${host}:${port}`, port, pending: () => pending }
  })

/** The maximum size of the request line and the headers, in bytes: that of Go's server in a kube-apiserver. */
const maxHeaderSize = 1024 * 1024
const headMillis = 32_000

/**
 * The lifetime of an idle connection, as in kube-apiserver. The five seconds of `node:http` would end many connections at the moment of
 * a request, and its client could not know the outcome.
 */
const idleMillis = 90_000

const make = (listener: RequestListener, tls: Tls | undefined): Server =>
  tls === undefined || tls.clientCa !== undefined
    ? createServer({ maxHeaderSize }, listener)
    : createHttpsServer({ maxHeaderSize, cert: tls.cert, key: tls.key }, listener)

/** Adds TLS to a server. Bun's `node:https` does not expose the certificates of clients, but its `node:tls` does. */
const certifying = (server: Server, { cert, clientCa, key }: Tls, sockets: Set<Socket>): NetServer =>
  createTlsServer({ cert, key, ca: clientCa, requestCert: true, rejectUnauthorized: false }, (socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    // A client that closes its connection early is not an error of the server.
    socket.on("error", () => socket.destroy())
    server.emit("connection", socket)
  })

const listen = (server: NetServer, host: string, port: number): Effect.Effect<NetServer, ListenFailed> =>
  Effect.callback((resume) => {
    server.once("error", ({ message }) => resume(new ListenFailed({ reason: message })))
    server.listen({ host, port, exclusive: true }, () => resume(Effect.succeed(server)))
  })

const close = (outer: NetServer, server: Server, sockets: ReadonlySet<Socket>): Effect.Effect<void> =>
  Effect.callback((resume) => {
    outer.close(() => resume(Effect.void))
    server.closeAllConnections()
    for (const socket of sockets) socket.destroy()
  })

const headersOf = ({ headers, headersDistinct }: IncomingMessage): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value = ""]) => {
      if (name.startsWith("impersonate-")) return [name, (headersDistinct[name] ?? []).join(separator)]
      return [name, Array.isArray(value) ? value.join(", ") : value]
    })
  )

type Headers = { readonly [name: string]: string }

/** The user that a client certificate names, or else that of a request without one. */
const userOf = (
  { socket }: IncomingMessage,
  headers: Headers,
  options: Options
): Effect.Effect<User | undefined, Failure.Failure> =>
  Effect.flatMap(
    options.tls?.clientCa === undefined || !("getPeerCertificate" in socket)
      ? Effect.succeed(undefined)
      : Effect.try({ try: () => ClientCertificate.userOf(socket as TLSSocket), catch: Step.failureOf }),
    (certified) => (certified === undefined ? withoutCertificate(headers, options) : Effect.succeed(certified))
  )

/** Undefined for a request with a token, whose user the server finds. */
const withoutCertificate = (
  { authorization }: Headers,
  { anonymous }: Options
): Effect.Effect<User | undefined, Failure.Failure> => {
  if (Authentication.tokenOf(authorization) !== undefined) return Effect.succeed(undefined)
  return anonymous === false ? Effect.fail(Failure.unauthorized()) : Effect.succeed(anonymous)
}

/** The server reads at most this many bytes of a body. For a larger body, the error is about this part. */
const mostBytes = 4 * 1024 * 1024

/** The time limit for the arrival of a request, as in a kube-apiserver. */
const patience = "60 seconds"

const bodyOf = (request: IncomingMessage): Effect.Effect<Uint8Array | undefined, Failure.Failure> =>
  Effect.timeoutOrElse(received(request), { duration: patience, orElse: Failure.timeout })

const received = (request: IncomingMessage): Effect.Effect<Uint8Array | undefined> =>
  Effect.callback((resume) => {
    const parts: Array<Uint8Array> = []
    let length = 0
    request.on("data", (part: Uint8Array) => {
      if (length < mostBytes) parts.push(part)
      length += part.length
    })
    request.once("end", () => resume(Effect.succeed(parts.length === 0 ? undefined : Buffer.concat(parts))))
  })

/** The response to a request whose body did not arrive. It closes the connection, because more of the body might follow. */
const unread = (failure: Failure.Failure): HttpResponse => {
  const answer = Exchange.refusal({ warnings: new Set() }, failure)
  return { ...answer, headers: { ...answer.headers, connection: "close" } }
}

/** The minimum size of a compressed response, in bytes, as in a kube-apiserver. */
const leastCompressed = 128 * 1024

/** True if the server compresses the response. */
const isCompressed = (
  { binary = false, body, headers, status }: HttpResponse,
  { headers: { "accept-encoding": encodings = "" }, method }: IncomingMessage
): boolean =>
  typeof body === "string" &&
  Buffer.byteLength(body, binary ? "latin1" : "utf8") >= leastCompressed &&
  method === "GET" &&
  status === 200 &&
  headers["content-encoding"] === undefined &&
  String(encodings)
    .split(",")
    .some((encoding) => encoding.replace(/;.*$/s, "").trim() === "gzip")

/** Sends a response. It sends the headers of a stream at once, and each part as soon as the client can receive it. */
const send = (answer: HttpResponse, request: IncomingMessage, response: ServerResponse): Effect.Effect<void> => {
  const { binary = false, body, headers, status } = answer
  const { method } = request
  const encoding = binary ? "latin1" : "utf8"
  if (typeof body === "string" && isCompressed(answer, request)) {
    response.writeHead(status, { ...headers, "content-encoding": "gzip", vary: "Accept-Encoding" })
    return Effect.sync(() => void response.end(gzipSync(Buffer.from(body, encoding), { level: 1 })))
  }
  response.writeHead(status, headers)
  if (typeof body === "string") {
    return Effect.sync(() => void response.end(status === 304 || method === "HEAD" ? "" : body, encoding))
  }
  response.flushHeaders()
  const rest: Effect.Effect<void> = Effect.flatMap(body.next, (part) => {
    if (part === undefined) return Effect.sync(() => void response.end())
    return Effect.andThen(response.write(part, encoding) ? turn : drained(response), rest)
  })
  return Effect.ensuring(rest, body.close)
}

/** Waits for the next turn of the event loop. Events until then share one write, because the write is the largest cost of an event. */
const turn: Effect.Effect<void> = Effect.callback((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

const drained = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const resumed = () => resume(Effect.void)
    response.once("drain", resumed)
    return Effect.sync(() => response.off("drain", resumed))
  })
