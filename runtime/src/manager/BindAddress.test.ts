import { describe, expect, test } from "bun:test"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as BindAddress from "./BindAddress.ts"

describe("BindAddress.parse", () => {
  for (const [text, hostname, port] of [
    [":8080", undefined, 8080],
    [":0", undefined, 0],
    ["127.0.0.1:8080", "127.0.0.1", 8080],
    ["0.0.0.0:65535", "0.0.0.0", 65_535],
    ["localhost:1", "localhost", 1],
    ["[::1]:8080", "::1", 8080]
  ] as const) {
    test(`reads ${text}, which format writes again`, () => {
      const address = Option.getOrThrow(Result.getOrThrow(BindAddress.parse(text)))
      expect(address).toEqual({ hostname, port })
      expect(BindAddress.format(address)).toBe(text)
    })
  }

  for (const text of ["0", ""]) {
    test(`returns none for "${text}"`, () => expect(Result.getOrThrow(BindAddress.parse(text))).toEqual(Option.none()))
  }

  for (const text of [
    "8080",
    "127.0.0.1",
    ":",
    ":http",
    ":65536",
    "::1:8080",
    "[::1]",
    "a b:1",
    "http://x:1",
    ":-1",
    " :1"
  ]) {
    test(`rejects "${text}" with the accepted values`, () => {
      expect(BindAddress.parse(text)).toMatchObject({
        _tag: "Failure",
        failure: `invalid bind address: "${text}" (write it like :8080, 127.0.0.1:8080 or [::1]:8080, or 0 for none)`
      })
      expect(BindAddress.required(text)).toMatchObject({
        _tag: "Failure",
        failure: `invalid bind address: "${text}" (write it like :8080, 127.0.0.1:8080 or [::1]:8080)`
      })
    })
  }
})

test("BindAddress.required rejects a disabled port", () => {
  expect(BindAddress.required("[::1]:9443")).toEqual(Result.succeed({ hostname: "::1", port: 9443 }))
  for (const text of ["0", ""]) expect(Result.isFailure(BindAddress.required(text))).toBe(true)
})

test("The default ports are those of the documentation", () =>
  expect(BindAddress.usualPorts).toEqual({ metrics: 8080, probes: 8081 }))
