import { describe, expect, test } from "bun:test"
import { get } from "node:http"
import { networkInterfaces } from "node:os"
import * as Eventually from "@homeostat/testkit/Eventually"
import { effect, live } from "@homeostat/testkit/Test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { capture } from "../controller/World.fixture.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Endpoints from "./Endpoints.ts"
import * as HttpPort from "./HttpPort.ts"
import * as MetricsPage from "./MetricsPage.ts"
import * as RawClient from "./RawClient.fixture.ts"
import * as SelfSigned from "./SelfSigned.ts"

const free = { hostname: "127.0.0.1", port: 0 }

const request = (address: string | undefined, path: string, init: RequestInit = {}) =>
  Effect.promise(async () => {
    const response = await fetch(`http://${address}${path}`, { ...init, keepalive: false })
    return { status: response.status, headers: response.headers, body: await response.text() }
  })

/** The status of the response to a caller with this loopback address. */
const statusFrom = (localAddress: string, address: string | undefined, path: string) =>
  Effect.callback<number | undefined>((resume) => {
    const sent = get(`http://${address}${path}`, { localAddress, agent: false }, (answer) => {
      answer.resume()
      resume(Effect.succeed(answer.statusCode))
    })
    sent.on("error", (error) => resume(Effect.die(error)))
    return Effect.sync(() => sent.destroy())
  })

/** A connection from a loopback address. */
const connected = (address: string | undefined, localAddress: string, text: string) => {
  const [host = "", port] = (address ?? "").split(":")
  return RawClient.connected({ host, port: Number(port), localAddress }, text)
}

const isOpen = ({ state }: { readonly state: { readonly closed: boolean } }): boolean => !state.closed

test("an answer is a text that a terminal can show", async () => {
  expect(await Endpoints.text(200, "the key a\u001b[2J\u009b\u202e\nis unknown").text()).toBe(
    "the key a\\u001b[2J\\u009b\\u202e\nis unknown\n"
  )
})

const hello = () => Effect.succeed(Endpoints.text(200, "hello"))

describe("A port", () => {
  live("answers only its own routes", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: free })
      yield* route("metrics", "/a", hello)
      expect(addresses.metrics).toMatch(/^127\.0\.0\.1:[1-9]\d+$/)
      expect(yield* request(addresses.metrics, "/a?x=1")).toMatchObject({ status: 200, body: "hello\n" })
      expect((yield* request(addresses.probes, "/a")).status).toBe(404)
    })
  )

  live("listens on all IPv4 and IPv6 addresses without a host", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({
        metrics: undefined,
        probes: { ...free, hostname: undefined }
      })
      yield* route("probes", "/a", hello)
      expect(addresses.probes).toMatch(/^:\d+$/)
      const loopbacks = Object.values(networkInterfaces()).flatMap((all = []) => all.filter(({ internal }) => internal))
      expect(loopbacks).not.toEqual([])
      for (const { address, family } of loopbacks) {
        const host = family === "IPv6" ? `[${address}]` : address
        expect((yield* request(`${host}${addresses.probes}`, "/a")).status).toBe(200)
      }
    })
  )

  live("that is disabled accepts routes and answers nothing", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: undefined, probes: undefined })
      yield* route("metrics", "/a", hello)
      expect(addresses).toEqual({})
    })
  )

  live("is shared if both have the same address", () =>
    Effect.gen(function* () {
      const probe = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
      const address = { hostname: "127.0.0.1", port: probe.port ?? 0 }
      yield* Effect.promise(() => probe.stop(true))
      const { addresses, route } = yield* Endpoints.make({ metrics: address, probes: address })
      expect(addresses.metrics).toBe(addresses.probes)
      yield* route("metrics", "/a", hello)
      yield* route("probes", "/b", hello)
      expect((yield* request(addresses.metrics, "/a")).status).toBe(200)
      expect((yield* request(addresses.metrics, "/b")).status).toBe(200)
    })
  )

  live("that another process uses causes an error with the flag and the address", () =>
    Effect.gen(function* () {
      const { addresses } = yield* Endpoints.make({ metrics: free, probes: undefined })
      const port = Number(addresses.metrics?.split(":").at(-1))
      for (const hostname of ["127.0.0.1", undefined]) {
        const probes = { hostname, port }
        const error = yield* Effect.flip(Endpoints.make({ metrics: undefined, probes }))
        expect(error._tag).toBe("BindFailed")
        expect(error.message).toBe(
          `cannot listen on ${hostname ?? ""}:${port}, from --health-probe-bind-address: another process listens there`
        )
      }
    })
  )

  live("at an unknown address causes an error", () =>
    Effect.gen(function* () {
      const metrics = { hostname: "192.0.2.1", port: 0 }
      const error = yield* Effect.flip(Endpoints.make({ metrics, probes: undefined }))
      expect(error.message).toBe(
        "cannot listen on 192.0.2.1:0, from --metrics-bind-address: this machine has no such address"
      )
    })
  )

  live("is free again when its scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { addresses } = yield* Scope.provide(Endpoints.make({ metrics: free, probes: undefined }), scope)
      const port = Number(addresses.metrics?.split(":").at(-1))
      yield* Scope.close(scope, Exit.void)
      yield* Endpoints.make({ metrics: { ...free, port }, probes: undefined })
    })
  )

  live("closes even if a handler is active", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { addresses, route } = yield* Scope.provide(Endpoints.make({ metrics: free, probes: undefined }), scope)
      const asked = yield* Deferred.make<void>()
      yield* route("metrics", "/a", () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never))
      yield* Effect.forkChild(
        Effect.tryPromise(() => fetch(`http://${addresses.metrics}/a`)).pipe(
          Effect.flatMap((r) => Effect.promise(() => r.text()))
        )
      )
      yield* Deferred.await(asked)
      yield* Effect.timeout(Scope.close(scope, Exit.void), "5 seconds")
    })
  )
})

describe("A request", () => {
  live("for an unknown path gets the routes, if it comes from this machine", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: undefined })
      expect((yield* request(addresses.metrics, "/")).body).toBe("not found: / (one of: none yet)\n")
      for (const path of ["/b", "/a", "/a/*"]) yield* route("metrics", path, hello)
      expect(yield* request(addresses.metrics, "/x")).toMatchObject({
        status: 404,
        body: "not found: /x (one of: /a, /b)\n"
      })
      expect(yield* request(addresses.metrics, "/x", { headers: { "x-real-ip": "10.0.0.7" } })).toMatchObject({
        status: 404,
        body: "not found: /x\n"
      })
    })
  )

  live("with an invalid Host header is answered like any other", () =>
    Effect.gen(function* () {
      const { addresses } = yield* Endpoints.make({ metrics: free, probes: undefined })
      expect((yield* request(addresses.metrics, "/", { headers: { host: "[" } })).status).toBeWithin(400, 500)
    })
  )

  live("goes to the most specific route", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: undefined })
      for (const path of ["/a", "/a/*", "/a/b", "/a/b/*"]) {
        yield* route("metrics", path, () => Effect.succeed(new Response(path)))
      }
      for (const [path, expected] of [
        ["/a", "/a"],
        ["/a/x", "/a/*"],
        ["/a/x/y", "/a/*"],
        ["/a/b", "/a/b"],
        ["/a/b/x", "/a/b/*"]
      ] as const) {
        expect((yield* request(addresses.metrics, path)).body).toBe(expected)
      }
    })
  )

  live("gets 404 after the scope of its route has closed", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: undefined })
      yield* Effect.scoped(route("metrics", "/a", hello))
      expect((yield* request(addresses.metrics, "/a")).status).toBe(404)
    })
  )

  live("with HEAD gets no body, and other methods are rejected", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: undefined })
      yield* route("metrics", "/a", hello)
      const head = yield* request(addresses.metrics, "/a", { method: "HEAD" })
      expect(head).toMatchObject({ status: 200, body: "" })
      expect(head.headers.get("content-length")).toBe("6")
      expect(Date.parse(head.headers.get("date") ?? "")).toBeGreaterThan(Date.now() - 60_000)
      for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        const refused = yield* request(addresses.metrics, "/a", { method })
        expect(refused).toMatchObject({ status: 405, body: "/a takes GET and HEAD\n" })
        expect(refused.headers.get("allow")).toBe("GET, HEAD")
      }
    })
  )

  live("may have the methods of its route", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: undefined })
      const method = (request: Request) => Effect.succeed(Endpoints.text(200, request.method))
      yield* route("metrics", "/a", method, { methods: ["GET", "PUT", "DELETE"] })
      for (const wanted of ["GET", "PUT", "DELETE"]) {
        expect((yield* request(addresses.metrics, "/a", { method: wanted })).body).toBe(`${wanted}\n`)
      }
      const refused = yield* request(addresses.metrics, "/a", { method: "POST" })
      expect(refused).toMatchObject({ status: 405, body: "/a takes GET, PUT and DELETE\n" })
      expect(refused.headers.get("allow")).toBe("GET, PUT, DELETE")
    })
  )

  live("above the limit of its route or address is rejected at once, except the first one of another address", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: undefined })
      const open = yield* Deferred.make<void>()
      let underWay = 0
      const held = Effect.suspend(() => {
        underWay++
        return Effect.andThen(Deferred.await(open), hello())
      })
      yield* route("metrics", "/slow", () => held)
      yield* route("metrics", "/quick", hello)
      const slow = (from: string) => statusFrom(from, addresses.metrics, "/slow")
      const hold = (from: string, all: number) =>
        Effect.gen(function* () {
          const fibers = yield* Effect.replicateEffect(Effect.forkChild(slow(from)), Endpoints.mostOfAddress)
          const reached = Effect.sync(() => underWay)
          yield* Eventually.eventually(`that ${from} is answered`, reached, (now) => now === all)
          return fibers
        })
      const first = yield* hold("127.0.0.1", Endpoints.mostOfAddress)
      expect(yield* slow("127.0.0.1")).toBe(503)
      const second = yield* hold("127.0.0.2", Endpoints.mostUnderWay)
      const refused = yield* request(addresses.metrics, "/slow")
      expect(refused.status).toBe(503)
      // Other requests that wait on the connection would cost as much.
      expect(refused.headers.get("connection")).toBe("close")
      const third = yield* Effect.forkChild(slow("127.0.0.3"))
      yield* Eventually.eventually(
        "the first of another address",
        Effect.sync(() => underWay),
        (now) => now > Endpoints.mostUnderWay
      )
      expect(yield* slow("127.0.0.3")).toBe(503)
      expect((yield* request(addresses.metrics, "/quick")).status).toBe(200)
      yield* Deferred.succeed(open, undefined)
      const answers = yield* Fiber.joinAll([...first, ...second, third])
      expect(new Set(answers)).toEqual(new Set([200]))
      expect(yield* slow("127.0.0.1")).toBe(200)
    })
  )

  live("has the address of the caller", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: undefined })
      yield* route("metrics", "/a", (_, { address }) => Effect.succeed(Endpoints.text(200, String(address))))
      expect((yield* request(addresses.metrics, "/a")).body).toBe("127.0.0.1\n")
    })
  )

  live("whose handler dies gets 500 without the reason, and the error is logged", () => {
    const logs: Array<string> = []
    return Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: undefined })
      yield* route("metrics", "/a", () => Effect.die("secret"))
      yield* route("metrics", "/b", () => {
        throw new Error("secret")
      })
      for (const path of ["/a", "/b"]) {
        expect(yield* request(addresses.metrics, path)).toMatchObject({ status: 500, body: "internal error\n" })
      }
      expect(logs).toEqual(["/a", "/b"].map((path) => `ERROR Answering ${path} failed unexpectedly`))
    }).pipe(Effect.provide(capture(logs)))
  })
})

describe("A client", () => {
  const half = "GET /a HTTP/1.1\r\nhost: x\r\nx-a: "
  const asked = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`

  live("of a port with TLS has a bounded number of connections before the handshake", () =>
    Effect.gen(function* () {
      const metricsTls = { first: SelfSigned.make(["127.0.0.1"], Date.now()), after: () => Effect.never }
      const { addresses } = yield* Endpoints.make({ metrics: free, probes: undefined, metricsTls })
      const open = connected(addresses.metrics, "127.0.0.1", "")
      const clients = yield* Effect.replicateEffect(open, HttpPort.mostConnectionsOfAddress + 5)
      const count = Effect.sync(() => clients.filter(isOpen).length)
      yield* Eventually.eventually("the limit", count, (now) => now === HttpPort.mostConnectionsOfAddress)
    })
  )

  for (const [what, text] of [
    ["that sends nothing", ""],
    ["that sends half of its headers", half]
  ] as const)
    live(`${what} has a bounded number of connections, and others are answered`, () =>
      Effect.gen(function* () {
        const { addresses, route } = yield* Endpoints.make({ metrics: undefined, probes: free })
        yield* route("probes", "/a", hello)
        const open = (from: string) => connected(addresses.probes, from, text)
        const clients = yield* Effect.replicateEffect(open("127.0.0.1"), HttpPort.mostConnectionsOfAddress + 5)
        const count = Effect.sync(() => clients.filter(isOpen).length)
        yield* Eventually.eventually("the limit", count, (now) => now <= HttpPort.mostConnectionsOfAddress)
        expect(yield* statusFrom("127.0.0.2", addresses.probes, "/a")).toBe(200)
        expect(yield* count).toBe(HttpPort.mostConnectionsOfAddress)
      })
    )

  for (const [what, text, next, handler, seconds] of [
    ["sends nothing", "", "", hello, 5],
    ["sends half of its headers", half, "", hello, 5],
    ["sends no second request", asked("/a"), "", hello, 10],
    ["sends half of the headers of its second request", asked("/a"), half, hello, 10],
    ["asks a handler that does not end", asked("/a"), "", () => Effect.never, 10]
  ] as const)
    effect(`that ${what} is cut off after more than ${seconds} seconds`, () =>
      Effect.gen(function* () {
        const { addresses, route } = yield* Endpoints.make({ metrics: undefined, probes: free })
        let begun = false
        const noted = Effect.sync(() => {
          begun = true
        })
        yield* route("probes", "/a", () => Effect.andThen(noted, handler()))
        const client = yield* connected(addresses.probes, "127.0.0.1", text)
        const other = yield* connected(addresses.probes, "127.0.0.1", asked("/b"))
        yield* RawClient.passes(() => other.state.text !== "" && (begun || text !== asked("/a")))
        client.socket.write(next)
        yield* TestClock.adjust(`${seconds} seconds`)
        yield* Effect.promise(() => Bun.sleep(20))
        expect(isOpen(client)).toBe(true)
        yield* TestClock.adjust("5 seconds")
        yield* RawClient.passes(() => client.state.closed)
      })
    )

  for (const path of ["/nothing", "/a"])
    live(`that sends very many requests for ${path} at once gets one answer`, () =>
      Effect.gen(function* () {
        const { addresses, route } = yield* Endpoints.make({ metrics: undefined, probes: free })
        yield* route("probes", "/a", hello)
        const { state } = yield* connected(addresses.probes, "127.0.0.1", asked(path).repeat(1000))
        yield* Eventually.eventually(
          "the end",
          Effect.sync(() => state.closed),
          (closed) => closed
        )
        const answers = state.text.split("HTTP/1.1 ").length - 1
        expect(answers).toBe(1)
        expect(yield* statusFrom("127.0.0.1", addresses.probes, "/a")).toBe(200)
      })
    )

  live("that sends a request before it has an answer gets one answer", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: undefined, probes: free })
      yield* route("probes", "/slow", () => Effect.delay(Effect.succeed(Endpoints.text(200, "slow")), "20 millis"))
      const text = asked("/slow") + asked("/nothing").repeat(1000)
      const { state } = yield* connected(addresses.probes, "127.0.0.1", text)
      yield* Eventually.eventually(
        "the end",
        Effect.sync(() => state),
        ({ closed }) => closed
      )
      expect(state.text).toStartWith("HTTP/1.1 200 OK\r\n")
      expect(state.text).toContain("connection: close\r\n")
      expect(state.text).toEndWith("\r\n\r\nslow\n")
    })
  )

  live("that waits for each answer sends many requests on a connection", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: undefined, probes: free })
      yield* route("probes", "/a", hello)
      const { socket, state } = yield* connected(addresses.probes, "127.0.0.1", "")
      for (let all = 1; all <= 5; all++) {
        const [half, rest] = [asked("/a").slice(0, -2), "\r\n"]
        socket.write(half)
        yield* Effect.sleep("2 millis")
        socket.write(rest)
        const answers = Effect.sync(() => state.text.split("hello").length - 1)
        yield* Eventually.eventually("the answer", answers, (now) => now === all)
      }
      expect(state.closed).toBe(false)
    })
  )

  for (const [what, text, expected] of [
    ["an absolute URL", "GET http://y/a HTTP/1.1\r\nhost: x\r\n\r\n", "200"],
    ["HTTP/1.0", "GET /a HTTP/1.0\r\n\r\n", "200"],
    ["a header with any byte", "GET /a HTTP/1.1\r\nhost: x\r\na: \u00ff\u0080\r\n\r\n", "200"],
    ["the header __proto__", "GET /a HTTP/1.1\r\nhost: x\r\n__proto__: x\r\n\r\n", "200"],
    ["two slashes", "GET //a HTTP/1.1\r\nhost: x\r\n\r\n", "404"],
    ["no path", "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", "404"],
    ["TRACE", "TRACE /a HTTP/1.1\r\nhost: x\r\n\r\n", "405"],
    ["CONNECT", "CONNECT a:80 HTTP/1.1\r\nhost: x\r\n\r\n", "404"],
    ["a folded header", "GET /a HTTP/1.1\r\nhost: x\r\n b\r\n\r\n", "400"],
    ["a space before a colon", "GET /a HTTP/1.1\r\nhost : x\r\n\r\n", "400"],
    ["NUL in a header", "GET /a HTTP/1.1\r\nhost: x\r\na: \0\r\n\r\n", "400"],
    ["PROPFIND", "PROPFIND /a HTTP/1.1\r\nhost: x\r\n\r\n", "405"],
    ["an upgrade", "GET /a HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n", "200"],
    ["no HTTP", "hello\r\n\r\n", "400"]
  ] as const)
    live(`that sends ${what} gets ${expected}`, () =>
      Effect.gen(function* () {
        const { addresses, route } = yield* Endpoints.make({ metrics: undefined, probes: free })
        yield* route("probes", "/a", hello)
        const { state } = yield* connected(addresses.probes, "127.0.0.1", text)
        const ended = Effect.sync(() => state)
        yield* Eventually.eventually("the end", ended, ({ closed, text }) => closed || text !== "")
        expect(state.text.slice(9, 12)).toBe(expected)
      })
    )

  live("that sends a body gets 413, and its connection closes", () =>
    Effect.gen(function* () {
      const { addresses, route } = yield* Endpoints.make({ metrics: undefined, probes: free })
      yield* route("probes", "/a", hello, { methods: ["PUT"] })
      for (const [headers, expected] of [
        ["content-length: 0", "200"],
        ["content-length: 1", "413"],
        ["transfer-encoding: chunked", "413"]
      ]) {
        const text = `PUT /a HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`
        const { state } = yield* connected(addresses.probes, "127.0.0.1", text)
        yield* Eventually.eventually(
          `the answer to ${headers}`,
          Effect.sync(() => state.text),
          (got) => got !== ""
        )
        expect(state.text.slice(9, 12)).toBe(String(expected))
        expect(state.text.includes("connection: close")).toBe(expected === "413")
      }
    })
  )

  live("whose headers are too large gets 431", () =>
    Effect.gen(function* () {
      const { addresses } = yield* Endpoints.make({ metrics: undefined, probes: free })
      const large = { headers: { a: "x".repeat(20_000) } }
      expect((yield* request(addresses.probes, "/a", large)).status).toBe(431)
    })
  )
})

describe("The metrics page", () => {
  const render = () => ({ contentType: "text/plain; version=0.0.4", body: `${"x".repeat(5000)}\n` })
  const format = (mediaType: string, render: MetricsPage.Render): MetricsPage.Format => ({
    mediaType,
    version: "1",
    render
  })

  live("is the rendered registry", () =>
    Effect.gen(function* () {
      const endpoints = yield* Endpoints.make({ metrics: free, probes: undefined })
      const registry = Metrics.make()
      let collected = 0
      registry.onCollect(() => collected++)
      const count: MetricsPage.Render = (families) => ({ contentType: "text/plain", body: `${families.length}\n` })
      yield* MetricsPage.serve([format("text/plain", count)]).pipe(
        Effect.provideService(Endpoints.Endpoints, endpoints),
        Effect.provideService(Metrics.Metrics, registry)
      )
      const page = yield* request(endpoints.addresses.metrics, "/metrics")
      expect(page).toMatchObject({ status: 200, body: "1\n" })
      expect(page.headers.get("content-type")).toBe("text/plain")
      expect(collected).toBe(1)
    })
  )

  effect("is rendered once for all waiting requests", () =>
    Effect.gen(function* () {
      const pages: Array<Endpoints.Handler> = []
      const endpoints = Endpoints.Endpoints.of({
        route: (_port, _path, handler) => Effect.sync(() => void pages.push(handler)),
        addresses: {}
      })
      const registry = Metrics.make()
      let collected = 0
      registry.onCollect(() => collected++)
      const count: MetricsPage.Render = () => ({ contentType: "text/plain", body: `${collected}\n` })
      yield* MetricsPage.serve([format("text/plain", count)]).pipe(
        Effect.provideService(Endpoints.Endpoints, endpoints),
        Effect.provideService(Metrics.Metrics, registry)
      )
      const bodies = Effect.forEach(
        Array.from({ length: 50 }),
        () =>
          Effect.flatMap(
            pages[0]?.(new Request("http://homeostat/metrics"), { address: undefined }) ?? Effect.never,
            (page) => Effect.promise(() => page.text())
          ),
        { concurrency: "unbounded" }
      )
      expect(new Set(yield* bodies)).toEqual(new Set(["1\n"]))
      // A later request gets a new page.
      expect(new Set(yield* bodies)).toEqual(new Set(["2\n"]))
    })
  )

  live("contains the other metrics if a collector throws, which is logged once", () => {
    const logs: Array<string> = []
    return Effect.gen(function* () {
      const endpoints = yield* Endpoints.make({ metrics: free, probes: undefined })
      const registry = Metrics.make()
      registry.onCollect(() => {
        throw new Error("boom")
      })
      const count: MetricsPage.Render = (families) => ({
        contentType: "text/plain",
        body: families.map(({ metric }) => metric.name).join()
      })
      yield* MetricsPage.serve([format("text/plain", count)]).pipe(
        Effect.provideService(Endpoints.Endpoints, endpoints),
        Effect.provideService(Metrics.Metrics, registry)
      )
      for (let scrape = 0; scrape < 3; scrape++) {
        const page = yield* request(endpoints.addresses.metrics, "/metrics")
        expect(page).toMatchObject({ status: 200, body: "homeostat_metrics_collect_errors_total" })
      }
      expect(logs).toEqual(["ERROR A collector of metrics threw, so its metrics are missing or old: boom"])
    }).pipe(Effect.provide(capture(logs)))
  })

  live("has the preferred format of the Accept header, and the header Vary", () =>
    Effect.gen(function* () {
      const endpoints = yield* Endpoints.make({ metrics: free, probes: undefined })
      const formats = ["text/plain", "text/strict"].map((type) =>
        format(type, () => ({ contentType: type, body: `${type}\n` }))
      )
      const [first, ...others] = formats
      if (first === undefined) throw new Error("unreachable")
      yield* Effect.provideService(MetricsPage.serve([first, ...others]), Endpoints.Endpoints, endpoints)
      for (const [accept, type] of [
        ["*/*", "text/plain"],
        ["text/strict, text/plain;q=0.5", "text/strict"]
      ] as const) {
        const page = yield* request(endpoints.addresses.metrics, "/metrics", { headers: { accept } })
        expect(page.headers.get("content-type")).toBe(type)
        expect(page.headers.get("vary")).toBe("accept, accept-encoding")
        expect(page.body).toBe(`${type}\n`)
      }
    })
  )

  for (const [accepted, compressed] of [
    ["gzip", true],
    ["deflate, gzip;q=0.8", true],
    ["gzip;q=0", false],
    ["identity", false]
  ] as const) {
    live(`is ${compressed ? "" : "not "}compressed for Accept-Encoding ${accepted}`, () =>
      Effect.gen(function* () {
        const endpoints = yield* Endpoints.make({ metrics: free, probes: undefined })
        yield* Effect.provideService(MetricsPage.serve([format("text/plain", render)]), Endpoints.Endpoints, endpoints)
        const page = yield* request(endpoints.addresses.metrics, "/metrics", {
          headers: { "accept-encoding": accepted }
        })
        expect(page.headers.get("content-encoding")).toBe(compressed ? "gzip" : null)
        expect(page.body).toBe(render().body)
      })
    )
  }
})
