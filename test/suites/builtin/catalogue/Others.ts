/** Entries of the catalogue: rights, routes and reviews. */
import type { JsonObject } from "@homeostat/testkit/server/Json"
import type { Entry } from "./Entry.ts"

const rbac = (kind: string, more: JsonObject): JsonObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  metadata: { name: "strategies:r" },
  ...more
})

/** Rights, routes and reviews. */
export const others: ReadonlyArray<Entry> = [
  { name: "a role", object: rbac("Role", { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }) },
  { name: "a role of nothing", object: rbac("Role", {}) },
  { name: "a bad role", object: rbac("Role", { rules: [{ nonResourceURLs: ["/x"], verbs: [] }, { verbs: ["get"] }] }) },
  { name: "a cluster role", object: rbac("ClusterRole", { rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] }) },
  {
    name: "a binding",
    object: rbac("RoleBinding", {
      roleRef: { kind: "Role", name: "r" },
      subjects: [
        { kind: "User", name: "u" },
        { kind: "ServiceAccount", name: "s", namespace: "n" }
      ]
    }),
    steps: [{ change: { roleRef: { name: "q" } } }, { change: { subjects: null } }]
  },
  {
    name: "a bad binding",
    object: rbac("RoleBinding", { roleRef: { kind: "Foo", name: "" }, subjects: [{ kind: "Bar", name: "" }] })
  },
  {
    name: "a binding of a cluster role",
    object: rbac("ClusterRoleBinding", {
      roleRef: { kind: "Role", name: "r" },
      subjects: [{ kind: "ServiceAccount", name: "s" }]
    })
  },
  { name: "a role with a bad name", object: { ...rbac("Role", {}), metadata: { name: "a%b" } } },
  {
    name: "an ingress",
    object: {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "i" },
      spec: {
        rules: [
          {
            host: "a.b",
            http: {
              paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "s", port: { number: 80 } } } }]
            }
          }
        ]
      }
    },
    steps: [{ change: { spec: { ingressClassName: "x" } } }]
  },
  {
    name: "an ingress of nothing",
    object: { apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: { name: "i" }, spec: {} }
  },
  {
    name: "a bad ingress",
    object: {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "i" },
      spec: {
        rules: [
          {
            host: "1.2.3.4",
            http: {
              paths: [{ path: "x", pathType: "Prefix", backend: {} }, { backend: { service: { name: "s", port: {} } } }]
            }
          }
        ]
      }
    }
  },
  {
    name: "an ingress class",
    object: {
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name: "strategies-ic" },
      spec: { controller: "a.b/c", parameters: { kind: "X", name: "y" } }
    },
    steps: [{ change: { spec: { controller: "a.b/d" } } }]
  },
  {
    name: "a network policy",
    object: {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "n" },
      spec: { podSelector: {}, egress: [{ ports: [{ port: 80 }] }] }
    }
  },
  {
    name: "a review of oneself",
    object: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: {} }
  },
  {
    name: "a token review of nothing",
    object: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: {} }
  },
  {
    name: "a token review",
    object: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: "x" } }
  }
]
