/** Services, Ingresses and endpoints in the states that their columns distinguish. */
import { expressions, labels, of, type Sample } from "./Sample.ts"

const service = of("v1", "services")
const ports = [
  { name: "http", port: 80 },
  { name: "dns", port: 53, protocol: "UDP" }
]
const ingress = of("networking.k8s.io/v1", "ingresses")
const backend = { service: { name: "web", port: { number: 80 } } }
const rule = (host: string) => ({
  ...(host === "" ? {} : { host }),
  http: { paths: [{ path: "/", pathType: "Prefix", backend }] }
})
const endpoints = of("v1", "endpoints")
const slice = of("discovery.k8s.io/v1", "endpointslices")
const ingressClass = of("networking.k8s.io/v1", "ingressclasses", false)

export const network: ReadonlyArray<Sample> = [
  service("plain", { spec: { ports, selector: labels } }),
  service("headless", { spec: { clusterIP: "None" } }),
  service("node", { spec: { type: "NodePort", ports, externalIPs: ["192.0.2.9", "192.0.2.8"] } }),
  service("pending", { spec: { type: "LoadBalancer", ports: [{ port: 80 }] } }),
  service(
    "balanced",
    { spec: { type: "LoadBalancer", ports: [{ port: 80 }], externalIPs: ["192.0.2.7"] } },
    {
      loadBalancer: {
        ingress: [{ hostname: "a-very-long-name.elsewhere.example.com" }, { ip: "192.0.2.1" }, { ip: "192.0.2.1" }]
      }
    }
  ),
  service("elsewhere", { spec: { type: "ExternalName", externalName: "example.com" } }),
  ingress("any", { spec: { defaultBackend: backend } }),
  ingress(
    "many",
    {
      spec: {
        ingressClassName: "nginx",
        tls: [{ hosts: ["a.example.com"] }],
        rules: [rule(""), ...["a", "b", "c", "d"].map((name) => rule(`${name}.example.com`))]
      }
    },
    { loadBalancer: { ingress: [{ ip: "192.0.2.2" }, { hostname: "lb.example.com" }] } }
  ),
  ingress("three", { spec: { rules: ["a", "b", "c"].map((name) => rule(`${name}.example.com`)) } }),
  ingressClass("openapi-plain", { spec: { controller: "example.com/one" } }),
  ingressClass("openapi-default", {
    metadata: { annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
    spec: { controller: "example.com/two", parameters: { apiGroup: "example.com", kind: "Config", name: "c" } }
  }),
  of("networking.k8s.io/v1", "networkpolicies")("all", { spec: { podSelector: {} } }),
  of("networking.k8s.io/v1", "networkpolicies")("some", { spec: { podSelector: expressions } }),
  endpoints("none", {}),
  endpoints("many", {
    subsets: [
      {
        addresses: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }],
        ports: [
          { name: "a", port: 80 },
          { name: "b", port: 81 }
        ]
      }
    ]
  }),
  endpoints("portless", { subsets: [{ addresses: [{ ip: "10.0.0.3" }] }] }),
  endpoints("six", { subsets: [{ addresses: [{ ip: "2001:db8::1" }], ports: [{ port: 80 }] }] }),
  slice("many", {
    addressType: "IPv4",
    ports: [80, 81, 82, 83].map((port) => ({ name: `p${port}`, port })),
    endpoints: [{ addresses: ["10.0.0.1"] }, { addresses: ["10.0.0.2"] }]
  }),
  slice("empty", { addressType: "IPv6", ports: [], endpoints: [] }),
  slice("any", { addressType: "IPv4", ports: [{ name: "" }], endpoints: [{ addresses: ["10.0.0.4"] }] })
]
