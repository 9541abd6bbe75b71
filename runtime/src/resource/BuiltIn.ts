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
 */
import type {
  EventsV1Event,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1CronJob,
  V1CustomResourceDefinition,
  V1Deployment,
  V1Ingress,
  V1Job,
  V1Lease,
  V1MutatingWebhookConfiguration,
  V1Namespace,
  V1Node,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1ReplicaSet,
  V1ResourceQuota,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1SelfSubjectAccessReview,
  V1SelfSubjectRulesReview,
  V1Service,
  V1ServiceAccount,
  V1StatefulSet,
  V1SubjectAccessReview,
  V1TokenReview,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V1ValidatingWebhookConfiguration,
  V2HorizontalPodAutoscaler
} from "@kubernetes/client-node"
import type { ObjectMeta } from "./KubernetesObject.ts"
import * as Resource from "./Resource.ts"
import type { Wire } from "./Wire.ts"

/** An intersection as one object. */
type Flat<T> = { [Name in keyof T]: T[Name] }

/** An object of a built-in kind as the server returns it: the wire form of client-node's `Model`, with complete metadata. */
export type Kind<Model> = Flat<Omit<Wire<Model>, "metadata"> & { readonly metadata: ObjectMeta }>

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

/** `rbac.authorization.k8s.io/v1` Role. */
export const Role: Resource.Resource<Kind<V1Role>> = Resource.make({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "Role",
  plural: "roles"
})
/** A Role as the server returned it. */
export type Role = typeof Role.Type

/** `rbac.authorization.k8s.io/v1` RoleBinding. */
export const RoleBinding: Resource.Resource<Kind<V1RoleBinding>> = Resource.make({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "RoleBinding",
  plural: "rolebindings"
})
/** A RoleBinding as the server returned it. */
export type RoleBinding = typeof RoleBinding.Type

/** `rbac.authorization.k8s.io/v1` ClusterRole, cluster-scoped. */
export const ClusterRole: Resource.Resource<Kind<V1ClusterRole>> = Resource.make({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false
})
/** A ClusterRole as the server returned it. */
export type ClusterRole = typeof ClusterRole.Type

/** `rbac.authorization.k8s.io/v1` ClusterRoleBinding, cluster-scoped. */
export const ClusterRoleBinding: Resource.Resource<Kind<V1ClusterRoleBinding>> = Resource.make({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false
})
/** A ClusterRoleBinding as the server returned it. */
export type ClusterRoleBinding = typeof ClusterRoleBinding.Type

/**
 * `authorization.k8s.io/v1` SelfSubjectAccessReview, cluster-scoped. It is only created and never stored; its status has the answer.
 */
export const SelfSubjectAccessReview: Resource.Resource<Kind<V1SelfSubjectAccessReview>> = Resource.make({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false
})
/** A SelfSubjectAccessReview as the server returned it. */
export type SelfSubjectAccessReview = typeof SelfSubjectAccessReview.Type

/**
 * `authorization.k8s.io/v1` SelfSubjectRulesReview, cluster-scoped. It is only created and never stored; its status has the answer.
 */
export const SelfSubjectRulesReview: Resource.Resource<Kind<V1SelfSubjectRulesReview>> = Resource.make({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectRulesReview",
  plural: "selfsubjectrulesreviews",
  namespaced: false
})
/** A SelfSubjectRulesReview as the server returned it. */
export type SelfSubjectRulesReview = typeof SelfSubjectRulesReview.Type

/** `authorization.k8s.io/v1` SubjectAccessReview, cluster-scoped. It is only created and never stored; its status has the answer. */
export const SubjectAccessReview: Resource.Resource<Kind<V1SubjectAccessReview>> = Resource.make({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false
})
/** A SubjectAccessReview as the server returned it. */
export type SubjectAccessReview = typeof SubjectAccessReview.Type

/** `authentication.k8s.io/v1` TokenReview, cluster-scoped. It is only created and never stored; its status has the answer. */
export const TokenReview: Resource.Resource<Kind<V1TokenReview>> = Resource.make({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  namespaced: false
})
/** A TokenReview as the server returned it, including the token. */
export type TokenReview = typeof TokenReview.Type

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
