/** The parts of a Secret that are usable at a time. */
import { describe, expect, test } from "bun:test"
import { createPrivateKey, X509Certificate } from "node:crypto"
import * as Authority from "./Authority.ts"
import * as Contents from "./Contents.ts"
import * as Der from "./Der.ts"

const now = Date.UTC(2026, 10, 26)
const hour = 3_600_000
const day = 24 * hour

/** The content of a Secret whose CA and serving certificate were created at these times, as it is read at `at`. */
const readAt = (at: number, { ca = now, certificate = now } = {}): Contents.Contents => {
  const authority = Authority.makeAuthority(ca)
  const serving = Authority.issue(authority, ["hooks.default.svc"], certificate)
  const { keys } = Contents
  const data = {
    [keys.bundle]: authority.certificate,
    [keys.issuerKey]: authority.key,
    [keys.certificate]: serving.certificate,
    [keys.key]: serving.key
  }
  return Contents.read(Contents.encoded(data), at)
}

const usable = ({ issuer, serving }: Contents.Contents) => ({
  issuer: issuer !== undefined,
  serving: serving !== undefined
})

describe("A Secret", () => {
  test("has a CA and a serving certificate while both are valid", () => {
    expect(usable(readAt(now))).toEqual({ issuer: true, serving: true })
  })

  test("has no serving certificate from the moment at which it expires", () => {
    expect(usable(readAt(now + Authority.servingLifetime - 1))).toEqual({ issuer: true, serving: true })
    expect(usable(readAt(now + Authority.servingLifetime))).toEqual({ issuer: true, serving: false })
  })

  test("has no CA from the moment at which it expires", () => {
    expect(usable(readAt(now + Authority.authorityLifetime - 1))).toEqual({ issuer: true, serving: false })
    const expired = readAt(now + Authority.authorityLifetime)
    expect(usable(expired)).toEqual({ issuer: false, serving: false })
    // Rotation decides when a bundle loses it.
    expect(expired.cas).toHaveLength(1)
  })

  test("has no serving certificate if its extended key usage is that of a client", () => {
    const authority = Authority.makeAuthority(now)
    const { privateKey, publicKey } = Der.makeKey()
    const certificate = (purpose: ReadonlyArray<Buffer>) =>
      Der.certificate(
        {
          subject: Der.commonName("hooks"),
          issuer: Der.commonName(new X509Certificate(authority.certificate).subject.replace(/^CN=/, "")),
          publicKey,
          from: now,
          to: now + day,
          extensions: [...purpose, Der.alternatives(["hooks"])]
        },
        createPrivateKey(authority.key)
      )
    const servingOf = (purpose: ReadonlyArray<Buffer>) => {
      const { keys } = Contents
      const data = {
        [keys.bundle]: authority.certificate,
        [keys.certificate]: certificate(purpose),
        [keys.key]: Der.keyPem(privateKey)
      }
      return Contents.read(Contents.encoded(data), now).serving
    }
    const [constraints, usage, servers = Buffer.alloc(0)] = Der.serving
    // The identifier of TLS clients ends with 2 in place of 1.
    const clients = Buffer.concat([servers.subarray(0, -1), Buffer.of(2)])
    const common = [constraints, usage].filter((each) => each !== undefined)
    expect(servingOf([...common, servers])).toBeDefined()
    expect(servingOf(common)).toBeDefined()
    expect(servingOf([...common, clients])).toBeUndefined()
  })

  test("may come from a clock that is at most a day ahead", () => {
    const ahead = now + day + Authority.backdated
    expect(usable(readAt(now, { ca: ahead, certificate: ahead }))).toEqual({ issuer: true, serving: true })
    const further = ahead + hour
    expect(usable(readAt(now, { certificate: further }))).toEqual({ issuer: true, serving: false })
    expect(usable(readAt(now, { ca: further }))).toEqual({ issuer: false, serving: false })
  })
})
