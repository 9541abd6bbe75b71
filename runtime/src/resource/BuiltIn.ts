/**
 * The built-in kinds that controllers most often own or watch, as Resource values with a type of the same name:
 *
 * ```ts
 * import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
 * const containers = (deployment: Deployment) => deployment.spec?.template.spec?.containers
 * ```
 *
 * The types come from client-node's models. Another built-in kind takes one line: {@link Kind} of its model and `Resource.make`.
 * Objects of these kinds are not decoded, because the server validates them.
 *
 * `HTTPRoute` and `Gateway` are not built in: a cluster has them if the CRDs of the Gateway API are installed.
 */
import type {
  EventsV1Event,
  V1ConfigMap,
  V1ControllerRevision,
  V1CronJob,
  V1CustomResourceDefinition,
  V1DaemonSet,
  V1Deployment,
  V1EndpointSlice,
  V1Ingress,
  V1IngressClass,
  V1Job,
  V1Lease,
  V1LimitRange,
  V1MutatingWebhookConfiguration,
  V1Namespace,
  V1NetworkPolicy,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1PriorityClass,
  V1ReplicaSet,
  V1ResourceQuota,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1StatefulSet,
  V1StorageClass,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V1ValidatingWebhookConfiguration,
  V2HorizontalPodAutoscaler
} from "@kubernetes/client-node"
import type { Kind } from "./BuiltInKind.ts"
import * as Resource from "./Resource.ts"

export {
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  TokenReview
} from "./AccessKinds.ts"
export { Gateway, HTTPRoute } from "./GatewayKinds.ts"
export type { Kind }

/** `v1` Pod. */
export const Pod: Resource.Resource<Kind<V1Pod>> = Resource.make({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods"
})
/** A Pod as the server returned it. */
export type Pod = typeof Pod.Type

/** `v1` Service. */
export const Service: Resource.Resource<Kind<V1Service>> = Resource.make({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services"
})
/** A Service as the server returned it. */
export type Service = typeof Service.Type

/** `v1` ConfigMap. */
export const ConfigMap: Resource.Resource<Kind<V1ConfigMap>> = Resource.make({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps"
})
/** A ConfigMap as the server returned it. */
export type ConfigMap = typeof ConfigMap.Type

/** `v1` Secret. `data` is base64. */
export const Secret: Resource.Resource<Kind<V1Secret>> = Resource.make({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets"
})
/** A Secret as the server returned it. */
export type Secret = typeof Secret.Type

/** `v1` ServiceAccount. */
export const ServiceAccount: Resource.Resource<Kind<V1ServiceAccount>> = Resource.make({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts"
})
/** A ServiceAccount as the server returned it. */
export type ServiceAccount = typeof ServiceAccount.Type

/** `v1` PersistentVolumeClaim. */
export const PersistentVolumeClaim: Resource.Resource<Kind<V1PersistentVolumeClaim>> = Resource.make({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims"
})
/** A PersistentVolumeClaim as the server returned it. */
export type PersistentVolumeClaim = typeof PersistentVolumeClaim.Type

/** `v1` Namespace, cluster-scoped. */
export const Namespace: Resource.Resource<Kind<V1Namespace>> = Resource.make({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false
})
/** A Namespace as the server returned it. */
export type Namespace = typeof Namespace.Type

/** `v1` ResourceQuota. */
export const ResourceQuota: Resource.Resource<Kind<V1ResourceQuota>> = Resource.make({
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas"
})
/** A ResourceQuota as the server returned it. */
export type ResourceQuota = typeof ResourceQuota.Type

/** `v1` LimitRange. */
export const LimitRange: Resource.Resource<Kind<V1LimitRange>> = Resource.make({
  group: "",
  version: "v1",
  kind: "LimitRange",
  plural: "limitranges"
})
/** A LimitRange as the server returned it. */
export type LimitRange = typeof LimitRange.Type

/** `v1` PersistentVolume, cluster-scoped. */
export const PersistentVolume: Resource.Resource<Kind<V1PersistentVolume>> = Resource.make({
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false
})
/** A PersistentVolume as the server returned it. */
export type PersistentVolume = typeof PersistentVolume.Type

/** `v1` Node, cluster-scoped. */
export const Node: Resource.Resource<Kind<V1Node>> = Resource.make({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  namespaced: false
})
/** A Node as the server returned it. */
export type Node = typeof Node.Type

/** `apps/v1` Deployment. */
export const Deployment: Resource.Resource<Kind<V1Deployment>> = Resource.make({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments"
})
/** A Deployment as the server returned it. */
export type Deployment = typeof Deployment.Type

/** `apps/v1` ReplicaSet. */
export const ReplicaSet: Resource.Resource<Kind<V1ReplicaSet>> = Resource.make({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets"
})
/** A ReplicaSet as the server returned it. */
export type ReplicaSet = typeof ReplicaSet.Type

/** `apps/v1` ControllerRevision: data that cannot change, such as a former spec. */
export const ControllerRevision: Resource.Resource<Kind<V1ControllerRevision>> = Resource.make({
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions"
})
/** A ControllerRevision as the server returned it. */
export type ControllerRevision = typeof ControllerRevision.Type

/** `apps/v1` DaemonSet. */
export const DaemonSet: Resource.Resource<Kind<V1DaemonSet>> = Resource.make({
  group: "apps",
  version: "v1",
  kind: "DaemonSet",
  plural: "daemonsets"
})
/** A DaemonSet as the server returned it. */
export type DaemonSet = typeof DaemonSet.Type

/** `apps/v1` StatefulSet. */
export const StatefulSet: Resource.Resource<Kind<V1StatefulSet>> = Resource.make({
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets"
})
/** A StatefulSet as the server returned it. */
export type StatefulSet = typeof StatefulSet.Type

/** `batch/v1` Job. */
export const Job: Resource.Resource<Kind<V1Job>> = Resource.make({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs"
})
/** A Job as the server returned it. */
export type Job = typeof Job.Type

/** `batch/v1` CronJob. */
export const CronJob: Resource.Resource<Kind<V1CronJob>> = Resource.make({
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs"
})
/** A CronJob as the server returned it. */
export type CronJob = typeof CronJob.Type

/** `autoscaling/v2` HorizontalPodAutoscaler. */
export const HorizontalPodAutoscaler: Resource.Resource<Kind<V2HorizontalPodAutoscaler>> = Resource.make({
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers"
})
/** A HorizontalPodAutoscaler as the server returned it. */
export type HorizontalPodAutoscaler = typeof HorizontalPodAutoscaler.Type

/** `policy/v1` PodDisruptionBudget. */
export const PodDisruptionBudget: Resource.Resource<Kind<V1PodDisruptionBudget>> = Resource.make({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets"
})
/** A PodDisruptionBudget as the server returned it. */
export type PodDisruptionBudget = typeof PodDisruptionBudget.Type

/** `networking.k8s.io/v1` Ingress. */
export const Ingress: Resource.Resource<Kind<V1Ingress>> = Resource.make({
  group: "networking.k8s.io",
  version: "v1",
  kind: "Ingress",
  plural: "ingresses"
})
/** An Ingress as the server returned it. */
export type Ingress = typeof Ingress.Type

/** `networking.k8s.io/v1` NetworkPolicy. */
export const NetworkPolicy: Resource.Resource<Kind<V1NetworkPolicy>> = Resource.make({
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies"
})
/** A NetworkPolicy as the server returned it. */
export type NetworkPolicy = typeof NetworkPolicy.Type

/** `networking.k8s.io/v1` IngressClass, cluster-scoped. */
export const IngressClass: Resource.Resource<Kind<V1IngressClass>> = Resource.make({
  group: "networking.k8s.io",
  version: "v1",
  kind: "IngressClass",
  plural: "ingressclasses",
  namespaced: false
})
/** An IngressClass as the server returned it. */
export type IngressClass = typeof IngressClass.Type

/** `discovery.k8s.io/v1` EndpointSlice. */
export const EndpointSlice: Resource.Resource<Kind<V1EndpointSlice>> = Resource.make({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices"
})
/** An EndpointSlice as the server returned it. */
export type EndpointSlice = typeof EndpointSlice.Type

/** `storage.k8s.io/v1` StorageClass, cluster-scoped. */
export const StorageClass: Resource.Resource<Kind<V1StorageClass>> = Resource.make({
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  namespaced: false
})
/** A StorageClass as the server returned it. */
export type StorageClass = typeof StorageClass.Type

/** `scheduling.k8s.io/v1` PriorityClass, cluster-scoped. */
export const PriorityClass: Resource.Resource<Kind<V1PriorityClass>> = Resource.make({
  group: "scheduling.k8s.io",
  version: "v1",
  kind: "PriorityClass",
  plural: "priorityclasses",
  namespaced: false
})
/** A PriorityClass as the server returned it. */
export type PriorityClass = typeof PriorityClass.Type

/** `coordination.k8s.io/v1` Lease. */
export const Lease: Resource.Resource<Kind<V1Lease>> = Resource.make({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases"
})
/** A Lease as the server returned it. */
export type Lease = typeof Lease.Type

/** `events.k8s.io/v1` Event. Times have microseconds. */
export const Event: Resource.Resource<Kind<EventsV1Event>> = Resource.make({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events"
})
/** An Event as the server returned it. */
export type Event = typeof Event.Type

/** `apiextensions.k8s.io/v1` CustomResourceDefinition, cluster-scoped. */
export const CustomResourceDefinition: Resource.Resource<Kind<V1CustomResourceDefinition>> = Resource.make({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false
})
/** A CustomResourceDefinition as the server returned it. */
export type CustomResourceDefinition = typeof CustomResourceDefinition.Type

/** `admissionregistration.k8s.io/v1` ValidatingWebhookConfiguration, cluster-scoped. */
export const ValidatingWebhookConfiguration: Resource.Resource<Kind<V1ValidatingWebhookConfiguration>> = Resource.make({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false
})
/** A ValidatingWebhookConfiguration as the server returned it. */
export type ValidatingWebhookConfiguration = typeof ValidatingWebhookConfiguration.Type

/** `admissionregistration.k8s.io/v1` MutatingWebhookConfiguration, cluster-scoped. */
export const MutatingWebhookConfiguration: Resource.Resource<Kind<V1MutatingWebhookConfiguration>> = Resource.make({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  namespaced: false
})
/** A MutatingWebhookConfiguration as the server returned it. */
export type MutatingWebhookConfiguration = typeof MutatingWebhookConfiguration.Type

/** `admissionregistration.k8s.io/v1` ValidatingAdmissionPolicy, cluster-scoped. */
export const ValidatingAdmissionPolicy: Resource.Resource<Kind<V1ValidatingAdmissionPolicy>> = Resource.make({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  namespaced: false
})
/** A ValidatingAdmissionPolicy as the server returned it. */
export type ValidatingAdmissionPolicy = typeof ValidatingAdmissionPolicy.Type

/** `admissionregistration.k8s.io/v1` ValidatingAdmissionPolicyBinding, cluster-scoped. */
export const ValidatingAdmissionPolicyBinding: Resource.Resource<Kind<V1ValidatingAdmissionPolicyBinding>> =
  Resource.make({
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    namespaced: false
  })
/** A ValidatingAdmissionPolicyBinding as the server returned it. */
export type ValidatingAdmissionPolicyBinding = typeof ValidatingAdmissionPolicyBinding.Type
