import { describe, expect } from "bun:test"
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto"
import { Effect } from "effect"
import { live } from "../Test.ts"
import * as Certificates from "./Certificates.ts"

describe("Certificates", () => {
  live("of users are signed by the CA and contain the name and groups", () =>
    Effect.gen(function* () {
      const authority = yield* Certificates.authority
      const root = new X509Certificate(authority.certificate)
      const pair = yield* authority.client('jane, "J" = 1', ["system:masters", "a+b/ü"])
      const certificate = new X509Certificate(pair.certificate)
      expect(certificate.verify(root.publicKey)).toBe(true)
      expect(certificate.checkIssued(root)).toBe(true)
      expect(certificate.checkPrivateKey(createPrivateKey(pair.key))).toBe(true)
      expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"])
      const subject = certificate.toLegacyObject().subject
      expect(subject.CN).toBe('jane, "J" = 1')
      expect(subject.O).toEqual(["system:masters", "a+b/ü"] as never)
    })
  )

  live("of servers contain their addresses and are for servers only", () =>
    Effect.gen(function* () {
      const authority = yield* Certificates.authority
      const pair = yield* authority.server({ dns: ["localhost"], ip: ["127.0.0.1"] })
      const certificate = new X509Certificate(pair.certificate)
      expect(certificate.checkHost("localhost")).toBe("localhost")
      expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1")
      expect(certificate.checkIP("127.0.0.2")).toBeUndefined()
      expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"])
      expect(certificate.ca).toBe(false)
    })
  )

  live("include a matching pair of keys for service accounts", () =>
    Effect.gen(function* () {
      const keys = yield* Certificates.serviceAccountKeys
      const derived = createPublicKey(createPrivateKey(keys.private)).export({ type: "spki", format: "pem" })
      expect(String(derived).replaceAll(/\s/g, "")).toBe(keys.public.replaceAll(/\s/g, ""))
    })
  )
})
