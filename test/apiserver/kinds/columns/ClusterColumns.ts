/**
 * The table cells of nodes, namespaces, volumes, configuration, RBAC and Events.
 */

import { isTrue } from "../../model/Conditions.ts"
import * as Duration from "../../model/Duration.ts"
import type { Json, JsonObject } from "../../model/Json.ts"
import * as J from "../../model/Json.ts"
import { isDeleting } from "../../model/ObjectMeta.ts"
import { type Cells, count, or } from "./Text.ts"

/** The cells of a Namespace. */
export const namespace: Cells = { Status: (object) => or(J.at(object, "status", "phase"), "") }

/** The cells of a Node. */
export const node: Cells = {
  Status: (object) => {
    const ready = J.objects(J.at(object, "status", "conditions")).findLast(({ type }) => type === "Ready")
    const status = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady"
    return J.at(object, "spec", "unschedulable") === true ? `${status},SchedulingDisabled` : status
  },
  Roles: (object) => roles(J.texts(J.at(object, "metadata", "labels"))).join(",") || "<none>",
  Version: (object) => or(info(object, "kubeletVersion"), ""),
  "Internal-IP": (object) => address(object, "InternalIP"),
  "External-IP": (object) => address(object, "ExternalIP"),
  "OS-Image": (object) => or(info(object, "osImage"), "<unknown>"),
  "Kernel-Version": (object) => {
    const architecture = or(info(object, "architecture"), "")
    return `${or(info(object, "kernelVersion"), "<unknown>")}${architecture === "" ? "" : ` (${architecture})`}`
  },
  "Container-Runtime": (object) => or(info(object, "containerRuntimeVersion"), "<unknown>")
}

const info = (node: JsonObject, member: string): Json | undefined => J.at(node, "status", "nodeInfo", member)

const address = (node: JsonObject, type: string): string =>
  or(J.objects(J.at(node, "status", "addresses")).find((one) => one.type === type)?.address, "<none>")

const roles = (labels: { readonly [name: string]: string }): ReadonlyArray<string> => {
  const prefix = "node-role.kubernetes.io/"
  const all = Object.entries(labels).flatMap(([key, value]) => {
    if (key.startsWith(prefix)) return [key.slice(prefix.length)]
    return key === "kubernetes.io/role" ? [value] : []
  })
  return [...new Set(all.filter((role) => role !== ""))].sort()
}

/** The cells of a ConfigMap. */
export const configMap: Cells = { Data: (object) => size(object.data) + size(object.binaryData) }

/** The cells of a Secret. */
export const secret: Cells = { Type: (object) => or(object.type, ""), Data: (object) => size(object.data) }

const size = (value: Json | undefined): number => Object.keys(J.object(value)).length

/** The cells of a ResourceQuota. */
export const resourceQuota: Cells = {
  Request: (object) => quota(object, (name) => !name.startsWith("limits.")),
  Limit: (object) => quota(object, (name) => name.startsWith("limits."))
}

const quota = (object: JsonObject, belongs: (name: string) => boolean): string =>
  Object.entries(J.object(J.at(object, "status", "hard")))
    .filter(([name]) => belongs(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, hard]) => `${name}: ${J.at(object, "status", "used", name) ?? "0"}/${hard}`)
    .join(", ")

const attributesClass: Cells[string] = (object) =>
  J.text(J.at(object, "spec", "volumeAttributesClassName")) ?? "<unset>"
const volumeMode: Cells[string] = (object) => J.text(J.at(object, "spec", "volumeMode")) ?? "<unset>"
const phase: Cells[string] = (object) => (isDeleting(object) ? "Terminating" : or(J.at(object, "status", "phase"), ""))
const storageClassName: Cells[string] = (object) =>
  J.text(J.at(object, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class")) ??
  or(J.at(object, "spec", "storageClassName"), "")

/** The cells of a PersistentVolume. */
export const persistentVolume: Cells = {
  Capacity: (object) => quantity(J.at(object, "spec", "capacity", "storage")),
  "Access Modes": (object) => accessModes(J.at(object, "spec", "accessModes")),
  "Reclaim Policy": (object) => or(J.at(object, "spec", "persistentVolumeReclaimPolicy"), ""),
  Status: phase,
  Claim: (object) => {
    const claim = J.at(object, "spec", "claimRef")
    return J.isObject(claim) ? `${or(claim.namespace, "")}/${or(claim.name, "")}` : ""
  },
  StorageClass: storageClassName,
  VolumeAttributesClass: attributesClass,
  Reason: (object) => or(J.at(object, "status", "reason"), ""),
  VolumeMode: volumeMode
}

/** The cells of a PersistentVolumeClaim. They show capacity and access modes once the claim is bound to a volume. */
export const persistentVolumeClaim: Cells = {
  Status: phase,
  Volume: (object) => or(J.at(object, "spec", "volumeName"), ""),
  Capacity: (object) => (isBound(object) ? quantity(J.at(object, "status", "capacity", "storage")) : ""),
  "Access Modes": (object) => (isBound(object) ? accessModes(J.at(object, "status", "accessModes")) : ""),
  StorageClass: storageClassName,
  VolumeAttributesClass: attributesClass,
  VolumeMode: volumeMode
}

const isBound = (claim: JsonObject): boolean => or(J.at(claim, "spec", "volumeName"), "") !== ""

/** The quantity as text. A missing quantity is `0`. */
const quantity = (value: Json | undefined): string => `${value ?? "0"}`

const modes = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"]
] as const

const accessModes = (value: Json | undefined): string =>
  modes.flatMap(([mode, short]) => (J.list(value).includes(mode) ? [short] : [])).join(",")

/** The cells of a StorageClass. */
export const storageClass: Cells = {
  Provisioner: (object) => or(object.provisioner, ""),
  ReclaimPolicy: (object) => or(object.reclaimPolicy, "Delete"),
  VolumeBindingMode: (object) => or(object.volumeBindingMode, "Immediate"),
  AllowVolumeExpansion: (object) => object.allowVolumeExpansion === true
}

/** The cells of a PriorityClass. */
export const priorityClass: Cells = {
  Value: (object) => count(object.value),
  "Global-Default": (object) => object.globalDefault === true,
  PreemptionPolicy: (object) => or(object.preemptionPolicy, "")
}

/** The cells of a RuntimeClass. */
export const runtimeClass: Cells = { Handler: (object) => or(object.handler, "") }

/** The cells of a Lease. */
export const lease: Cells = { Holder: (object) => or(J.at(object, "spec", "holderIdentity"), "") }

/** The cells of a RoleBinding or ClusterRoleBinding. */
export const roleBinding: Cells = {
  Role: (object) => `${or(J.at(object, "roleRef", "kind"), "")}/${or(J.at(object, "roleRef", "name"), "")}`,
  Users: (object) => subjects(object, "User", ({ name }) => or(name, "")),
  Groups: (object) => subjects(object, "Group", ({ name }) => or(name, "")),
  ServiceAccounts: (object) =>
    subjects(object, "ServiceAccount", ({ name, namespace }) => `${or(namespace, "")}/${or(name, "")}`)
}

const subjects = (binding: JsonObject, kind: string, textOf: (subject: JsonObject) => string): string =>
  J.objects(binding.subjects)
    .filter((subject) => subject.kind === kind)
    .map(textOf)
    .join(", ")

/** The cells of a CustomResourceDefinition. */
export const customResourceDefinition: Cells = {
  Scope: (object) => or(J.at(object, "spec", "scope"), ""),
  Versions: (object) =>
    J.objects(J.at(object, "spec", "versions"))
      .filter(({ served }) => served === true)
      .map(({ name, storage }) => `${or(name, "")}${storage === true ? "(storage)" : ""}`)
      .sort()
      .join(","),
  Group: (object) => or(J.at(object, "spec", "group"), ""),
  Kind: (object) => or(J.at(object, "spec", "names", "kind"), ""),
  ShortNames: (object) => J.list(J.at(object, "spec", "names", "shortNames")).join(","),
  Established: (object) => isTrue(object, "Established")
}

/** The field names of an Event, which differ between v1 and events.k8s.io/v1. */
interface EventNames {
  readonly first: string
  readonly last: string
  readonly count: string
  readonly source: string
  readonly about: string
  readonly message: string
  readonly component: string
}

const event = (names: EventNames): Cells => {
  const first: Cells[string] = (object, now) =>
    Duration.age(J.text(object[names.first]) ?? J.text(object.eventTime), now)
  return {
    "Last Seen": (object, now) => {
      const series = J.at(object, "series")
      if (J.isObject(series)) return Duration.age(J.text(series.lastObservedTime), now)
      const last = object[names.last]
      return typeof last === "string" ? Duration.age(last, now) : first(object, now)
    },
    Type: (object) => or(object.type, ""),
    Reason: (object) => or(object.reason, ""),
    Object: (object) => {
      const [kind, name] = [or(J.at(object, names.about, "kind"), ""), or(J.at(object, names.about, "name"), "")]
      return name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`
    },
    Subobject: (object) => or(J.at(object, names.about, "fieldPath"), ""),
    Source: (object) => {
      const component = or(J.at(object, names.source, "component"), or(object[names.component], ""))
      const instance = or(J.at(object, names.source, "host"), or(object.reportingInstance, ""))
      return instance === "" ? component : `${component}, ${instance}`
    },
    Message: (object) => or(object[names.message], "").trim(),
    "First Seen": first,
    Count: (object) => {
      const series = J.at(object, "series")
      return J.isObject(series) ? count(series.count) : count(object[names.count]) || 1
    }
  }
}

/** The cells of a v1 Event. */
export const coreEvent: Cells = event({
  first: "firstTimestamp",
  last: "lastTimestamp",
  count: "count",
  source: "source",
  about: "involvedObject",
  message: "message",
  component: "reportingComponent"
})

/** The cells of an events.k8s.io/v1 Event. */
export const newEvent: Cells = event({
  first: "deprecatedFirstTimestamp",
  last: "deprecatedLastTimestamp",
  count: "deprecatedCount",
  source: "deprecatedSource",
  about: "regarding",
  message: "note",
  component: "reportingController"
})
