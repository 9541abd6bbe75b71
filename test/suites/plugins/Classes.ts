/** RuntimeClasses of Pods, default IngressClasses, and the topology labels of nodes, as dialogues. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { merge, post } from "../admission/Objects.ts"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"

const space = "/api/v1/namespaces/NAMESPACE"
const runtimeClasses = "/apis/node.k8s.io/v1/runtimeclasses"
const ingressClasses = "/apis/networking.k8s.io/v1/ingressclasses"

/** Waits until the informers of a kube-apiserver see the object. */
const awaited = { pauseMillis: 1000 }

const runtimeClass = (name: string, more: JsonObject = {}): Step => ({
  ...post(runtimeClasses, {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name },
    handler: "sandbox",
    ...more
  }),
  ...awaited
})

const changed = (name: string, change: JsonObject): Step => ({
  method: "PATCH",
  path: `${runtimeClasses}/${name}`,
  ...merge(change)
})

const deleted = (path: string): Step => ({ method: "DELETE", path })

const pod = (spec: JsonObject, metadata: JsonObject = {}, query = "?dryRun=All"): Step =>
  post(`${space}/pods${query}`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", ...metadata },
    spec: { containers: [{ name: "c", image: "i" }], ...spec }
  })

const ingressClass = (name: string, isDefault: string): Step => ({
  ...post(ingressClasses, {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name, annotations: { "ingressclass.kubernetes.io/is-default-class": isDefault } },
    spec: { controller: "example.com/ingress" }
  }),
  ...awaited
})

const ingress = (spec: JsonObject = {}, annotations: JsonObject = {}): Step =>
  post("/apis/networking.k8s.io/v1/namespaces/NAMESPACE/ingresses?dryRun=All", {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "i", annotations },
    spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } }, ...spec }
  })

const node = (name: string, labels: JsonObject): Step => ({
  ...post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name, labels } }),
  ...awaited
})

const binding = (name: string, target: string, metadata: JsonObject = {}): Step =>
  post(`${space}/pods/${name}/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name, ...metadata },
    target: { kind: "Node", name: target }
  })

const dialogue = (name: string, ...steps: ReadonlyArray<Step>): Dialogue => ({ name, alone: true, steps })

/** All dialogues of this module. */
export const classes: ReadonlyArray<Dialogue> = [
  dialogue(
    "RuntimeClass: Pods",
    pod({ runtimeClassName: "nobody" }),
    pod({ overhead: { cpu: "100m" } }),
    runtimeClass("sandbox-plain"),
    pod({ runtimeClassName: "sandbox-plain" }),
    pod({ runtimeClassName: "sandbox-plain", overhead: { cpu: "100m" } }),
    runtimeClass("sandbox-heavy", { overhead: { podFixed: { cpu: "100m", memory: "64Mi" } } }),
    pod({ runtimeClassName: "sandbox-heavy" }),
    pod({ runtimeClassName: "sandbox-heavy", overhead: { cpu: "0.1", memory: "65536Ki" } }),
    pod({ runtimeClassName: "sandbox-heavy", overhead: { cpu: "100m" } }),
    runtimeClass("sandbox-placed", {
      scheduling: {
        nodeSelector: { runtime: "sandbox", disk: "fast" },
        tolerations: [
          { key: "sandbox", operator: "Equal", value: "yes", effect: "NoSchedule" },
          { key: "other", operator: "Exists" }
        ]
      }
    }),
    pod({ runtimeClassName: "sandbox-placed" }),
    pod({
      runtimeClassName: "sandbox-placed",
      nodeSelector: { runtime: "sandbox", own: "yes" },
      tolerations: [{ key: "sandbox", operator: "Exists" }]
    }),
    pod({
      runtimeClassName: "sandbox-placed",
      tolerations: [
        { key: "other", operator: "Exists", effect: "NoExecute", tolerationSeconds: 3 },
        { key: "own", value: "a" },
        { key: "own", operator: "Equal", value: "a" }
      ]
    }),
    pod({ runtimeClassName: "sandbox-placed", tolerations: [{ operator: "Exists" }] }),
    pod({ runtimeClassName: "sandbox-placed", nodeSelector: { runtime: "plain" } }),
    deleted(`${runtimeClasses}/sandbox-placed`),
    deleted(`${runtimeClasses}/sandbox-heavy`),
    deleted(`${runtimeClasses}/sandbox-plain`)
  ),
  dialogue(
    "RuntimeClass: valid and invalid",
    runtimeClass("Sandbox"),
    runtimeClass("sandbox-none", { handler: "" }),
    runtimeClass("sandbox-none", { handler: "A_b" }),
    runtimeClass("sandbox-none", { overhead: { podFixed: { cpu: "-1", "a b": "1", nothing: "1" } } }),
    runtimeClass("sandbox-none", {
      scheduling: {
        nodeSelector: { "a b": "c", "beta.kubernetes.io/os": "linux" },
        tolerations: [
          { key: "a", operator: "Exists", value: "b" },
          { key: "c", operator: "Exists" },
          { key: "c", operator: "Exists" }
        ]
      }
    }),
    runtimeClass("sandbox-kept", {
      overhead: { podFixed: { cpu: "1.0005" } },
      scheduling: { nodeSelector: { "beta.kubernetes.io/os": "linux" } }
    }),
    { method: "GET", path: `${runtimeClasses}/sandbox-kept` },
    changed("sandbox-kept", { handler: "another" }),
    changed("sandbox-kept", { handler: "A_b" }),
    changed("sandbox-kept", { overhead: { podFixed: { cpu: "2" } }, scheduling: null }),
    deleted(`${runtimeClasses}/sandbox-kept`)
  ),
  dialogue(
    "DefaultIngressClass",
    ingress(),
    ingressClass("shared-other", "false"),
    ingress(),
    ingressClass("shared-b", "true"),
    ingress(),
    ingress({ ingressClassName: "shared-other" }),
    ingress({}, { "kubernetes.io/ingress.class": "legacy" }),
    ingressClass("shared-a", "true"),
    ingress(),
    deleted(`${ingressClasses}/shared-a`),
    deleted(`${ingressClasses}/shared-b`),
    deleted(`${ingressClasses}/shared-other`)
  ),
  dialogue(
    "PodTopologyLabels",
    node("topology-a", {
      "topology.kubernetes.io/zone": "z",
      "topology.kubernetes.io/region": "r",
      "topology.kubernetes.io/rack": "k",
      other: "o"
    }),
    node("topology-b", { other: "o" }),
    pod({}, { labels: { own: "yes", "topology.kubernetes.io/zone": "own" } }, ""),
    binding("p", "topology-a", { labels: { bound: "yes", "topology.kubernetes.io/zone": "bound" } }),
    { method: "GET", path: `${space}/pods/p` },
    pod({}, { name: "q" }, ""),
    binding("q", "topology-b"),
    { method: "GET", path: `${space}/pods/q` },
    pod({}, { name: "r" }, ""),
    binding("r", "topology-missing"),
    { method: "GET", path: `${space}/pods/r` },
    pod({ nodeName: "topology-a" }, { name: "s", labels: { "topology.kubernetes.io/region": "own" } }),
    pod({ nodeName: "topology-missing" }, { name: "s" }),
    deleted("/api/v1/nodes/topology-a"),
    deleted("/api/v1/nodes/topology-b")
  )
]
