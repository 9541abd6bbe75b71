/** Responses of an API server that a fault makes: a Status with the reason and the message of its code. */
import type { Response, Streaming } from "@homeostat/runtime/client/Response"
import * as Effect from "effect/Effect"
import type { Asked } from "./RequestMatch.ts"

/** The response of a fault. */
export interface Answer {
  readonly status: number
  readonly reason?: string | undefined
  readonly message?: string | undefined
  /** The seconds after which the client may retry. */
  readonly retryAfter?: number | undefined
}

/** Returns the body of an error response: a Status. */
export const statusOf = ({ status, ...details }: Answer, asked: Asked): string => {
  const { reason = reasons[status] ?? "Unknown", retryAfter } = details
  return JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: details.message ?? messages[reason]?.(asked) ?? reason,
    reason,
    ...(retryAfter === undefined ? {} : { details: { retryAfterSeconds: retryAfter } }),
    code: status
  })
}

/** The reasons of the API server by status code. */
const reasons: { readonly [status: number]: string } = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  410: "Expired",
  413: "RequestEntityTooLarge",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout"
}

/** The messages of the API server by reason. */
const messages: { readonly [reason: string]: (asked: Asked) => string } = {
  Conflict: ({ collection, name }) =>
    `Operation cannot be fulfilled on ${collection.split("/").at(-1)} "${name}": the object has been modified; please apply your changes to the latest version and try again`,
  TooManyRequests: () => "too many requests, please try again later",
  ServiceUnavailable: () => "the server is currently unable to handle the request",
  Expired: ({ verb }) =>
    verb === "watch"
      ? "too old resource version: 1 (2)"
      : "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter."
}

const encoder = new TextEncoder()

const headersOf = (headers: { readonly [name: string]: string }) => ({
  get: (name: string) => headers[name.toLowerCase()] ?? null
})

/** Makes a response from its status, its body and its headers. */
export type Answered<A> = (status: number, body: string, headers: { readonly [name: string]: string }) => A

/** Makes a response to a request. */
export const responseOf: Answered<Response> = (status, body, headers) => ({ status, body, headers: headersOf(headers) })

/** Makes a response to a watch. An expired watch receives the error as an event. */
export const streamingOf: Answered<Streaming> = (status, body, headers) => {
  const isEvent = status === 410
  let text: string | undefined = isEvent ? `${JSON.stringify({ type: "ERROR", object: JSON.parse(body) })}\n` : body
  return {
    status: isEvent ? 200 : status,
    headers: headersOf(headers),
    next: Effect.sync(() => {
      const part = text === undefined ? undefined : encoder.encode(text)
      text = undefined
      return part
    }),
    abort: Effect.void
  }
}
