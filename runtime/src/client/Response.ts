/**
 * What came back: whole (`Response`), or as it arrives (`Streaming`).
 */
import type * as Effect from "effect/Effect"
import type * as ApiError from "./ApiError.ts"

/** Lookup by name, in any case. `Headers` is one. */
export interface ResponseHeaders {
  readonly get: (name: string) => string | null
}

/** An answer whose body was read to its end. */
export interface Response {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: string
}

/** An answer whose body is still arriving. The scope it was opened in ends it. */
export interface Streaming {
  readonly status: number
  readonly headers: ResponseHeaders
  /**
   * The next bytes as they came, `undefined` at a clean end. For one reader, who reads on without pause: HTTP/2 bodies
   * are buffered, not slowed down. Once interrupted it is not to be called again: bytes may be gone.
   */
  readonly next: Effect.Effect<Uint8Array | undefined, ApiError.Transport>
  /** Ends the body from our side: a `next` that waits stops waiting, by failing or by interruption. */
  readonly abort: Effect.Effect<void>
}
