/**
 * A port of a manager that answers HTTP, with bounds for its connections.
 *
 * It answers one request of a connection at a time. More bytes may follow a request before its answer: another request, or a body that its
 * route does not take. Then the connection closes after the answer.
 *
 * Why not `Bun.serve`: it does not show its connections, so it takes as many as the process has files. And it cannot change the
 * certificate of an open port. Why not `node:http`: it reads all requests that a client sends at once. With 500 clients that send 5,000
 * requests each, the process had 10 GB. A request on a new connection costs 140 µs of CPU with its client, and 90 µs with `Bun.serve`
 * (Bun 1.4.5).
 */
import { STATUS_CODES } from "node:http"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as CertificateSource from "../webhook/CertificateSource.ts"
import * as HttpHead from "../webhook/HttpHead.ts"
import * as Listener from "../webhook/Listener.ts"
import * as OpenConnections from "../webhook/OpenConnections.ts"
import * as Uploads from "../webhook/Uploads.ts"
import type * as BindAddress from "./BindAddress.ts"

/** Concurrent connections of one IP address: more than its requests of a route, so that it reads why more are refused. */
export const mostConnectionsOfAddress = 200

const limits: OpenConnections.Limits = {
  most: 1000,
  mostOfAddress: mostConnectionsOfAddress,
  patience: { new: 5000, receiving: 10_000, idle: 10_000, working: 10_000, ending: 10_000 }
}

/** The size of the first line and the headers of a request, in bytes. A token of a user with many groups has some thousand. */
const mostHead = 16_384

/** Reads the body of a request: the request with its body of at most this many bytes, or the response that says why there is none. */
export type Read = (maxBytes: number) => Promise<Request | Response>

/**
 * Answers a request, and then waits until its answer is `sent`. A failure closes the connection. The request has no body before `read`,
 * which is called in the same turn of the event loop.
 */
export type Answer = (
  request: Request,
  address: string | undefined,
  sent: (response: Response) => Promise<void>,
  read: Read
) => Promise<void>

/** The state of a connection. */
interface Dialog {
  /** The bytes of the next request, in Latin-1. */
  head: string
  phase: "reading" | "answering" | "ending"
  /** Takes the bytes of the body; absent while none is read. */
  receive: ((chunk: Buffer) => void) | undefined
  /** Whether the connection closes after the answer. */
  isLast: boolean
}

/** A body in memory. */
interface Stored {
  /** Its place among the bodies of the port, until the answer. */
  readonly upload: Uploads.Upload
  readonly content: Buffer
}

const noop = (): void => {}

/** A body that does not get a place at once gets none, so any time in ms. */
const patience = 1000

/** A response to bytes other than a valid request, or to a request with a body that its route does not take. */
const refusal = (status: number, reason: string): Response => new Response(`${reason}\n`, { status })

/** Why a port does not read a body of this length; undefined if it does. */
const refusalOf = (method: string, bytes: number | undefined, maxBytes: number): Response | undefined => {
  if (maxBytes === 0 || method === "GET" || method === "HEAD") return refusal(413, "this request takes no body")
  if (bytes === undefined) return refusal(411, "the length of the body is missing (add the header content-length)")
  return bytes > maxBytes ? refusal(413, `the body is too large: ${bytes} bytes (at most ${maxBytes})`) : undefined
}

/** The bytes of a response, with the headers that HTTP requires. */
const bytesOf = async (
  { body, headers, status }: Response,
  now: number,
  isHead: boolean,
  isLast: boolean
): Promise<Buffer> => {
  const content = body === null ? Buffer.alloc(0) : Buffer.from(await Bun.readableStreamToArrayBuffer(body))
  headers.set("date", new Date(now).toUTCString())
  headers.set("content-length", String(content.length))
  if (isLast) headers.set("connection", "close")
  const lines = Array.from(headers, ([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n`, "latin1")
  return isHead ? head : Buffer.concat([head, content])
}

/** Sends bytes; ends when the system has them, or when the connection closes. */
const send = (socket: Socket, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      socket.off("close", done)
      resolve()
    }
    socket.on("close", done)
    socket.write(bytes, done)
  })

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
    const clock = yield* Clock.Clock
    const connections = OpenConnections.make(clock, limits)
    const uploads = Uploads.make(clock)
    const respond = async (socket: Socket, dialog: Dialog, response: Response, isHead: boolean): Promise<void> => {
      if (response.headers.get("connection") === "close") dialog.isLast = true
      const bytes = await bytesOf(response, clock.currentTimeMillisUnsafe(), isHead, dialog.isLast)
      if (socket.destroyed) return
      await send(socket, bytes)
      connections.enter(socket, "idle")
      if (dialog.isLast) {
        dialog.phase = "ending"
        socket.end()
      } else dialog.phase = "reading"
    }

    /** Reads a body of this length. Undefined: other bodies take all memory for them. */
    const receiveBody = (socket: Socket, dialog: Dialog, bytes: number, first: Buffer): Promise<Stored | undefined> =>
      new Promise((resolve, reject) => {
        const settle = (end: () => void): void => {
          dialog.receive = undefined
          socket.off("close", lost)
          end()
        }
        const refused = (): void => settle(() => resolve(undefined))
        const upload = uploads.add({ length: bytes, arrived: first.length }, patience, noop, refused)
        if (upload?.isReading === false) uploads.retry()
        if (upload?.isReading !== true) {
          if (upload !== undefined) uploads.remove(upload)
          return resolve(undefined)
        }
        const lost = (): void =>
          settle(() => {
            uploads.remove(upload)
            reject(new Error("the connection is closed"))
          })
        socket.on("close", lost)
        const content = Buffer.allocUnsafe(bytes)
        let size = 0
        const receive = (chunk: Buffer): void => {
          if (chunk.length > bytes - size) dialog.isLast = true
          size += chunk.copy(content, size)
          if (size < bytes) return
          upload.isComplete = true
          settle(() => resolve({ upload, content }))
        }
        dialog.receive = receive
        connections.enter(socket, "receiving")
        receive(first)
      })

    const handle = async (socket: Socket, dialog: Dialog, text: string, rest: Buffer): Promise<void> => {
      const head = HttpHead.parse(text)
      if (head === undefined || head.length !== 0 || rest.length > 0 || !head.isPersistent) dialog.isLast = true
      if (head === undefined)
        return respond(socket, dialog, refusal(400, "this is not a valid HTTP/1.1 request"), false)
      const { isPersistent, length, request } = head
      let stored: Stored | undefined
      const read: Read = async (maxBytes) => {
        if (length === 0) return request
        const refused = refusalOf(request.method, length, maxBytes)
        if (refused !== undefined || length === undefined) return refused ?? request
        dialog.isLast = !isPersistent
        // As curl waits for, before it sends a large body.
        if (/^100-continue$/i.test(request.headers.get("expect") ?? "")) socket.write("HTTP/1.1 100 Continue\r\n\r\n")
        stored = await receiveBody(socket, dialog, length, rest)
        connections.enter(socket, "working")
        if (stored === undefined) dialog.isLast = true
        return stored === undefined
          ? refusal(503, "other bodies take all memory for bodies; try again")
          : new Request(request, { body: stored.content })
      }
      try {
        const sent = (response: Response) => respond(socket, dialog, response, request.method === "HEAD")
        await answer(request, socket.remoteAddress, sent, read)
      } finally {
        if (stored !== undefined) uploads.remove(stored.upload)
      }
    }

    const receive = (socket: Socket, dialog: Dialog, chunk: Buffer): void => {
      if (dialog.receive !== undefined) {
        dialog.receive(chunk)
        return
      }
      if (dialog.phase !== "reading") {
        dialog.isLast = true
        return
      }
      const before = dialog.head.length
      dialog.head += chunk.toString("latin1", 0, mostHead + 1)
      const at = dialog.head.indexOf(HttpHead.end, Math.max(0, before - HttpHead.end.length + 1))
      if (at < 0 && dialog.head.length <= mostHead) return
      const text = dialog.head.slice(0, at)
      const rest = chunk.subarray(Math.max(0, at + HttpHead.end.length - before))
      dialog.isLast = false
      dialog.head = ""
      dialog.phase = "answering"
      connections.enter(socket, "working")
      const done =
        at < 0 || at > mostHead
          ? respond(socket, dialog, refusal(431, `the headers are too large (at most ${mostHead} bytes)`), false)
          : handle(socket, dialog, text, rest)
      done.catch(() => socket.destroy())
    }

    const accept = (socket: Socket): void => {
      const dialog: Dialog = { head: "", phase: "reading", receive: undefined, isLast: false }
      socket.on("error", () => socket.destroy())
      socket.on("data", (chunk: Buffer) => receive(socket, dialog, chunk))
    }
    const contextOf = ({ certificate, key }: CertificateSource.Pair) => ({
      cert: certificate,
      key,
      minVersion: "TLSv1.2" as const
    })
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
