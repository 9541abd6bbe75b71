/** The promises that a schedule broke, each once. */

import type { Schedule } from "./Fault.ts"
import type { Witness } from "./Trace.ts"

/** A promise that a schedule broke. */
export interface Violation {
  readonly schedule: Schedule
  readonly oracle: string
  readonly message: string
  /** How often the schedule broke it with this message. */
  readonly times: number
  /** The requests and attempts of the object, a line each. */
  readonly trace: ReadonlyArray<string>
  /** The last attempts of the object, as `why` shows them. Empty without an attempt. */
  readonly why: string
}

/** A promise and how it was broken. */
export interface Broken {
  readonly oracle: string
  readonly message: string
  /** The objects that the message names, `namespace/name` each. Default: all. */
  readonly objects?: ReadonlyArray<string> | undefined
}

/** The violations of a schedule. Equal ones are counted. */
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
