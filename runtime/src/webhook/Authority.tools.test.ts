import { describe, expect, test } from "bun:test"
import { createPrivateKey, X509Certificate } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Authority from "./Authority.ts"

const now = Date.parse("2026-11-21T12:00:00Z")
const names = ["hooks.system.svc", "hooks", "10.1.2.3", "fd00::a:b"]

/** The verdict of openssl about a serving certificate and the CAs of a bundle. */
const verdict = (certificate: string, bundle: string, at = now, name = "hooks.system.svc"): string => {
  const dir = mkdtempSync(join(tmpdir(), "homeostat-authority-"))
  try {
    writeFileSync(join(dir, "ca.crt"), bundle)
    writeFileSync(join(dir, "tls.crt"), certificate)
    const options = ["-x509_strict", "-purpose", "sslserver", "-verify_hostname", name, "-attime", String(at / 1000)]
    const files = ["-no-CApath", "-CAfile", "ca.crt", "tls.crt"]
    const { stderr, stdout } = Bun.spawnSync(["openssl", "verify", ...options, ...files], { cwd: dir })
    return `${stdout}${stderr}`
  } finally {
    rmSync(dir, { recursive: true })
  }
}

describe("a serving certificate", () => {
  const authority = Authority.makeAuthority(now)
  const { certificate, key } = Authority.issue(authority, names, now)
  const read = new X509Certificate(certificate)
  const issuer = new X509Certificate(authority.certificate)

  test("has its names, its lifetime and its key, and is not a CA", () => {
    expect(read.subject).toBe("CN=hooks.system.svc")
    expect(read.subjectAltName).toBe(
      "DNS:hooks.system.svc, DNS:hooks, IP Address:10.1.2.3, IP Address:FD00:0:0:0:0:0:A:B"
    )
    expect(Date.parse(read.validFrom)).toBe(now - Authority.backdated)
    expect(Date.parse(read.validTo)).toBe(now + Authority.servingLifetime)
    expect(read.checkPrivateKey(createPrivateKey(key))).toBe(true)
    expect([read.ca, issuer.ca]).toEqual([false, true])
    expect(Date.parse(issuer.validTo)).toBe(now + Authority.authorityLifetime)
  })

  test("verifies against its CA only", () => {
    const other = Authority.makeAuthority(now)
    expect(read.checkIssued(issuer) && read.verify(issuer.publicKey)).toBe(true)
    expect(read.checkIssued(new X509Certificate(other.certificate))).toBe(false)
    expect(verdict(certificate, other.certificate + authority.certificate)).toBe("tls.crt: OK\n")
    expect(verdict(certificate, other.certificate)).toContain("unable to get local issuer certificate")
  })

  test("passes the strict checks of openssl for its names, from two hours before its creation to its end", () => {
    const { certificate: bundle } = authority
    const ok = "tls.crt: OK\n"
    expect(verdict(certificate, bundle, now - Authority.backdated)).toBe(ok)
    expect(verdict(certificate, bundle, now + Authority.servingLifetime - 1000, "hooks")).toBe(ok)
    expect(verdict(certificate, bundle, now, "other")).toContain("hostname mismatch")
    expect(verdict(certificate, bundle, now - Authority.backdated - 1000)).toContain("not yet valid")
    expect(verdict(certificate, bundle, now + Authority.servingLifetime + 1000)).toContain("expired")
  })

  test("does not outlive its CA", () => {
    const late = Authority.issue(authority, names, now + Authority.authorityLifetime - 1000)
    expect(new X509Certificate(late.certificate).validTo).toBe(issuer.validTo)
  })

  test("passes the strict checks with names of any length and at any time", () => {
    for (const year of [2049, 2050, 2100]) {
      const at = Date.UTC(year, 5)
      const ca = Authority.makeAuthority(at)
      for (const length of [1, 63, 64, 65]) {
        const name = `${"a".repeat(length > 63 ? 60 : length)}${length > 63 ? `.${"b".repeat(length - 61)}` : ""}`
        const issued = Authority.issue(ca, [name], at)
        expect(verdict(issued.certificate, ca.certificate, at, name)).toBe("tls.crt: OK\n")
      }
    }
  })
})
