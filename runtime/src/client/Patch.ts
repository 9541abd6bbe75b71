/**
 * A change to an object, in one of the forms that the API server takes. (Server-side apply is not one of them: it is a
 * statement of intent, `Client.apply`.)
 */
import * as Effect from "effect/Effect"
import { type ApiError, Conflict, Invalid } from "./ApiError.ts"

/** One step of a JSON Patch (RFC 6902). A `test` that does not hold makes the server refuse the whole. */
export type Operation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string }

/**
 * Adds to a JSON patch that is made from the state of an object: fails with Conflict where the object has changed. The server
 * answers with 422 and without a cause where a `test` does not hold or a path does not exist.
 */
export const guarded = <A, E, R>(
  effect: Effect.Effect<A, E | ApiError, R>
): Effect.Effect<A, Exclude<E, Invalid> | ApiError, R> =>
  Effect.catchAll(effect, (error) =>
    Effect.fail(
      error instanceof Invalid && error.causes.length === 0
        ? new Conflict({
            ...error,
            message: `${error.message} (the object has changed)`,
            code: 409,
            reason: "Conflict"
          })
        : (error as Exclude<E, Invalid> | ApiError)
    )
  )

/** A change, as it is sent. */
export interface Patch {
  /** Which form it has: `application/merge-patch+json`, `application/json-patch+json`. */
  readonly contentType: string
  /** What is sent, as JSON. */
  readonly body: unknown
}

/**
 * JSON Merge Patch (RFC 7386): fields that are there are set, `null` removes one, lists are replaced as a whole. With
 * `metadata.resourceVersion` in it, the server refuses (Conflict) when the object has changed.
 */
export const merge = (value: object): Patch => ({ contentType: "application/merge-patch+json", body: value })

/** JSON Patch: the steps in order, all or none. */
export const json = (operations: ReadonlyArray<Operation>): Patch => ({
  contentType: "application/json-patch+json",
  body: operations
})

/** Strategic merge patch: merges lists by key. For built-in kinds only; custom resources answer 415. */
export const strategic = (value: object): Patch => ({
  contentType: "application/strategic-merge-patch+json",
  body: value
})

/** A key of an object as part of a JSON Pointer: `app.kubernetes.io/name` to `app.kubernetes.io~1name`. */
export const pointer = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")
