/** The layer above the transport: turns an unsuccessful response into its `ApiError`. */
import * as Effect from "effect/Effect"
import * as ApiError from "./ApiError.ts"
import type { Handler } from "./Handler.ts"
import { infoOf, type Request } from "./Request.ts"
import type { Response, ResponseHeaders, Streaming } from "./Response.ts"

const isSuccess = (status: number): boolean => status >= 200 && status < 300

// The largest body of an error that is read, in bytes. Errors are small.
const largestError = 1 << 20

/** Fails unless the response is successful. Passes its warnings to `warn` in both cases. */
export const check =
  (warn: (headers: ResponseHeaders) => Effect.Effect<void>) =>
  (send: Handler): Handler =>
  (request) =>
    Effect.flatMap(send(request), (response: Response) => {
      const answer: Effect.Effect<Response, ApiError.ApiError> = isSuccess(response.status)
        ? Effect.succeed(response)
        : Effect.fail(ApiError.fromResponse(infoOf(request), response))
      return response.headers.get("warning") === null ? answer : Effect.zipRight(warn(response.headers), answer)
    })

const readError = Effect.fnUntraced(function* (streaming: Streaming) {
  const decoder = new TextDecoder()
  let body = ""
  while (body.length < largestError) {
    const bytes = yield* streaming.next
    if (bytes === undefined) break
    body += decoder.decode(bytes, { stream: true })
  }
  return body
})

/** The same for a stream. Reads the body to its end only if the response is an error. */
export const checkStreaming = (request: Request, streaming: Streaming): Effect.Effect<Streaming, ApiError.ApiError> =>
  isSuccess(streaming.status)
    ? Effect.succeed(streaming)
    : Effect.flatMap(readError(streaming), (body) =>
        Effect.fail(
          ApiError.fromResponse(infoOf(request), { status: streaming.status, headers: streaming.headers, body })
        )
      )
