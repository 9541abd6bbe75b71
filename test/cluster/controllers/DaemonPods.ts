/** The pods of a DaemonSet: their nodes, their creation and their deletion. */
import { at, copy, type Json, type JsonObject, object, objects, text, texts } from "@homeostat/apiserver/model/Json"
import {
  annotationsOf,
  createdAt,
  isDeleting,
  labelsOf,
  nameOf,
  withMetadata
} from "@homeostat/apiserver/model/ObjectMeta"
import type { Write } from "./BuiltInController.ts"
import { fromTemplate, isFinished, nodeOf } from "./ManagedPods.ts"
import * as NodeSelector from "./NodeSelector.ts"
import * as Revisions from "./Revisions.ts"
import { isTolerated } from "./Scheduler.ts"

const generationLabel = "pod-template-generation"

/** The node that the affinity of a pod requires. */
const wantedNode = (pod: JsonObject): string | undefined => {
  const path = ["nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"]
  for (const term of objects(at(pod, "spec", "affinity", ...path))) {
    const [field] = objects(term.matchFields)
    const [name] = Array.isArray(field?.values) ? field.values : []
    if (field?.key === "metadata.name" && field.operator === "In" && typeof name === "string") return name
  }
  return undefined
}

/** Groups the pods by the names of their nodes. Ended pods that are being deleted are left out. */
export const byNode = (pods: ReadonlyArray<JsonObject>): ReadonlyMap<string, ReadonlyArray<JsonObject>> => {
  const nodes = new Map<string, Array<JsonObject>>()
  for (const pod of pods) {
    const node = nodeOf(pod) || wantedNode(pod)
    if (node === undefined || (isFinished(pod) && isDeleting(pod))) continue
    nodes.set(node, [...(nodes.get(node) ?? []), pod])
  }
  return nodes
}

/** Sorts the pods: those with a node first, then the oldest. */
export const sorted = (pods: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  pods.toSorted(
    (one, other) =>
      Number(nodeOf(one) === "") - Number(nodeOf(other) === "") ||
      createdAt(one) - createdAt(other) ||
      (nameOf(one) < nameOf(other) ? -1 : 1)
  )

/** Whether a pod has the template with this hash. */
export const isUpdated = (set: JsonObject, pod: JsonObject, hash: string): boolean => {
  const generation = annotationsOf(set)["deprecated.daemonset.template.generation"]
  const labels = labelsOf(pod)
  return labels[Revisions.podLabel] === hash || (generation !== undefined && labels[generationLabel] === generation)
}

const added: ReadonlyArray<readonly [key: string, effect: string]> = [
  ["not-ready", "NoExecute"],
  ["unreachable", "NoExecute"],
  ["disk-pressure", "NoSchedule"],
  ["memory-pressure", "NoSchedule"],
  ["pid-pressure", "NoSchedule"],
  ["unschedulable", "NoSchedule"]
]

/** The tolerations of the template, and those that every pod of a DaemonSet gets. */
const tolerationsOf = (spec: JsonObject): ReadonlyArray<JsonObject> => {
  const all = [...objects(spec.tolerations)]
  const more = spec.hostNetwork === true ? [...added, ["network-unavailable", "NoSchedule"] as const] : added
  for (const [name, effect] of more) {
    const toleration = { key: `node.kubernetes.io/${name}`, operator: "Exists", effect }
    const place = all.findIndex(
      (one) =>
        one.key === toleration.key && one.effect === effect && one.operator === "Exists" && (one.value ?? "") === ""
    )
    if (place < 0) all.push(toleration)
    else all[place] = toleration
  }
  return all
}

/** Whether a node should run a pod, and whether a running pod may stay there. */
export const shouldRun = (
  set: JsonObject,
  node: JsonObject
): { readonly runs: boolean; readonly continues: boolean } => {
  const spec = object(at(set, "spec", "template", "spec"))
  const no = { runs: false, continues: false }
  if ((text(spec.nodeName) ?? nameOf(node)) !== nameOf(node)) return no
  const labels = labelsOf(node)
  const affinity = at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
  const isSelected = Object.entries(texts(spec.nodeSelector)).every(([name, value]) => labels[name] === value)
  if (!isSelected || !NodeSelector.admits(affinity, node)) return no
  const pod = { spec: { tolerations: tolerationsOf(spec) } }
  const isFree = (...effects: ReadonlyArray<string>) =>
    objects(at(node, "spec", "taints")).every(
      (taint) => !effects.includes(text(taint.effect) ?? "") || isTolerated(pod, taint)
    )
  return { runs: isFree("NoExecute", "NoSchedule"), continues: isFree("NoExecute") }
}

/** Returns an affinity that allows one node only. */
const pinned = (affinity: Json | undefined, node: string): JsonObject => ({
  ...object(affinity),
  nodeAffinity: {
    ...object(at(affinity, "nodeAffinity")),
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }]
    }
  }
})

const event = (set: JsonObject, type: "Normal" | "Warning", reason: string, message: string): Write => ({
  verb: "record",
  about: set,
  type,
  reason,
  message
})

/** Creates the pod of a node. `orElse` is written if the creation fails. */
export const create = (set: JsonObject, node: string, hash: string, orElse: ReadonlyArray<Write>): Write => {
  const pod = fromTemplate(object(at(set, "spec", "template")), set)
  const spec = object(pod.spec)
  const generation = annotationsOf(set)["deprecated.daemonset.template.generation"]
  return {
    verb: "create",
    object: copy(
      withMetadata(
        { ...pod, spec: { ...spec, tolerations: tolerationsOf(spec), affinity: pinned(spec.affinity, node) } },
        {
          labels: {
            ...labelsOf(pod),
            ...(generation === undefined ? {} : { [generationLabel]: generation }),
            [Revisions.podLabel]: hash
          }
        }
      )
    ),
    done: (made) => [event(set, "Normal", "SuccessfulCreate", `Created pod: ${nameOf(made)}`)],
    failed: ({ message }) => [event(set, "Warning", "FailedCreate", `Error creating: ${message}`), ...orElse]
  }
}

/** Deletes a pod. */
export const remove = (set: JsonObject, pod: JsonObject): Write => ({
  verb: "delete",
  object: pod,
  done: () => [event(set, "Normal", "SuccessfulDelete", `Deleted pod: ${nameOf(pod)}`)],
  failed: ({ message }) => [event(set, "Warning", "FailedDelete", `Error deleting: ${message}`)]
})

/** Reports an ended pod before its deletion. */
export const ended = (set: JsonObject, pod: JsonObject, node: string): Write => {
  const which = `daemon pod ${text(at(pod, "metadata", "namespace"))}/${nameOf(pod)} on node ${node}`
  return at(pod, "status", "phase") === "Failed"
    ? event(set, "Warning", "FailedDaemonPod", `Found failed ${which}, will try to kill it`)
    : event(set, "Normal", "SucceededDaemonPod", `Found succeeded ${which}, will try to delete it`)
}
