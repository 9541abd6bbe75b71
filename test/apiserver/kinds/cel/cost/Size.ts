/** Estimated sizes and costs, computed as in cel-go: 64-bit numbers that stop at the maximum instead of overflowing. */

/** The range of a value's size: characters of a text, items of a list, or entries of a map. */
export interface Size {
  readonly min: number
  readonly max: number
}

const greatest = 2 ** 64

/** Limits a sum or a product to 2^64. */
export const capped = (value: number): number => Math.min(value, greatest)

/** The range of an unknown size. */
export const unknown: Size = { min: 0, max: greatest }

/** Returns the range of an exactly known size. */
export const fixed = (size: number): Size => ({ min: size, max: size })

/** Adds the sizes of two values. */
export const add = (one: Size, other: Size): Size => ({
  min: capped(one.min + other.min),
  max: capped(one.max + other.max)
})

/** Multiplies two sizes. */
export const multiply = (one: Size, other: Size): Size => ({
  min: capped(one.min * other.min),
  max: capped(one.max * other.max)
})

/** Returns the smallest range that includes both sizes. */
export const union = (one: Size, other: Size): Size => ({
  min: Math.min(one.min, other.min),
  max: Math.max(one.max, other.max)
})

/** Returns the cost of work on each unit of a size: size times factor, rounded up. */
export const scaled = (size: number, factor: number): number => capped(Math.ceil(size * factor))

/** The cost per character of reading a text once. */
export const perCharacter = 0.1

/** The cost per character of a regular expression. */
export const perPatternCharacter = 0.25

/** The cost of a new list. */
export const newList = 10

/** The cost of a new map. */
export const newMap = 30
