/**
 * What changed lately, as a standby sees it, and what it was interrupted at when it led itself: what the leader before may not
 * have got round to, and what to do first if this process leads next. Without it, the one object that needs a repair would wait behind the first pass over all the others.
 *
 * It is bounded, and an old entry does no harm: its object is looked at once, as all are, only sooner.
 */
import type { WorkQueue } from "../queue/WorkQueue.ts"
import * as Bounded from "../resource/Bounded.ts"
import type { Fired } from "./Trigger.ts"

/** The latest changes, by the keys of the objects that they concern. */
export interface Recent extends Pick<WorkQueue<Fired>, "add"> {
  /** Hands all of them out, oldest first, and forgets them. */
  readonly handOver: (add: (key: string, trigger: Fired) => void) => void
}

/**
 * More than a cluster of this program's size changes in the seconds between a leader's end and the next one's beginning; few
 * enough that the first pass hardly waits for them.
 */
const capacity = 1000

/** Nothing has changed yet. */
export const make = (): Recent => {
  const triggers = new Map<string, Fired>()
  return {
    add: (key, trigger) => Bounded.put(triggers, key, trigger, capacity),
    handOver: (add) => {
      for (const [key, trigger] of triggers) add(key, trigger)
      triggers.clear()
    }
  }
}
