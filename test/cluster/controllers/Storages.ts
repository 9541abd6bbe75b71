/** The storages of the kinds that the controllers use: `group/plural`, with an empty name for the core group. */

/** Pods. */
export const pods = "/pods"
/** Nodes. */
export const nodes = "/nodes"
/** Namespaces. */
export const namespaces = "/namespaces"
/** Services. */
export const services = "/services"
/** Endpoints. */
export const endpoints = "/endpoints"
/** ConfigMaps. */
export const configMaps = "/configmaps"
/** ServiceAccounts. */
export const serviceAccounts = "/serviceaccounts"
/** PersistentVolumeClaims. */
export const claims = "/persistentvolumeclaims"
/** PersistentVolumes. */
export const volumes = "/persistentvolumes"
/** Deployments. */
export const deployments = "apps/deployments"
/** ReplicaSets. */
export const replicaSets = "apps/replicasets"
/** Jobs. */
export const jobs = "batch/jobs"
/** CronJobs. */
export const cronJobs = "batch/cronjobs"
/** StatefulSets. */
export const statefulSets = "apps/statefulsets"
/** DaemonSets. */
export const daemonSets = "apps/daemonsets"
/** ControllerRevisions. */
export const revisions = "apps/controllerrevisions"
/** EndpointSlices. */
export const endpointSlices = "discovery.k8s.io/endpointslices"
/** PodDisruptionBudgets. */
export const budgets = "policy/poddisruptionbudgets"
/** CustomResourceDefinitions. */
export const definitions = "apiextensions.k8s.io/customresourcedefinitions"
/** StorageClasses. */
export const storageClasses = "storage.k8s.io/storageclasses"
