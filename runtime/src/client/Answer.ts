/**
 * The layer above the transport: turns an unsuccessful response into its `ApiError`.
 *
 * An API server quotes values of the request in errors and warnings. The errors and warnings of this layer have no values of Secrets: of those
 * in the request, and of those that the reconcile has read or written before.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Secrecy from "../telemetry/Secrecy.ts"
import * as SecretValues from "../telemetry/SecretValues.ts"
import * as ApiError from "./ApiError.ts"
import { Exchanges, type Ledger } from "./Exchange.ts"
import type { Handler } from "./Handler.ts"
import { infoOf, mostErrorBytes, type Request } from "./Request.ts"
import type { Response, ResponseHeaders, Streaming } from "./Response.ts"

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** Removes the values of Secrets in a request, and of those that its reconcile knows, from a text. */
export const hiding = ({ body, path }: Request, ledger?: Ledger): ((text: string) => string) => {
  const values = SecretValues.make()
  const sent = SecretValues.jsonOf(body)
  values.learn(sent, SecretValues.isSecretPath(path))
  values.learnNamed(sent)
  return (text) => {
    const shown = values.replaced(text, () => Secrecy.hidden)
    return ledger === undefined ? shown : ledger.hide(shown)
  }
}

/** Fails unless the response is successful. Passes its warnings to `warn` in both cases. */
export const check =
  (warn: (headers: ResponseHeaders, hide: (text: string) => string) => Effect.Effect<void>) =>
  (send: Handler): Handler =>
  (request) =>
    Effect.flatMap(send(request), (response: Response): Effect.Effect<Response, ApiError.ApiError> => {
      const hasWarning = response.headers.get("warning") !== null
      if (isSuccess(response.status) && !hasWarning) return Effect.succeed(response)
      return Effect.withFiber((fiber) => {
        const hide = hiding(request, Context.get(fiber.context, Exchanges))
        const answer = isSuccess(response.status)
          ? Effect.succeed(response)
          : Effect.fail(ApiError.fromResponse(infoOf(request), response, hide))
        return hasWarning ? Effect.andThen(warn(response.headers, hide), answer) : answer
      })
    })

const readError = Effect.fnUntraced(function* (streaming: Streaming) {
  const decoder = new TextDecoder()
  let body = ""
  while (body.length < mostErrorBytes) {
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
