/**
 * How long a Job waits before it replaces a failed pod: 10 seconds, and twice as long after each further failure in a row, up
 * to 10 minutes.
 */
import { at, type Json, type JsonObject, number, objects } from "@homeostat/apiserver/model/Json"
import { createdAt, millisOf } from "@homeostat/apiserver/model/ObjectMeta"
import { conditionOf } from "./ManagedPods.ts"

/** How often pods failed since one last succeeded, and when the last of them did. */
export interface Backoff {
  readonly failures: number
  readonly last: number
}

const none: Backoff = { failures: 0, last: 0 }

/** What a pass remembered. */
export const remembered = (memory: Json | undefined): Backoff => {
  const failures = number(at(memory, "failures"))
  const last = number(at(memory, "last"))
  return failures === undefined || last === undefined ? none : { failures, last }
}

/** With pods that have finished since. */
export const after = (
  before: Backoff,
  succeeded: ReadonlyArray<JsonObject>,
  failed: ReadonlyArray<JsonObject>
): Backoff => {
  const success = Math.max(...succeeded.map(finishedAt))
  const since = failed.map(finishedAt).filter((time) => time > success)
  const start = succeeded.length > 0 ? none : before
  return since.length === 0 ? start : { failures: start.failures + since.length, last: Math.max(...since) }
}

/** The milliseconds until the next pod may be made. */
export const remaining = ({ failures, last }: Backoff, now: number): number =>
  failures === 0 ? 0 : Math.max(0, last + Math.min(10_000 * 2 ** (failures - 1), 600_000) - now)

/** When a pod finished: by its containers, else by what else tells it. */
const finishedAt = (pod: JsonObject): number => {
  const ends = objects(at(pod, "status", "containerStatuses")).map((status) =>
    millisOf(at(status, "state", "terminated", "finishedAt"))
  )
  const known = ends.filter((end) => end !== undefined)
  if (ends.length > 0 && known.length === ends.length) return Math.max(...known)
  const ready = conditionOf(pod, "Ready")
  const unready = ready?.status === "False" ? millisOf(ready.lastTransitionTime) : undefined
  const deleted = millisOf(at(pod, "metadata", "deletionTimestamp"))
  const grace = (number(at(pod, "metadata", "deletionGracePeriodSeconds")) ?? 0) * 1000
  return unready ?? (deleted === undefined ? createdAt(pod) : deleted - grace)
}
