/** A request and its response, in the terms of HTTP, and the state of a request that is being handled. */

import * as Negotiation from "../codec/Negotiation.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import type { User } from "../model/User.ts"
import * as View from "../rest/View.ts"
import type { Streamed } from "../rest/Watch.ts"
import type { Target } from "./Path.ts"

/** A request. */
export interface HttpRequest {
  readonly method: string
  /** The path with the query. */
  readonly path: string
  readonly headers: { readonly [lowerCase: string]: string }
  readonly body: string | Uint8Array | undefined
  /** The authenticated user, if there is one. */
  readonly user?: User | undefined
}

/** A response. */
export interface HttpResponse {
  readonly status: number
  /** The headers by their names in lower case. */
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Streamed
  /** True if each character of the body is a byte (Latin-1). */
  readonly binary?: boolean
}

/** A request that is being handled. */
export interface Exchange {
  readonly request: HttpRequest
  readonly target: Target
  readonly user: User
  /** Milliseconds since 1970. */
  readonly now: number
  /** The warnings to the client. */
  readonly warnings: Set<string>
}

/** The largest size of a body, in bytes. It exceeds the largest object in etcd. */
const mostBytes = 3 * 1024 * 1024

/** The body of a request. Throws a Failure (413). */
export const bodyOf = ({ request: { body } }: Exchange): string | Uint8Array | undefined => {
  const bytes = typeof body === "string" ? (body.length > mostBytes / 4 ? Buffer.byteLength(body) : 0) : body?.length
  if ((bytes ?? 0) > mostBytes) throw Failure.tooLarge(`Request entity too large: limit is ${mostBytes}`)
  return body
}

/** True if the request has a body. */
export const hasBody = ({ request: { body } }: Exchange): boolean => body !== undefined && body.length > 0

/** Returns a function that adds a `Warning` header to the response. */
export const warn =
  ({ warnings }: Exchange) =>
  (text: string): void => {
    warnings.add(text)
  }

/** The response with an object or a list, in the negotiated media type. */
export const answer = (
  exchange: Exchange,
  status: number,
  value: JsonObject,
  accepted: Negotiation.Accepted
): HttpResponse => ({
  status,
  headers: { ...headersOf(exchange), "content-type": Negotiation.contentType(accepted.format) },
  body: View.text(accepted, value),
  binary: accepted.format === "protobuf"
})

/** The response with a streamed body. */
export const streamed = (exchange: Exchange, body: Streamed, contentType: string, binary = false): HttpResponse => ({
  status: 200,
  headers: { ...headersOf(exchange), "content-type": contentType },
  body,
  binary
})

/** The response with an error, in JSON unless the client prefers another media type. */
export const refusal = (
  { accept, warnings }: Pick<Exchange, "warnings"> & { readonly accept?: string | undefined },
  failure: Failure.Failure
): HttpResponse => {
  const accepted = Negotiation.refusedAs(accept)
  const status = Failure.status(failure)
  return {
    status: failure.code,
    headers: {
      ...headersOf({ warnings }),
      "content-type": Negotiation.contentType(accepted.format),
      ...(failure.details?.retryAfterSeconds !== undefined && {
        "retry-after": String(failure.details.retryAfterSeconds)
      })
    },
    body: accepted.format === "json" ? `${escaped(JSON.stringify(status))}\n` : View.text(accepted, status),
    binary: accepted.format === "protobuf"
  }
}

/** Escapes JSON as Go's encoder does. */
const escaped = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** A response with plain text. */
export const text = (status: number, body: string): HttpResponse => ({
  status,
  headers: {
    "cache-control": "no-cache, private",
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff"
  },
  body
})

/** The 404 response for an unknown path. */
export const nothing: HttpResponse = text(404, "404 page not found\n")

const headersOf = ({ warnings }: Pick<Exchange, "warnings">): { readonly [name: string]: string } => ({
  "cache-control": "no-cache, private",
  ...(warnings.size > 0 && { warning: warningOf([...warnings]) })
})

/** The maximum total length of the warnings. If they exceed it, the server truncates each of them and drops the last ones. */
const mostText = 4096
const mostOfEach = 256

const warningOf = (texts: ReadonlyArray<string>): string => {
  const long = texts.reduce((sum, one) => sum + one.length, 0) > mostText
  const shown = long ? texts.slice(0, mostText / mostOfEach).map((one) => one.slice(0, mostOfEach)) : texts
  return shown.map((one) => `299 - "${printable(one).replace(/["\\]/g, "\\$&")}"`).join(", ")
}

/** Percent-encodes all characters except printable ASCII, because a header must not contain line breaks or characters beyond Latin-1. */
const printable = (text: string): string =>
  text.replace(/[^\x20-\x7e]/gu, (character) => encodeURIComponent(character.toWellFormed()))
