import { describe, expect, test } from "bun:test"
import * as Body from "./Body.ts"

const mega = 1024 * 1024
const chunk = Buffer.alloc(64 * 1024, "a")

/** The bytes that a body of this length takes after it has arrived in chunks, and the bytes that it took on the way. */
const taken = (body: Body.Body, length: number) => {
  const buffers = new Set<ArrayBufferLike>()
  for (let at = 0; at < length; at += chunk.length) {
    body.add(chunk.subarray(0, length - at))
    buffers.add(body.bytes().buffer)
  }
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

describe("A body", () => {
  test("of the announced length takes that memory once", () => {
    const body = Body.make(7 * mega)
    expect(taken(body, 7 * mega)).toBe(7 * mega)
    expect(body.size()).toBe(7 * mega)
  })

  for (const [what, announced] of [
    ["an unknown length", 0],
    ["a length that is too small", 100_000]
  ] as const) {
    test(`with ${what} takes at most four times its memory`, () => {
      const body = Body.make(announced)
      expect(taken(body, 3 * mega)).toBeLessThanOrEqual(4 * 3 * mega)
      expect(body.bytes().equals(Buffer.alloc(3 * mega, "a"))).toBe(true)
    })
  }

  test("takes no memory before its first bytes, and after it was cleared", () => {
    const body = Body.make(7 * mega)
    expect(body.bytes().buffer.byteLength).toBeLessThan(mega)
    body.add(chunk)
    body.clear()
    expect(body.bytes().buffer.byteLength).toBeLessThan(mega)
    expect(body.size()).toBe(0)
  })
})
