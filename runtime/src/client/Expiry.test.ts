import { describe, expect, test } from "bun:test"
import * as Expiry from "./Expiry.ts"

const now = Date.UTC(2026, 10, 21)

const claims = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const reasonOf = (token: string) => Expiry.at(now)({ tls: {}, headers: { authorization: `Bearer ${token}` } })

describe("A token that the server refused", () => {
  test("is said to have expired if it says so itself", () => {
    expect(reasonOf(`head.${claims({ exp: now / 1000 - 60 })}.sign`)).toBe(
      "the token expired at 2026-11-20T23:59:00.000Z"
    )
  })

  test("is said to have expired in the millisecond that it names", () =>
    expect(reasonOf(`head.${claims({ exp: now / 1000 })}.sign`)).toBe("the token expired at 2026-11-21T00:00:00.000Z"))

  for (const [what, token] of [
    ["ends later", `head.${claims({ exp: now / 1000 + 60 })}.sign`],
    ["never ends", `head.${claims({ sub: "somebody" })}.sign`],
    ["is no JSON Web Token", "a.b.c"],
    ["is a plain word", "secret"],
    ["has two parts", `head.${claims({ exp: now / 1000 - 60 })}`],
    ["ends with a text", `head.${claims({ exp: "yesterday" })}.sign`],
    ["claims nothing", `head.${claims(null)}.sign`]
  ] as const) {
    test(`is not, if it ${what}`, () => expect(reasonOf(token)).toBeUndefined())
  }

  test("is not looked for where there is none", () => {
    expect(Expiry.at(now)({ tls: {}, headers: {} })).toBeUndefined()
  })
})
