/** Random numbers that a test chooses. */
import type * as Random from "effect/Random"

/** Draws always the same number, from 0 to below 1. */
export const fixed = (value: number): (typeof Random.Random)["Service"] => ({
  nextDoubleUnsafe: () => value,
  nextIntUnsafe: () => Math.floor(value * Number.MAX_SAFE_INTEGER)
})
