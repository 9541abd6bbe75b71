/**
 * Chance: the uids of objects, the ends of generated names. The same seed gives the same ones.
 */
import { PCGRandom } from "effect/Utils"
import * as Step from "./Step.ts"

/** Makes what has to be unlike anything before. */
export interface Identity {
  /** A version 4 UUID. */
  readonly uid: () => string
  /** The name that a `generateName` becomes: five more characters, 63 in all at most. */
  readonly name: (base: string) => string
  /** At least 0, less than 1. */
  readonly fraction: () => number
}

/** Consonants and digits without those that make words or look alike, as apimachinery has them. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

const longestBase = 63 - 5

/** An identity from a seed. All runs of one step get the same. */
export const make = (seed: number): Identity => {
  const random = new PCGRandom(seed)
  const hex = (digits: number): string =>
    random
      .integer(16 ** digits)
      .toString(16)
      .padStart(digits, "0")
  return {
    uid: () =>
      Step.once(
        () =>
          `${hex(4)}${hex(4)}-${hex(4)}-4${hex(3)}-${(8 + random.integer(4)).toString(16)}${hex(3)}-${hex(6)}${hex(6)}`
      ),
    name: (base) =>
      Step.once(() => {
        let ending = ""
        for (let index = 0; index < 5; index++) ending += alphabet[random.integer(alphabet.length)] ?? ""
        return base.slice(0, longestBase) + ending
      }),
    fraction: () => Step.once(() => random.number())
  }
}
