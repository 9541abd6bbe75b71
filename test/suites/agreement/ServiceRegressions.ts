/** Sequences of writes of a Service on which the two servers once differed. */
import { service } from "./BuiltIns.ts"
import { create, of, remove, spec, write } from "./Regression.ts"

export const services = of("Service", {
  "two IP families on a cluster with one": [
    create(service.base),
    write("replace", spec(service.base, { ipFamilyPolicy: "RequireDualStack" }))
  ],
  "an IP family that the cluster lacks, reported before other errors": [
    create({ ...spec(service.base, { ipFamilies: ["IPv6"] }), metadata: { generation: -1 } })
  ],
  "an IP family other than that of the address": [
    create(service.base),
    write("apply", { spec: { ipFamilies: ["IPv6"] } })
  ],
  "one IP family for a Service with two": [
    create(spec(service.base, { clusterIP: "None" })),
    write("merge", { spec: { ipFamilyPolicy: "SingleStack" } }, { version: "live" })
  ],
  "source ranges without a load balancer": [create(spec(service.base, { loadBalancerSourceRanges: ["10.1.0.0/16"] }))],
  "an ignored external name": [create(spec(service.base, { externalName: "a.example.com" }))],
  "a Service created through its status has no address, and a later update adds none": [
    write("edit", { status: {} }, { subresource: "status" }),
    write("edit", { spec: {} })
  ],
  "a PUT of a deleted Service creates it, with any resourceVersion": [
    create(service.base),
    remove,
    write("edit", {}, { version: "first" })
  ],
  "a selector for a Service with two IP families": [
    create(spec(service.base, { clusterIP: "None" })),
    write("replace", spec(service.base, { selector: { a: "a" } }), { version: "live" })
  ],
  "two named IP families without a policy": [
    create(spec(service.base, { clusterIP: "None", ipFamilies: ["IPv4", "IPv6"] }))
  ],
  "two IP families for an address to be removed, which makes a kube-apiserver panic": [
    create(service.base),
    write("merge", { spec: { clusterIP: "None", ipFamilyPolicy: "RequireDualStack" } }),
    write("merge", { spec: { clusterIP: "None", ipFamilyPolicy: null, ipFamilies: ["IPv6"] } }),
    write("merge", { spec: { clusterIP: "None", ipFamilyPolicy: "PreferDualStack", ipFamilies: ["IPv6", "IPv4"] } })
  ],
  "node ports: allocated, released and requested twice": [
    create(spec(service.base, { type: "NodePort" })),
    write("merge", { spec: { ports: [{ port: 80 }, { port: 81 }] } }),
    write("merge", {
      spec: {
        ports: [
          { name: "a", port: 80 },
          { name: "b", port: 81 }
        ]
      }
    }),
    write("json", [{ op: "remove", path: "/spec/ports/0" }]),
    write("merge", { spec: { type: "ClusterIP" } }),
    write("merge", { spec: { type: "NodePort" } })
  ],
  "a health check node port, which stays": [
    create(spec(service.base, { type: "LoadBalancer", externalTrafficPolicy: "Local", loadBalancerClass: "a" })),
    write("merge", { spec: { healthCheckNodePort: 31_000, loadBalancerClass: "-" } }),
    write("merge", { spec: { externalTrafficPolicy: "Cluster" } })
  ],
  "an internal traffic policy, hidden while the type is ExternalName": [
    create(spec(service.base, { internalTrafficPolicy: "Local" })),
    write("merge", { spec: { type: "ExternalName", externalName: "a.example.com" } }),
    write("merge", { spec: { type: "ClusterIP" } })
  ],
  "a load balancer's address without an ipMode, and invalid ones": [
    create(spec(service.base, { type: "LoadBalancer" })),
    write("replace", { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } }, { subresource: "status" }),
    write(
      "merge",
      {
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
      { subresource: "status" }
    )
  ],
  "a headless Service created through its status": [
    write("edit", { status: {}, ...spec(service.base, { clusterIP: "None" }) }, { subresource: "status" }),
    write("apply", { spec: { ipFamilies: ["IPv4"] } }, { by: "bob" })
  ],
  "an unknown type of Service": [
    create(service.base),
    write("strategic", { spec: { type: "Other" } }, { version: "live" })
  ],
  "two ports with the same number": [
    create({ spec: { type: "LoadBalancer", ports: [{ port: 80 }, { port: 80 }, { port: 81 }] } })
  ],
  "warnings of a headless Service, in their order": [
    create(spec(service.base, { sessionAffinity: "ClientIP", clusterIP: "None", externalName: "a.example.com" }))
  ]
})
