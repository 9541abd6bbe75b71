/**
 * Generates uids and name suffixes from a seed. The same seed results in the same values.
 */
import * as Pcg from "../model/Pcg.ts"
import * as Step from "./Step.ts"

/** Generates unique values. */
export interface Identity {
  /** Returns a version 4 UUID. */
  readonly uid: () => string
  /** Generates a name from a `generateName`: it appends five characters, and limits the name to 63. */
  readonly name: (base: string) => string
  /** Returns a number of at least 0 and less than 1. */
  readonly fraction: () => number
  /** Continues with the values of another seed. */
  readonly reseed: (seed: number) => void
}

/** The alphabet of apimachinery: consonants and digits, without characters that form words or look alike. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

const longestBase = 63 - 5

/** Creates an identity from a seed. All runs of one step get the same values. */
export const make = (seed: number): Identity => {
  let random = Pcg.make(seed)
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
    fraction: () => Step.once(() => random.number()),
    reseed: (seed) => {
      random = Pcg.make(seed)
    }
  }
}
