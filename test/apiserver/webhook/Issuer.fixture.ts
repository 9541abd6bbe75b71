/** Certificates with unusual properties: without names, and from an intermediate CA. */
import "reflect-metadata"
import * as x509 from "@peculiar/x509"
import { Effect } from "effect"

/** A certificate with its keys. */
export interface Issued {
  readonly certificate: string
  readonly key: string
  readonly keys: CryptoKeyPair
  readonly subject: string
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const

/** Issues a certificate with this common name. Without an issuer it is self-signed; without DNS names it has no SANs. */
export const issue = (
  name: string,
  { dns, isAuthority = false, issuer }: { dns?: ReadonlyArray<string>; isAuthority?: boolean; issuer?: Issued } = {}
): Effect.Effect<Issued> =>
  Effect.promise(async () => {
    const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
    const subject = `CN=${name}`
    const made = await x509.X509CertificateGenerator.create({
      subject,
      issuer: issuer?.subject ?? subject,
      publicKey: keys.publicKey,
      signingKey: (issuer?.keys ?? keys).privateKey,
      notBefore: new Date("2020-01-01"),
      notAfter: new Date("2099-01-01"),
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(isAuthority, undefined, true),
        ...(dns === undefined
          ? []
          : [new x509.SubjectAlternativeNameExtension(dns.map((value) => ({ type: "dns", value }) as const))])
      ]
    })
    const bytes = await crypto.subtle.exportKey("pkcs8", keys.privateKey)
    return { certificate: made.toString("pem"), key: x509.PemConverter.encode(bytes, "PRIVATE KEY"), keys, subject }
  })
