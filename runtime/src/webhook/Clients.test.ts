/** The clients of the webhooks that a CA allows. */
import { afterAll, describe, expect, test } from "bun:test"
import { connect } from "node:tls"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as SelfSigned from "../manager/SelfSigned.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Authority from "./Authority.ts"
import * as Call from "./Call.ts"
import type { Pair } from "./CertificateSource.ts"
import * as ClientCertificate from "./ClientCertificate.fixture.ts"
import type * as Listener from "./Listener.ts"
import * as WebhookServer from "./WebhookServer.ts"

const now = Date.now()
const pair = SelfSigned.make(["127.0.0.1"], now)
const certificateOf = (authority: Pair, name?: string, to?: number): Pair =>
  ClientCertificate.of(authority, now, { name, to })
const [ca, other, next] = [1, 2, 3].map(() => Authority.makeAuthority(now)) as [Pair, Pair, Pair]

/** A server, its metrics, its log and its requests so far. */
const serve = async (clients: Listener.Clients | undefined, more: ReadonlyArray<string> = []) => {
  const scope = Effect.runSync(Scope.make())
  const metrics = Metrics.make()
  const lines: Array<string> = []
  const calls: Array<Call.Call> = []
  const endpoint = () => Effect.succeed({ code: 200, panicked: false, body: { done: true } })
  const { port } = await Effect.runPromise(
    WebhookServer.make({
      hostname: "127.0.0.1",
      port: 0,
      certificates: { first: pair, after: () => Effect.never },
      clients,
      routes: new Map<string, WebhookServer.Route>([
        ["/answer", { type: "admission", endpoint }],
        ...more.map((path) => [path, { type: "conversion", endpoint }] as const)
      ])
    }).pipe(
      Call.observedBy((call) => void calls.push(call)),
      Effect.provideService(Metrics.Metrics, metrics),
      Scope.provide(scope),
      Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))]))
    )
  )
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  /** The first line of the response; empty if the server closed the connection. */
  const ask = (certificate?: Pair, path = "/answer") =>
    new Promise<string>((resolve) => {
      const socket = connect({
        port,
        host: "127.0.0.1",
        ca: pair.certificate,
        ...(certificate !== undefined && { cert: certificate.certificate, key: certificate.key })
      })
      let text = ""
      socket.on("data", (data) => {
        text += data
        socket.end()
      })
      socket.on("error", () => {})
      socket.on("close", () => resolve(text.split("\r\n")[0] ?? ""))
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`
      )
    })
  const rejected = (): unknown => {
    const family = metrics.read().find(({ metric }) => metric.name === "homeostat_webhook_rejected_connections_total")
    return (family?.series[0] as Metrics.Scalar | undefined)?.value
  }
  return { ask, rejected, lines, calls }
}

const answered = "HTTP/1.1 200 OK"
const never = () => Effect.never

describe("A server with a CA of its clients", () => {
  test("answers only a client with a valid certificate of that CA, and counts and logs the others", async () => {
    const server = await serve({ cas: ca.certificate, after: never, name: undefined })
    expect(await server.ask(certificateOf(ca))).toBe(answered)
    expect(server.calls).toMatchObject([{ client: { address: "127.0.0.1", isVerified: true } }])
    expect(server.lines).toEqual([])
    const others = [
      undefined,
      certificateOf(other),
      certificateOf(ca, "kube-apiserver", now - 3_600_000),
      // A certificate of a server.
      Authority.issue(ca, ["kube-apiserver"], now)
    ]
    for (const each of others) expect(await server.ask(each)).toBe("")
    expect(server.calls).toHaveLength(1)
    expect(server.rejected()).toBe(others.length)
    expect(server.lines).toEqual([
      "A client of the webhooks was rejected: ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE (an API server needs a certificate of --webhook-client-ca)"
    ])
  })

  test("answers only a client with the name", async () => {
    const server = await serve({ cas: ca.certificate, after: never, name: "kube-apiserver" })
    expect(await server.ask(certificateOf(ca))).toBe(answered)
    expect(await server.ask(certificateOf(ca, "system:node:a"))).toBe("")
    expect(server.rejected()).toBe(1)
    expect(server.lines).toEqual([
      'A client of the webhooks was rejected: its certificate has the common name "system:node:a" (an API server needs a certificate of --webhook-client-ca)'
    ])
  })

  test("converts for all clients, because an API server has no certificate for conversions", async () => {
    const server = await serve({ cas: ca.certificate, after: never, name: "kube-apiserver" }, ["/convert"])
    expect(await server.ask(certificateOf(ca))).toBe(answered)
    for (const each of [undefined, certificateOf(other), certificateOf(ca, "system:node:a")]) {
      expect(await server.ask(each, "/convert")).toBe(answered)
      expect(await server.ask(each)).toBe("HTTP/1.1 403 Forbidden")
    }
    expect(server.calls.map(({ client, status }) => [client.isVerified, status])).toEqual([
      [true, 200],
      ...[1, 2, 3].flatMap(() => [
        [false, 200],
        [false, 403]
      ])
    ] as Array<Array<boolean | number>>)
    expect(server.rejected()).toBe(3)
    expect(server.lines).toHaveLength(1)
  })

  test("follows a change of the CA", async () => {
    const change = Effect.runSync(Deferred.make<string>())
    const after = (cas: string) => (cas === ca.certificate ? Deferred.await(change) : Effect.never)
    const server = await serve({ cas: ca.certificate, after, name: undefined })
    expect(await server.ask(certificateOf(next))).toBe("")
    Effect.runSync(Deferred.succeed(change, next.certificate))
    expect(await server.ask(certificateOf(next))).toBe(answered)
    expect(await server.ask(certificateOf(ca))).toBe("")
  })
})

test("A server without a CA of its clients answers all clients, and records that they are not verified", async () => {
  const server = await serve(undefined)
  expect(await server.ask()).toBe(answered)
  expect(server.calls).toMatchObject([{ client: { address: "127.0.0.1", isVerified: false } }])
})
