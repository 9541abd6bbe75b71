/**
 * HTTP/1.1 on a connection of the webhooks, with one request at a time. It reads no byte of a body before its owner has memory for it: the
 * socket pauses, and the kernel stops the client.
 *
 * Why not `node:http`: in Bun 1.4.5 it reads the body of a request before its handler asks for it, and the next requests of the connection.
 * So 300 clients with bodies of 3 MiB took 1.2 GB.
 *
 * A body has a `content-length`, as those of an API server: a client that sends chunks could hide its size. If bytes follow a request
 * before its answer, the connection closes after the answer.
 */
import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import type * as Clock from "effect/Clock"
import * as HttpHead from "./HttpHead.ts"
import type { OpenConnections } from "./OpenConnections.ts"

/** The size of the first line and the headers of a request, in bytes. */
const mostHead = 16_384

/** An answer with a body of text. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** A request whose head has arrived, until its answer. */
export interface Exchange {
  readonly head: HttpHead.Head
  readonly socket: Socket
  /** The bytes of the body that this process has read together with the head, and keeps. */
  readonly arrived: number
  /** Reads the body of {@link HttpHead.Head.length} bytes, once. A later answer leaves the rest of the body with the client. */
  readonly read: (done: (body: Buffer) => void) => void
  /** Sends the answer, if there was none. The connection closes after it if the body was not read. */
  readonly answer: (answer: Answer) => void
  /** Whether the client still waits for the answer. */
  readonly isOpen: () => boolean
  /** Calls each function once: after the answer has left, or when the connection closes. */
  readonly onEnd: (end: () => void) => void
}

/** The owner of the connections. */
export interface Owner {
  readonly clock: Clock.Clock
  readonly connections: OpenConnections
  /** Waits for the turn of a connection to read again, after so many bytes. */
  readonly turn: (bytes: number, address: string, read: () => void) => void
  /** Answers a request, at any time. */
  readonly handle: (exchange: Exchange) => void
  /** Whether the port closes, so that each answer is the last one of its connection. */
  readonly isEnding: () => boolean
}

const nothing = Buffer.alloc(0)

/** Smaller buffers can share their memory. */
const leastOwn = 16 * 1024

/** Frees the memory of a buffer at once, because the garbage collector lets hundreds of MB of such memory gather. */
const free = ({ buffer, length }: Buffer): void => {
  if (length >= leastOwn && length === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** Stops reading at once. Bun's `pause` alone goes on until the stream has buffered a chunk or two, of half a MB each. */
const pause = (socket: Socket & { readonly _handle?: { readonly pause?: () => void } | null }): void => {
  socket.pause()
  socket._handle?.pause?.()
}

/** Answers the requests of a connection until it closes. */
export const serve = (socket: Socket, { clock, connections, handle, isEnding, turn }: Owner): void => {
  const address = socket.remoteAddress ?? ""
  /** The bytes of the next request's head, in Latin-1. */
  let text = ""
  /** Takes the next bytes. */
  let take: (chunk: Buffer) => void
  /** Whether the connection closes after the answer. */
  let isLast = false
  let isResuming = false
  const resume = (bytes: number): void => {
    if (isResuming) return
    isResuming = true
    turn(bytes, address, () => {
      isResuming = false
      if (!socket.destroyed) socket.resume()
    })
  }
  // The bytes after a request are lost, and the connection no longer reads: a client with more of them has to wait.
  const drop = (): void => {
    isLast = true
  }

  const write = ({ body, status, type }: Answer, sent: () => void): void => {
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      `content-type: ${type}`,
      `content-length: ${Buffer.byteLength(body)}`,
      `date: ${new Date(clock.currentTimeMillisUnsafe()).toUTCString()}`,
      ...(isLast ? ["connection: close"] : [])
    ]
    socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`, sent)
  }
  const next = (): void => {
    if (socket.destroyed) return
    if (isLast) {
      take = drop
      connections.enter(socket, "ending")
      socket.end()
    } else {
      take = takeHead
      connections.enter(socket, "idle")
    }
    resume(0)
  }
  const refuse = (status: number, reason: string): void => {
    isLast = true
    take = drop
    write({ status, type: "text/plain; charset=utf-8", body: `${reason}\n` }, next)
  }

  const exchangeOf = (head: HttpHead.Head, first: Buffer): Exchange & { readonly keep: () => void } => {
    const { length = 0, request } = head
    let rest = first
    let left = length
    let body = nothing
    let isAnswered = false
    let ends: Array<() => void> | undefined = []
    const end = (): void => {
      const all = ends ?? []
      ends = undefined
      socket.off("close", end)
      for (const each of all) each()
      free(rest)
      free(body)
    }
    socket.on("close", end)
    return {
      // Without the chunk that it is a part of.
      keep: () => {
        if (rest.length > 0) rest = Buffer.from(rest)
      },
      head,
      socket,
      arrived: first.length,
      isOpen: () => !isAnswered && !socket.destroyed,
      onEnd: (each) => void ends?.push(each),
      read: (done) => {
        body = Buffer.allocUnsafe(length)
        take = (chunk) => {
          const taken = chunk.copy(body, length - left)
          left -= taken
          if (taken < chunk.length) isLast = true
          if (left === 0) {
            take = drop
            if (!isAnswered) done(body)
          }
          // Also after the body, because a paused socket does not report that the client is gone.
          if (!isLast) resume(chunk.length)
        }
        if (rest.length === 0 && request.headers.get("expect") === "100-continue") {
          socket.write("HTTP/1.1 100 Continue\r\n\r\n")
        }
        const before = rest
        rest = nothing
        take(before)
        free(before)
      },
      answer: (answer) => {
        if (isAnswered || socket.destroyed) return
        isAnswered = true
        if (left > 0 || head.length === undefined || isEnding()) isLast = true
        take = drop
        write(answer, () => {
          end()
          next()
        })
      }
    }
  }

  const takeHead = (chunk: Buffer): void => {
    const before = text.length
    text += chunk.toString("latin1", 0, mostHead + 1)
    const at = text.indexOf(HttpHead.end, Math.max(0, before - HttpHead.end.length + 1))
    if (at < 0 && text.length <= mostHead) {
      resume(chunk.length)
      return
    }
    const head = at < 0 || at > mostHead ? undefined : HttpHead.parse(text.slice(0, at))
    text = ""
    if (at < 0 || at > mostHead) refuse(431, `the headers are too large (at most ${mostHead} bytes)`)
    else if (head === undefined) refuse(400, "this is not a valid HTTP/1.1 request")
    else {
      const first = chunk.subarray(at + HttpHead.end.length - before)
      isLast = !head.isPersistent || first.length > (head.length ?? 0)
      take = drop
      const exchange = exchangeOf(head, first)
      handle(exchange)
      exchange.keep()
    }
  }

  take = takeHead
  // Until its turn, here and after each chunk.
  pause(socket)
  socket.on("data", (chunk: Buffer) => {
    pause(socket)
    take(chunk)
    free(chunk)
  })
  resume(mostHead)
}
