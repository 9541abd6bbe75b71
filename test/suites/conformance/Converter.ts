/** A conversion webhook. */

import * as Json from "@homeostat/apiserver/model/Json"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { Effect, type Scope } from "effect"

export interface Converter {
  /** The `clientConfig` of the webhook for the CRD. */
  readonly clientConfig: Json.JsonObject
  /** The received reviews, oldest first. */
  readonly reviews: ReadonlyArray<Json.JsonObject>
  /** Makes the webhook fail all later reviews with this message. */
  readonly fail: (message: string) => void
}

/** Starts a webhook that sets the desired version and `spec.converted`. */
export const start: Effect.Effect<Converter, never, Scope.Scope> = Effect.gen(function* () {
  const authority = yield* Certificates.authority
  const { certificate, key } = yield* authority.server({ dns: ["localhost"], ip: ["127.0.0.1"] })
  const reviews: Array<Json.JsonObject> = []
  let failure: string | undefined
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        tls: { cert: certificate, key },
        fetch: async (request) => {
          const review = (await request.json()) as Json.JsonObject
          reviews.push(review)
          return Response.json({ ...review, request: undefined, response: answerTo(review, failure) })
        }
      })
    ),
    (server) => Effect.promise(() => server.stop(true))
  )
  return {
    clientConfig: {
      url: `https://127.0.0.1:${server.port}/convert`,
      caBundle: Buffer.from(authority.certificate).toString("base64")
    },
    reviews,
    fail: (message) => {
      failure = message
    }
  }
})

const answerTo = (review: Json.JsonObject, failure: string | undefined): Json.JsonObject => {
  const { desiredAPIVersion = "", objects, uid = "" } = Json.object(review.request)
  if (failure !== undefined) return { uid, result: { status: "Failure", message: failure } }
  const convertedObjects = Json.objects(objects).map((object) => ({
    ...object,
    apiVersion: desiredAPIVersion,
    spec: { ...Json.object(object.spec), converted: `to ${desiredAPIVersion}` }
  }))
  return { uid, result: { status: "Success" }, convertedObjects }
}
