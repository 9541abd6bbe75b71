/** The certificates of clients, as an API server presents them. */
import { createPrivateKey, X509Certificate } from "node:crypto"
import type { Pair } from "./CertificateSource.ts"
import * as Der from "./Der.ts"

/** The key usage: as a TLS client. Only the last byte of the purpose differs from that of a server. */
const client = Der.serving.map((extension, at) => {
  const bytes = Buffer.from(extension)
  if (at === 2) bytes[bytes.length - 1] = 2
  return bytes
})

/** A certificate of a client with this common name, by default that of an API server, which is valid for an hour. */
export const of = (
  authority: Pair,
  now: number,
  {
    name = "kube-apiserver",
    to = now + 3_600_000
  }: { readonly name?: string | undefined; readonly to?: number | undefined } = {}
): Pair => {
  const { privateKey, publicKey } = Der.makeKey()
  const { subject } = new X509Certificate(authority.certificate)
  const names = { subject: Der.commonName(name), issuer: Der.commonName(subject.replace(/^CN=/, "")) }
  const content = { ...names, publicKey, from: now - 7_200_000, to, extensions: client }
  return {
    certificate: Der.certificate(content, createPrivateKey(authority.key)),
    key: Der.keyPem(privateKey)
  }
}
