/**
 * `Warning` headers: messages of the API server to people (a deprecated version, an unknown field). Many responses repeat them, so
 * each text is logged once.
 */
import * as Effect from "effect/Effect"
import type { ResponseHeaders } from "./Response.ts"

/** The texts in a `Warning` header: `299 - "text"`, several separated by commas. */
export const parse = (header: string): ReadonlyArray<string> =>
  Array.from(
    // A control character replaces a quote within a text, because headers have no control characters.
    header.replace(/\\(.)/g, (_, one: string) => (one === '"' ? "\u0001" : one)).matchAll(/\d{3} \S+ "([^"]*)"/g),
    ([, text = ""]) => text.replaceAll("\u0001", '"')
  )

// Some warnings contain the name of an object or a value. After this many the set is cleared, and some are logged again.
const mostSeen = 1000

/** Logs the new warnings of a response. One per client. */
export const make = (): ((headers: ResponseHeaders, hide?: (text: string) => string) => Effect.Effect<void>) => {
  // Hashes, because a text may have thousands of characters.
  const seen = new Set<bigint>()
  return (headers, hide = (text) => text) => {
    const header = headers.get("warning")
    if (header === null) return Effect.void
    const fresh = parse(header).filter((text) => !seen.has(Bun.hash.wyhash(text)))
    if (seen.size + fresh.length > mostSeen) seen.clear()
    for (const text of fresh) seen.add(Bun.hash.wyhash(text))
    return Effect.forEach(fresh, (text) => Effect.logWarning(`API server: ${hide(text)}`), { discard: true })
  }
}
