import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as BindAddress from "./BindAddress.ts"

describe("an address to listen on", () => {
  for (const [text, hostname, port] of [
    [":8080", undefined, 8080],
    [":0", undefined, 0],
    ["127.0.0.1:8080", "127.0.0.1", 8080],
    ["0.0.0.0:65535", "0.0.0.0", 65_535],
    ["localhost:1", "localhost", 1],
    ["[::1]:8080", "::1", 8080]
  ] as const) {
    test(`is read from ${text}, and written the same`, () => {
      const address = Option.getOrThrow(Either.getOrThrow(BindAddress.parse(text)))
      expect(address).toEqual({ hostname, port })
      expect(BindAddress.format(address)).toBe(text)
    })
  }

  for (const text of ["0", ""]) {
    test(`is none when it is "${text}"`, () =>
      expect(Either.getOrThrow(BindAddress.parse(text))).toEqual(Option.none()))
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
    test(`is refused as "${text}", with what is accepted`, () => {
      expect(BindAddress.parse(text)).toMatchObject({
        _tag: "Left",
        left: `invalid bind address: "${text}" (write it like :8080, 127.0.0.1:8080 or [::1]:8080, or 0 for none)`
      })
      expect(BindAddress.required(text)).toMatchObject({
        _tag: "Left",
        left: `invalid bind address: "${text}" (write it like :8080, 127.0.0.1:8080 or [::1]:8080)`
      })
    })
  }
})

test("A port that is always open has an address", () => {
  expect(BindAddress.required("[::1]:9443")).toEqual(Either.right({ hostname: "::1", port: 9443 }))
  for (const text of ["0", ""]) expect(Either.isLeft(BindAddress.required(text))).toBe(true)
})

test("the usual ports are those that the documentation names", () =>
  expect(BindAddress.usualPorts).toEqual({ metrics: 8080, probes: 8081 }))
