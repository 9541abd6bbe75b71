/** A layer of the stack: turns a request into its successful response. */
import type * as Effect from "effect/Effect"
import type { ApiError } from "./ApiError.ts"
import type { Request } from "./Request.ts"
import type { Response } from "./Response.ts"

/** Sends a request. Fails with the server's error. */
export type Handler = (request: Request) => Effect.Effect<Response, ApiError>
