/**
 * A port of a manager that answers HTTP, with bounds for its connections.
 *
 * Why `node:net` and not `Bun.serve`: `Bun.serve` does not show its connections, so it takes as many as the process has files. And it
 * cannot change the certificate of an open port. This port starts in 1.5 ms. A request on a new connection costs 200 µs of CPU with its
 * client, and 100 µs with `Bun.serve` (Bun 1.4.5, 2000 requests).
 */
import { createServer as createWeb, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as CertificateSource from "../webhook/CertificateSource.ts"
import * as Listener from "../webhook/Listener.ts"
import * as OpenConnections from "../webhook/OpenConnections.ts"
import type * as BindAddress from "./BindAddress.ts"

/** Concurrent connections of one IP address: more than its requests of a route, so that it reads why more are refused. */
export const mostConnectionsOfAddress = 200

const limits: OpenConnections.Limits = {
  most: 1000,
  mostOfAddress: mostConnectionsOfAddress,
  patience: { new: 5000, receiving: 0, idle: 10_000, working: 10_000 }
}

/** The size of the headers of a request, in bytes. A token of a user with many groups has some thousand characters. */
const maxHeaderSize = 16_384

/** Answers a request, and then waits until its answer is `sent`. A failure closes the connection. */
export type Answer = (
  request: Request,
  address: string | undefined,
  sent: (response: Response) => Promise<void>
) => Promise<void>

/** The request in the form of `fetch`. */
const requestOf = ({ headers, method = "GET", url = "/" }: IncomingMessage): Request => {
  // The client can make the URL invalid.
  const at = URL.parse(url.startsWith("/") ? `http://${headers.host ?? "localhost"}${url}` : url)
  const fields = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) fields.set(name, Array.isArray(value) ? value.join(", ") : value)
  }
  return new Request(at?.protocol === "http:" ? at : "http://localhost/", { method, headers: fields })
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0

/** The state of a connection. */
interface Dialog {
  /** It has its last answer, and closes. */
  isEnding: boolean
  /** What the end of the connection calls: the waiting responses, whose own `close` comes only with their turn. */
  readonly onClose: Set<() => void>
}

/** Sends a response; ends when the client has it or is gone. */
const send = async (
  { method, socket }: IncomingMessage,
  response: ServerResponse,
  { body, headers, status }: Response,
  { onClose }: Dialog
): Promise<void> => {
  const bytes = body === null ? Buffer.alloc(0) : Buffer.from(await Bun.readableStreamToArrayBuffer(body))
  if (response.destroyed || socket.destroyed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  response.on("finish", resolve)
  response.on("close", resolve)
  onClose.add(resolve)
  response.writeHead(status, { ...Object.fromEntries(headers), "content-length": bytes.length })
  response.end(method === "HEAD" ? undefined : bytes)
  await promise
  onClose.delete(resolve)
}

/**
 * Listens until the scope closes, which closes all connections. Returns the port. Fails with the error of the system.
 *
 * @param certificates for a port that accepts only TLS; it shows later ones to new connections
 */
export const make = (
  { hostname, port }: BindAddress.BindAddress,
  certificates: CertificateSource.Source | undefined,
  answer: Answer
): Effect.Effect<number, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const connections = OpenConnections.make(yield* Clock.Clock, limits)
    const dialogs = new WeakMap<Socket, Dialog>()

    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      const { socket } = request
      const dialog = dialogs.get(socket)
      // Requests behind the last one would wait in memory for the slow ones before it.
      if (dialog === undefined || dialog.isEnding) {
        socket.destroy()
        return
      }
      connections.enter(socket, "working")
      const sent = async (given: Response): Promise<void> => {
        const isLast = given.headers.get("connection") === "close"
        if (isLast) dialog.isEnding = true
        await send(request, response, given, dialog)
        if (isLast) socket.destroy()
        else connections.enter(socket, "idle")
      }
      const answered = hasBody(request)
        ? sent(new Response("this path takes no body\n", { status: 413, headers: { connection: "close" } }))
        : answer(requestOf(request), socket.remoteAddress, sent)
      answered.catch(() => socket.destroy())
    }

    const web = createWeb({ maxHeaderSize }, handle)
    const accept = (socket: Socket): void => {
      const dialog: Dialog = { isEnding: false, onClose: new Set() }
      dialogs.set(socket, dialog)
      socket.on("error", () => socket.destroy())
      socket.on("close", () => {
        for (const each of dialog.onClose) each()
      })
      web.emit("connection", socket)
    }
    const contextOf = ({ certificate, key }: CertificateSource.Pair) => ({ cert: certificate, key })
    const tls =
      certificates && createTlsServer({ ...contextOf(certificates.first), ALPNProtocols: ["http/1.1"] }, accept)
    tls?.on("tlsClientError", (_, socket) => socket.destroy())
    const server: Server = tls ?? createServer()
    // Before the handshake, and before the bytes of the client.
    server.on("connection", (socket: Socket) => {
      connections.add(socket, socket.remoteAddress ?? "")
      if (tls === undefined && !socket.destroyed) accept(socket)
    })
    yield* Effect.acquireRelease(Listener.listen(server, hostname, port), () =>
      Effect.andThen(
        Effect.sync(() => void server.close()),
        connections.close
      )
    )
    if (tls !== undefined && certificates !== undefined) {
      yield* Effect.forkScoped(
        CertificateSource.follow(certificates, (pair) => Effect.sync(() => tls.setSecureContext(contextOf(pair))))
      )
    }
    yield* Effect.forkScoped(connections.sweep)
    return (server.address() as AddressInfo).port
  })
