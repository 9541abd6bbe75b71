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
    ["two requests", `${text}content-length: 2\r\n\r\n{}`.repeat(2), { started: 1, closes: false }],
    ["three requests", `${text}content-length: 2\r\n\r\n{}`.repeat(3), { started: 1, closes: true }],
    ["300 requests", `${text}content-length: 2\r\n\r\n{}`.repeat(300), { started: 1, closes: true }],
    [
      "300 chunked requests",
      `${text}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`.repeat(300),
      { started: 1, closes: true }
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

  test("needs little memory for a body in chunks of a byte", async () => {
    let length = 0
    const server = await serve((body) => {
      length = JSON.stringify(body).length
      return Effect.succeed(answered)
    })
    const { socket, state } = await client(server.port)
    socket.write(
      "POST /answer HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    const size = 2 ** 21
    const piece = Buffer.from("1\r\n1\r\n".repeat(2 ** 14))
    Bun.gc(true)
    const before = process.memoryUsage().rss
    let most = before
    socket.write('1\r\n"\r\n')
    for (let sent = 0; sent < size; sent += 2 ** 14) {
      if (!socket.write(piece)) await new Promise((resolve) => socket.once("drain", resolve))
      most = Math.max(most, process.memoryUsage().rss)
    }
    socket.write('1\r\n"\r\n0\r\n\r\n')
    await until(() => answers(state.text) === 1)
    most = Math.max(most, process.memoryUsage().rss)
    expect(length).toBe(size + 2)
    expect((most - before) / 2 ** 20).toBeLessThan(80)
    socket.destroy()
    await server.shutDown()
  }, 30_000)

  test("closes an idle connection a second after the shutdown began", async () => {
    const server = await serve(() => Effect.succeed(answered))
    const { state } = await client(server.port)
    const startedAt = performance.now()
    await server.shutDown()
    expect(performance.now() - startedAt).toBeWithin(900, 4000)
    await until(() => state.closed)
  })
})
