/** The back-off of a Job before it replaces a failed pod: 10 seconds, doubled with each further failure in a row, up to 10 minutes. */
import { at, type Json, type JsonObject, number, objects } from "@homeostat/apiserver/model/Json"
import { createdAt, millisOf } from "@homeostat/apiserver/model/ObjectMeta"
import { conditionOf } from "./ManagedPods.ts"

/** The number of failures since the last success, and the time of the last failure in milliseconds since 1970. */
export interface Backoff {
  readonly failures: number
  readonly last: number
}

const none: Backoff = { failures: 0, last: 0 }

/** Reads the back-off from the memory of the last pass. */
export const remembered = (memory: Json | undefined): Backoff => {
  const failures = number(at(memory, "failures"))
  const last = number(at(memory, "last"))
  return failures === undefined || last === undefined ? none : { failures, last }
}

/** Adds pods that have finished since. */
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

/** Returns the milliseconds until the Job may create the next pod. */
export const remaining = ({ failures, last }: Backoff, now: number): number =>
  failures === 0 ? 0 : Math.max(0, last + Math.min(10_000 * 2 ** (failures - 1), 600_000) - now)

/** Returns when a pod finished: from its containers, otherwise from its condition Ready, its deletion or its creation. */
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
