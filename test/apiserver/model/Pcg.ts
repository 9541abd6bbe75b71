/** Pseudo-random numbers by PCG XSH RR 64/32. */

/** A sequence of pseudo-random numbers. */
export interface Pcg {
  /** Returns a number of at least 0 and less than 1, with 53 bits. */
  readonly number: () => number
  /** Returns a whole number of at least 0 and less than `below`. */
  readonly integer: (below: number) => number
}

/** The high and low 32 bits of the constants, because a bigint takes six times as long. */
const [multiplierHigh, multiplierLow] = [0x5851f42d, 0x4c957f2d]
const [incrementHigh, incrementLow] = [0x14057b7e, 0xf767814f]

/** The high 32 bits of the product of two 32-bit numbers. */
const productHigh = (one: number, other: number): number =>
  Math.floor((one * (other >>> 16) + Math.floor((one * (other & 0xffff)) / 2 ** 16)) / 2 ** 16)

/** Makes the sequence of a seed. The same seed results in the same sequence. Only the lowest 32 bits of the seed count. */
export const make = (seed: number): Pcg => {
  let high = 0
  let low = 0
  const add = (addedHigh: number, addedLow: number): void => {
    const sum = low + addedLow
    high = (high + addedHigh + (sum >= 2 ** 32 ? 1 : 0)) >>> 0
    low = sum >>> 0
  }
  const advance = (): void => {
    high = (productHigh(low, multiplierLow) + Math.imul(low, multiplierHigh) + Math.imul(high, multiplierLow)) >>> 0
    low = Math.imul(low, multiplierLow) >>> 0
    add(incrementHigh, incrementLow)
  }
  advance()
  add(0, seed >>> 0)
  advance()
  /** Returns the next 32 bits. */
  const next = (): number => {
    const mixedHigh = (high >>> 18) ^ high
    const mixedLow = ((low >>> 18) | (high << 14)) ^ low
    const mixed = (mixedLow >>> 27) | (mixedHigh << 5)
    const turn = high >>> 27
    advance()
    return ((mixed >>> turn) | (mixed << (-turn & 31))) >>> 0
  }
  const number = (): number => {
    const first = next() & 0x3ffffff
    const second = next() & 0x7ffffff
    return (first * 2 ** 27 + second) / 2 ** 53
  }
  return { number, integer: (below) => Math.round(number() * Number.MAX_SAFE_INTEGER) % below }
}
