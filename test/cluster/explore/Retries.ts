/** The pending retries of failed attempts. */
import type { Attempt } from "@homeostat/runtime/controller/Attempt"

/** The pending retries of a process. */
export interface Retries {
  /** Records the end of an attempt. */
  readonly ended: (attempt: Attempt) => void
  /** Returns when the last pending retry is due, in epoch milliseconds; undefined if no retry is pending. */
  readonly until: () => number | undefined
  /** Clears all retries after the death of the process. */
  readonly clear: () => void
}

/** Makes an empty set of retries. */
export const make = (): Retries => {
  const due = new Map<string, number>()
  return {
    ended: ({ controller, finishedAt, key, next, outcome }) => {
      const id = `${controller} ${key}`
      due.delete(id)
      const isFailed = outcome._tag === "Failed" || outcome._tag === "Unreachable"
      if (isFailed && next._tag === "Run") due.set(id, finishedAt + next.afterMillis)
    },
    until: () => (due.size === 0 ? undefined : Math.max(...due.values())),
    clear: () => due.clear()
  }
}
