/**
 * The record of one request to a webhook: its object, and the answer. The server passes it to every observer. Traces and `why` are
 * observers.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Resource from "../resource/Resource.ts"
import type { Span } from "../telemetry/Recording.ts"
import type * as JsonPatch from "./JsonPatch.ts"

/** An AdmissionReview. */
export interface Admission {
  readonly resource: Resource.Any
  /** The UID of the review. */
  readonly uid: string
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT"
  readonly namespace: string | undefined
  /** Absent if the API server generates the name later. */
  readonly name: string | undefined
  /** The UID of the object. The API server sets it before it calls webhooks. */
  readonly objectUid: string | undefined
  readonly dryRun: boolean
  readonly username: string
  /** Absent if the webhook failed, or did not answer in time. */
  answer:
    | {
        /** The message of a denial; absent if the request is allowed. */
        readonly denial: string | undefined
        readonly warnings: ReadonlyArray<string>
        readonly patch: ReadonlyArray<JsonPatch.Operation>
      }
    | undefined
}

/** A ConversionReview. */
export interface Conversion {
  readonly uid: string
  /** The version to convert to, such as `example.com/v2`. */
  readonly desired: string
  /** The number of objects. */
  readonly objects: number
  /** The kind of the first object. */
  readonly kind: string | undefined
  /** The message of a failure. */
  failure: string | undefined
}

/** The sender of a request. */
export interface Client {
  /** Its IP address. */
  readonly address: string
  /** Whether a certificate proved that it is the API server. Otherwise it can be any pod. */
  readonly isVerified: boolean
}

/** A request. Times are milliseconds of the Clock. */
export interface Call {
  readonly method: string
  readonly path: string
  readonly client: Client
  readonly startedAt: number
  /** `startedAt` plus the duration in monotonic time. */
  finishedAt: number
  /** At most one of both is present: neither is if the body is not a review. */
  admission: Admission | undefined
  conversion: Conversion | undefined
  /** The HTTP status; absent if the API server closed the connection before the answer. */
  status: number | undefined
  /** The message of an HTTP error. */
  problem: string | undefined
  /** Whether code of the program threw. */
  panicked: boolean
  /** Its trace; absent without tracing. */
  readonly root: Span | undefined
}

/** Receives every request after its answer. It must not throw, and it should be fast. */
export type Observer = (call: Call) => void

/** The observers of all requests. Default: none. */
export const Observers = Context.Reference("@homeostat/runtime/WebhookObservers", {
  defaultValue: (): ReadonlyArray<Observer> => []
})

/**
 * Adds an observer of the requests in an effect, after all others.
 *
 * @internal
 */
export const observedBy =
  (last: Observer) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.updateContext(effect, (context: Context.Context<R>) =>
      Context.add(context, Observers, [...Context.get(context, Observers), last])
    )
