/**
 * A request and its answer, as HTTP has them, and what is known while one becomes the other.
 */

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
  /** With the query. */
  readonly path: string
  readonly headers: { readonly [lowerCase: string]: string }
  readonly body: string | Uint8Array | undefined
  /** The user, if known. */
  readonly user?: User | undefined
}

/** An answer. */
export interface HttpResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Streamed
  /** Whether the characters of the body are bytes (Latin-1). */
  readonly binary?: boolean
}

/** A request on its way. */
export interface Exchange {
  readonly request: HttpRequest
  readonly target: Target
  readonly user: User
  /** Milliseconds since 1970. */
  readonly now: number
  /** The warnings to the client. */
  readonly warnings: Set<string>
}

/** The largest body: more than any object in etcd may be. */
const mostBytes = 3 * 1024 * 1024

/** The body of a request. Throws a Failure (413). */
export const bodyOf = ({ request: { body } }: Exchange): string | Uint8Array | undefined => {
  const bytes = typeof body === "string" ? (body.length > mostBytes / 4 ? Buffer.byteLength(body) : 0) : body?.length
  if ((bytes ?? 0) > mostBytes) throw Failure.tooLarge(`Request entity too large: limit is ${mostBytes}`)
  return body
}

/** Whether there is a body. */
export const hasBody = ({ request: { body } }: Exchange): boolean => body !== undefined && body.length > 0

/** Says something to the client in a `Warning` header. */
export const warn =
  ({ warnings }: Exchange) =>
  (text: string): void => {
    warnings.add(text)
  }

/** An answer of one object, or of a list, in the form that was negotiated. */
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

/** A body that goes on. */
export const streamed = (exchange: Exchange, body: Streamed, contentType: string, binary = false): HttpResponse => ({
  status: 200,
  headers: { ...headersOf(exchange), "content-type": contentType },
  body,
  binary
})

/** A refusal, in JSON unless the client prefers another form. */
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

/** As Go writes JSON. */
const escaped = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Plain text. */
export const text = (status: number, body: string): HttpResponse => ({
  status,
  headers: {
    "cache-control": "no-cache, private",
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff"
  },
  body
})

/** There is nothing at that path. */
export const nothing: HttpResponse = text(404, "404 page not found\n")

const headersOf = ({ warnings }: Pick<Exchange, "warnings">): { readonly [name: string]: string } => ({
  "cache-control": "no-cache, private",
  ...(warnings.size > 0 && { warning: warningOf([...warnings]) })
})

/** All warnings together are not longer than that, or each is cut. */
const mostText = 4096
const mostOfEach = 256

const warningOf = (texts: ReadonlyArray<string>): string => {
  const long = texts.reduce((sum, one) => sum + one.length, 0) > mostText
  const shown = long ? texts.slice(0, mostText / mostOfEach).map((one) => one.slice(0, mostOfEach)) : texts
  return shown.map((one) => `299 - "${printable(one).replace(/["\\]/g, "\\$&")}"`).join(", ")
}

/** A header takes no line breaks, and in HTTP/1.1 no characters beyond Latin-1. */
const printable = (text: string): string =>
  text.replace(/[^\x20-\x7e]/gu, (character) => encodeURIComponent(character.toWellFormed()))
