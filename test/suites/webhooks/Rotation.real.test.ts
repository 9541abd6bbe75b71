/** The certificate of three replicas, on a real and on the embedded API server, which calls one of them for each request. */

import { describe, expect } from "bun:test"
import { X509Certificate } from "node:crypto"
import * as tls from "node:tls"
import * as Authority from "@homeostat/runtime/webhook/Authority"
import * as Contents from "@homeostat/runtime/webhook/Contents"
import * as Eventually from "@homeostat/testkit/Eventually"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Fiber } from "effect"
import * as Endpoint from "../binary/Endpoint.ts"
import * as FakeClock from "./FakeClock.ts"
import * as Load from "./Load.ts"
import * as Scene from "./Scene.ts"

const name = "homeostat-webhook-certificate"
const path = `/api/v1/namespaces/default/secrets/${name}`

const day = 24 * 60 * 60 * 1000

/** The data of a Secret whose certificates a manager issued 400 days ago: the CA and the serving certificate have expired. */
const expired = () => {
  const then = Date.now() - 400 * day
  const { certificate, key, ...ca } = Contents.makeIssuer(then)
  const pair = Authority.issue({ certificate, key }, ["127.0.0.1"], then)
  expect(ca.to).toBeLessThan(Date.now())
  const { keys } = Contents
  return Contents.encoded({
    [keys.certificate]: pair.certificate,
    [keys.key]: pair.key,
    [keys.bundle]: certificate,
    [keys.issuerKey]: key
  })
}

/** Changes the data of the Secret. */
const spoil = (cluster: ControlPlane, data: object) =>
  Effect.map(
    cluster.request("PATCH", path, { body: { data }, contentType: "application/merge-patch+json" }),
    ({ status }) => expect(status).toBe(200)
  )

/** The certificate that a port serves, and why it does not verify against these CAs. */
const served = (port: number, ca: string | undefined = undefined) =>
  Effect.callback<{ readonly certificate: string; readonly error: string | undefined }>((resume) => {
    const socket = tls.connect({
      port,
      host: "127.0.0.1",
      rejectUnauthorized: false,
      ...(ca === undefined ? {} : { ca })
    })
    const end = (certificate: string, error: string | undefined) => {
      socket.destroy()
      resume(Effect.succeed({ certificate, error }))
    }
    socket.on("error", (error) => end("", String(error)))
    socket.on("secureConnect", () =>
      end(
        socket.getPeerX509Certificate()?.toString() ?? "",
        socket.authorized ? undefined : String(socket.authorizationError)
      )
    )
  })

/** The CAs of the validating webhooks, which the API server trusts. */
const trusted = (cluster: ControlPlane) =>
  Effect.map(
    cluster.request("GET", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/homeostat"),
    ({ body }) => {
      const { webhooks } = JSON.parse(body) as {
        readonly webhooks: ReadonlyArray<{ readonly clientConfig: { readonly caBundle: string } }>
      }
      return Buffer.from(webhooks[0]?.clientConfig.caBundle ?? "", "base64").toString()
    }
  )

describe.concurrent.each([
  ["a real", Shared.real],
  ["the embedded", Shared.embedded]
] as const)("Three replicas, on %s API server,", (_, on) => {
  on(
    "replace an expired, deleted or edited certificate under load without a failed call, also with clocks an hour off",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("rotation")
        const ports = yield* Effect.all([Scene.freePort, Scene.freePort, Scene.freePort])
        const { port } = yield* Load.service(ports)
        const metadata = { name, namespace: "default" }
        const before = expired()
        const { status } = yield* cluster.request("POST", "/api/v1/namespaces/default/secrets", {
          body: { apiVersion: "v1", kind: "Secret", metadata, type: Contents.type, data: before }
        })
        expect(status).toBe(201)
        const clocks = yield* Effect.forEach([0, 1, -1], (hours) =>
          FakeClock.make(cluster.directory, `replica${hours}`, hours)
        )
        const replicas = yield* Effect.forEach(clocks, ({ environment }, at) =>
          Scene.replica(cluster, ports[at] ?? 0, [`--webhook-url=https://127.0.0.1:${port}`], environment)
        )
        yield* Effect.forEach(replicas, Scene.ready, { concurrency: "unbounded", discard: true })
        const hoursAhead = replicas.map((replica) => {
          const [, time = ""] = /"time":"([^"]+)"/.exec(replica.stderr()) ?? []
          return ((Date.parse(time) - Date.now()) / 3_600_000).toFixed()
        })
        expect(hoursAhead).toEqual([expect.stringMatching(/^-?0$/), "1", "-1"])
        const certificates = Effect.map(
          Effect.forEach(ports, (each) => served(each)),
          (all) => all.map(({ certificate }) => certificate)
        )
        const first = yield* certificates
        expect(first).toEqual([first[0] ?? "", first[0] ?? "", first[0] ?? ""])
        yield* Eventually.eventually(
          "the webhooks are in force",
          Load.answer(cluster, namespace),
          (text) => text === "denied"
        )

        let calls = 0
        const failures: Array<unknown> = []
        const call = Effect.gen(function* () {
          const outcome = yield* Effect.catch(Load.answer(cluster, namespace), Effect.succeed)
          calls++
          if (outcome !== "denied") failures.push(outcome)
          yield* Effect.sleep("50 millis")
        })
        /** Each replica serves a certificate that the API server accepts; a connection of the load lasts longer. */
        const verify = Effect.gen(function* () {
          const cas = yield* trusted(cluster)
          for (const each of ports) {
            const { error } = yield* served(each, cas)
            if (error !== undefined) failures.push(error)
          }
          yield* Effect.sleep("500 millis")
        })
        const load = yield* Effect.forkScoped(
          Effect.all([Effect.forever(verify), ...Array.from({ length: 4 }, () => Effect.forever(call))], {
            concurrency: "unbounded",
            discard: true
          })
        )
        let last = first
        const replaced = Effect.gen(function* () {
          const old = last[0]
          last = yield* Eventually.eventually(
            "all replicas serve a new certificate",
            Effect.delay(certificates, "500 millis"),
            (now) => now.every((each) => each !== old && each === now[0]),
            "3 minutes"
          )
          expect(failures).toEqual([])
        })
        yield* spoil(cluster, expired())
        yield* replaced
        yield* Effect.forEach(clocks, (clock) => clock.set(0), { discard: true })
        expect(yield* cluster.request("DELETE", path)).toMatchObject({ status: 200 })
        yield* replaced
        yield* spoil(cluster, { "tls.crt": "cnViYmlzaA==", "ca.crt": "cnViYmlzaA==", "tls.key": "cnViYmlzaA==" })
        yield* replaced
        yield* Effect.sleep("3 seconds")
        yield* Fiber.interrupt(load)
        expect(failures).toEqual([])
        expect(calls).toBeGreaterThan(500)
        const sum = (metric: string) =>
          Effect.map(
            Effect.forEach(replicas, (replica) => Endpoint.metric(replica, metric)),
            (values) => values.reduce((total, value) => total + value, 0)
          )
        // One for the start, and one for each change of the Secret.
        expect(yield* sum("homeostat_webhook_certificate_renewals_total")).toBe(4)
        const { validFrom, validTo } = new X509Certificate(last[0] ?? "")
        expect(yield* sum("homeostat_webhook_certificate_start_timestamp_seconds")).toBe(
          (3 * Date.parse(validFrom)) / 1000
        )
        expect(yield* sum("homeostat_webhook_certificate_expiration_timestamp_seconds")).toBe(
          (3 * Date.parse(validTo)) / 1000
        )
      }),
    { alone: true, timeoutMillis: 720_000 }
  )
})
