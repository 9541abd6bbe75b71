/** The client waits as an overloaded server demands, and retries only the requests that it may retry. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import * as Transport from "@homeostat/runtime/client/Transport"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Clock, Effect, Layer, References } from "effect"
import * as Front from "./Front.ts"

/** A kube-apiserver's response to too many requests: text, not a Status. */
const overloaded: Front.Refusal = {
  status: 429,
  headers: { "content-type": "text/plain; charset=utf-8", "retry-after": "1" },
  body: "Too many requests, please try again later.\n"
}
/** A load balancer's response when it has no server. */
const unavailable: Front.Refusal = { status: 503, headers: { "content-type": "text/html" }, body: "<h1>503</h1>" }

/** Rejects the first `times` requests, and passes the result, the count of requests and the duration to `judge`. */
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
        const result = yield* Effect.catch(Effect.provide(request(namespace), client), Effect.succeed)
        judge({ result, sent, millis: (yield* Clock.currentTimeMillis) - started })
      }).pipe(Effect.provideService(References.MinimumLogLevel, "None")),
    Envtest.everything
  )

const create = (namespace: string) => Client.create(ConfigMap, { metadata: { namespace, name: "one" } })

describe.concurrent("A server that refuses", () => {
  refused(
    "with 429 and a text gets the same request after Retry-After, also a create",
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
    "with 429 for longer than a request waits fails the request with its message",
    overloaded,
    99,
    create,
    (outcome) => {
      expect(outcome.result).toMatchObject({
        _tag: "TooManyRequests",
        retryAfterMillis: 1_000,
        message: expect.stringContaining("Too many requests, please try again later.")
      })
      // Five requests, or fewer on a slow machine.
      expect(outcome.sent).toBeWithin(3, 6)
    }
  )

  refused(
    "with 503 gets an idempotent request again",
    unavailable,
    2,
    (namespace) => Client.apply(ConfigMap, { metadata: { namespace, name: "one" } }, { fieldManager: "test" }),
    (outcome) => {
      expect(outcome.result).toMatchObject({ metadata: { name: "one" } })
      expect(outcome.sent).toBe(3)
    }
  )

  refused("with 503 does not get a create again", unavailable, 1, create, (outcome) => {
    expect(outcome.result).toMatchObject({ _tag: "ServerError", code: 503 })
    expect(outcome.sent).toBe(1)
  })
})
