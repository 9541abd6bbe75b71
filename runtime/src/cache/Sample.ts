/**
 * How large the objects of a kind are, from a sample: measuring an object means to write it as JSON, which costs some µs, and
 * remembering the size of each would cost megabytes.
 */
import type { KubernetesObject } from "../resource/KubernetesObject.ts"

/** The sizes of some of the objects that came. */
export interface Sample {
  /** Called for every object that arrives; it nearly always only counts. */
  readonly take: (object: KubernetesObject) => void
  /** The mean size, in characters of JSON; 0 before the first. */
  readonly mean: () => number
}

/** Measures the first few objects, so that the size of a small kind is exact, and then one in so many. */
const first = 16
const oneIn = 64

/** The mean follows about that many of the last measurements, as objects grow in the course of their life. */
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
