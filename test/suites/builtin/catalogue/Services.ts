/** Entries of the catalogue: services and where their Pods are. */
import { core, type Entry, labels, service } from "./Entry.ts"

/** Services and where their Pods are. */
export const services: ReadonlyArray<Entry> = [
  {
    name: "a service",
    object: service({ ports: [{ port: 80 }], selector: labels }),
    steps: [
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
    ]
  },
  { name: "a headless service", object: service({ ports: [{ port: 80 }], selector: labels, clusterIP: "None" }) },
  { name: "a headless service that selects nothing", object: service({ clusterIP: "None" }) },
  { name: "a service with an address", object: service({ ports: [{ port: 80 }], clusterIP: "10.0.200.9" }) },
  { name: "a service with a node port", object: service({ type: "NodePort", ports: [{ port: 80, nodePort: 30005 }] }) },
  {
    name: "a service of two ports",
    object: service({
      type: "NodePort",
      ports: [
        { port: 80, name: "a" },
        { port: 80, name: "b", protocol: "UDP" }
      ]
    })
  },
  { name: "a balancer", object: service({ type: "LoadBalancer", ports: [{ port: 80 }], sessionAffinity: "ClientIP" }) },
  {
    name: "a balancer that asks each node",
    object: service({ type: "LoadBalancer", ports: [{ port: 80 }], externalTrafficPolicy: "Local" })
  },
  { name: "an external name", object: service({ type: "ExternalName", externalName: "example.com." }) },
  { name: "an external name without one", object: service({ type: "ExternalName" }) },
  { name: "a service without ports", object: service({ selector: labels }) },
  { name: "ports without names", object: service({ ports: [{ port: 80 }, { port: 81 }] }) },
  {
    name: "ports that are the same",
    object: service({
      ports: [
        { port: 80, name: "a" },
        { port: 80, name: "a" }
      ]
    })
  },
  { name: "a bad port", object: service({ ports: [{ port: 0, targetPort: "x y", protocol: "X" }] }) },
  { name: "an unknown type", object: service({ type: "Foo", ports: [{ port: 80 }] }) },
  { name: "an unknown affinity", object: service({ sessionAffinity: "Foo", ports: [{ port: 80 }] }) },
  { name: "an address that is none", object: service({ clusterIP: "foo", ports: [{ port: 80 }] }) },
  { name: "an address elsewhere", object: service({ clusterIP: "1.2.3.4", ports: [{ port: 80 }] }) },
  { name: "a node port elsewhere", object: service({ type: "NodePort", ports: [{ port: 80, nodePort: 80 }] }) },
  { name: "a node port of a service that has none", object: service({ ports: [{ port: 80, nodePort: 30001 }] }) },
  {
    name: "a balancer without an address",
    object: service({ type: "LoadBalancer", clusterIP: "None", ports: [{ port: 80 }] })
  },
  {
    name: "a traffic policy of an internal service",
    object: service({ externalTrafficPolicy: "Local", ports: [{ port: 80 }] })
  },
  { name: "a bad name of a service", object: { ...service({ ports: [{ port: 80 }] }), metadata: { name: "a.b" } } },
  {
    name: "a service whose name begins with a digit",
    object: { ...service({ ports: [{ port: 80 }] }), metadata: { name: "1a" } }
  },
  {
    name: "endpoints",
    object: core("Endpoints", { subsets: [{ addresses: [{ ip: "10.1.1.1" }], ports: [{ port: 80 }] }] })
  },
  {
    name: "bad endpoints",
    object: core("Endpoints", { subsets: [{ addresses: [{ ip: "x" }], ports: [{ port: 0 }, { port: 1 }] }, {}] })
  },
  {
    name: "an endpoint slice",
    object: {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "e" },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.1.1.1"], conditions: { ready: true } }],
      ports: [{ port: 80 }]
    },
    steps: [{ change: { ports: [{ port: 81, name: "x" }] } }, { change: { addressType: "IPv6", endpoints: [] } }]
  },
  {
    name: "an endpoint slice of nothing",
    object: {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "e" },
      addressType: "IPv4",
      endpoints: [],
      ports: []
    }
  },
  {
    name: "a bad endpoint slice",
    object: {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "e" },
      addressType: "X",
      endpoints: [{ addresses: [] }],
      ports: [{ port: 1 }, { port: 2 }]
    }
  }
]
