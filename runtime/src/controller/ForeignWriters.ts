/**
 * The other field managers of children, from the last event of each child. A correction names the one that had changed the child: after
 * it, the API server no longer knows, and the cache keeps no managedFields.
 *
 * Plain state, bounded: the last {@link most} children that another manager writes, with at most {@link mostBytes} each. A child that only
 * its controller writes has no entry.
 */
import * as Budget from "../cache/Budget.ts"
import * as FieldManager from "../client/FieldManager.ts"
import * as Bounded from "../resource/Bounded.ts"
import type { KubernetesObject, ManagedFieldsEntry } from "../resource/KubernetesObject.ts"
import * as Text from "../resource/Text.ts"
import * as Drift from "./Drift.ts"
import * as FieldOwner from "./FieldOwner.ts"

/** The most children. */
export const most = 128
/** The most bytes of the entries of each child. */
export const mostBytes = 16 * 1024

/** The other managers of children. */
export interface ForeignWriters {
  /** Takes the managers of a child from an event. `ours` is that of the controller. */
  readonly take: (child: KubernetesObject, entries: ReadonlyArray<ManagedFieldsEntry>, ours: string) => void
  /**
   * The manager that owns one of some fields of a child, as known now; undefined if none of the known managers does. The event of a
   * correction makes the manager unknown, and may arrive before the answer to the correction.
   */
  readonly of: (child: KubernetesObject) => (fields: ReadonlyArray<string>) => string | undefined
  /** The number of children. */
  readonly size: () => number
}

/** No children. */
export const make = (): ForeignWriters => {
  const known = new Map<string, ReadonlyArray<ManagedFieldsEntry>>()
  return {
    take: ({ metadata: { uid } }, entries, ours) => {
      // Writes of the status change nothing that the controller applies.
      const foreign = entries.filter(
        ({ manager, subresource }) =>
          manager !== ours && subresource !== "status" && manager !== FieldManager.handover(ours)
      )
      if (foreign.length === 0 || Budget.exceeds(foreign, mostBytes)) known.delete(uid)
      else Bounded.put(known, uid, foreign, most)
    },
    of: (child) => {
      const entries = known.get(child.metadata.uid)
      if (entries === undefined) return () => undefined
      return (fields) => {
        const wire = Drift.json(child)
        const owners = fields.flatMap((field) => FieldOwner.owners(entries, field, wire))
        const manager = FieldOwner.lastWriter(owners)?.manager
        return manager === undefined ? undefined : Text.clip(manager, Text.longestName)
      }
    },
    size: () => known.size
  }
}
