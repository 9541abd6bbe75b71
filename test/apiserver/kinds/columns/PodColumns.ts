/**
 * The table cells of a Pod. The `Status` cell shows the reason of the first container that waits or has terminated.
 */

import { isTrue } from "../../model/Conditions.ts"
import * as Duration from "../../model/Duration.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as J from "../../model/Json.ts"
import { isDeleting } from "../../model/ObjectMeta.ts"
import { type Cells, count, or } from "./Text.ts"

/** The cells of a Pod by the names of their columns. */
export const cells: Cells = {
  Ready: (pod) => {
    const { ready, total } = summary(pod)
    return `${ready}/${total}`
  },
  Status: (pod) => summary(pod).status,
  Restarts: (pod, now) => {
    const { lastRestart, restarts } = summary(pod)
    return restarts === 0 || lastRestart === "" ? `${restarts}` : `${restarts} (${Duration.age(lastRestart, now)} ago)`
  },
  IP: (pod) => or(J.objects(J.at(pod, "status", "podIPs"))[0]?.ip ?? J.at(pod, "status", "podIP"), "<none>"),
  Node: (pod) => or(J.at(pod, "spec", "nodeName"), "<none>"),
  "Nominated Node": (pod) => or(J.at(pod, "status", "nominatedNodeName"), "<none>"),
  "Readiness Gates": (pod) => {
    const gates = J.objects(J.at(pod, "spec", "readinessGates"))
    const open = gates.filter((gate) => isTrue(pod, or(gate.conditionType, "")))
    return gates.length === 0 ? "<none>" : `${open.length}/${gates.length}`
  }
}

interface Summary {
  readonly status: string
  readonly ready: number
  readonly total: number
  readonly restarts: number
  /** The RFC 3339 time at which a restarted container last terminated. Empty: unknown. */
  readonly lastRestart: string
}

const summary = (pod: JsonObject): Summary => {
  const initial = initialization(pod)
  const total = J.list(J.at(pod, "spec", "containers")).length + sidecars(pod).size
  if (initial.waitsFor !== undefined && !isTrue(pod, "Initialized")) {
    return {
      status: deleted(pod) ?? initial.waitsFor,
      ready: initial.ready,
      total,
      ...restartsOf(initial.statuses)
    }
  }
  const statuses = statusesOf(pod, "containerStatuses")
  const running = statuses.filter(isReady)
  const own = initial.statuses.filter((status) => sidecars(pod).has(or(status.name, "")))
  return {
    status: deleted(pod) ?? statusOf(pod, statuses, running.length > 0, initial.waitsFor ?? phase(pod)),
    ready: initial.ready + running.length,
    total,
    ...restartsOf([...own, ...statuses])
  }
}

const statusesOf = (pod: JsonObject, member: string): ReadonlyArray<JsonObject> =>
  J.objects(J.at(pod, "status", member))

/** The names of the sidecars: init containers with `restartPolicy: Always`. */
const sidecars = (pod: JsonObject): ReadonlySet<string> =>
  new Set(
    J.objects(J.at(pod, "spec", "initContainers"))
      .filter((container) => container.restartPolicy === "Always")
      .map((container) => or(container.name, ""))
  )

/** The status of the Pod itself, without its containers: `SchedulingGated`, the reason or the phase. */
const phase = (pod: JsonObject): string => {
  const gated = J.objects(J.at(pod, "status", "conditions")).some(
    (condition) => condition.type === "PodScheduled" && condition.reason === "SchedulingGated"
  )
  return gated ? "SchedulingGated" : or(J.at(pod, "status", "reason"), or(J.at(pod, "status", "phase"), ""))
}

const deleted = (pod: JsonObject): string | undefined => {
  if (!isDeleting(pod)) return undefined
  if (J.at(pod, "status", "reason") === "NodeLost") return "Unknown"
  const ended = ["Succeeded", "Failed"].includes(or(J.at(pod, "status", "phase"), ""))
  return ended ? undefined : "Terminating"
}

interface Initialization {
  /** The `Init:` status of the first init container that has not completed. `undefined`: all have completed. */
  readonly waitsFor: string | undefined
  readonly ready: number
  /** The statuses of the init containers up to and including that one. */
  readonly statuses: ReadonlyArray<JsonObject>
}

const initialization = (pod: JsonObject): Initialization => {
  const statuses = statusesOf(pod, "initContainerStatuses")
  const lasting = sidecars(pod)
  let ready = 0
  for (const [index, status] of statuses.entries()) {
    const ended = J.at(status, "state", "terminated")
    if (ended !== undefined && count(J.at(ended, "exitCode")) === 0) continue
    if (lasting.has(or(status.name, "")) && status.started === true) {
      if (status.ready === true) ready++
      continue
    }
    return { waitsFor: `Init:${stuck(pod, status, index)}`, ready, statuses: statuses.slice(0, index + 1) }
  }
  return { waitsFor: undefined, ready, statuses }
}

/** The reason why an init container has not completed, or the count of completed ones. */
const stuck = (pod: JsonObject, status: JsonObject, index: number): string => {
  const ended = J.at(status, "state", "terminated")
  if (ended !== undefined) return ending(J.object(ended))
  const waiting = or(J.at(status, "state", "waiting", "reason"), "")
  if (waiting !== "" && waiting !== "PodInitializing") return waiting
  return `${index}/${J.list(J.at(pod, "spec", "initContainers")).length}`
}

const ending = (terminated: JsonObject): string => {
  const signal = count(terminated.signal)
  return or(terminated.reason, signal === 0 ? `ExitCode:${count(terminated.exitCode)}` : `Signal:${signal}`)
}

const isReady = (status: JsonObject): boolean =>
  status.ready === true &&
  J.at(status, "state", "running") !== undefined &&
  or(J.at(status, "state", "waiting", "reason"), "") === "" &&
  J.at(status, "state", "terminated") === undefined

/** The reason of the first container that waits or has terminated. `Completed` counts only if no other container runs or has failed. */
const statusOf = (
  pod: JsonObject,
  statuses: ReadonlyArray<JsonObject>,
  running: boolean,
  otherwise: string
): string => {
  const reasons = statuses.flatMap((status) => {
    const waiting = or(J.at(status, "state", "waiting", "reason"), "")
    if (waiting !== "") return [{ says: waiting, failed: false }]
    const ended = J.at(status, "state", "terminated")
    if (ended === undefined) return []
    return [{ says: ending(J.object(ended)), failed: count(J.at(ended, "exitCode")) !== 0 }]
  })
  const status = reasons[0]?.says ?? otherwise
  if (status !== "Completed") return status
  if (running && isTrue(pod, "Ready")) return "Running"
  const failed = reasons.find((one) => one.failed)
  if (failed !== undefined) return failed.says
  return running ? "NotReady" : status
}

const restartsOf = (statuses: ReadonlyArray<JsonObject>): Pick<Summary, "restarts" | "lastRestart"> => ({
  restarts: statuses.reduce((sum, status) => sum + count(status.restartCount), 0),
  lastRestart:
    statuses
      .map((status) => or(J.at(status, "lastState", "terminated", "finishedAt"), ""))
      .toSorted()
      .at(-1) ?? ""
})
