/**
 * The table cells of workloads, PodDisruptionBudgets and HorizontalPodAutoscalers.
 */

import { isTrue } from "../../model/Conditions.ts"
import * as Duration from "../../model/Duration.ts"
import type { Json, JsonObject } from "../../model/Json.ts"
import * as J from "../../model/Json.ts"
import { isDeleting } from "../../model/ObjectMeta.ts"
import { bareSelector, type Cells, containers, count, cut, labels, or, selector } from "./Text.ts"

const template = ["spec", "template", "spec"]
const status =
  (member: string): Cells[string] =>
  (object) =>
    count(J.at(object, "status", member))

/** The cells of a Deployment. */
export const deployment: Cells = {
  Ready: (object) => `${count(J.at(object, "status", "readyReplicas"))}/${count(J.at(object, "spec", "replicas"))}`,
  "Up-to-date": status("updatedReplicas"),
  Available: status("availableReplicas"),
  ...containers(template),
  Selector: (object) => bareSelector(J.at(object, "spec", "selector"))
}

/** The cells of a StatefulSet. */
export const statefulSet: Cells = {
  Ready: (object) => `${count(J.at(object, "status", "readyReplicas"))}/${count(J.at(object, "spec", "replicas"))}`,
  ...containers(template)
}

const replicas: Cells = {
  Desired: (object) => count(J.at(object, "spec", "replicas")),
  Current: status("replicas"),
  Ready: status("readyReplicas"),
  ...containers(template)
}

/** The cells of a ReplicaSet. */
export const replicaSet: Cells = { ...replicas, Selector: (object) => selector(J.at(object, "spec", "selector")) }

/** The cells of a ReplicationController, whose selector is a plain map of labels. */
export const replicationController: Cells = {
  ...replicas,
  Selector: (object) => labels(J.at(object, "spec", "selector"))
}

/** The cells of a DaemonSet. */
export const daemonSet: Cells = {
  Desired: status("desiredNumberScheduled"),
  Current: status("currentNumberScheduled"),
  Ready: status("numberReady"),
  "Up-to-date": status("updatedNumberScheduled"),
  Available: status("numberAvailable"),
  "Node Selector": (object) => labels(J.at(object, ...template, "nodeSelector")),
  ...containers(template),
  Selector: (object) => selector(J.at(object, "spec", "selector"))
}

/** The cells of a PodTemplate. */
export const podTemplate: Cells = {
  ...containers(["template", "spec"]),
  "Pod Labels": (object) => labels(J.at(object, "template", "metadata", "labels"))
}

/** The cells of a ControllerRevision. */
export const controllerRevision: Cells = {
  Controller: (object) => {
    const owner = J.objects(J.at(object, "metadata", "ownerReferences")).find(({ controller }) => controller === true)
    if (owner === undefined) return "<none>"
    const [, group = ""] = or(owner.apiVersion, "").split("/").reverse()
    return `${`${or(owner.kind, "")}${group === "" ? "" : `.${group}`}`.toLowerCase()}/${or(owner.name, "")}`
  },
  Revision: (object) => count(object.revision)
}

/** The cells of a Job. */
export const job: Cells = {
  Status: (object) => {
    if (isTrue(object, "Complete")) return "Complete"
    if (isTrue(object, "Failed")) return "Failed"
    if (isDeleting(object)) return "Terminating"
    return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find((type) => isTrue(object, type)) ?? "Running"
  },
  Completions: (object) => {
    const succeeded = count(J.at(object, "status", "succeeded"))
    const wanted = J.at(object, "spec", "completions")
    if (wanted !== undefined) return `${succeeded}/${count(wanted)}`
    const parallelism = count(J.at(object, "spec", "parallelism"))
    return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
  },
  Duration: (object, now) => {
    const [start, end] = [J.at(object, "status", "startTime"), J.at(object, "status", "completionTime")]
    if (typeof start !== "string") return ""
    return Duration.human((typeof end === "string" ? Date.parse(end) : now) - Date.parse(start))
  },
  ...containers(template),
  Selector: (object) => selector(J.at(object, "spec", "selector"))
}

/** The cells of a CronJob. */
export const cronJob: Cells = {
  Schedule: (object) => or(J.at(object, "spec", "schedule"), ""),
  Timezone: (object) => J.text(J.at(object, "spec", "timeZone")) ?? "<none>",
  Suspend: (object) => {
    const suspend = J.at(object, "spec", "suspend")
    return suspend === undefined ? "<unset>" : suspend === true ? "True" : "False"
  },
  Active: (object) => J.list(J.at(object, "status", "active")).length,
  "Last Schedule": (object, now) => {
    const last = J.at(object, "status", "lastScheduleTime")
    return last === undefined ? "<none>" : Duration.age(J.text(last), now)
  },
  ...containers(["spec", "jobTemplate", ...template]),
  Selector: (object) => selector(J.at(object, "spec", "jobTemplate", "spec", "selector"))
}

/** The cells of a PodDisruptionBudget. */
export const podDisruptionBudget: Cells = {
  "Min Available": (object) => amount(J.at(object, "spec", "minAvailable")),
  "Max Unavailable": (object) => amount(J.at(object, "spec", "maxUnavailable")),
  "Allowed Disruptions": status("disruptionsAllowed")
}

const amount = (value: Json | undefined): string => (value === undefined ? "N/A" : `${value}`)

const autoscaler = (targets: Cells[string]): Cells => ({
  Reference: (object) =>
    `${or(J.at(object, "spec", "scaleTargetRef", "kind"), "")}/${or(J.at(object, "spec", "scaleTargetRef", "name"), "")}`,
  Targets: targets,
  MinPods: (object) => `${J.at(object, "spec", "minReplicas") ?? "<unset>"}`,
  MaxPods: (object) => count(J.at(object, "spec", "maxReplicas")),
  Replicas: status("currentReplicas")
})

/** The cells of a HorizontalPodAutoscaler in the form of autoscaling/v2. */
export const horizontalPodAutoscaler: Cells = autoscaler((object) => {
  const current = J.objects(J.at(object, "status", "currentMetrics"))
  const all = J.objects(J.at(object, "spec", "metrics")).map((metric, index) => target(metric, current[index]))
  return all.length === 0 ? "<none>" : cut(all, 2, ", ")
})

/** The field that holds the metric, by the type of the metric. */
const sources: { readonly [type: string]: string } = {
  External: "external",
  Pods: "pods",
  Object: "object",
  Resource: "resource",
  ContainerResource: "containerResource"
}

const target = (metric: JsonObject, status: JsonObject | undefined): string => {
  const source = sources[or(metric.type, "")]
  if (source === undefined) return "<unknown type>"
  const wanted = J.object(J.at(metric, source, "target"))
  const found = J.at(status, source, "current")
  const average = wanted.averageValue
  const now = (member: string) => (found === undefined ? "<unknown>" : quantity(J.at(found, member)))
  if (source === "pods") return `${now("averageValue")}/${quantity(average)}`
  if (source === "external" || source === "object") {
    if (average === undefined) return `${now("value")}/${quantity(wanted.value)}`
    return `${or(J.at(found, "averageValue"), "<unknown>")}/${quantity(average)} (avg)`
  }
  const name = or(J.at(metric, source, "name"), "")
  if (average !== undefined) return `${name}: ${now("averageValue")}/${quantity(average)}`
  const used = percent(J.at(found, "averageUtilization")) ?? "<unknown>"
  return `${name}: ${used}/${percent(wanted.averageUtilization) ?? "<auto>"}`
}

const percent = (value: Json | undefined): string | undefined => (value === undefined ? undefined : `${count(value)}%`)

/** The quantity, or `<nil>` if it is missing, as Go prints a nil pointer. */
const quantity = (value: Json | undefined): string => or(value, "<nil>")
