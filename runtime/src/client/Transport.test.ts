import { describe, expect, test } from "bun:test"
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http"
import * as http2 from "node:http2"
import * as net from "node:net"
import { Readable } from "node:stream"
import { createServer, type TLSSocket } from "node:tls"
import { createGzip } from "node:zlib"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { effect, live } from "@homeostat/testkit/Test"
import * as Cache from "effect/Cache"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as Cluster from "./Cluster.ts"
import * as Deadline from "./Deadline.ts"
import * as Fence from "./Fence.ts"
import type { Request } from "./Request.ts"
import * as Transport from "./Transport.ts"

const noProxy = { https: "", http: "", except: "" }

const get: Request = {
  method: "GET",
  path: "/version?x=1",
  template: "/version",
  headers: { accept: "application/json" },
  repeatable: true
}

const serve = (options: {
  readonly fetch: (request: globalThis.Request) => Response | Promise<Response>
  readonly tls?: Certificates.Pair
}) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: options.fetch,
        // Only the transport ends a request.
        idleTimeout: 0,
        ...(options.tls !== undefined && { tls: { cert: options.tls.certificate, key: options.tls.key } })
      })
    ),
    (server) => Effect.promise(() => server.stop(true))
  )

const connect = (cluster: Cluster.Cluster, options: Transport.Options = {}) =>
  Transport.make(cluster, { proxy: noProxy, ...options })

const ip = { dns: [], ip: ["127.0.0.1"] }

/** A server with only HTTP/2 that requests a client certificate and responds with its observations. */
const http2Server = (authority: Certificates.Authority) =>
  Effect.gen(function* () {
    const pair = yield* authority.server(ip)
    const server = http2.createSecureServer({
      cert: pair.certificate,
      key: pair.key,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: false
    })
    server.on("stream", (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
      const socket = stream.session?.socket as TLSSocket | undefined
      stream.respond({ ":status": 200 })
      stream.end(
        JSON.stringify({
          user: socket?.getPeerCertificate()?.subject?.CN ?? null,
          protocol: stream.session?.alpnProtocol,
          path: headers[":path"]
        })
      )
    })
    yield* Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
    const address = server.address()
    return `https://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  })

describe("Transport", () => {
  live("sends a request over plain HTTP, and returns any answer", () =>
    Effect.gen(function* () {
      const server = yield* serve({
        fetch: async (request) =>
          Response.json(
            { method: request.method, url: new URL(request.url).pathname, body: await request.text() },
            { status: 418, headers: { "x-seen": request.headers.get("authorization") ?? "" } }
          )
      })
      const transport = yield* connect(Cluster.make({ server: `http://127.0.0.1:${server.port}/base/`, token: "t" }))
      const response = yield* transport.send({ ...get, method: "PUT", path: "/x?y=1", body: "hello" })
      expect(response.status).toBe(418)
      expect(response.headers.get("x-seen")).toBe("Bearer t")
      expect(JSON.parse(response.body)).toEqual({ method: "PUT", url: "/base/x", body: "hello" })
    })
  )

  live("uses HTTP/2 over TLS with the client certificate", () =>
    Effect.gen(function* () {
      const authority = yield* Certificates.authority
      const client = yield* authority.client("jane", [])
      const server = yield* http2Server(authority)
      const tls = { ca: authority.certificate, cert: client.certificate, key: client.key }
      const transport = yield* connect(Cluster.make({ server, tls }))
      const response = yield* transport.send(get)
      expect(JSON.parse(response.body)).toEqual({ user: "jane", protocol: "h2", path: "/version?x=1" })
    })
  )

  live("uses a rotated certificate on a new connection", () =>
    Effect.gen(function* () {
      const authority = yield* Certificates.authority
      const server = yield* http2Server(authority)
      let name = "before"
      const issued = yield* Cache.make({
        capacity: 2,
        lookup: (name: string) =>
          Effect.map(authority.client(name, []), ({ certificate, key }) => ({
            tls: { ca: authority.certificate, cert: certificate, key },
            headers: {}
          }))
      })
      const credentials = (name: string) => Cache.get(issued, name)
      const transport = yield* connect({
        ...Cluster.make({ server }),
        current: undefined,
        credentials: Effect.suspend(() => credentials(name))
      })
      const user = Effect.map(transport.send(get), (response) => JSON.parse(response.body).user)
      expect([yield* user, yield* user]).toEqual(["before", "before"])
      name = "after"
      expect(yield* user).toBe("after")
    })
  )

  live("falls back to HTTP/1.1", () =>
    Effect.gen(function* () {
      const authority = yield* Certificates.authority
      const server = yield* serve({ tls: yield* authority.server(ip), fetch: () => new Response("ok") })
      const url = `https://127.0.0.1:${server.port}`
      const transport = yield* connect(Cluster.make({ server: url, tls: { ca: authority.certificate } }))
      const all = yield* Effect.all(
        Array.from({ length: 5 }, () => transport.send({ ...get, method: "POST" })),
        {
          concurrency: "unbounded"
        }
      )
      expect(all.map((response) => response.body)).toEqual(["ok", "ok", "ok", "ok", "ok"])
    })
  )

  live("reports why it does not trust a server, as a permanent error", () =>
    Effect.gen(function* () {
      const authority = yield* Certificates.authority
      const other = yield* Certificates.authority
      const server = yield* serve({ tls: yield* authority.server(ip), fetch: () => new Response("ok") })
      const url = `https://127.0.0.1:${server.port}`
      const untrusted = yield* connect(Cluster.make({ server: url, tls: { ca: other.certificate } }))
      expect(yield* Effect.flip(untrusted.send(get))).toMatchObject({
        _tag: "Transport",
        outcome: "unsent",
        message: expect.stringContaining("certificate is not signed by the configured certificate authority")
      })
      const named = yield* connect(
        Cluster.make({ server: url, tls: { ca: authority.certificate, serverName: "kubernetes" } })
      )
      expect(yield* Effect.flip(named.send(get))).toMatchObject({ code: "ERR_TLS_CERT_ALTNAME_INVALID" })
      const insecure = yield* connect(Cluster.make({ server: url, tls: { insecure: true } }))
      expect((yield* insecure.send(get)).body).toBe("ok")
    })
  )

  live("verifies the certificate of a server even with NODE_TLS_REJECT_UNAUTHORIZED=0", () =>
    Effect.gen(function* () {
      const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"
        }),
        () =>
          Effect.sync(() => {
            // Bun notices a new value of the variable, but not its removal.
            process.env.NODE_TLS_REJECT_UNAUTHORIZED = before ?? "1"
            if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
          })
      )
      const authority = yield* Certificates.authority
      const other = yield* Certificates.authority
      const seen: Array<string> = []
      const server = yield* serve({
        tls: yield* authority.server(ip),
        fetch: ({ headers }) => {
          seen.push(headers.get("authorization") ?? "")
          return new Response("ok")
        }
      })
      const url = `https://127.0.0.1:${server.port}`
      for (const protocol of ["http2", "http1.1"] as const) {
        const cluster = Cluster.make({ server: url, tls: { ca: other.certificate }, token: "secret" })
        const untrusted = yield* connect(cluster, { protocol })
        expect(yield* Effect.flip(untrusted.send(get))).toMatchObject({ _tag: "Transport", outcome: "unsent" })
      }
      expect(seen).toEqual([])
    })
  )

  live("reports a refused connection as unsent", () =>
    Effect.gen(function* () {
      const gone = yield* Effect.scoped(Effect.map(serve({ fetch: () => new Response() }), (server) => server.port))
      const transport = yield* connect(Cluster.make({ server: `http://127.0.0.1:${gone}` }))
      expect(yield* Effect.flip(transport.send(get))).toMatchObject({
        _tag: "Transport",
        code: "ECONNREFUSED",
        outcome: "unsent",
        message: `GET /version: connection refused, nothing listens there (http://127.0.0.1:${gone}, ECONNREFUSED)`
      })
    })
  )

  live("reports an unknown outcome if the connection breaks after the request", () =>
    Effect.gen(function* () {
      const listener = yield* Effect.acquireRelease(
        Effect.sync(() =>
          Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (socket) => void socket.end() } })
        ),
        (listener) => Effect.sync(() => listener.stop(true))
      )
      const transport = yield* connect(Cluster.make({ server: `http://127.0.0.1:${listener.port}` }))
      expect(yield* Effect.flip(transport.send({ ...get, method: "POST", body: "x" }))).toMatchObject({
        code: "ECONNRESET",
        outcome: "unknown"
      })
    })
  )

  live("closes a request at the server when it is interrupted, aborted or its scope closes", () =>
    Effect.gen(function* () {
      let arrived = yield* Deferred.make<void>()
      let left = yield* Deferred.make<void>()
      const ended = (what: string) =>
        Effect.suspend(() => Deferred.await(left)).pipe(
          Effect.timeoutOrElse({
            duration: "3 seconds",
            orElse: () => Effect.fail(`the server does not see the end of ${what}`)
          })
        )
      const server = yield* serve({
        fetch: (request) => {
          const [here, gone] = [arrived, left]
          request.signal.addEventListener("abort", () => Deferred.doneUnsafe(gone, Effect.void))
          Deferred.doneUnsafe(here, Effect.void)
          if (request.url.endsWith("/watch")) {
            return new Response(new ReadableStream({ start: (controller) => controller.enqueue("first") }))
          }
          return new Promise(() => {})
        }
      })
      const renewed = Effect.gen(function* () {
        arrived = yield* Deferred.make<void>()
        left = yield* Deferred.make<void>()
      })
      const transport = yield* connect(Cluster.make({ server: `http://127.0.0.1:${server.port}` }))

      const interrupted = yield* Effect.forkChild(transport.send(get))
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(interrupted)
      yield* ended("an interrupted request")

      yield* renewed
      const abort = new AbortController()
      const aborted = yield* Effect.forkChild(Effect.flip(transport.send({ ...get, abort })))
      yield* Deferred.await(arrived)
      abort.abort()
      expect((yield* Fiber.join(aborted))._tag).toBe("Transport")
      yield* ended("an aborted request")

      yield* renewed
      const first = yield* Effect.scoped(
        Effect.flatMap(transport.open({ ...get, path: "/watch" }), (streaming) => streaming.next)
      )
      expect(new TextDecoder().decode(first)).toBe("first")
      yield* ended("a stream whose scope is closed")
    })
  )

  for (const [over, encoding] of [
    ["HTTP/1.1", "identity"],
    ["HTTP/1.1", "gzip"],
    ["HTTP/2", "identity"],
    ["HTTP/2", "gzip"]
  ] as const) {
    live(`reads no more of a body than the request allows, over ${over} with ${encoding}`, () =>
      Effect.gen(function* () {
        const part = "0123456789abcdef".repeat(4096)
        let sent = 0
        let ended = 0
        /** The parts of a body of this many bytes. After a megabyte, the parts have a pause. */
        async function* parts(bytes: number) {
          try {
            for (let at = 0; at < bytes; at += part.length) {
              if (at > 1 << 20) await Bun.sleep(1)
              sent++
              yield Buffer.from(part.slice(0, Math.min(part.length, bytes - at)))
            }
          } finally {
            ended++
          }
        }
        const answer = (
          request: Pick<IncomingMessage, "url">,
          response: ServerResponse | http2.Http2ServerResponse
        ) => {
          const body = Readable.from(parts(Number(request.url?.slice(1))), { objectMode: false })
          response.setHeader("content-encoding", encoding)
          response.on("close", () => body.destroy())
          body.on("error", () => {})
          ;(encoding === "gzip" ? body.pipe(createGzip()) : body).pipe(response)
        }
        const authority = yield* Certificates.authority
        const pair = yield* authority.server(ip)
        const tls = { cert: pair.certificate, key: pair.key }
        const listener = over === "HTTP/2" ? http2.createSecureServer(tls, answer) : createHttpServer(answer)
        yield* Effect.acquireRelease(
          Effect.callback<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void))),
          () => Effect.sync(() => listener.close())
        )
        const address = listener.address()
        const port = typeof address === "object" ? address?.port : undefined
        const transport = yield* connect(
          Cluster.make({
            server: `${over === "HTTP/2" ? "https" : "http"}://127.0.0.1:${port}`,
            tls: { ca: authority.certificate }
          })
        )
        const size = (bytes: number, maxBytes?: number) =>
          Effect.map(transport.send({ ...get, path: `/${bytes}`, maxBytes }), ({ body, status }) => {
            expect(status).toBe(200)
            expect(body).toBe(part.repeat(bytes / part.length + 1).slice(0, body.length))
            return body.length
          })
        expect(yield* size(300_000)).toBe(300_000)
        expect(yield* size(300_000, 300_000)).toBe(300_000)
        expect(yield* size(300_000, 299_999)).toBe(0)
        expect(yield* size(0, 5)).toBe(0)
        sent = 0
        ended = 0
        expect(yield* size(256 << 20, 2 << 20)).toBe(0)
        while (ended === 0) yield* Effect.sleep("5 millis")
        // The buffers of the compression and of both machines.
        expect(sent * part.length).toBeLessThan(128 << 20)
        expect(yield* size(5, 5)).toBe(5)
      })
    )
  }

  test("a body in memory is left out if it is larger than the request allows", () => {
    const response = { status: 200, headers: new Headers(), body: "12345" }
    expect([undefined, 6, 5, 4].map((maxBytes) => Transport.within({ maxBytes }, response).body)).toEqual([
      "12345",
      "12345",
      "12345",
      ""
    ])
  })

  for (const way of ["send", "open"] as const) {
    live(`returns a redirect to ${way}, and does not follow it`, () =>
      Effect.gen(function* () {
        const seen: Array<string | null> = []
        const other = yield* serve({
          fetch: (request) => {
            seen.push(request.headers.get("authorization"))
            return new Response("taken")
          }
        })
        const location = `http://127.0.0.1:${other.port}/stolen`
        const server = yield* serve({ fetch: () => Response.redirect(location, 302) })
        const transport = yield* connect(Cluster.make({ server: `http://127.0.0.1:${server.port}`, token: "t" }))
        const { headers, status } = yield* transport[way](get)
        expect([status, headers.get("location")]).toEqual([302, location])
        expect(seen).toEqual([])
      })
    )
  }

  live("returns the bytes of a stream as they arrive, and undefined at its end", () =>
    Effect.gen(function* () {
      const server = yield* serve({
        fetch: () =>
          new Response(
            new ReadableStream({
              start: async (controller) => {
                for (const part of ["a", "b"]) {
                  controller.enqueue(part)
                  await Bun.sleep(5)
                }
                controller.close()
              }
            })
          )
      })
      const transport = yield* connect(Cluster.make({ server: `http://127.0.0.1:${server.port}` }))
      const streaming = yield* transport.open(get)
      let text = ""
      for (let bytes = yield* streaming.next; bytes !== undefined; bytes = yield* streaming.next) {
        text += new TextDecoder().decode(bytes)
      }
      expect(text).toBe("ab")
    })
  )

  live("renews rejected credentials, and repeats the request once if they changed", () =>
    Effect.gen(function* () {
      const seen: Array<string | null> = []
      const server = yield* serve({
        fetch: (request) => {
          seen.push(request.headers.get("authorization"))
          return new Response("", { status: request.headers.get("authorization") === "Bearer new" ? 200 : 401 })
        }
      })
      let token = "old"
      const fixed = Cluster.make({ server: `http://127.0.0.1:${server.port}` })
      const current = Effect.sync(() => ({ tls: {}, headers: { authorization: `Bearer ${token}` } }))
      const renew = Effect.suspend(() => {
        token = "new"
        return current
      })
      const transport = yield* connect({ ...fixed, current: undefined, credentials: current, renew })
      expect((yield* transport.send({ ...get, method: "POST" })).status).toBe(200)
      expect(seen).toEqual(["Bearer old", "Bearer new"])

      const stubborn = yield* connect(Cluster.make({ server: fixed.server, token: "old" }))
      expect((yield* stubborn.send(get)).status).toBe(401)
      expect(seen).toHaveLength(3)
    })
  )

  live("closes the rejected answer when it opens a watch again with new credentials", () =>
    Effect.gen(function* () {
      const ended = Promise.withResolvers<void>()
      const server = yield* serve({
        fetch: (request) =>
          request.headers.get("authorization") === "Bearer new"
            ? new Response("ok")
            : new Response(
                new ReadableStream({
                  start: (controller) => controller.enqueue(new TextEncoder().encode("who?")),
                  cancel: () => ended.resolve()
                }),
                { status: 401 }
              )
      })
      const fixed = Cluster.make({ server: `http://127.0.0.1:${server.port}`, token: "old" })
      const renew = Effect.succeed({ tls: {}, headers: { authorization: "Bearer new" } })
      const transport = yield* connect({ ...fixed, renew })
      const streaming = yield* transport.open(get)
      expect(streaming.status).toBe(200)
      yield* Effect.promise(() => ended.promise)
      expect(new TextDecoder().decode(yield* streaming.next)).toBe("ok")
    })
  )

  live("accepts a server with a new CA as soon as the credentials contain it", () =>
    Effect.gen(function* () {
      const [before, after] = [yield* Certificates.authority, yield* Certificates.authority]
      const server = yield* serve({ tls: yield* after.server(ip), fetch: () => new Response("ok") })
      let renewals = 0
      const fixed = Cluster.make({ server: `https://127.0.0.1:${server.port}`, tls: { ca: before.certificate } })
      const renewTo = (ca: string) =>
        Effect.sync(() => {
          renewals++
          return { tls: { ca }, headers: {} }
        })
      const transport = yield* connect({ ...fixed, renew: renewTo(after.certificate) })
      expect((yield* transport.send(get)).body).toBe("ok")
      expect(renewals).toBe(1)

      const stubborn = yield* connect({ ...fixed, renew: fixed.credentials })
      expect(yield* Effect.flip(stubborn.send(get))).toMatchObject({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" })
    })
  )

  live("does not send a write whose leadership ended while credentials were read", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const server = yield* serve({
        fetch: (request) => {
          seen.push(request.method)
          return new Response("", { status: request.headers.get("authorization") === null ? 401 : 200 })
        }
      })
      let leads = true
      const renewed = Effect.sync(() => {
        leads = false
        return { tls: {}, headers: { authorization: "Bearer new" } }
      })
      const fixed = Cluster.make({ server: `http://127.0.0.1:${server.port}` })
      const transport = yield* connect({ ...fixed, renew: renewed })
      const permit = { permits: () => leads, reason: "the leadership has ended" }
      const sent = (method: "GET" | "POST") => Fence.within(transport.send({ ...get, method }), permit)
      expect(yield* Effect.flip(sent("POST"))).toMatchObject({ _tag: "Fenced" })
      expect(seen).toEqual(["POST"])
      expect((yield* sent("GET")).status).toBe(200)
    })
  )

  live("reports a proxy that is down or rejects the request, with advice and without its password", () =>
    Effect.gen(function* () {
      const answer = (status: string) =>
        Effect.acquireRelease(
          Effect.sync(() =>
            Bun.listen({
              hostname: "127.0.0.1",
              port: 0,
              socket: { data: (socket) => void socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`) }
            })
          ),
          (listener) => Effect.sync(() => listener.stop(true))
        )
      const denying = yield* answer("407 Proxy Authentication Required")
      const failing = yield* answer("502 Bad Gateway")
      const gone = yield* Effect.scoped(Effect.map(answer("200 OK"), ({ port }) => port))
      const failure = (proxy: string) =>
        Effect.flatMap(connect(Cluster.make({ server: "https://kube.invalid", proxy })), (transport) =>
          Effect.flip(transport.send({ ...get, method: "POST" }))
        )
      expect(yield* failure(`http://me:secret@127.0.0.1:${denying.port}`)).toMatchObject({
        code: "PROXY_DENIED",
        outcome: "unsent",
        message: `POST /version: the proxy does not let us through: does its URL have the right name and password? (407 Proxy Authentication Required) (proxy http://127.0.0.1:${denying.port} to https://kube.invalid, PROXY_DENIED)`
      })
      expect(yield* failure(`http://127.0.0.1:${failing.port}`)).toMatchObject({
        code: "ERR_PROXY_TUNNEL",
        outcome: "unsent",
        message: expect.stringContaining("the proxy has no connection to the server (502 Bad Gateway)")
      })
      expect(yield* failure(`http://me:secret@127.0.0.1:${gone}`)).toMatchObject({
        code: "ECONNREFUSED",
        outcome: "unsent",
        message: `POST /version: connection refused, nothing listens there (proxy http://127.0.0.1:${gone} to https://kube.invalid, ECONNREFUSED)`
      })
      expect(yield* failure("http://[")).toMatchObject({ code: "PROXY_URL", outcome: "unsent" })
    })
  )

  live("ends an aborted request that waits in memory, even in an uninterruptible fiber", () =>
    Effect.gen(function* () {
      const abort = new AbortController()
      const waiting = yield* Effect.forkChild(
        Effect.uninterruptible(Effect.flip(Transport.abortable({ ...get, abort }, Effect.never)))
      )
      yield* Effect.yieldNow
      abort.abort()
      expect(yield* Fiber.join(waiting)).toMatchObject({ code: "ABORTED" })
      const answered = Transport.abortable({ ...get, abort: new AbortController() }, Effect.delay(Effect.succeed(1), 5))
      expect(yield* Effect.uninterruptible(answered)).toBe(1)
    })
  )

  live("uses the proxy of the environment or the kubeconfig, except for loopback", () =>
    Effect.gen(function* () {
      const server = yield* serve({ fetch: () => new Response("server") })
      const proxy = yield* serve({ fetch: (request) => new Response(`proxy for ${request.url}`) })
      const url = `http://127.0.0.1:${proxy.port}`
      const environment = { proxy: { https: "", http: url, except: "" } }
      const body = (cluster: Cluster.Cluster) =>
        Effect.flatMap(connect(cluster, environment), (transport) =>
          Effect.map(transport.send(get), (response) => response.body)
        )
      expect(yield* body(Cluster.make({ server: "http://kube.invalid" }))).toBe(
        "proxy for http://kube.invalid/version?x=1"
      )
      const loopback = `http://127.0.0.1:${server.port}`
      // Bun reads the environment of the process with every request, by its own rules.
      const before = { HTTP_PROXY: process.env.HTTP_PROXY, NO_PROXY: process.env.NO_PROXY }
      yield* Effect.acquireRelease(
        Effect.sync(() => Object.assign(process.env, { HTTP_PROXY: url, NO_PROXY: "*" })),
        () =>
          Effect.sync(() => {
            for (const [name, value] of Object.entries(before)) {
              if (value === undefined) delete process.env[name]
              else process.env[name] = value
            }
          })
      )
      expect(yield* body(Cluster.make({ server: "http://kube.invalid", proxy: url }))).toBe(
        "proxy for http://kube.invalid/version?x=1"
      )
      delete process.env.NO_PROXY
      expect(yield* body(Cluster.make({ server: loopback }))).toBe("server")
      expect(yield* body(Cluster.make({ server: loopback, proxy: url }))).toBe(`proxy for ${loopback}/version?x=1`)
    })
  )

  effect("limits the wait for credentials to the timeout of the request, and continues to read them", () =>
    Effect.gen(function* () {
      const read: Array<string> = []
      const reading = (what: string) =>
        Effect.as(
          Effect.andThen(
            Effect.sleep("30 seconds"),
            Effect.sync(() => void read.push(what))
          ),
          {
            tls: {},
            headers: {}
          }
        )
      const transport = yield* connect({
        ...Cluster.make({ server: "http://127.0.0.1:1" }),
        current: undefined,
        credentials: reading("once")
      })
      const deadline = yield* Deadline.make("memory")
      const send = Effect.flip(deadline.within({ ...get, timeoutMillis: 5000 }, transport.send))
      const failed = yield* Effect.forkChild(Effect.uninterruptible(send))
      yield* TestClock.adjust("5 seconds")
      expect(failed.pollUnsafe()).toMatchObject({ _tag: "Success", value: { code: "DEADLINE" } })
      expect(read).toEqual([])
      const interrupted = yield* Effect.forkChild(send)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(interrupted)
      yield* TestClock.adjust("1 minute")
      expect(read).toEqual(["once"])
    })
  )

  live("reports an unknown outcome if a TLS connection breaks after a write", () =>
    Effect.gen(function* () {
      const authority = yield* Certificates.authority
      const { certificate: cert, key } = yield* authority.server(ip)
      const client = Promise.withResolvers<net.Socket>()
      const listen = (server: net.Server) =>
        Effect.acquireRelease(
          Effect.callback<number>((resume) => {
            server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as net.AddressInfo).port)))
          }),
          () => Effect.sync(() => server.close())
        )
      const server = yield* listen(
        createServer({ cert, key }, (socket) => {
          socket.on("error", () => {})
          // Not a TLS record: the server already has the request.
          socket.once("data", () => client.promise.then((relayed) => relayed.end("no TLS")))
        })
      )
      const relay = yield* listen(
        net.createServer((socket) => {
          client.resolve(socket)
          const behind = net.connect(server, "127.0.0.1")
          for (const each of [socket, behind]) each.on("error", () => {})
          behind.pipe(socket)
          socket.pipe(behind)
        })
      )
      const cluster = Cluster.make({ server: `https://127.0.0.1:${relay}`, tls: { ca: authority.certificate } })
      const transport = yield* connect(cluster, { protocol: "http1.1" })
      const error = yield* Effect.flip(transport.send({ ...get, method: "POST" }))
      expect(error).toMatchObject({ code: "EPROTO", outcome: "unknown" })
    })
  )

  live("fails without credentials, with the reason", () =>
    Effect.gen(function* () {
      const error = new Cluster.CredentialsError({ message: "token file t does not exist" })
      const transport = yield* connect({
        ...Cluster.make({ server: "http://127.0.0.1:1" }),
        current: undefined,
        credentials: Effect.fail(error)
      })
      expect(yield* Effect.flip(transport.send(get))).toMatchObject({
        code: "CREDENTIALS",
        outcome: "unsent",
        message: "GET /version: token file t does not exist"
      })
    })
  )
})
