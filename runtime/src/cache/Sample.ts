/**
 * The mean size of the objects of a kind, from a sample: to measure an object means to write it as JSON, which takes microseconds.
 */
import type { KubernetesObject } from "../resource/KubernetesObject.ts"

/** The sizes of a sample of objects. */
export interface Sample {
  /** Takes every object that arrives, and measures some of them. */
  readonly take: (object: KubernetesObject) => void
  /** The mean size in characters of JSON; 0 before the first object. */
  readonly mean: () => number
}

/** The sample has the first objects, so that the size of a small kind is exact, and then one in {@link oneIn}. */
const first = 16
const oneIn = 64

/** The mean covers about this many of the last measurements, because objects grow. */
const memory = 256

/** An empty sample. */
export const make = (): Sample => {
  let skip = 0
  let measured = 0
  let mean = 0
  return {
    take: (object) => {
      if (skip > 0) {
        skip--
        return
      }
      measured++
      if (measured >= first) skip = oneIn - 1
      mean += (JSON.stringify(object).length - mean) / Math.min(measured, memory)
    },
    mean: () => mean
  }
}
