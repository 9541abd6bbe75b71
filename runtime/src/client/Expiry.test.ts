import { describe, expect, test } from "bun:test"
import * as Expiry from "./Expiry.ts"

const now = Date.UTC(2026, 10, 21)

const claims = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const reasonOf = (token: string) => Expiry.at(now)({ tls: {}, headers: { authorization: `Bearer ${token}` } })

describe("A rejected token", () => {
  test("is reported as expired by its own exp claim", () => {
    expect(reasonOf(`head.${claims({ exp: now / 1000 - 60 })}.sign`)).toBe(
      "the token expired at 2026-11-20T23:59:00.000Z"
    )
  })

  test("is reported as expired from the millisecond of its exp claim on", () =>
    expect(reasonOf(`head.${claims({ exp: now / 1000 })}.sign`)).toBe("the token expired at 2026-11-21T00:00:00.000Z"))

  for (const [what, token] of [
    ["expires later", `head.${claims({ exp: now / 1000 + 60 })}.sign`],
    ["never expires", `head.${claims({ sub: "somebody" })}.sign`],
    ["is not a JSON Web Token", "a.b.c"],
    ["is a plain word", "secret"],
    ["has two parts", `head.${claims({ exp: now / 1000 - 60 })}`],
    ["has an exp claim that is a text", `head.${claims({ exp: "yesterday" })}.sign`],
    ["has no claims", `head.${claims(null)}.sign`]
  ] as const) {
    test(`is not reported as expired if it ${what}`, () => expect(reasonOf(token)).toBeUndefined())
  }

  test("is not reported without a token", () => {
    expect(Expiry.at(now)({ tls: {}, headers: {} })).toBeUndefined()
  })
})
