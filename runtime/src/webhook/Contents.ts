/**
 * The usable content of the Secret of a shared certificate: every certificate parses, every key belongs to its
 * certificate, and the serving certificate verifies against a CA of the bundle.
 *
 * @internal
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"
import * as Authority from "./Authority.ts"
import type { Pair } from "./CertificateSource.ts"
import * as Der from "./Der.ts"

/** A trusted CA. Times are milliseconds since 1970. */
export interface Ca {
  readonly certificate: string
  /** A hash of the certificate. */
  readonly id: string
  readonly from: number
  readonly to: number
}

/** A CA with its key. */
export interface Issuer extends Ca {
  readonly key: string
}

/** A serving certificate with its key. */
export interface Serving extends Pair {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly names: ReadonlyArray<string>
  /** The CA that issued it. */
  readonly ca: Ca
}

/** The content of a Secret. */
export interface Contents {
  /** The bundle. */
  readonly cas: ReadonlyArray<Ca>
  /** The CA that issues certificates. */
  readonly issuer: Issuer | undefined
  /** The CA that issues certificates as soon as it is published. */
  readonly next: Issuer | undefined
  readonly serving: Serving | undefined
}

/** The keys of the Secret's `data`. */
export const keys = {
  certificate: "tls.crt",
  key: "tls.key",
  bundle: "ca.crt",
  issuerKey: "ca.key",
  nextCertificate: "next-ca.crt",
  nextKey: "next-ca.key"
} as const

/** The type of the Secret. */
export const type = "kubernetes.io/tls"

/** The content of a missing Secret. */
export const empty: Contents = { cas: [], issuer: undefined, next: undefined, serving: undefined }

/** A certificate from a clock that is further ahead than this, in ms, is not usable. */
const ahead = 24 * 60 * 60 * 1000

const attempt = <A>(parse: () => A): A | undefined => {
  try {
    return parse()
  } catch {
    // The error of a parser could contain parts of a key.
    return undefined
  }
}

interface Parsed {
  readonly ca: Ca
  readonly x509: X509Certificate
}

const timesOf = ({ validFrom, validTo }: X509Certificate) => ({ from: Date.parse(validFrom), to: Date.parse(validTo) })

const isInTime = ({ from, to }: { readonly from: number; readonly to: number }, now: number): boolean =>
  from <= now + ahead && now < to

const parsedOf = (text: string): ReadonlyArray<Parsed> => {
  const found = Der.certificatesOf(text).flatMap((certificate) => {
    const x509 = attempt(() => new X509Certificate(certificate))
    if (x509 === undefined) return []
    return [{ x509, ca: { certificate, id: x509.fingerprint256, ...timesOf(x509) } }]
  })
  return [...new Map(found.map((each) => [each.ca.id, each])).values()]
}

/** The certificates of a bundle in PEM, each once. Text that is not a certificate is ignored. */
export const casOf = (bundle: string): ReadonlyArray<Ca> => parsedOf(bundle).map(({ ca }) => ca)

/** Whether the CA is one of {@link Authority.makeAuthority}, which can issue. */
const canIssue = (x509: X509Certificate, key: KeyObject): boolean =>
  x509.ca && key.asymmetricKeyType === "ec" && /^CN=[\w-]+$/.test(x509.subject) && x509.checkPrivateKey(key)

const issuerOf = (cas: ReadonlyArray<Parsed>, pem: string, now: number): Issuer | undefined => {
  const key = attempt(() => createPrivateKey(pem))
  if (key === undefined) return undefined
  const found = cas.find(({ ca, x509 }) => isInTime(ca, now) && attempt(() => canIssue(x509, key)) === true)
  return found && { ...found.ca, key: pem }
}

/** The canonical form of an IP address or DNS name. */
const canonical = (name: string): string =>
  /^[\d.]+$|:/.test(name) ? Der.addressBytes(name).toString("hex") : name.toLowerCase()

/** Whether a serving certificate has all names. */
export const covers = ({ names }: Serving, wanted: ReadonlyArray<string>): boolean => {
  const known = new Set(names.map(canonical))
  return wanted.every((name) => known.has(canonical(name)))
}

/** The names of both lists, each once. */
export const namesOfBoth = (wanted: ReadonlyArray<string>, { names }: Serving): ReadonlyArray<string> => [
  ...new Map([...names, ...wanted].map((name) => [canonical(name), name])).values()
]

const serverAuthentication = "1.3.6.1.5.5.7.3.1"

/** Whether the extended key usage, if the certificate has one, includes servers. */
const canServe = ({ keyUsage }: X509Certificate): boolean =>
  // Node returns undefined without the extension.
  ((keyUsage as ReadonlyArray<string> | undefined) ?? [serverAuthentication]).includes(serverAuthentication)

const servingOf = (cas: ReadonlyArray<Parsed>, text: string, pem: string, now: number): Serving | undefined => {
  const key = attempt(() => createPrivateKey(pem))
  const [leaf] = parsedOf(text)
  if (key === undefined || leaf === undefined) return undefined
  const { ca: own, x509 } = leaf
  const issuedBy = (issuer: X509Certificate) =>
    issuer.ca && x509.checkIssued(issuer) && x509.verify(issuer.publicKey) && x509.checkPrivateKey(key)
  const found = cas.find(
    ({ ca, x509: issuer }) =>
      isInTime(own, now) && isInTime(ca, now) && attempt(() => !x509.ca && canServe(x509) && issuedBy(issuer)) === true
  )
  if (found === undefined) return undefined
  const names = (x509.subjectAltName ?? "").split(", ").map((name) => name.replace(/^(DNS|IP Address):/, ""))
  return { ...own, key: pem, names, ca: found.ca }
}

/**
 * Reads the `data` of a Secret. Parts that are not usable are missing: expired, not parseable, with another key, or not issued by a
 * CA of the bundle.
 */
export const read = (data: { readonly [key: string]: string } | undefined, now: number): Contents => {
  const text = (key: string): string => Buffer.from(data?.[key] ?? "", "base64").toString()
  const cas = parsedOf(text(keys.bundle))
  const next = parsedOf(text(keys.nextCertificate))
  return {
    cas: cas.map(({ ca }) => ca),
    issuer: issuerOf(cas, text(keys.issuerKey), now),
    next: issuerOf(next, text(keys.nextKey), now),
    serving: servingOf(cas, text(keys.certificate), text(keys.key), now)
  }
}

/** A new CA. */
export const makeIssuer = (now: number): Issuer => {
  const { certificate, key } = Authority.makeAuthority(now)
  const [ca] = casOf(certificate)
  if (ca === undefined) throw new Error("a new CA does not parse")
  return { ...ca, key }
}

/** A bundle in PEM. */
export const bundleOf = (cas: ReadonlyArray<Ca>): string => cas.map(({ certificate }) => certificate).join("")

/** Values in base64, as `data` of a Secret. */
export const encoded = (values: { readonly [key: string]: string }): { readonly [key: string]: string } =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]))
