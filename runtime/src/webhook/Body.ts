/** The limits of the JSON in a body. */

/** The deepest nesting of an object that an API server reads, and some levels for the review around it. */
const mostDepth = 10_000 + 16

/** The values of an object of 3 MiB whose names and values have 32 bytes. The schema of a kind takes microseconds for each. */
const mostOfReview = 96 * 1024

/** The most values of a body. A conversion has several objects. */
export const mostValues = { admission: mostOfReview, conversion: 4 * mostOfReview } as const

/**
 * The reason not to parse the JSON in a body; undefined if there is none. To write a value again that is nested more deeply than any review
 * blocks the process for a second, and then fails. To check millions of values blocks it for seconds.
 */
export const problemOf = (bytes: Buffer, most: number): "deep" | "many" | undefined => {
  // A comma or a bracket for each value.
  if (bytes.length <= mostDepth && bytes.length <= most) return undefined
  let depth = 0
  let values = 0
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case 0x22: {
        // A text ends at the next quote that no backslash precedes.
        for (at++; at < bytes.length && bytes[at] !== 0x22; at++) if (bytes[at] === 0x5c) at++
        break
      }
      case 0x5b:
      case 0x7b: {
        if (++depth > mostDepth) return "deep"
        if (++values > most) return "many"
        break
      }
      case 0x5d:
      case 0x7d: {
        depth--
        break
      }
      case 0x2c: {
        if (++values > most) return "many"
        break
      }
    }
  }
  return undefined
}
