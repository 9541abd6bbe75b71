import { describe, expect } from "bun:test"
import { connect } from "node:net"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { live } from "@homeostat/testkit/Test"
import { Effect, Schedule } from "effect"
import { anonymous } from "../model/User.ts"
import * as ApiServer from "./ApiServer.ts"
import { configMaps, make } from "./Client.fixture.ts"
import * as Http from "./Http.ts"

const fetched = (url: string, init?: BunFetchRequestInit) =>
  Effect.tryPromise({ try: () => fetch(url, init), catch: (error) => String(error) })

const post = (url: string, name: string, init?: BunFetchRequestInit) =>
  fetched(url + configMaps, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ metadata: { name } }),
    ...init
  })

/** The response to a text on a new connection. */
const raw = (port: number, text: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    let answer = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(text))
    socket.on("data", (part) => {
      answer += part
    })
    socket.on("close", () => resume(Effect.succeed(answer)))
  })

const read = (reader: { readonly read: () => Promise<{ readonly value?: Uint8Array | undefined }> }) =>
  Effect.map(
    Effect.promise(() => reader.read()),
    ({ value }) => new TextDecoder().decode(value)
  )

describe("Http", () => {
  live("answers requests with their status and headers", () =>
    Effect.gen(function* () {
      const { url } = yield* Http.serve(yield* make())
      expect(url).toStartWith("http://127.0.0.1:")
      const made = yield* post(url, "a")
      expect(made.status).toBe(201)
      expect(made.headers.get("content-type")).toBe("application/json")
      const missing = yield* fetched(`${url}${configMaps}/none`)
      expect(missing.status).toBe(404)
      const warned = yield* fetched(url + configMaps, { method: "POST", body: '{"metadata":{"name":"b"},"odd":1}' })
      expect(warned.headers.get("warning")).toBe('299 - "unknown field \\"odd\\""')
      expect((yield* fetched(`${url}/openapi/v3`)).status).toBe(200)
    })
  )

  live("compresses long responses for clients that accept gzip", () =>
    Effect.gen(function* () {
      const { url } = yield* Http.serve(yield* make())
      yield* post(url, "long", {
        body: JSON.stringify({ metadata: { name: "long" }, data: { a: "ü".repeat(100_000) } })
      })
      yield* post(url, "short")
      for (const accept of ["application/json", "application/vnd.kubernetes.protobuf"]) {
        const answers = yield* Effect.forEach(["gzip", "br, gzip;q=0.5", "identity"], (encodings) =>
          fetched(`${url}${configMaps}/long`, { headers: { accept, "accept-encoding": encodings } })
        )
        expect(answers.map(({ headers }) => headers.get("content-encoding"))).toEqual(["gzip", "gzip", null])
        const bodies = yield* Effect.promise(() => Promise.all(answers.map((answer) => answer.bytes())))
        expect(bodies[0]?.length).toBeGreaterThan(200_000)
        expect(bodies[0]).toEqual(bodies[2])
        expect(bodies[1]).toEqual(bodies[2])
        const short = yield* fetched(`${url}${configMaps}/short`, { headers: { accept, "accept-encoding": "gzip" } })
        expect(short.headers.get("content-encoding")).toBeNull()
      }
    })
  )

  live(
    "sends the headers of a watch at once and each event when it happens, and ends the watch when the client is gone",
    () =>
      Effect.gen(function* () {
        const server = yield* make()
        const { pending, url } = yield* Http.serve(server)
        const gone = new AbortController()
        const answer = yield* fetched(`${url}/api/v1/configmaps?watch=true&resourceVersion=${server.store.revision}`, {
          signal: gone.signal
        })
        expect(answer.status).toBe(200)
        const reader = answer.body?.getReader()
        if (reader === undefined) throw new Error("no body")
        for (const name of ["a", "b"]) {
          yield* post(url, name)
          expect(yield* read(reader)).toContain(`"name":"${name}"`)
        }
        expect(pending()).toBe(1)
        gone.abort()
        yield* Effect.retry(
          Effect.suspend(() => (pending() === 0 ? Effect.void : Effect.fail("still there"))),
          { schedule: Schedule.spaced("10 millis"), times: 300 }
        )
      })
  )

  live("keeps a connection for the next request as long as kube-apiserver does", () =>
    Effect.gen(function* () {
      const { url } = yield* Http.serve(yield* make())
      const { headers } = yield* fetched(`${url}/version`)
      expect([headers.get("connection"), headers.get("keep-alive")]).toEqual(["keep-alive", "timeout=90"])
    })
  )

  live("closes its watches and connections when its scope ends", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const reader = yield* Effect.scoped(
        Effect.gen(function* () {
          const { url } = yield* Http.serve(server)
          const answer = yield* fetched(`${url}/api/v1/configmaps?watch=true&resourceVersion=${server.store.revision}`)
          return answer.body?.getReader()
        })
      )
      const end = yield* Effect.promise(
        () => reader?.read().catch(() => ({ done: true })) ?? Promise.resolve(undefined)
      )
      expect(end?.done).toBe(true)
    })
  )

  live("recognizes users by client certificates of its CA", () =>
    Effect.gen(function* () {
      const authority = yield* Certificates.authority
      const other = yield* Certificates.authority
      const own = yield* authority.server({ dns: ["localhost"], ip: ["127.0.0.1"] })
      const { url } = yield* Http.serve(yield* ApiServer.make({ seed: 1 }), {
        tls: { cert: own.certificate, key: own.key, clientCa: authority.certificate },
        anonymous
      })
      const body = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" })
      const asked = (client?: { readonly certificate: string; readonly key: string }) =>
        Effect.flatMap(
          fetched(`${url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body,
            keepalive: false,
            tls: {
              ca: authority.certificate,
              ...(client !== undefined && { cert: client.certificate, key: client.key })
            }
          }),
          (answer) => Effect.promise(() => answer.json())
        )
      expect(yield* asked(yield* authority.client("ann", ["devs", "ops"]))).toMatchObject({
        status: { userInfo: { username: "ann", groups: ["devs", "ops", "system:authenticated"] } }
      })
      expect(yield* asked(yield* other.client("ann", ["devs"]))).toMatchObject({ code: 401 })
      expect(yield* asked()).toMatchObject({ code: 403 })
    })
  )

  for (const [allowed, user, status] of [
    ["the user of the options", anonymous, 403],
    ["nobody", false, 401],
    ["the user of the server", undefined, 200]
  ] as const) {
    live(`takes requests without a token to be of ${allowed}`, () =>
      Effect.gen(function* () {
        const { port, url } = yield* Http.serve(yield* make(), { anonymous: user })
        for (const authorization of [undefined, "Basic eDp5", "Bearer", "Bearer  ", "secret"]) {
          const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
          const answer = yield* fetched(url + configMaps, { headers })
          expect([authorization, answer.status]).toEqual([authorization, status])
        }
        // The HTTP parser refuses this method.
        const text = yield* raw(port, `COOK ${configMaps} HTTP/1.1\r\nhost: a\r\nauthorization: Basic eDp5\r\n\r\n`)
        expect(text).toStartWith(`HTTP/1.1 ${status === 200 ? 405 : status} `)
      })
    )
  }
})
