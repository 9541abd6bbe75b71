/** A webhook on the loopback interface, whose responses a test chooses. */

import type * as Json from "@homeostat/apiserver/model/Json"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { Effect, type Scope } from "effect"

/** The whole answer of a webhook: a review, or any other response. */
export type Answer = (review: Json.JsonObject, path: string) => Json.JsonObject | Response | Promise<Response>

export interface Webhook {
  /** The `clientConfig` for a path of the webhook. */
  readonly at: (path: string) => Json.JsonObject
  readonly port: number
  /** The certificate of its CA, as a `caBundle`. */
  readonly caBundle: string
  /** The received reviews, oldest first. */
  readonly reviews: Array<Json.JsonObject>
  /** Answers all further reviews in this way. */
  readonly answer: (answer: Answer) => void
  /** Stops the webhook and closes its port. */
  readonly stop: Effect.Effect<void>
}

/** Starts a webhook until the end of the Scope. `dns` are further names of its certificate. */
export const start = (first: Answer, dns: ReadonlyArray<string> = []): Effect.Effect<Webhook, never, Scope.Scope> =>
  Effect.gen(function* () {
    const authority = yield* Certificates.authority
    const { certificate, key } = yield* authority.server({ dns: ["localhost", ...dns], ip: ["127.0.0.1"] })
    const reviews: Array<Json.JsonObject> = []
    let answer = first
    const server = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Bun.serve({
          hostname: "127.0.0.1",
          port: 0,
          tls: { cert: certificate, key },
          fetch: async (request) => {
            const review = (await request.json()) as Json.JsonObject
            reviews.push(review)
            const given = await answer(review, new URL(request.url).pathname)
            return given instanceof Response ? given : Response.json(given)
          }
        })
      ),
      (server) => Effect.promise(() => server.stop(true))
    )
    const caBundle = Buffer.from(authority.certificate).toString("base64")
    const port = server.port ?? 0
    return {
      at: (path) => ({ url: `https://127.0.0.1:${port}${path}`, caBundle }),
      port,
      caBundle,
      reviews,
      answer: (next) => {
        answer = next
      },
      stop: Effect.promise(() => server.stop(true))
    }
  })
