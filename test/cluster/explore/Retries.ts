/** The retries of failed attempts that are due later. */
import type { Attempt } from "@homeostat/runtime/controller/Attempt"

/** The pending retries of a process. */
export interface Retries {
  /** Notes the end of an attempt. */
  readonly ended: (attempt: Attempt) => void
  /** When the last pending retry is due, in epoch milliseconds; undefined without one. */
  readonly until: () => number | undefined
  /** Forgets all retries: the process has died. */
  readonly clear: () => void
}

/** No retries yet. */
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
