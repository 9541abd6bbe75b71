/**
 * The meaning of a failed fetch: whether the server may have received the request, whether a retry can help, and a message. The codes
 * are those of Bun's fetch, HTTP/1.1 and HTTP/2.
 */
import * as ApiError from "./ApiError.ts"
import { mostBytes } from "./Request.ts"

interface Meaning {
  readonly reason: string
  /** The connection failed, so the request was not sent. */
  readonly unsent: boolean
  /** A setting is wrong, so no retry helps. */
  readonly fatal: boolean
}

const unsent = (reason: string): Meaning => ({ reason, unsent: true, fatal: false })
const lost = (reason: string): Meaning => ({ reason, unsent: false, fatal: false })
const misconfigured = (reason: string): Meaning => ({ reason, unsent: true, fatal: true })

const untrusted = misconfigured("the server's certificate is not signed by the configured certificate authority")

const meanings: { readonly [code: string]: Meaning } = {
  ECONNREFUSED: unsent("connection refused, nothing listens there"),
  ENOTFOUND: unsent("host name not found"),
  EAI_AGAIN: unsent("host name not found, the name server does not answer"),
  EHOSTUNREACH: unsent("no route to the host"),
  ENETUNREACH: unsent("no route to the network"),
  ECONNRESET: lost("connection lost"),
  EPIPE: lost("connection lost"),
  ETIMEDOUT: lost("connection timed out"),
  HTTP2StreamReset: lost("the server reset the stream"),
  // A stream above the last one that GOAWAY names, or REFUSED_STREAM: the server has not processed it.
  HTTP2RefusedStream: unsent("the server closes the connection, and has not processed the request"),
  HTTP2ProtocolError: lost("connection lost, or the server reset the stream"),
  DEADLINE: lost("no answer in time"),
  TOO_LARGE: lost(`the answer, or an event of the watch, is too large (at most ${mostBytes} bytes)`),
  ERR_PROXY_TUNNEL: unsent("the proxy has no connection to the server"),
  PROXY_DENIED: misconfigured("the proxy does not let us through: does its URL have the right name and password?"),
  PROXY_URL: misconfigured("the proxy's URL is not valid"),
  // Bun gives this code for a port without TLS, for a TLS alert, and also for a connection that breaks after the request was sent.
  EPROTO: lost("the TLS connection failed: does the server speak TLS on this port?"),
  HTTP2Unsupported: misconfigured("the server does not speak HTTP/2"),
  UnsupportedProxyProtocol: misconfigured("this kind of proxy is not supported: use an http:// or https:// one"),
  // Bun also gives this code if the process has too many open files, which is temporary.
  FailedToOpenSocket: unsent(
    "the connection could not be set up: is the client certificate or CA readable, are too many files open?"
  ),
  ERR_INVALID_URL: misconfigured("the server's URL is not valid"),
  ERR_TLS_CERT_ALTNAME_INVALID: misconfigured(
    "the server's certificate is not for this host name (see tls-server-name)"
  ),
  CERT_HAS_EXPIRED: misconfigured("the server's certificate has expired"),
  CERT_NOT_YET_VALID: misconfigured("the server's certificate is not valid yet: is the clock right?"),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted
}

/** A response other than 200 to CONNECT. */
const isTunnel = (error: object): error is { readonly status: number } =>
  "code" in error && error.code === "ERR_PROXY_TUNNEL" && "status" in error && typeof error.status === "number"

/** A proxy's responses to an unknown client or a forbidden server. After other responses a retry may succeed. */
const deniedBy: ReadonlyArray<number> = [401, 403, 405, 407]

const codeOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return "UNKNOWN"
  if ("name" in error && error.name === "TimeoutError") return "ETIMEDOUT"
  if (isTunnel(error) && deniedBy.includes(error.status)) return "PROXY_DENIED"
  if ("message" in error && error.message === "fetch() proxy URL is invalid") return "PROXY_URL"
  if ("code" in error && typeof error.code === "string" && error.code !== "") return error.code
  return "UNKNOWN"
}

/** Bun adds advice about its fetch to the messages of unusual errors. */
const wordsOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split(/\n|\. For more information, pass /, 1)[0] ?? ""

/**
 * The error with this code on the way to `server`. With an unknown code, the outcome is unknown.
 *
 * @param way the party that the message names: the server, or the proxy before it
 */
export const make = (
  request: ApiError.RequestInfo,
  server: string,
  code: string,
  words = "connection failed",
  way = server
): ApiError.Transport => {
  const meaning = meanings[code] ?? lost(words)
  // The status of the proxy's response: "Proxy refused to open a tunnel: 502 Bad Gateway".
  const detail = code === "PROXY_DENIED" || code === "ERR_PROXY_TUNNEL" ? ` (${words.replace(/^.*: /, "")})` : ""
  const reason = meaning.reason + detail
  return new ApiError.Transport({
    message: `${request.method} ${request.path}: ${reason} (${way}, ${code})`,
    code,
    reason,
    outcome: meaning.unsent ? "unsent" : "unknown",
    server,
    request
  })
}

/** The error that fetch, or reading a body, threw. */
export const fromThrown = (
  request: ApiError.RequestInfo,
  server: string,
  error: unknown,
  way = server
): ApiError.Transport => make(request, server, codeOf(error), wordsOf(error), way)

/** Whether a setting is wrong (a certificate, a proxy, a URL), so that a retry cannot help. */
export const isFatal = (error: ApiError.Transport): boolean => meanings[error.code]?.fatal === true

/** Whether no answer arrived in time, or not all of it. */
export const isLate = (error: ApiError.ApiError): boolean => error._tag === "Transport" && error.code === "DEADLINE"

/** Whether the server's certificate is from an unknown authority. The authority may have rotated. */
export const isUntrusted = (error: ApiError.Transport): boolean => meanings[error.code] === untrusted
