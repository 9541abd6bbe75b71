/**
 * Finds expired credentials. A server reports only "Unauthorized", and the usual reason is in the credentials themselves. The result
 * is only for messages, because the local clock may be wrong.
 */
import * as NodeModule from "../resource/NodeModule.ts"
import type { Credentials } from "./Cluster.ts"

/** The expiry of a JSON Web Token, in milliseconds since 1970; undefined for other tokens and those without an expiry. */
const endOfToken = (token: string): number | undefined => {
  const [, payload, signature] = token.split(".")
  if (payload === undefined || signature === undefined) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"))
    const seconds = typeof claims === "object" && claims !== null && "exp" in claims ? claims.exp : undefined
    return typeof seconds === "number" ? seconds * 1000 : undefined
  } catch {
    // Not a JSON Web Token, but an opaque token with two dots.
    return undefined
  }
}

const endOfCertificate = (pem: string): number => Date.parse(new (NodeModule.crypto().X509Certificate)(pem).validTo)

/** The part of the credentials that expired before `now`, and when; undefined if all are valid. */
export const at =
  (now: number) =>
  ({ headers, tls }: Credentials): string | undefined => {
    const [, token] = /^Bearer (.*)$/.exec(headers.authorization ?? "") ?? []
    const ends: ReadonlyArray<readonly [what: string, end: number | undefined]> = [
      ["the token", token === undefined ? undefined : endOfToken(token)],
      ["the client certificate", tls.cert === undefined ? undefined : endOfCertificate(tls.cert)]
    ]
    const over = ends.flatMap(([what, end]) =>
      end !== undefined && end <= now ? [`${what} expired at ${new Date(end).toISOString()}`] : []
    )
    return over.length === 0 ? undefined : over.join(", ")
  }
