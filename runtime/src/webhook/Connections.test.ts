/** The connections of the webhook server: their shutdown and their memory. */
import { describe, expect, test } from "bun:test"
import { connect, type TLSSocket } from "node:tls"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as SelfSigned from "../manager/SelfSigned.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import type * as Reply from "./Reply.ts"
import * as WebhookServer from "./WebhookServer.ts"

const pair = SelfSigned.make(["localhost"], Date.now())

const answered = { code: 200, panicked: false, body: { done: true } }

const serve = async (endpoint: Reply.Endpoint) => {
  const scope = Effect.runSync(Scope.make())
  const { port } = await Effect.runPromise(
    WebhookServer.make({
      hostname: "127.0.0.1",
      port: 0,
      certificates: { first: pair, after: () => Effect.never },
      routes: new Map([["/answer", { type: "admission", endpoint }]])
    }).pipe(Scope.provide(scope), Effect.provideService(Metrics.Metrics, Metrics.make()))
  )
  return { port, shutDown: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

/** A connection that reads the responses as text. */
const client = async (port: number) => {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false })
  const state = { text: "", closed: false }
  socket.on("data", (data) => {
    state.text += data
  })
  socket.on("close", () => {
    state.closed = true
  })
  socket.on("error", () => {})
  await new Promise((resolve) => socket.once("secureConnect", resolve))
  return { socket, state }
}

const post = (socket: TLSSocket): boolean =>
  socket.write(
    "POST /answer HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
  )

const until = async (holds: () => boolean) => {
  for (let at = 0; at < 500 && !holds(); at++) await Bun.sleep(10)
  expect(holds()).toBe(true)
}

const answers = (text: string): number => text.split("HTTP/1.1 200").length - 1

describe("the webhook server", () => {
  test("answers a request that arrived after the shutdown began, while the process did not read for two seconds", async () => {
    const server = await serve(() => Effect.succeed(answered))
    const { socket, state } = await client(server.port)
    post(socket)
    await until(() => answers(state.text) === 1)
    const down = server.shutDown()
    await Bun.sleep(50)
    post(socket)
    Bun.sleepSync(2000)
    await until(() => answers(state.text) === 2)
    expect(state.text.toLowerCase()).toContain("connection: close")
    await until(() => state.closed)
    await down
  })

  test("announces the end of a connection before it shuts down", async () => {
    const server = await serve(() => Effect.delay(Effect.succeed(answered), "100 millis"))
    const { socket, state } = await client(server.port)
    post(socket)
    await Bun.sleep(50)
    const down = server.shutDown()
    await until(() => state.closed)
    expect(state.text.toLowerCase()).toContain("connection: close")
    await down
  })

  const text = "POST /answer HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
  const pipelines: ReadonlyArray<readonly [string, string, { readonly started: number; readonly closes: boolean }]> = [
    ["one request", `${text}content-length: 2\r\n\r\n{}`, { started: 1, closes: false }],
    ["two requests", `${text}content-length: 2\r\n\r\n{}`.repeat(2), { started: 1, closes: true }],
    ["three requests", `${text}content-length: 2\r\n\r\n{}`.repeat(3), { started: 1, closes: true }],
    ["300 requests", `${text}content-length: 2\r\n\r\n{}`.repeat(300), { started: 1, closes: true }],
    [
      "300 chunked requests",
      `${text}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`.repeat(300),
      { started: 0, closes: true }
    ],
    [
      "300 requests of unknown paths",
      "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(300),
      { started: 0, closes: true }
    ]
  ]
  for (const [name, bytes, { closes, started }] of pipelines) {
    test(`answers ${name} of one connection one after the other`, async () => {
      let begun = 0
      let running = 0
      let most = 0
      const server = await serve(() =>
        Effect.gen(function* () {
          begun++
          most = Math.max(most, ++running)
          yield* Effect.sleep("50 millis")
          running--
          return answered
        })
      )
      const { socket, state } = await client(server.port)
      socket.write(bytes)
      await until(() => (closes ? state.closed : answers(state.text) === bytes.split("POST").length - 1))
      expect({ most, begun }).toEqual({ most: started, begun: closes ? started : bytes.split("POST").length - 1 })
      if (!closes) {
        // The connection still serves.
        post(socket)
        await until(() => answers(state.text) === bytes.split("POST").length)
      }
      socket.destroy()
      await server.shutDown()
    })
  }

  const sizes: ReadonlyArray<readonly [string, number, number]> = [
    ["60 kB", 60_000, 1],
    ["30 kB", 30_000, 2],
    ["100 kB", 100_000, 1]
  ]
  for (const [name, bytes, most] of sizes) {
    test(`answers ${most} of many reviews of ${name} in a turn of the event loop`, async () => {
      const turns = new Map<number, number>()
      let turn = 0
      let isOver = false
      const next = (): void => {
        turn++
        if (!isOver) setImmediate(next)
      }
      const server = await serve(() => {
        turns.set(turn, (turns.get(turn) ?? 0) + 1)
        return Effect.succeed(answered)
      })
      const body = JSON.stringify("x".repeat(bytes - 2))
      const clients = await Promise.all(Array.from({ length: 12 }, () => client(server.port)))
      next()
      for (const { socket } of clients) {
        socket.write(
          `POST /answer HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n${body}`
        )
      }
      await until(() => clients.every(({ state }) => answers(state.text) === 1))
      isOver = true
      expect(Math.max(...turns.values())).toBeWithin(1, most + 1)
      expect([...turns.values()].reduce((sum, each) => sum + each, 0)).toBe(12)
      for (const { socket } of clients) socket.destroy()
      await server.shutDown()
    })
  }

  test("answers large bodies side by side while their checks wait", async () => {
    const server = await serve(() => Effect.delay(Effect.succeed(answered), "1 second"))
    const body = JSON.stringify("x".repeat(200 * 1024))
    const startedAt = performance.now()
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const { status } = await fetch(`https://127.0.0.1:${server.port}/answer?timeout=10s`, {
          method: "POST",
          body,
          headers: { "content-type": "application/json" },
          tls: { rejectUnauthorized: false }
        })
        return status
      })
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(performance.now() - startedAt).toBeLessThan(8000)
    await server.shutDown()
  }, 30_000)

  test("rejects a content length that is not a number", async () => {
    const server = await serve(() => Effect.succeed(answered))
    for (const length of ["abc", "-5", "0x10", "1e3", "1.5"]) {
      const { socket, state } = await client(server.port)
      socket.write(
        `POST /answer HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n{}`
      )
      await until(() => state.closed || state.text !== "")
      expect({ length, status: state.text.slice(9, 12) }).toEqual({ length, status: "400" })
      socket.destroy()
    }
    await server.shutDown()
  })

  test("asks a client that sends chunks for the length of the body", async () => {
    const server = await serve(() => Effect.succeed(answered))
    const { socket, state } = await client(server.port)
    socket.write(`${text}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n`)
    await until(() => state.closed)
    expect(state.text).toStartWith("HTTP/1.1 411 Length Required")
    expect(state.text).toEndWith("the request has no content-length header (chunks are not accepted)\n")
    await server.shutDown()
  })

  test("asks for a body whose client waits to be asked", async () => {
    const server = await serve(() => Effect.succeed(answered))
    const { socket, state } = await client(server.port)
    socket.write(`${text}content-length: 2\r\nexpect: 100-continue\r\n\r\n`)
    await until(() => state.text === "HTTP/1.1 100 Continue\r\n\r\n")
    socket.write("{}")
    await until(() => answers(state.text) === 1)
    socket.destroy()
    await server.shutDown()
  })

  test("reads a request that arrives byte by byte, and the next one", async () => {
    const server = await serve(() => Effect.succeed(answered))
    const { socket, state } = await client(server.port)
    for (let request = 1; request <= 2; request++) {
      for (const byte of `${text}content-length: 2\r\n\r\n{}`) {
        socket.write(byte)
        await Bun.sleep(0)
      }
      await until(() => answers(state.text) === request)
    }
    socket.destroy()
    await server.shutDown()
  })

  const heads: ReadonlyArray<readonly [string, string, string]> = [
    ["bytes that are not HTTP", "\u0000\u0001\r\n\r\n", "400"],
    ["a line of HTTP/2", "PRI * HTTP/2.0\r\n\r\n", "400"],
    ["headers without an end", `${text}x: ${"a".repeat(20_000)}`, "431"],
    ["two lengths", `${text}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`, "400"],
    ["a length and chunks", `${text}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}`, "411"]
  ]
  for (const [name, bytes, status] of heads) {
    test(`answers ${status} to ${name}, and closes the connection`, async () => {
      const server = await serve(() => Effect.succeed(answered))
      const { socket, state } = await client(server.port)
      socket.write(bytes)
      await until(() => state.closed)
      expect(state.text.slice(9, 12)).toBe(status)
      await server.shutDown()
    })
  }

  test("closes an idle connection a second after the shutdown began", async () => {
    const server = await serve(() => Effect.succeed(answered))
    const { state } = await client(server.port)
    const startedAt = performance.now()
    await server.shutDown()
    expect(performance.now() - startedAt).toBeWithin(900, 4000)
    await until(() => state.closed)
  })
})
