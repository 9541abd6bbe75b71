/**
 * Requests that Bun's HTTP parser rejects and a kube-apiserver handles: those with an unknown method, and those for `*`. For all other
 * requests that the parser rejects, this server responds like Go's server.
 */
import { STATUS_CODES } from "node:http"
import type { HttpRequest, HttpResponse } from "./Exchange.ts"

/** The error of the parser for a rejected request. */
export interface Refused {
  readonly code?: string | undefined
  /** The part of the request that has arrived. */
  readonly rawPacket?: Uint8Array | undefined
}

/** The request without its body; undefined if this server cannot parse the request either. */
export const read = ({ code, rawPacket }: Refused): Omit<HttpRequest, "user"> | undefined => {
  if (code === "HPE_HEADER_OVERFLOW" || rawPacket === undefined) return undefined
  const [first = "", ...lines] = Buffer.from(rawPacket).toString("latin1").split("\r\n")
  const [, method = "", path = ""] = /^([\w!#$%&'*+.^`|~-]+) (\*|\/\S*) HTTP\/1\.[01]$/.exec(first) ?? []
  if (method === "" || (path !== "*" && code !== "HPE_INVALID_METHOD")) return undefined
  const end = lines.indexOf("")
  if (end < 0) return undefined
  return { method, path, headers: headersOf(lines.slice(0, end)), body: undefined }
}

/** The response to an invalid request, as text for its connection. */
export const refusal = ({ code }: Refused): string => {
  const status = code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request"
  return written(status, { "content-type": "text/plain; charset=utf-8" }, status)
}

/** A response as text. The server closes the connection after it. */
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
