/** The certificates that an API server accepts, and the reasons for which it rejects others. */
import { describe, expect, test } from "bun:test"
import { createPrivateKey, X509Certificate } from "node:crypto"
import * as Authority from "./Authority.ts"
import * as Der from "./Der.ts"
import * as Verification from "./Verification.ts"

const hour = 60 * 60 * 1000
const now = Date.UTC(2026, 10, 26)
const name = "hooks.default.svc"
const ca = Authority.makeAuthority(now)
const other = Authority.makeAuthority(now)
const pair = Authority.issue(ca, [name], now)
const issued = (...names: ReadonlyArray<string>) => Authority.issue(ca, names, now)
const problemOf = (
  { certificate }: Pick<Authority.Authority, "certificate"> = pair,
  expected: Partial<Verification.Expected> = {},
  at = now
) => Verification.problemOf({ certificate, key: "" }, { name, cas: ca.certificate, ...expected }, at)

/** The extended key usage `clientAuth`. */
const forClients = Buffer.from("30130603551d25040c300a06082b06010505070302", "hex")

/** A certificate with these extensions, signed by a CA. */
const made = (by: Authority.Authority, subject: string, extensions: ReadonlyArray<Buffer>): Authority.Authority => {
  const { privateKey, publicKey } = Der.makeKey()
  const certificate = Der.certificate(
    {
      subject: Der.commonName(subject),
      issuer: Der.commonName(new X509Certificate(by.certificate).subject.replace(/^CN=/, "")),
      publicKey,
      from: now - hour,
      to: now + hour,
      extensions
    },
    createPrivateKey(by.key)
  )
  return { certificate, key: Der.keyPem(privateKey) }
}

describe("The API server accepts a certificate", () => {
  test("of a published CA, with its name, in its time", () => {
    expect(problemOf()).toBeUndefined()
    expect(problemOf(pair, { cas: other.certificate + ca.certificate })).toBeUndefined()
  })

  test("with an IP address, or with a wildcard for the first label", () => {
    expect(problemOf(issued("10.0.0.1", "::1"), { name: "10.0.0.1" })).toBeUndefined()
    expect(problemOf(issued("10.0.0.1", "::1"), { name: "0:0::1" })).toBeUndefined()
    expect(problemOf(issued("*.default.svc"))).toBeUndefined()
    expect(problemOf(issued("HOOKS.default.svc"))).toBeUndefined()
  })

  test("of an intermediate CA in the same file", () => {
    const middle = made(ca, "middle", Der.signing)
    const leaf = made(middle, "leaf", [...Der.serving, Der.alternatives([name])])
    expect(problemOf(leaf)).toContain("is not issued by a CA")
    expect(problemOf({ certificate: leaf.certificate + middle.certificate })).toBeUndefined()
    expect(problemOf({ certificate: leaf.certificate + middle.certificate }, { cas: other.certificate })).toContain(
      "is not issued by a CA"
    )
  })

  test("that is itself published", () => {
    expect(problemOf(pair, { cas: pair.certificate })).toBeUndefined()
  })
})

describe("The API server rejects a certificate", () => {
  const cases: ReadonlyArray<readonly [string, () => string | undefined, string]> = [
    [
      "for other names",
      () => problemOf(issued("a.b", "10.0.0.1")),
      `is not valid for ${name} (it names a.b, 10.0.0.1)`
    ],
    [
      "for many other names",
      () => problemOf(issued(..."1234567")),
      `is not valid for ${name} (it names 1, 2, 3, 4, 5 and 2 more)`
    ],
    ["for a wildcard of two labels", () => problemOf(issued("*.svc")), `is not valid for ${name} (it names *.svc)`],
    [
      "for a part of a label",
      () => problemOf(issued("h*.default.svc")),
      `is not valid for ${name} (it names h*.default.svc)`
    ],
    [
      "whose name is only its common name",
      () => problemOf(made(ca, name, Der.serving)),
      `is not valid for ${name} (it has no subject alternative names)`
    ],
    ["that has expired", () => problemOf(pair, {}, now + Authority.servingLifetime), "expired at 2027-02-24T00:00:00Z"],
    ["that is not valid yet", () => problemOf(pair, {}, now - 25 * hour), "is not valid before 2026-11-25T22:00:00Z"],
    [
      "of another CA",
      () => problemOf(pair, { cas: other.certificate }),
      "is not issued by a CA that the webhook configurations trust"
    ],
    ["without a CA", () => problemOf(pair, { cas: "" }), "is not issued by a CA that the webhook configurations trust"],
    [
      "of an issuer that is not a CA",
      () => {
        const issuer = made(ca, "issuer", [...Der.serving, Der.alternatives(["issuer"])])
        const leaf = made(issuer, "leaf", [...Der.serving, Der.alternatives([name])])
        return problemOf({ certificate: leaf.certificate + issuer.certificate })
      },
      "is not issued by a CA that the webhook configurations trust"
    ],
    [
      "that is not of a server",
      () => problemOf(made(ca, "client", [forClients, Der.alternatives([name])])),
      "is not a certificate of a server (its extended key usage must contain serverAuth)"
    ],
    ["that does not parse", () => problemOf({ certificate: "rubbish" }), "cannot be read as PEM"]
  ]
  test.each(cases)("%s", (_, problem, text) => {
    expect(problem()).toBe(text)
  })
})
