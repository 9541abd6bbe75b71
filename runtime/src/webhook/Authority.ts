/**
 * The CA of a program's webhooks, and the serving certificates that it issues. A CA signs with P-256 and is valid for a year; a serving
 * certificate is valid for 90 days, but not longer than its CA. Both are valid since two hours ago, for API servers and replicas whose
 * clocks are behind.
 */
import { createHash, createPrivateKey, createPublicKey, X509Certificate } from "node:crypto"
import type { Pair } from "./CertificateSource.ts"
import * as Der from "./Der.ts"

const hour = 60 * 60 * 1000
const day = 24 * hour

/** The lifetime of a CA from its creation, in ms. */
export const authorityLifetime = 365 * day

/** The lifetime of a serving certificate from its creation, in ms. */
export const servingLifetime = 90 * day

/** Certificates are valid from this long before their creation, in ms: two clocks that are an hour off in both directions differ by it. */
export const backdated = 2 * hour

/** A CA: its certificate and its private key, both PEM. */
export type Authority = Pair

/**
 * A new CA with its own key. Its name contains a hash of the key, so that the names of two CAs differ.
 *
 * @param now milliseconds since 1970
 */
export const makeAuthority = (now: number): Authority => {
  const { privateKey, publicKey } = Der.makeKey()
  const hash = createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("hex")
  const name = Der.commonName(`homeostat-webhook-ca-${hash.slice(0, 16)}`)
  const certificate = Der.certificate(
    {
      subject: name,
      issuer: name,
      publicKey,
      from: now - backdated,
      to: now + authorityLifetime,
      extensions: [...Der.signing, Der.subjectKey(publicKey), Der.authorityKey(publicKey)]
    },
    privateKey
  )
  return { certificate, key: Der.keyPem(privateKey) }
}

/**
 * A new serving certificate with its own key. Throws if the CA's certificate or key cannot be parsed.
 *
 * @param authority a CA of {@link makeAuthority}
 * @param names the DNS names and IP addresses of the server; IP addresses without scope and without mixed notation
 * @param now milliseconds since 1970
 */
export const issue = (authority: Authority, names: ReadonlyArray<string>, now: number): Pair => {
  const issuer = new X509Certificate(authority.certificate)
  const issuerKey = createPrivateKey(authority.key)
  const { privateKey, publicKey } = Der.makeKey()
  const certificate = Der.certificate(
    {
      subject: Der.commonName(names[0] ?? ""),
      issuer: Der.commonName(issuer.subject.replace(/^CN=/, "")),
      publicKey,
      from: now - backdated,
      to: Math.min(now + servingLifetime, Date.parse(issuer.validTo)),
      extensions: [
        ...Der.serving,
        Der.subjectKey(publicKey),
        Der.authorityKey(createPublicKey(issuerKey)),
        Der.alternatives(names)
      ]
    },
    issuerKey
  )
  return { certificate, key: Der.keyPem(privateKey) }
}
