/**
 * The layer next to the transport: an answer that is not a success becomes the `ApiError` it stands for.
 */
import * as Effect from "effect/Effect"
import * as ApiError from "./ApiError.ts"
import type { Handler } from "./Handler.ts"
import { infoOf, type Request } from "./Request.ts"
import type { Response, ResponseHeaders, Streaming } from "./Response.ts"

const isSuccess = (status: number): boolean => status >= 200 && status < 300

// An error is small; a body that goes on after this much is not one that we could read.
const largestError = 1 << 20

/** Fails unless the server says that the request succeeded. Its warnings go to `warn`, either way. */
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

/** The same for an answer that goes on: its body is read to the end only when it is an error. */
export const checkStreaming = (request: Request, streaming: Streaming): Effect.Effect<Streaming, ApiError.ApiError> =>
  isSuccess(streaming.status)
    ? Effect.succeed(streaming)
    : Effect.flatMap(readError(streaming), (body) =>
        Effect.fail(
          ApiError.fromResponse(infoOf(request), { status: streaming.status, headers: streaming.headers, body })
        )
      )
