/**
 * The state of a reconciled object in one word. The metric `homeostat_objects`, `why` and its exit code use it. `Readiness` has the
 * rules of kstatus; here a failure is not progress, and an object without a report is not ready.
 *
 * The rules in order:
 *
 * | state | when |
 * | --- | --- |
 * | `Deleting` | `metadata.deletionTimestamp` is set |
 * | `Paused` | the annotation `homeostat.dev/paused` pauses it, or the condition Paused is True |
 * | `Unknown` | `status.observedGeneration` is negative: its controller has not reported on it |
 * | `Progressing` | the status, or a condition of kstatus, is about an older generation |
 * | `Failed` | the condition Stalled is True, or its reconciles keep failing |
 * | `Progressing` | the condition Reconciling is True |
 * | `Paused` | the reason of the condition Ready is `Paused` or `Suspended` |
 * | `Ready`, `Failed`, `Unknown` | the condition Ready is True, False or Unknown |
 * | `Ready` | it has no condition Ready |
 *
 * Built-in kinds with rules in `Readiness` follow those.
 */
import type { KubernetesObject } from "./KubernetesObject.ts"
import { isPaused } from "./PauseAnnotation.ts"
import * as Readiness from "./Readiness.ts"
import type * as Resource from "./Resource.ts"

/** All states. */
export const all = ["Ready", "Progressing", "Failed", "Paused", "Deleting", "Unknown"] as const

/** A state. */
export type State = (typeof all)[number]

/** The beginning of the message of Ready about reconciles that keep failing. The runtime writes it beside Reconciling. */
export const lasting = "The reconcile fails: "

/** The reasons of Ready of an object that a user has stopped. */
const paused: ReadonlyArray<unknown> = ["Paused", "Suspended"]

const isRecord = (value: unknown): value is { readonly [field: string]: unknown } =>
  typeof value === "object" && value !== null

const isOlder = (observed: unknown, generation: number | undefined): boolean =>
  generation !== undefined && typeof observed === "number" && observed < generation

const ofKstatus: { readonly [state in Readiness.Readiness["state"]]: State } = {
  Current: "Ready",
  InProgress: "Progressing",
  Failed: "Failed",
  Terminating: "Deleting"
}

/**
 * The state of an object in its wire form. One pass over its conditions without an allocation, because a scrape reads every object.
 */
export const of = (kind: Resource.Any, object: KubernetesObject): State => {
  if (isPaused(object)) return "Paused"
  if (Readiness.hasRule(kind)) return ofKstatus[Readiness.of(kind, object).state]
  const { deletionTimestamp, generation } = object.metadata
  if (deletionTimestamp !== undefined) return "Deleting"
  const status: unknown = "status" in object ? object.status : undefined
  if (!isRecord(status)) return "Ready"
  const { conditions, observedGeneration } = status
  let isOutdated = isOlder(observedGeneration, generation)
  let ready: Readiness.Stated | undefined
  let isReconciling = false
  let isStalled = false
  if (Array.isArray(conditions)) {
    for (const each of conditions as ReadonlyArray<unknown>) {
      if (!isRecord(each)) continue
      const condition: Readiness.Stated = each
      const { type } = condition
      if (type === "Paused" && condition.status === "True") return "Paused"
      if (type === "Ready") ready = condition
      else if (type === "Reconciling") isReconciling = condition.status === "True"
      else if (type === "Stalled") isStalled = condition.status === "True"
      else continue
      isOutdated ||= isOlder(condition.observedGeneration, generation)
    }
  }
  if (typeof observedGeneration === "number" && observedGeneration < 0) return "Unknown"
  if (isOutdated) return "Progressing"
  if (isStalled) return "Failed"
  if (isReconciling) {
    return typeof ready?.message === "string" && ready.message.startsWith(lasting) ? "Failed" : "Progressing"
  }
  if (ready === undefined) return "Ready"
  if (paused.includes(ready.reason)) return "Paused"
  return ready.status === "True" ? "Ready" : ready.status === "False" ? "Failed" : "Unknown"
}
