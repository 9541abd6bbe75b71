/** The reply of a webhook endpoint, and its failure. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { Call } from "./Call.ts"

/** The request is not one that this endpoint can answer; the API server applies the webhook's failure policy. */
export class Rejected extends Data.TaggedError("Rejected")<{
  /** The HTTP status. */
  readonly status: number
  readonly message: string
}> {}

/**
 * The answer of an endpoint to the body of a request, which is parsed JSON. It adds the review to the record of the request, if there
 * is one.
 */
export type Endpoint<out R = never> = (
  body: unknown,
  call?: Pick<Call, "admission" | "conversion">
) => Effect.Effect<Reply, Rejected, R>

/** An answer: the review to send, and facts for metrics and logs. */
export interface Reply {
  readonly body: object
  /** The code of `status`, or 200. */
  readonly code: number
  /** Whether code of the program threw. */
  readonly panicked: boolean
}

/** A request that is not a valid review: HTTP 400. */
export const badRequest = (message: string): Rejected => new Rejected({ status: 400, message })

/** Decodes an envelope, or rejects the request. */
export const decoded = <A>(read: () => A | undefined, expected: string): Effect.Effect<A, Rejected> =>
  Effect.suspend(() => {
    const value = read()
    return value === undefined
      ? Effect.fail(badRequest(`invalid request body (must be ${expected})`))
      : Effect.succeed(value)
  })
