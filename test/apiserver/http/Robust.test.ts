import { describe, expect, spyOn } from "bun:test"
import * as net from "node:net"
import { effect, live } from "@homeostat/testkit/Test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Json from "../model/Json.ts"
import type { ApiServer } from "./ApiServer.ts"
import { ask, configMaps, make, merge, thing, things, watch } from "./Client.fixture.ts"
import * as Http from "./Http.ts"

/** Sends these parts over one connection, and returns all text until the connection ends. */
const sent = (port: number, ...parts: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.callback((resume) => {
    let text = ""
    const socket = net.connect(port, "127.0.0.1", () => {
      for (const part of parts) socket.write(part)
    })
    socket.on("data", (data) => {
      text += data.toString()
    })
    socket.on("close", () => resume(Effect.succeed(text)))
    return Effect.sync(() => socket.destroy())
  })

const until = (is: () => boolean): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let turn = 0; turn < 500 && !is(); turn++) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(is()).toBe(true)
  })

/** A function that counts the listeners of the store. */
const listeners = (server: ApiServer): (() => number) => {
  const open = new Set<object>()
  const subscribe = server.store.subscribe
  spyOn(server.store, "subscribe").mockImplementation((listener, storage) => {
    const stop = subscribe(listener, storage)
    open.add(stop)
    return () => {
      open.delete(stop)
      stop()
    }
  })
  return () => open.size
}

const watching = `${configMaps}?watch=true&resourceVersion=`

describe("A server over HTTP", () => {
  live("answers unknown methods and invalid requests", () =>
    Effect.gen(function* () {
      const { port } = yield* Http.serve(yield* make())
      const head = "Host: a\r\nConnection: close\r\n\r\n"
      const unknown = yield* sent(port, `BREW ${things} HTTP/1.1\r\n${head}`)
      expect(unknown).toStartWith("HTTP/1.1 405 ")
      expect(unknown).toContain('"reason":"MethodNotAllowed"')
      expect(yield* sent(port, `GET * HTTP/1.1\r\n${head}`)).toStartWith("HTTP/1.1 404 ")
      for (const nothing of [`GET  HTTP/1.1\r\n${head}`, "\0\0\r\n\r\n", "BREW\r\n\r\n"]) {
        expect(yield* sent(port, nothing)).toEndWith("\r\n\r\n400 Bad Request")
      }
      expect(yield* sent(port, `GET /${"a".repeat(2_000_000)} HTTP/1.1\r\n${head}`)).toMatch(/^(HTTP\/1.1 431 .*)?$/s)
      expect(yield* sent(port, `GET ${things}?labelSelector=${"a,".repeat(200_000)}b HTTP/1.1\r\n${head}`)).toStartWith(
        "HTTP/1.1 200 "
      )
    })
  )

  effect("does not wait forever for an announced body", () =>
    Effect.gen(function* () {
      const { pending, port } = yield* Http.serve(yield* make())
      const answer = yield* Effect.forkChild(
        sent(port, `POST ${configMaps} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{"metadata"`)
      )
      yield* until(() => pending() === 1)
      yield* TestClock.adjust("59 seconds")
      expect(pending()).toBe(1)
      yield* TestClock.adjust("1 second")
      const text = yield* Fiber.join(answer)
      expect(text).toStartWith("HTTP/1.1 504 ")
      expect(text).toContain("request did not complete within the allotted timeout")
    })
  )

  live("releases uploads that end in the middle", () =>
    Effect.gen(function* () {
      const { pending, port } = yield* Http.serve(yield* make())
      const uploads = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 20 }, () =>
            sent(port, `POST ${configMaps} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n`, "x".repeat(1000))
          ),
          { concurrency: "unbounded" }
        )
      )
      yield* until(() => pending() === 20)
      uploads.interruptUnsafe()
      yield* until(() => pending() === 0)
    })
  )

  live("releases the memory of watches that have ended", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const count = listeners(server)
      const { port } = yield* Http.serve(server)
      const path = `${watching}${server.store.revision}`
      const all = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 200 }, () => sent(port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)),
          { concurrency: "unbounded" }
        )
      )
      yield* until(() => count() === 200)
      all.interruptUnsafe()
      yield* until(() => count() === 0)
    })
  )
})

describe("A server", () => {
  effect("ends a watch whose client is too far behind", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const count = listeners(server)
      const { next } = yield* watch(server, `${things}?watch=true&resourceVersion=${server.store.revision}`)
      yield* ask(server, "POST", things, thing("a"))
      expect(count()).toBe(1)
      for (let at = 0; at < 10_000; at++) yield* merge(server, `${things}/a`, { spec: { color: String(at) } })
      expect(count()).toBe(0)
      expect((yield* next)?.length).toBe(10_000)
    })
  )

  effect("accepts objects with many members without delay", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const data = Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`key-${at}`, "v"]))
      const started = performance.now()
      const { body, status } = yield* ask(server, "POST", configMaps, { metadata: { name: "many" }, data })
      expect(status).toBe(201)
      expect(Object.keys(Json.object(body.data)).length).toBe(40_000)
      expect((yield* merge(server, `${configMaps}/many`, { data: { "key-7": "w" } })).status).toBe(200)
      // An algorithm with quadratic time would take minutes.
      expect(performance.now() - started).toBeLessThan(20_000)
    })
  )

  effect("shows as many of the errors of thousands of controllers as fit into a response", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const owner = { apiVersion: "v1", kind: "Pod", name: "a", controller: true }
      const ownerReferences = Array.from({ length: 5_000 }, (_, at) => ({ ...owner, uid: `${at}` }))
      const { status, text } = yield* ask(server, "POST", configMaps, { metadata: { name: "o", ownerReferences } })
      expect(status).toBe(422)
      expect(text.length).toBeLessThan(20_000_000)
    })
  )
})
