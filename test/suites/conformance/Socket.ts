/** Sends requests that `fetch` would correct or reject. */
import * as net from "node:net"
import * as tls from "node:tls"
import type { User } from "@homeostat/testkit/envtest/User"
import { Effect } from "effect"
import { limitMillis, NoAnswer } from "./Raw.ts"

export interface Answer {
  readonly status: number
  /** The body, joined from its chunks. */
  readonly text: string
}

/** Sends `METHOD TARGET HTTP/1.1` with these headers, and reads the response until the connection ends. */
export const request = (
  user: User,
  method: string,
  target: string,
  headers: ReadonlyArray<string> = [],
  body = ""
): Effect.Effect<Answer, NoAnswer> => {
  const { host, hostname, port, protocol } = new URL(user.server)
  const lines = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${host}`,
    "Connection: close",
    ...(user.token === undefined ? [] : [`Authorization: Bearer ${user.token}`]),
    ...(body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    ...headers
  ]
  const name = `${method} ${target.slice(0, 200)}`
  const to = { host: hostname, port: Number(port || (protocol === "https:" ? 443 : 80)) }
  const identity = { ca: user.ca, cert: user.cert, key: user.key }
  return Effect.callback<Answer, NoAnswer>((resume) => {
    const chunks: Array<Buffer> = []
    const socket = protocol === "https:" ? tls.connect({ ...to, ...identity }) : net.connect(to)
    const fail = (reason: string) => resume(new NoAnswer({ request: name, reason }))
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("error", (error) => fail(String(error)))
    socket.on("close", () => {
      const answer = parsed(Buffer.concat(chunks).toString("latin1"))
      if (answer === undefined) fail("the connection was closed without an answer")
      else resume(Effect.succeed(answer))
    })
    socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`)
    return Effect.sync(() => socket.destroy())
  }).pipe(
    Effect.timeoutOrElse({
      duration: limitMillis,
      orElse: () => Effect.fail(new NoAnswer({ request: name, reason: `no answer within ${limitMillis} ms` }))
    })
  )
}

/** Parses a response in which one character stands for one byte. */
const parsed = (answer: string): Answer | undefined => {
  const end = answer.indexOf("\r\n\r\n")
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1]
  if (end < 0 || status === undefined) return undefined
  const body = answer.slice(end + 4)
  const chunked = /^transfer-encoding: *chunked\r?$/im.test(answer.slice(0, end))
  return { status: Number(status), text: Buffer.from(chunked ? joined(body) : body, "latin1").toString("utf8") }
}

/** Joins the chunks of a body, without their sizes. */
const joined = (body: string): string => {
  const size = Number.parseInt(body, 16)
  if (!(size > 0)) return ""
  const start = body.indexOf("\r\n") + 2
  return body.slice(start, start + size) + joined(body.slice(start + size + 2))
}
