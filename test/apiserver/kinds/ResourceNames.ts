/**
 * The standard resource names of Kubernetes.
 */

/** The standard resources of containers. */
export const ofContainers: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"])

/** The standard resources of ResourceQuotas. */
export const ofQuotas: ReadonlySet<string> = new Set([
  ...ofContainers,
  "requests.cpu",
  "requests.memory",
  "requests.storage",
  "requests.ephemeral-storage",
  "limits.cpu",
  "limits.memory",
  "limits.ephemeral-storage",
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "persistentvolumeclaims",
  "configmaps",
  "services.nodeports",
  "services.loadbalancers"
])

/** All standard resources. */
export const standard: ReadonlySet<string> = new Set([...ofQuotas, "storage"])
