/** The encoding of addresses in certificates. */
import { expect, test } from "bun:test"
import * as Der from "./Der.ts"

test.each([
  ["127.0.0.1", "7f000001"],
  ["::", "00".repeat(16)],
  ["::1", `${"00".repeat(15)}01`],
  ["fd00::1", `fd00${"00".repeat(13)}01`],
  ["fd00::", `fd00${"00".repeat(14)}`],
  ["fd00:1:2:3:4:5:6:abcd", "fd0000010002000300040005" + "0006abcd"]
])("the bytes of the IP address %s", (address, bytes) => {
  expect(Der.addressBytes(address).toString("hex")).toBe(bytes)
})
