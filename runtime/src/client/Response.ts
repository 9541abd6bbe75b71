/** Responses: whole (`Response`), or a stream (`Streaming`). */
import type * as Effect from "effect/Effect"
import type * as ApiError from "./ApiError.ts"

/** Looks up headers, in any case. `Headers` satisfies it. */
export interface ResponseHeaders {
  readonly get: (name: string) => string | null
}

/** A response with its whole body. */
export interface Response {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: string
}

/** A response whose body still arrives. Its scope ends it. */
export interface Streaming {
  readonly status: number
  readonly headers: ResponseHeaders
  /**
   * The next bytes, or `undefined` at a regular end. For one reader without pauses, because HTTP/2 bodies are buffered and not slowed
   * down. After an interruption it must not be called again: bytes may be lost.
   */
  readonly next: Effect.Effect<Uint8Array | undefined, ApiError.Transport>
  /** Ends the body: a waiting `next` fails or is interrupted. */
  readonly abort: Effect.Effect<void>
}
