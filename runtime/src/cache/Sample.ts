/**
 * How large the objects of a kind are, from a sample: measuring an object means to write it as JSON, which costs some µs, and
 * remembering the size of each would cost megabytes.
 */
import type { KubernetesObject } from "../resource/KubernetesObject.ts"

/** The sizes of some of the objects that came. */
export interface Sample {
  /** Told of every object that arrives; nearly always it only counts. */
  readonly take: (object: KubernetesObject) => void
  /** The mean size, in characters of JSON; 0 before the first. */
  readonly mean: () => number
}

/** The first few are all measured, so that a kind of few objects is told right; after them one in so many. */
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
