/**
 * The columns of the built-in kinds for `kubectl get`: the definitions recorded from a kube-apiserver, with functions that compute
 * the cells.
 */

import * as Duration from "../../model/Duration.ts"
import * as J from "../../model/Json.ts"
import type { Column } from "../../model/Kind.ts"
import * as Admission from "./AdmissionColumns.ts"
import * as Cluster from "./ClusterColumns.ts"
import definitions from "./columns.json"
import * as Network from "./NetworkColumns.ts"
import * as Pods from "./PodColumns.ts"
import type { Cells } from "./Text.ts"
import * as Workloads from "./WorkloadColumns.ts"

/**
 * The columns of a kind, without the first column `Name`, which the caller adds. Includes `Name` in two cases: Events have it
 * last, and an IngressClass marks the default class in it. Empty for an unknown kind.
 */
export const columnsOf = (group: string, version: string, kind: string): ReadonlyArray<Column> => {
  const key = `${group}/${version}/${kind}`
  const cells = { ...common, ...byKind[key] }
  return (recorded[key] ?? [])
    .filter(({ format }, index) => format !== "name" || index > 0 || byKind[key]?.Name !== undefined)
    .map((definition) => ({ ...definition, cell: cells[definition.name] ?? nothing }))
}

const recorded: { readonly [key: string]: ReadonlyArray<Omit<Column, "cell">> } = definitions as {
  readonly [key: string]: ReadonlyArray<Omit<Column, "cell">>
}

const nothing = (): null => null

const common: Cells = {
  Name: (object) => J.text(J.at(object, "metadata", "name")) ?? "",
  Age: (object, now) => Duration.age(J.text(J.at(object, "metadata", "creationTimestamp")), now),
  "Created At": (object) => J.text(J.at(object, "metadata", "creationTimestamp")) ?? "0001-01-01T00:00:00Z"
}

const byKind: { readonly [key: string]: Cells } = {
  "/v1/ConfigMap": Cluster.configMap,
  "/v1/Endpoints": Network.endpoints,
  "/v1/Event": Cluster.coreEvent,
  "/v1/Namespace": Cluster.namespace,
  "/v1/Node": Cluster.node,
  "/v1/PersistentVolume": Cluster.persistentVolume,
  "/v1/PersistentVolumeClaim": Cluster.persistentVolumeClaim,
  "/v1/Pod": Pods.cells,
  "/v1/PodTemplate": Workloads.podTemplate,
  "/v1/ReplicationController": Workloads.replicationController,
  "/v1/ResourceQuota": Cluster.resourceQuota,
  "/v1/Secret": Cluster.secret,
  "/v1/Service": Network.service,
  "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy": Admission.policy,
  "admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding": Admission.binding,
  "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration": Admission.webhooks,
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": Admission.policy,
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": Admission.binding,
  "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration": Admission.webhooks,
  "apiextensions.k8s.io/v1/CustomResourceDefinition": Cluster.customResourceDefinition,
  "apps/v1/ControllerRevision": Workloads.controllerRevision,
  "apps/v1/DaemonSet": Workloads.daemonSet,
  "apps/v1/Deployment": Workloads.deployment,
  "apps/v1/ReplicaSet": Workloads.replicaSet,
  "apps/v1/StatefulSet": Workloads.statefulSet,
  "autoscaling/v1/HorizontalPodAutoscaler": Workloads.horizontalPodAutoscaler,
  "autoscaling/v2/HorizontalPodAutoscaler": Workloads.horizontalPodAutoscaler,
  "batch/v1/CronJob": Workloads.cronJob,
  "batch/v1/Job": Workloads.job,
  "coordination.k8s.io/v1/Lease": Cluster.lease,
  "discovery.k8s.io/v1/EndpointSlice": Network.endpointSlice,
  "events.k8s.io/v1/Event": Cluster.newEvent,
  "networking.k8s.io/v1/Ingress": Network.ingress,
  "networking.k8s.io/v1/IngressClass": Network.ingressClass,
  "networking.k8s.io/v1/NetworkPolicy": Network.networkPolicy,
  "node.k8s.io/v1/RuntimeClass": Cluster.runtimeClass,
  "policy/v1/PodDisruptionBudget": Workloads.podDisruptionBudget,
  "rbac.authorization.k8s.io/v1/ClusterRoleBinding": Cluster.roleBinding,
  "rbac.authorization.k8s.io/v1/RoleBinding": Cluster.roleBinding,
  "scheduling.k8s.io/v1/PriorityClass": Cluster.priorityClass,
  "storage.k8s.io/v1/StorageClass": Cluster.storageClass
}
