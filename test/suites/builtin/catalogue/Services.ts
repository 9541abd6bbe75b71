/** Services and their endpoints. */
import { core, type Entries, labels, of, service } from "./Entry.ts"

export const services: Entries = {
  "a service": [
    service({ ports: [{ port: 80 }], selector: labels }),
    { change: { spec: { ports: [{ port: 81, targetPort: "http" }] } } },
    { change: { spec: { clusterIP: null, clusterIPs: null } } },
    { change: { spec: { clusterIP: "10.0.3.77" } } },
    { change: { spec: { clusterIP: "None", clusterIPs: null } } },
    { change: { spec: { type: "NodePort" } } },
    { change: { spec: { type: "ClusterIP" } } },
    {
      to: "status",
      change: { spec: { type: "LoadBalancer" }, status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } }
    },
    { change: { spec: { type: "ExternalName", externalName: "a.b" } } }
  ],
  "a headless service": service({ ports: [{ port: 80 }], selector: labels, clusterIP: "None" }),
  "a headless service without a selector": service({ clusterIP: "None" }),
  "a service with an address": service({ ports: [{ port: 80 }], clusterIP: "10.0.200.9" }),
  "a service with a node port": service({ type: "NodePort", ports: [{ port: 80, nodePort: 30005 }] }),
  "a service with two ports": service({
    type: "NodePort",
    ports: [
      { port: 80, name: "a" },
      { port: 80, name: "b", protocol: "UDP" }
    ]
  }),
  "a load balancer": service({ type: "LoadBalancer", ports: [{ port: 80 }], sessionAffinity: "ClientIP" }),
  "a load balancer with the local traffic policy": service({
    type: "LoadBalancer",
    ports: [{ port: 80 }],
    externalTrafficPolicy: "Local"
  }),
  "an external name": service({ type: "ExternalName", externalName: "example.com." }),
  "an external name without one": service({ type: "ExternalName" }),
  "a service without ports": service({ selector: labels }),
  "ports without names": service({ ports: [{ port: 80 }, { port: 81 }] }),
  "two equal ports": service({
    ports: [
      { port: 80, name: "a" },
      { port: 80, name: "a" }
    ]
  }),
  "a bad port": service({ ports: [{ port: 0, targetPort: "x y", protocol: "X" }] }),
  "an unknown type": service({ type: "Foo", ports: [{ port: 80 }] }),
  "an unknown affinity": service({ sessionAffinity: "Foo", ports: [{ port: 80 }] }),
  "an invalid address": service({ clusterIP: "foo", ports: [{ port: 80 }] }),
  "an address outside the range": service({ clusterIP: "1.2.3.4", ports: [{ port: 80 }] }),
  "a node port outside the range": service({ type: "NodePort", ports: [{ port: 80, nodePort: 80 }] }),
  "a node port of a ClusterIP service": service({ ports: [{ port: 80, nodePort: 30001 }] }),
  "a headless load balancer": service({ type: "LoadBalancer", clusterIP: "None", ports: [{ port: 80 }] }),
  "an external traffic policy of a ClusterIP service": service({
    externalTrafficPolicy: "Local",
    ports: [{ port: 80 }]
  }),
  "a bad name of a service": service({ ports: [{ port: 80 }] }, "a.b"),
  "a service whose name begins with a digit": service({ ports: [{ port: 80 }] }, "1a"),
  endpoints: core("Endpoints", { subsets: [{ addresses: [{ ip: "10.1.1.1" }], ports: [{ port: 80 }] }] }),
  "bad endpoints": core("Endpoints", {
    subsets: [{ addresses: [{ ip: "x" }], ports: [{ port: 0 }, { port: 1 }] }, {}]
  }),
  "an endpoint slice": [
    of("discovery.k8s.io/v1", "EndpointSlice", "e", {
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.1.1.1"], conditions: { ready: true } }],
      ports: [{ port: 80 }]
    }),
    { change: { ports: [{ port: 81, name: "x" }] } },
    { change: { addressType: "IPv6", endpoints: [] } }
  ],
  "an empty endpoint slice": of("discovery.k8s.io/v1", "EndpointSlice", "e", {
    addressType: "IPv4",
    endpoints: [],
    ports: []
  }),
  "a bad endpoint slice": of("discovery.k8s.io/v1", "EndpointSlice", "e", {
    addressType: "X",
    endpoints: [{ addresses: [] }],
    ports: [{ port: 1 }, { port: 2 }]
  })
}
