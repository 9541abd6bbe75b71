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
