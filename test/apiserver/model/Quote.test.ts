import { describe, expect, test } from "bun:test"
import { quote } from "./Quote.ts"

describe("Quote", () => {
  test.each([
    ["plain", '"plain"'],
    ['a "b" \\', '"a \\"b\\" \\\\"'],
    ["\u0000\u001b\u007f", '"\\x00\\x1b\\x7f"'],
    ["\u0007\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'],
    ["é 漢 😀", '"é 漢 😀"'],
    ["\u00a0\u200b\u{e0001}", '"\\u00a0\\u200b\\U000e0001"'],
    ["\ud800", '"\ufffd"']
  ])("%j is %s", (text, quoted) => {
    expect(quote(text)).toBe(quoted)
  })
})
