import { describe, expect, test } from "bun:test"
import * as Text from "./Text.ts"

describe("A text", () => {
  test("is cut where it is longer, and the rest of it does not stay in memory", () => {
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

  test("is counted by the bytes of its characters", () => {
    expect(["", "abc", "é", "я", "aя"].map(Text.bytes)).toEqual([0, 3, 1, 2, 4])
    expect(Text.bytes(undefined)).toBe(0)
  })

  test("that a terminal would obey is spelled out", () => {
    expect(Text.printable("a\u001b[2J\u009b\u202e\u2028\r\n\tb")).toBe("a\\u001b[2J\\u009b\\u202e\\u2028\\u000d\n\tb")
  })
})
