/**
 * A server that is overloaded or about to go, and says so before it does anything: what it asks for is kept to, and what may
 * be sent again is.
 */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import * as Transport from "@homeostat/runtime/client/Transport"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Clock, Effect, Layer, Logger, LogLevel } from "effect"
import * as Front from "./Front.ts"

/** As kube-apiserver says it when it has too many requests: no Status, but text. */
const overloaded: Front.Refusal = {
  status: 429,
  headers: { "content-type": "text/plain; charset=utf-8", "retry-after": "1" },
  body: "Too many requests, please try again later.\n"
}
/** As a load balancer says it whose server has gone. */
const unavailable: Front.Refusal = { status: 503, headers: { "content-type": "text/html" }, body: "<h1>503</h1>" }

/** Does something while the first requests are refused; gives the outcome, how often it was sent and how long it took. */
const refused = <A, E>(
  name: string,
  refusal: Front.Refusal,
  times: number,
  request: (namespace: string) => Effect.Effect<A, E, Client.Client>,
  judge: (outcome: { readonly result: A | E; readonly sent: number; readonly millis: number }) => void
) =>
  Shared.cluster(
    name,
    (cluster) =>
      Effect.gen(function* () {
        const authority = yield* Certificates.authority
        const front = yield* Front.start(cluster, yield* authority.server({ dns: [], ip: ["127.0.0.1"] }))
        const client = yield* Layer.build(
          Layer.provide(
            Client.layer(),
            Transport.layer(Cluster.make({ server: front.url, tls: { ca: authority.certificate } }))
          )
        )
        const namespace = yield* cluster.namespace("refused")
        let sent = 0
        front.instead(() => (sent++ < times ? refusal : undefined))
        const started = yield* Clock.currentTimeMillis
        const result = yield* Effect.merge(Effect.provide(request(namespace), client))
        judge({ result, sent, millis: (yield* Clock.currentTimeMillis) - started })
      }).pipe(Logger.withMinimumLogLevel(LogLevel.None)),
    Envtest.everything
  )

const create = (namespace: string) => Client.create(ConfigMap, { metadata: { namespace, name: "one" } })

describe.concurrent("A server that refuses", () => {
  refused(
    "with 429 and a text is asked again after the time that it names, for a create too: it did nothing",
    overloaded,
    2,
    create,
    ({ millis, result, sent }) => {
      expect(result).toMatchObject({ metadata: { name: "one" } })
      expect(sent).toBe(3)
      expect(millis).toBeGreaterThanOrEqual(2_000)
    }
  )

  refused(
    "with 429 for longer than a request waits is told of, with what it said",
    overloaded,
    99,
    create,
    (outcome) => {
      expect(outcome.result).toMatchObject({
        _tag: "TooManyRequests",
        retryAfterMillis: 1_000,
        message: expect.stringContaining("Too many requests, please try again later.")
      })
      // Five times, unless the machine is so slow that the time is over before.
      expect(outcome.sent).toBeWithin(3, 6)
    }
  )

  refused(
    "with 503 is asked again for what may be repeated",
    unavailable,
    2,
    (namespace) => Client.apply(ConfigMap, { metadata: { namespace, name: "one" } }, { fieldManager: "test" }),
    (outcome) => {
      expect(outcome.result).toMatchObject({ metadata: { name: "one" } })
      expect(outcome.sent).toBe(3)
    }
  )

  refused("with 503 is not asked again for a create, which it may have made", unavailable, 1, create, (outcome) => {
    expect(outcome.result).toMatchObject({ _tag: "ServerError", code: 503 })
    expect(outcome.sent).toBe(1)
  })
})
