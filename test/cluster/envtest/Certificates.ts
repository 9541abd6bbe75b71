/**
 * A certificate authority for one control plane, and the certificates that it issues.
 * The keys are elliptic (P-256), because the generation of RSA keys would be the slowest step of a start.
 */
import "reflect-metadata"
import * as x509 from "@peculiar/x509"
import { Clock, Effect } from "effect"

/** A certificate and its private key (PKCS #8), both PEM. */
export interface Pair {
  readonly certificate: string
  readonly key: string
}

/** A key pair without a certificate, both PEM. The API server signs and verifies service account tokens with it. */
export interface KeyPair {
  readonly public: string
  readonly private: string
}

/** A certificate authority. */
export interface Authority extends Pair {
  /** Issues a serving certificate for these DNS names and IP addresses. */
  readonly server: (names: {
    readonly dns: ReadonlyArray<string>
    readonly ip: ReadonlyArray<string>
  }) => Effect.Effect<Pair>
  /** Issues a client certificate. The API server authenticates it as the user `name` in `groups`. */
  readonly client: (name: string, groups: ReadonlyArray<string>) => Effect.Effect<Pair>
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const

const day = 24 * 60 * 60 * 1000

/** Makes a new authority. Its certificates are valid for 90 days, so that a control plane that keeps running stays usable. */
export const authority: Effect.Effect<Authority> = Effect.gen(function* () {
  const keys = yield* generate
  const subject = nameOf("homeostat-envtest", [])
  const root = yield* issue({
    subject,
    issuer: subject,
    publicKey: keys.publicKey,
    signingKey: keys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
      yield* Effect.promise(() => x509.SubjectKeyIdentifierExtension.create(keys.publicKey))
    ]
  })
  const sign = (subject: x509.Name, extensions: ReadonlyArray<x509.Extension>): Effect.Effect<Pair> =>
    Effect.gen(function* () {
      const own = yield* generate
      const certificate = yield* issue({
        subject,
        issuer: root.subjectName,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          yield* Effect.promise(() => x509.AuthorityKeyIdentifierExtension.create(keys.publicKey)),
          ...extensions
        ]
      })
      return { certificate: certificate.toString("pem"), key: yield* privatePem(own) }
    })
  return {
    certificate: root.toString("pem"),
    key: yield* privatePem(keys),
    server: ({ dns, ip }) =>
      sign(nameOf(dns[0] ?? ip[0] ?? "server", []), [
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension([
          ...dns.map((value) => ({ type: "dns", value }) as const),
          ...ip.map((value) => ({ type: "ip", value }) as const)
        ])
      ]),
    client: (name, groups) =>
      sign(nameOf(name, groups), [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])])
  }
})

/** Generates a key pair for service account tokens. */
export const serviceAccountKeys: Effect.Effect<KeyPair> = Effect.gen(function* () {
  const keys = yield* generate
  const spki = yield* Effect.promise(() => crypto.subtle.exportKey("spki", keys.publicKey))
  return { public: x509.PemConverter.encode(spki, "PUBLIC KEY"), private: yield* privatePem(keys) }
})

/** Generates a key and a certificate signing request (PEM) for the user `name`, for a cluster with its own authority. */
export const request = (
  name: string,
  groups: ReadonlyArray<string>
): Effect.Effect<{ readonly request: string; readonly key: string }> =>
  Effect.gen(function* () {
    const keys = yield* generate
    const made = yield* Effect.promise(() =>
      x509.Pkcs10CertificateRequestGenerator.create({
        name: nameOf(name, groups),
        keys,
        signingAlgorithm: algorithm
      })
    )
    return { request: made.toString("pem"), key: yield* privatePem(keys) }
  })

const generate: Effect.Effect<CryptoKeyPair> = Effect.promise(() =>
  crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
)

const privatePem = (keys: CryptoKeyPair): Effect.Effect<string> =>
  Effect.promise(() => crypto.subtle.exportKey("pkcs8", keys.privateKey)).pipe(
    Effect.map((bytes) => x509.PemConverter.encode(bytes, "PRIVATE KEY"))
  )

const issue = (
  parameters: Omit<x509.X509CertificateCreateWithKeyParams, "notBefore" | "notAfter" | "signingAlgorithm">
): Effect.Effect<x509.X509Certificate> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    return yield* Effect.promise(() =>
      x509.X509CertificateGenerator.create({
        ...parameters,
        // The certificate is valid an hour earlier, for a container whose clock is a little behind.
        notBefore: new Date(now - day / 24),
        notAfter: new Date(now + 90 * day),
        signingAlgorithm: algorithm
      })
    )
  })

/** Kubernetes reads the user from CN and one group from each O. The strings are typed, because the library would parse plain strings. */
const nameOf = (name: string, groups: ReadonlyArray<string>): x509.Name =>
  new x509.Name([{ CN: [{ utf8String: name }] }, ...groups.map((group) => ({ O: [{ utf8String: group }] }))])
