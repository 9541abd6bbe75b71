/**
 * What a layer of the stack takes and gives: a request turned into its successful answer.
 */
import type * as Effect from "effect/Effect"
import type { ApiError } from "./ApiError.ts"
import type { Request } from "./Request.ts"
import type { Response } from "./Response.ts"

/** Answers a request, or fails with what the server said instead. */
export type Handler = (request: Request) => Effect.Effect<Response, ApiError>
