/** Objects of RBAC, networking and reviews. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { type Entries, of } from "./Entry.ts"

const rbac = (kind: string, more: JsonObject, name = "strategies:r"): JsonObject =>
  of("rbac.authorization.k8s.io/v1", kind, name, more)

const network = (kind: string, name: string, spec: JsonObject): JsonObject =>
  of("networking.k8s.io/v1", kind, name, { spec })

export const others: Entries = {
  "a role": rbac("Role", { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }),
  "a role without rules": rbac("Role", {}),
  "a bad role": rbac("Role", { rules: [{ nonResourceURLs: ["/x"], verbs: [] }, { verbs: ["get"] }] }),
  "a cluster role": rbac("ClusterRole", { rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] }),
  "a binding": [
    rbac("RoleBinding", {
      roleRef: { kind: "Role", name: "r" },
      subjects: [
        { kind: "User", name: "u" },
        { kind: "ServiceAccount", name: "s", namespace: "n" }
      ]
    }),
    { change: { roleRef: { name: "q" } } },
    { change: { subjects: null } }
  ],
  "a bad binding": rbac("RoleBinding", { roleRef: { kind: "Foo", name: "" }, subjects: [{ kind: "Bar", name: "" }] }),
  "a binding of a cluster role": rbac("ClusterRoleBinding", {
    roleRef: { kind: "Role", name: "r" },
    subjects: [{ kind: "ServiceAccount", name: "s" }]
  }),
  "a role with a bad name": rbac("Role", {}, "a%b"),
  "an ingress": [
    network("Ingress", "i", {
      rules: [
        {
          host: "a.b",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "s", port: { number: 80 } } } }]
          }
        }
      ]
    }),
    { change: { spec: { ingressClassName: "x" } } }
  ],
  "an empty ingress": network("Ingress", "i", {}),
  "a bad ingress": network("Ingress", "i", {
    rules: [
      {
        host: "1.2.3.4",
        http: {
          paths: [{ path: "x", pathType: "Prefix", backend: {} }, { backend: { service: { name: "s", port: {} } } }]
        }
      }
    ]
  }),
  "an ingress class": [
    network("IngressClass", "strategies-ic", { controller: "a.b/c", parameters: { kind: "X", name: "y" } }),
    { change: { spec: { controller: "a.b/d" } } }
  ],
  "a network policy": network("NetworkPolicy", "n", { podSelector: {}, egress: [{ ports: [{ port: 80 }] }] }),
  "an empty self subject access review": {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: {}
  },
  "an empty token review": { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: {} },
  "a token review": { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: "x" } }
}
