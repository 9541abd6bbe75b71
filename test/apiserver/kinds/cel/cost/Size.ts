/** Estimated sizes and costs, as cel-go computes them: numbers of 64 bits that do not overflow. */

/** The size of a value: characters of a text, items of a list, entries of a map. */
export interface Size {
  readonly min: number
  readonly max: number
}

const greatest = 2 ** 64

/** A sum or a product, at most 2^64. */
export const capped = (value: number): number => Math.min(value, greatest)

/** The size of a value about which nothing is known. */
export const unknown: Size = { min: 0, max: greatest }

/** A certain size. */
export const fixed = (size: number): Size => ({ min: size, max: size })

/** The size of two values together. */
export const add = (one: Size, other: Size): Size => ({
  min: capped(one.min + other.min),
  max: capped(one.max + other.max)
})

/** The size of as many values. */
export const multiply = (one: Size, other: Size): Size => ({
  min: capped(one.min * other.min),
  max: capped(one.max * other.max)
})

/** The size of the one or the other value. */
export const union = (one: Size, other: Size): Size => ({
  min: Math.min(one.min, other.min),
  max: Math.max(one.max, other.max)
})

/** The cost of work on each unit of a size: the product, rounded up. */
export const scaled = (size: number, factor: number): number => capped(Math.ceil(size * factor))

/** The cost per character of reading a text once. */
export const perCharacter = 0.1

/** The cost per character of a regular expression. */
export const perPatternCharacter = 0.25

/** The cost of a new list. */
export const newList = 10

/** The cost of a new map. */
export const newMap = 30
