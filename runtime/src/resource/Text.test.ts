import { describe, expect, test } from "bun:test"
import * as Text from "./Text.ts"

describe("Text", () => {
  test("clips a long text without retaining the rest in memory", () => {
    expect(Text.clip("abc", 3)).toBe("abc")
    expect(Text.clip("abcd", 3)).toBe("abc…")
    const heap = (): number => {
      Bun.gc(true)
      return process.memoryUsage().heapUsed
    }
    const before = heap()
    const kept = Array.from({ length: 50 }, (_, index) => Text.clip(`${index} ${"x".repeat(1_000_000)}`, 100))
    expect(heap() - before).toBeLessThan(10_000_000)
    expect(kept).toHaveLength(50)
  })

  test("counts the bytes of a text", () => {
    expect(["", "abc", "é", "я", "aя"].map(Text.bytes)).toEqual([0, 3, 1, 2, 4])
    expect(Text.bytes(undefined)).toBe(0)
  })

  test("knows whether it escapes something", () => {
    const texts = ["a\n\tb", "é𝄞", "\u001b", "a\u202e", "\u0007", ""]
    for (const text of [...texts, ...texts]) expect(Text.isPrintable(text)).toBe(Text.printable(text) === text)
  })

  test("escapes control characters", () => {
    expect(Text.printable("a\u001b[2J\u009b\u202e\u2028\r\n\tb")).toBe("a\\u001b[2J\\u009b\\u202e\\u2028\\u000d\n\tb")
  })
})
