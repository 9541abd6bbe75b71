/**
 * The objects that changed lately, as a standby sees them, and those that its own last term left: the reconcile was interrupted, or a
 * change still waited for a worker. A new leader reconciles these objects first. Without it, an object that needs a repair would wait
 * behind the first pass over all others.
 *
 * The list is bounded. An old entry only moves its object to the front of the first pass.
 */
import type { WorkQueue } from "../queue/WorkQueue.ts"
import * as Bounded from "../resource/Bounded.ts"
import type { TriggerEvent } from "./Trigger.ts"

/** The keys of the objects that changed lately. */
export interface PendingChanges extends Pick<WorkQueue<TriggerEvent>, "add" | "addAfter"> {
  /** Returns all keys, oldest first, and clears the list. */
  readonly handOver: (add: (key: string, trigger: TriggerEvent) => void) => void
}

/**
 * More keys than change in the seconds between two leaders, and few enough that the first pass hardly waits for them.
 */
const capacity = 1000

/** Nothing has changed yet. */
export const make = (): PendingChanges => {
  const triggers = new Map<string, TriggerEvent>()
  const add = (key: string, trigger: TriggerEvent): void => Bounded.put(triggers, key, trigger, capacity)
  return {
    add,
    addAfter: (key, _, trigger) => add(key, trigger),
    handOver: (add) => {
      for (const [key, trigger] of triggers) add(key, trigger)
      triggers.clear()
    }
  }
}
