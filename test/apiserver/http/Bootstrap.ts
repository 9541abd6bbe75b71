/** The objects that every cluster has from the start. */

import type { ServerState } from "../admission/ServerState.ts"
import type { JsonObject } from "../model/Json.ts"
import type { Verbs } from "../rest/Verbs.ts"

const namespaces = ["kube-system", "kube-public", "kube-node-lease", "default"]

/** The Service that leads pods to the API server. */
const kubernetes: JsonObject = {
  metadata: { name: "kubernetes", labels: { component: "apiserver", provider: "kubernetes" } },
  spec: {
    type: "ClusterIP",
    clusterIP: "10.0.0.1",
    ipFamilyPolicy: "SingleStack",
    internalTrafficPolicy: "Cluster",
    sessionAffinity: "None",
    ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: 6443 }]
  }
}

/** Creates the missing objects. */
export const fill = (state: ServerState, verbs: Verbs, now: number): void => {
  const namespace = state.registry.find("", "v1", "namespaces")
  const service = state.registry.find("", "v1", "services")
  const options = { now, manager: "kube-apiserver" }
  if (namespace === undefined) return
  for (const name of namespaces) {
    if (state.store.get(namespace.storage, "", name) === undefined) {
      verbs.create(namespace, "", { metadata: { name } }, options)
    }
  }
  if (service !== undefined && state.store.get(service.storage, "default", "kubernetes") === undefined) {
    verbs.create(service, "default", kubernetes, options)
  }
}
