/**
 * The head of an HTTP/1.x request: its first line and its headers. It has the strict form of RFC 9112: no line folding, no space before
 * a colon, CRLF only.
 */

/** The end of a head. */
export const end = "\r\n\r\n"

/** A request without its body. */
export interface Head {
  readonly request: Request
  /** Whether the client allows another request on the connection. */
  readonly isPersistent: boolean
  /** The bytes of the body that follows; undefined if the client sends chunks, whose number it does not say. */
  readonly length: number | undefined
}

const firstLine = /^([!#$%&'*+.^_`|~\w-]+) ([!-~\u0080-\u00ff]+) HTTP\/1\.([01])$/
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/

const headersOf = (lines: ReadonlyArray<string>): Headers | undefined => {
  const headers = new Headers()
  for (const line of lines) {
    const colon = line.indexOf(":")
    const name = line.slice(0, Math.max(0, colon))
    if (!headerName.test(name)) return undefined
    headers.append(name, line.slice(colon + 1))
  }
  return headers
}

/** The URL of a request; `/` if the client makes it invalid. */
const urlOf = (target: string, host: string): string => {
  const url = URL.parse(target.startsWith("/") ? `http://${host}${target}` : target)
  return url?.protocol === "http:" ? url.href : "http://localhost/"
}

const digits = /^\d{1,15}$/

/** Parses a head, in Latin-1 and without its end. Undefined: it is not valid. */
export const parse = (text: string): Head | undefined => {
  const [first = "", ...lines] = text.split("\r\n")
  const [, method, target = "", minor] = firstLine.exec(first) ?? []
  if (method === undefined) return undefined
  try {
    const headers = headersOf(lines)
    const length = headers?.get("content-length") ?? "0"
    if (headers === undefined || !digits.test(length)) return undefined
    return {
      request: new Request(urlOf(target, headers.get("host") ?? "localhost"), { method, headers }),
      isPersistent: minor === "1" && !/\bclose\b/i.test(headers.get("connection") ?? ""),
      length: headers.has("transfer-encoding") ? undefined : Number(length)
    }
  } catch {
    // `fetch` refuses the value of a header, or the method.
    return undefined
  }
}
