/** The parts of a Secret that are usable at a time. */
import { describe, expect, test } from "bun:test"
import * as Authority from "./Authority.ts"
import * as Contents from "./Contents.ts"

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

  test("may come from a clock that is a day ahead, and no more", () => {
    const ahead = now + day + Authority.backdated
    expect(usable(readAt(now, { ca: ahead, certificate: ahead }))).toEqual({ issuer: true, serving: true })
    const further = ahead + hour
    expect(usable(readAt(now, { certificate: further }))).toEqual({ issuer: true, serving: false })
    expect(usable(readAt(now, { ca: further }))).toEqual({ issuer: false, serving: false })
  })
})
