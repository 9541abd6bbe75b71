/** The body of a request in one buffer, because a list of chunks of a byte would need many times the memory. */

/** A body that arrives. */
export interface Body {
  /** The bytes so far. */
  readonly size: () => number
  readonly add: (chunk: Buffer) => void
  /** Its content, which the next `add` may overwrite. */
  readonly bytes: () => Buffer
  /** Frees the memory. */
  readonly clear: () => void
}

/** The deepest nesting of an object that an API server reads, and some levels for the review around it. */
const mostDepth = 10_000 + 16

const [quote, backslash] = [0x22, 0x5c]
const opening: ReadonlyArray<number | undefined> = [0x5b, 0x7b]
const closing: ReadonlyArray<number | undefined> = [0x5d, 0x7d]

/**
 * Whether the JSON in a body is nested more deeply than any review. To write such a value again blocks the process for a second, and then
 * fails.
 */
export const isTooDeep = (bytes: Buffer): boolean => {
  if (bytes.length <= mostDepth) return false
  let depth = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) isText = !isText
    else if (isText) at += byte === backslash ? 1 : 0
    else if (opening.includes(byte)) {
      if (++depth > mostDepth) return true
    } else if (closing.includes(byte)) depth--
  }
  return false
}

/** An empty body. */
export const make = (): Body => {
  let buffer = Buffer.allocUnsafe(0)
  let size = 0
  return {
    size: () => size,
    add: (chunk) => {
      const start = size
      size += chunk.length
      if (size > buffer.length) {
        const larger = Buffer.allocUnsafe(Math.max(size, 2 * buffer.length))
        buffer.copy(larger, 0, 0, start)
        buffer = larger
      }
      chunk.copy(buffer, start)
    },
    bytes: () => buffer.subarray(0, size),
    clear: () => {
      buffer = Buffer.allocUnsafe(0)
      size = 0
    }
  }
}
