import { describe, expect } from "bun:test"
import type { Socket } from "node:net"
import { effect, live } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as Uploads from "../webhook/Uploads.ts"
import * as Endpoints from "./Endpoints.ts"
import * as RawClient from "./RawClient.fixture.ts"

const maxBodyBytes = 1024 * 1024

/** The address of a port: `/echo` answers with the body of a POST or a PUT, and `/none` takes no body. */
const ports = Effect.gen(function* () {
  const { addresses, route } = yield* Endpoints.make({
    metrics: undefined,
    probes: { hostname: "127.0.0.1", port: 0 }
  })
  const echo: Endpoints.Handler = (request) =>
    Effect.map(
      Effect.promise(() => request.text()),
      (text) => new Response(text)
    )
  yield* route("probes", "/echo", echo, { methods: ["GET", "POST", "PUT"], maxBodyBytes })
  yield* route("probes", "/none", echo, { methods: ["POST"] })
  return Number(addresses.probes?.split(":").at(-1))
})

/** A connection that has sent some bytes. */
const connected = (port: number, text: string) => RawClient.connected({ host: "127.0.0.1", port }, text)

/** Waits for the server to read what the clients have sent, on the real clock. */
const settled = Effect.promise(() => Bun.sleep(50))

const head = (line: string, ...headers: ReadonlyArray<string>): string =>
  `${[`${line} HTTP/1.1`, "host: x", ...headers].join("\r\n")}\r\n\r\n`

const post = (bytes: number): string => head("POST /echo", `content-length: ${bytes}`)

const statusOf = ({ text }: { readonly text: string }): string => text.slice(9, 12)

describe("The body of a request", () => {
  const missingLength = "the length of the body is missing (add the header content-length)"
  const noBody = "this request takes no body"
  for (const [what, text, status, answer, stays] of [
    ["goes to its route", `${post(5)}hello`, "200", "hello", true],
    ["of no bytes goes to its route", post(0), "200", "", true],
    ["of the largest size goes to its route", post(maxBodyBytes) + "x".repeat(maxBodyBytes), "200", "x", true],
    ["with bytes after it ends the connection", `${post(5)}hello!`, "200", "hello", false],
    [
      "of an old client ends the connection",
      `${head("POST /echo", "content-length: 2").replace("/1.1", "/1.0")}ok`,
      "200",
      "ok",
      false
    ],
    [
      "that is larger gets 413",
      post(maxBodyBytes + 1),
      "413",
      "the body is too large: 1048577 bytes (at most 1048576)",
      false
    ],
    ["of an unknown length gets 411", head("POST /echo", "transfer-encoding: chunked"), "411", missingLength, false],
    [
      "of two kinds of length gets 411",
      head("POST /echo", "content-length: 5", "transfer-encoding: chunked"),
      "411",
      missingLength,
      false
    ],
    [
      "of two lengths gets 400",
      head("POST /echo", "content-length: 5", "content-length: 6"),
      "400",
      "this is not a valid HTTP/1.1 request",
      false
    ],
    [
      "of a wrong length gets 400",
      head("POST /echo", "content-length: -5"),
      "400",
      "this is not a valid HTTP/1.1 request",
      false
    ],
    ["of a GET gets 413", `${head("GET /echo", "content-length: 5")}hello`, "413", noBody, false],
    [
      "of a method that the route does not take gets 413",
      `${head("DELETE /echo", "content-length: 5")}hello`,
      "413",
      noBody,
      false
    ],
    ["for another route gets 413", `${head("POST /none", "content-length: 5")}hello`, "413", noBody, false],
    ["for no route gets 413", `${head("POST /nothing", "content-length: 5")}hello`, "413", noBody, false]
  ] as const)
    live(what, () =>
      Effect.gen(function* () {
        const { socket, state } = yield* connected(yield* ports, text)
        yield* RawClient.passes(() => state.text.includes("\r\n\r\n"))
        expect([statusOf(state), state.text.includes("connection: close")]).toEqual([status, !stays])
        yield* RawClient.passes(() => state.text.trimEnd().endsWith(answer))
        if (!stays) return
        state.text = ""
        socket.write(`${post(5)}again`)
        yield* RawClient.passes(() => state.text.endsWith("\r\n\r\nagain"))
      })
    )

  live("may come in pieces, after its client has asked whether it may send it", () =>
    Effect.gen(function* () {
      const { socket, state } = yield* connected(
        yield* ports,
        head("POST /echo", "content-length: 10", "expect: 100-continue")
      )
      yield* RawClient.passes(() => state.text === "HTTP/1.1 100 Continue\r\n\r\n")
      state.text = ""
      for (const piece of ["01", "234", "56789"]) {
        expect(state.text).toBe("")
        socket.write(piece)
        yield* settled
      }
      expect(statusOf(state)).toBe("200")
      expect(state.text).toEndWith("\r\n\r\n0123456789")
    })
  )

  effect("that takes more than ten seconds is cut off", () =>
    Effect.gen(function* () {
      const { socket, state } = yield* connected(yield* ports, `${post(5)}h`)
      yield* settled
      yield* TestClock.adjust("10 seconds")
      socket.write("e")
      yield* settled
      expect(state.closed).toBe(false)
      yield* TestClock.adjust("5 seconds")
      yield* RawClient.passes(() => state.closed)
    })
  )

  /** As many bodies, without their last byte, as have all the memory of a port. */
  const filled = (port: number) =>
    Effect.gen(function* () {
      const all = Math.floor(Uploads.mostLargeBytes / (maxBodyBytes - Uploads.smallBytes - 1))
      const text = post(maxBodyBytes) + "x".repeat(maxBodyBytes - 1)
      const clients = yield* Effect.replicateEffect(connected(port, text), all)
      yield* RawClient.passes(() => clients.every(({ socket }) => socket.bytesWritten === text.length))
      yield* settled
      return clients
    })

  effect("gets 503 while others take all memory, until one of these has been slow for a second", () =>
    Effect.gen(function* () {
      const port = yield* ports
      const clients = yield* filled(port)
      const text = post(maxBodyBytes) + "x".repeat(maxBodyBytes)
      const refused = yield* connected(port, text)
      yield* RawClient.passes(() => statusOf(refused.state) === "503")
      expect(refused.state.text).toEndWith("\r\n\r\nother bodies take all memory for bodies; try again\n")
      const small = yield* connected(port, `${post(5)}hello`)
      yield* RawClient.passes(() => statusOf(small.state) === "200")
      yield* TestClock.adjust("1100 millis")
      const taken = yield* connected(port, text)
      yield* RawClient.passes(() => statusOf(taken.state) === "200")
      expect(clients.map(({ state }) => statusOf(state)).filter((status) => status !== "")).toEqual(["503"])
    })
  )

  for (const [what, end] of [
    ["its client has closed the connection", (socket: Socket) => socket.destroy()],
    ["its request has an answer", (socket: Socket) => socket.write("x")]
  ] as const)
    effect(`gives its memory back when ${what}`, () =>
      Effect.gen(function* () {
        const port = yield* ports
        for (const { socket } of yield* filled(port)) end(socket)
        yield* settled
        yield* settled
        const { state } = yield* connected(port, post(maxBodyBytes) + "x".repeat(maxBodyBytes))
        yield* RawClient.passes(() => statusOf(state) === "200")
      })
    )
})
