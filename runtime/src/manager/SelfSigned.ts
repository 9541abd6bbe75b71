/**
 * A self-signed certificate, for a TLS port without a certificate of its own. It encrypts the traffic, but clients cannot verify the
 * server (`insecure_skip_verify`).
 */
import type { Pair } from "../webhook/CertificateSource.ts"
import * as Der from "../webhook/Der.ts"

/** The lifetime of a certificate, in ms. */
export const lifetime = 365 * 24 * 60 * 60 * 1000

/** The certificate is valid since an hour ago, for clients whose clock is a little behind. */
const back = 60 * 60 * 1000

/**
 * A new key and its certificate.
 *
 * @param names the DNS names and IP addresses of the server; IP addresses without scope and without mixed notation
 * @param now milliseconds since 1970
 */
export const make = (names: ReadonlyArray<string>, now: number): Pair => {
  const { privateKey, publicKey } = Der.makeKey()
  const name = Der.commonName(names[0] ?? "")
  const certificate = Der.certificate(
    {
      subject: name,
      issuer: name,
      publicKey,
      from: now - back,
      to: now + lifetime,
      extensions: [...Der.serving, Der.alternatives(names)]
    },
    privateKey
  )
  return { certificate, key: Der.keyPem(privateKey) }
}
