/**
 * The rules by which the API server verifies the certificate of a webhook: those of Go's `crypto/x509`.
 *
 * @internal
 */
import { X509Certificate } from "node:crypto"
import { isIP } from "node:net"
import * as Time from "../resource/Time.ts"
import type { Pair } from "./CertificateSource.ts"
import * as Der from "./Der.ts"

/** The certificate that the API server accepts. */
export interface Expected {
  /** The DNS name or IP address by which the API server calls the webhook. */
  readonly name: string
  /** The CAs of the webhook configurations, in PEM. */
  readonly cas: string
}

/** The purposes that Go accepts for a server: `serverAuth` and `anyExtendedKeyUsage`. */
const purposes: ReadonlyArray<string> = ["1.3.6.1.5.5.7.3.1", "2.5.29.37.0"]

/** At most this many names of a certificate are part of a message. */
const mostNames = 5

/** The certificates of a text in PEM. Those that do not parse are ignored. */
const parsed = (text: string): ReadonlyArray<X509Certificate> =>
  Der.certificatesOf(text).flatMap((pem) => {
    try {
      return [new X509Certificate(pem)]
    } catch {
      return []
    }
  })

const hasName = (certificate: X509Certificate, name: string): boolean =>
  (isIP(name) === 0
    ? certificate.checkHost(name, { subject: "never", partialWildcards: false })
    : certificate.checkIP(name)) !== undefined

const namesOf = ({ subjectAltName }: X509Certificate): string => {
  const names = (subjectAltName ?? "").split(", ").map((name) => name.replace(/^(DNS|IP Address):/, ""))
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : ""
  return subjectAltName === undefined || subjectAltName === ""
    ? "has no subject alternative names"
    : `names ${names.slice(0, mostNames).join(", ")}${more}`
}

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean => {
  try {
    return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  } catch {
    return false
  }
}

/** Whether the certificate is a root, or a root issued it directly or through the other certificates. */
const isTrusted = (
  certificate: X509Certificate,
  roots: ReadonlyArray<X509Certificate>,
  intermediates: ReadonlyArray<X509Certificate>
): boolean =>
  roots.some((root) => root.fingerprint256 === certificate.fingerprint256 || isIssuedBy(certificate, root)) ||
  intermediates.some(
    (issuer) =>
      isIssuedBy(certificate, issuer) &&
      isTrusted(
        issuer,
        roots,
        intermediates.filter((other) => other !== issuer)
      )
  )

/**
 * Why the API server rejects a serving certificate, as the end of a sentence that begins with the certificate; `undefined` if the API
 * server accepts it.
 *
 * @param now milliseconds since 1970
 */
export const problemOf = ({ certificate }: Pair, { cas, name }: Expected, now: number): string | undefined => {
  const [leaf, ...intermediates] = parsed(certificate)
  if (leaf === undefined) return "cannot be read as PEM"
  const [from, to] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)]
  if (!hasName(leaf, name)) return `is not valid for ${name} (it ${namesOf(leaf)})`
  if (now < from) return `is not valid before ${Time.seconds(from)}`
  if (to <= now) return `expired at ${Time.seconds(to)}`
  const usage: ReadonlyArray<string> | undefined = leaf.keyUsage
  if (usage !== undefined && !usage.some((each) => purposes.includes(each))) {
    return "is not a certificate of a server (its extended key usage must contain serverAuth)"
  }
  return isTrusted(leaf, parsed(cas), intermediates)
    ? undefined
    : "is not issued by a CA that the webhook configurations trust"
}
