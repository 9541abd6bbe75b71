/** Sequences of writes of a Service on which the two servers once disagreed. */
import { service } from "./BuiltIns.ts"
import { create, type Regression, remove, spec } from "./Regression.ts"

/** All of them. */
export const services: ReadonlyArray<Regression> = [
  {
    seed: 1017,
    name: "two families on a cluster of one",
    kind: "Service",
    steps: [
      create(service.base),
      { verb: "replace", by: "ann", body: spec(service.base, { ipFamilyPolicy: "RequireDualStack" }) }
    ]
  },
  {
    seed: 4069,
    name: "a family that there is not, told before all else",
    kind: "Service",
    steps: [create({ ...spec(service.base, { ipFamilies: ["IPv6"] }), metadata: { generation: -1 } })]
  },
  {
    seed: 4120,
    name: "another family than that of the address",
    kind: "Service",
    steps: [create(service.base), { verb: "apply", by: "ann", body: { spec: { ipFamilies: ["IPv6"] } } }]
  },
  {
    seed: 3137,
    name: "one family where there were two",
    kind: "Service",
    steps: [
      create(spec(service.base, { clusterIP: "None" })),
      { verb: "merge", by: "ann", body: { spec: { ipFamilyPolicy: "SingleStack" } }, version: "live" }
    ]
  },
  {
    seed: 1049,
    name: "ranges without a balancer",
    kind: "Service",
    steps: [create(spec(service.base, { loadBalancerSourceRanges: ["10.1.0.0/16"] }))]
  },
  {
    seed: 2063,
    name: "an external name that is ignored",
    kind: "Service",
    steps: [create(spec(service.base, { externalName: "a.example.com" }))]
  },
  {
    seed: 5117,
    name: "a service that is made by its status has no address, nor later",
    kind: "Service",
    steps: [
      { verb: "edit", by: "ann", body: { status: {} }, subresource: "status" },
      { verb: "edit", by: "ann", body: { spec: {} } }
    ]
  },
  {
    seed: 100200,
    name: "a PUT of a service that is gone makes it anew, whatever its version",
    kind: "Service",
    steps: [create(service.base), remove, { verb: "edit", by: "ann", body: {}, version: "first" }]
  },
  {
    seed: 400356,
    name: "a selector for a service of two families",
    kind: "Service",
    steps: [
      create(spec(service.base, { clusterIP: "None" })),
      { verb: "replace", by: "ann", body: spec(service.base, { selector: { a: "a" } }), version: "live" }
    ]
  },
  {
    seed: 1000053,
    name: "two families by name, and no policy",
    kind: "Service",
    steps: [create(spec(service.base, { clusterIP: "None", ipFamilies: ["IPv4", "IPv6"] }))]
  },
  {
    seed: 930929,
    name: "two families for an address that is to go, over which a kube-apiserver panics",
    kind: "Service",
    steps: [
      create(service.base),
      { verb: "merge", by: "ann", body: { spec: { clusterIP: "None", ipFamilyPolicy: "RequireDualStack" } } },
      { verb: "merge", by: "ann", body: { spec: { clusterIP: "None", ipFamilyPolicy: null, ipFamilies: ["IPv6"] } } },
      {
        verb: "merge",
        by: "ann",
        body: { spec: { clusterIP: "None", ipFamilyPolicy: "PreferDualStack", ipFamilies: ["IPv6", "IPv4"] } }
      }
    ]
  },
  {
    seed: 0,
    name: "ports of the nodes: new ones, given back, the same one twice",
    kind: "Service",
    steps: [
      create(spec(service.base, { type: "NodePort" })),
      { verb: "merge", by: "ann", body: { spec: { ports: [{ port: 80 }, { port: 81 }] } } },
      {
        verb: "merge",
        by: "ann",
        body: {
          spec: {
            ports: [
              { name: "a", port: 80 },
              { name: "b", port: 81 }
            ]
          }
        }
      },
      { verb: "json", by: "ann", body: [{ op: "remove", path: "/spec/ports/0" }] },
      { verb: "merge", by: "ann", body: { spec: { type: "ClusterIP" } } },
      { verb: "merge", by: "ann", body: { spec: { type: "NodePort" } } }
    ]
  },
  {
    seed: 0,
    name: "a port by which a balancer asks the nodes, which stays",
    kind: "Service",
    steps: [
      create(spec(service.base, { type: "LoadBalancer", externalTrafficPolicy: "Local", loadBalancerClass: "a" })),
      { verb: "merge", by: "ann", body: { spec: { healthCheckNodePort: 31_000, loadBalancerClass: "-" } } },
      { verb: "merge", by: "ann", body: { spec: { externalTrafficPolicy: "Cluster" } } }
    ]
  },
  {
    seed: 0,
    name: "what is said of the traffic of a name is not shown, yet known when it is more than a name",
    kind: "Service",
    steps: [
      create(spec(service.base, { internalTrafficPolicy: "Local" })),
      { verb: "merge", by: "ann", body: { spec: { type: "ExternalName", externalName: "a.example.com" } } },
      { verb: "merge", by: "ann", body: { spec: { type: "ClusterIP" } } }
    ]
  },
  {
    seed: 2201116,
    name: "a balancer's address of which is not said how it is reached, and others",
    kind: "Service",
    steps: [
      create(spec(service.base, { type: "LoadBalancer" })),
      {
        verb: "replace",
        by: "ann",
        body: { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } },
        subresource: "status"
      },
      {
        verb: "merge",
        by: "ann",
        body: {
          status: {
            loadBalancer: {
              ingress: [
                { ip: "a" },
                { ip: "1.2.3.4", ipMode: "Other" },
                { ipMode: "VIP", hostname: "1.2.3.4" },
                { hostname: "a_b" }
              ]
            }
          }
        },
        subresource: "status"
      }
    ]
  },
  {
    seed: 0,
    name: "a headless service that is made by its status",
    kind: "Service",
    steps: [
      {
        verb: "edit",
        by: "ann",
        body: { status: {}, ...spec(service.base, { clusterIP: "None" }) },
        subresource: "status"
      },
      { verb: "apply", by: "bob", body: { spec: { ipFamilies: ["IPv4"] } } }
    ]
  },
  {
    seed: 6195,
    name: "a type that there is not",
    kind: "Service",
    steps: [create(service.base), { verb: "strategic", by: "ann", body: { spec: { type: "Other" } }, version: "live" }]
  },
  {
    seed: 100329,
    name: "two ports of one number",
    kind: "Service",
    steps: [create({ spec: { type: "LoadBalancer", ports: [{ port: 80 }, { port: 80 }, { port: 81 }] } })]
  },
  {
    seed: 900043,
    name: "warnings of a headless service, in their order",
    kind: "Service",
    steps: [
      create(spec(service.base, { sessionAffinity: "ClientIP", clusterIP: "None", externalName: "a.example.com" }))
    ]
  }
]
