/** The promises that a schedule broke, without repetitions. */

import type { Broken } from "./Broken.ts"
import type { Evidence, Witness } from "./Evidence.ts"
import type { Schedule } from "./Fault.ts"

/** A promise that a schedule broke. */
export interface Violation extends Evidence {
  readonly schedule: Schedule
  readonly oracle: string
  readonly message: string
  /** The number of times that the schedule broke it with this message. */
  readonly times: number
}

/** Returns the violations of a schedule. Equal ones are counted. */
export const of = (schedule: Schedule, broken: ReadonlyArray<Broken>, witness: Witness): ReadonlyArray<Violation> => {
  const counts = new Map<string, { readonly first: Broken; times: number }>()
  for (const one of broken) {
    const key = `${one.oracle}\n${one.message}`
    const known = counts.get(key)
    if (known === undefined) counts.set(key, { first: one, times: 1 })
    else known.times++
  }
  return [...counts.values()].map(({ first: { message, objects, oracle }, times }) => ({
    schedule,
    oracle,
    message,
    times,
    ...witness(objects)
  }))
}
