/**
 * The names that Kubernetes itself gives to amounts: of what containers use, and of what a namespace may have.
 */

/** What a container can ask for. */
export const ofContainers: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"])

/** What a ResourceQuota can limit. */
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

/** All of them. */
export const standard: ReadonlySet<string> = new Set([...ofQuotas, "storage"])
