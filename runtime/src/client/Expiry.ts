/**
 * Why credentials may have been refused: a server says no more than "Unauthorized", and the usual reason stands in the
 * credentials themselves. Nothing here decides on a request: our clock may be wrong, the server's counts.
 */
import { X509Certificate } from "node:crypto"
import type { Credentials } from "./Cluster.ts"

/** The end of a JSON Web Token, in milliseconds since 1970; nothing for other tokens and those without one. */
const endOfToken = (token: string): number | undefined => {
  const [, payload, signature] = token.split(".")
  if (payload === undefined || signature === undefined) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"))
    const seconds = typeof claims === "object" && claims !== null && "exp" in claims ? claims.exp : undefined
    return typeof seconds === "number" ? seconds * 1000 : undefined
  } catch {
    // Not a JSON Web Token: an opaque token that happens to have two dots.
    return undefined
  }
}

/** Which part of the credentials ended before `now`, and when; nothing if none has. */
export const at =
  (now: number) =>
  ({ headers, tls }: Credentials): string | undefined => {
    const [, token] = /^Bearer (.*)$/.exec(headers.authorization ?? "") ?? []
    const ends: ReadonlyArray<readonly [what: string, end: number | undefined]> = [
      ["the token", token === undefined ? undefined : endOfToken(token)],
      ["the client certificate", tls.cert === undefined ? undefined : Date.parse(new X509Certificate(tls.cert).validTo)]
    ]
    const over = ends.flatMap(([what, end]) =>
      end !== undefined && end <= now ? [`${what} expired at ${new Date(end).toISOString()}`] : []
    )
    return over.length === 0 ? undefined : over.join(", ")
  }
