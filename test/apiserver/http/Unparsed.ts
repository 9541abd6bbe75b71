/**
 * Requests that Bun's parser of HTTP refuses by itself, and a kube-apiserver reads and answers: those with an unknown method, and those
 * for `*`. This server answers all others that it cannot parse as Go's server does.
 */
import { STATUS_CODES } from "node:http"
import type { HttpRequest, HttpResponse } from "./Exchange.ts"

/** The error of the parser about a request that it refuses. */
export interface Refused {
  readonly code?: string | undefined
  /** The part of the request that has arrived. */
  readonly rawPacket?: Uint8Array | undefined
}

/** The request without its body; undefined: this server cannot read it either. */
export const read = ({ code, rawPacket }: Refused): Omit<HttpRequest, "user"> | undefined => {
  if (code === "HPE_HEADER_OVERFLOW" || rawPacket === undefined) return undefined
  const [first = "", ...lines] = Buffer.from(rawPacket).toString("latin1").split("\r\n")
  const [, method = "", path = ""] = /^([\w!#$%&'*+.^`|~-]+) (\*|\/\S*) HTTP\/1\.[01]$/.exec(first) ?? []
  if (method === "" || (path !== "*" && code !== "HPE_INVALID_METHOD")) return undefined
  const end = lines.indexOf("")
  if (end < 0) return undefined
  return { method, path, headers: headersOf(lines.slice(0, end)), body: undefined }
}

/** The answer to an unreadable request, as text for its connection. */
export const refusal = ({ code }: Refused): string => {
  const status = code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request"
  return written(status, { "content-type": "text/plain; charset=utf-8" }, status)
}

/** An answer as text for a connection that ends with it. */
export const answer = ({ body, headers, status }: HttpResponse): string =>
  written(`${status} ${STATUS_CODES[status] ?? ""}`, headers, typeof body === "string" ? body : "")

const headersOf = (lines: ReadonlyArray<string>): { readonly [name: string]: string } =>
  Object.fromEntries(
    lines.flatMap((line) => {
      const colon = line.indexOf(":")
      return colon < 1 ? [] : [[line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]]
    })
  )

const written = (status: string, headers: HttpResponse["headers"], body: string): string =>
  [
    `HTTP/1.1 ${status}`,
    ...Object.entries({ ...headers, "content-length": Buffer.byteLength(body), connection: "close" }).map(
      ([name, value]) => `${name}: ${value}`
    ),
    "",
    body
  ].join("\r\n")
