/**
 * The continue token of a list, which the client sends to get the next page. It has the encoding of Kubernetes.
 */
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"

/** The position of the next page. */
export interface Continue {
  /** The revision that all pages show; -1 for the latest one. */
  readonly revision: number
  /** The first key of the next page, without the namespace if the list is limited to one. */
  readonly start: string
}

/** Returns the smallest key after a key. */
export const after = (key: string): string => `${key}\0`

/** Encodes a position as a continue token. */
export const encode = ({ revision, start }: Continue): string =>
  Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start })).toString("base64url")

/** Decodes a continue token. Throws a Failure (400) if it is invalid. */
export const decode = (token: string): Continue => {
  const value = parsed(bytesOf(token))
  const version = Json.text(Json.at(value, "v")) ?? ""
  const revision = Json.number(Json.at(value, "rv")) ?? 0
  const start = Json.text(Json.at(value, "start")) ?? ""
  if (version !== "meta.k8s.io/v1") throw invalid(`: server does not recognize this encoded version ${version}`)
  if (revision === 0) throw invalid(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
  if (start === "") throw invalid(": encoded start key empty (version meta.k8s.io/v1)")
  if (/(^|\/)\.{0,2}(\/|$)/.test(start.replace(/^\//, ""))) throw invalid(`: ${start}`)
  return { revision, start: start.replace(/^\//, "") }
}

const invalid = (why: string): Failure.Failure =>
  Failure.badRequest(`invalid continue token: continue key is not valid${why}`)

const bytesOf = (token: string): Buffer => {
  const wrong = token.search(/[^A-Za-z0-9_-]/)
  if (wrong >= 0) throw invalid(`: illegal base64 data at input byte ${wrong}`)
  if (token.length % 4 === 1) throw invalid(`: illegal base64 data at input byte ${token.length - 1}`)
  return Buffer.from(token, "base64url")
}

const parsed = (bytes: Buffer): Json.Json => {
  try {
    return JSON.parse(bytes.toString("utf8"))
  } catch {
    const first = String.fromCharCode(bytes[0] ?? 0)
    throw invalid(`: invalid character ${quoted(first)} looking for beginning of value`)
  }
}

/** Formats a character like Go's JSON decoder does. */
const quoted = (character: string): string => {
  const code = character.charCodeAt(0)
  if (character === "'") return "'\\''"
  return code < 0x20 || (code > 0x7e && code < 0xa1) ? `'\\u${code.toString(16).padStart(4, "0")}'` : `'${character}'`
}
