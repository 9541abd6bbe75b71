/** Writes in a namespace with ResourceQuotas, as dialogues. Without a controller, the dialogue writes the status of a quota. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { merge, post } from "../admission/Objects.ts"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"

const space = "/api/v1/namespaces/NAMESPACE"
const path = `${space}/resourcequotas/q`

/** A quota without usage. */
const quota = (hard: { readonly [name: string]: string }, more: JsonObject = {}): ReadonlyArray<Step> => [
  post(`${space}/resourcequotas`, {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "q" },
    spec: { hard, ...more }
  }),
  status(hard)
]

const status = (hard: { readonly [name: string]: string }, used: { readonly [name: string]: string } = {}): Step => ({
  method: "PATCH",
  path: `${path}/status`,
  ...merge({
    status: { hard, used: { ...Object.fromEntries(Object.keys(hard).map((name) => [name, "0"])), ...used } }
  }),
  pauseMillis: 1000
})

const container = (resources: JsonObject = {}, name = "c"): JsonObject => ({ name, image: "i", resources })

const pod = (name: string, spec: JsonObject = {}, query = ""): Step => ({
  ...post(`${space}/pods${query}`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [container()], ...spec }
  }),
  pauseMillis: 300
})

const needs = (name: string, ...resources: ReadonlyArray<JsonObject>): Step =>
  pod(name, { containers: resources.map((each, index) => container(each, `c${index}`)) })

const config = (name: string, query = ""): Step => ({
  ...post(`${space}/configmaps${query}`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name } }),
  pauseMillis: 300
})

const service = (name: string, spec: JsonObject): Step => ({
  ...post(`${space}/services`, { apiVersion: "v1", kind: "Service", metadata: { name }, spec }),
  pauseMillis: 300
})

const claim = (name: string, storage: string, more: JsonObject = {}): Step => ({
  ...post(`${space}/persistentvolumeclaims`, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } }, ...more }
  }),
  pauseMillis: 300
})

const ports = [
  { name: "a", port: 80 },
  { name: "b", port: 81 }
]

/** Compares the usage of the quota after each step, without the parts that differ between services. */
const dialogue = (about: string, ...steps: ReadonlyArray<Step>): Dialogue => ({
  name: `ResourceQuota: ${about}`,
  reads: path,
  steps
})

/** All dialogues of this module. */
export const resourceQuota: ReadonlyArray<Dialogue> = [
  dialogue(
    "counts objects",
    ...quota({ configmaps: "2", "count/configmaps": "5" }),
    config("a"),
    config("dry", "?dryRun=All"),
    config("b"),
    config("c"),
    { method: "DELETE", path: `${space}/configmaps/a` },
    config("d"),
    { method: "PATCH", path: `${space}/configmaps/b`, ...merge({ data: { a: "b" } }) }
  ),
  dialogue(
    "requires a known usage",
    post(`${space}/resourcequotas`, {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q" },
      spec: { hard: { configmaps: "2" } }
    }),
    { method: "PATCH", path: `${path}/status`, ...merge({ status: { hard: { configmaps: "2" } } }), pauseMillis: 1000 },
    config("a")
  ),
  dialogue(
    "counts pods and their resources",
    ...quota({ pods: "3", "requests.cpu": "1", "limits.memory": "1Gi" }),
    needs("a", {}),
    needs("b", { requests: { cpu: "500m" } }, { limits: { memory: "512Mi" } }),
    needs("c", { requests: { cpu: "500m" }, limits: { memory: "512Mi" } }),
    needs("d", { requests: { cpu: "600m" }, limits: { memory: "768Mi" } }),
    needs("e", { requests: { cpu: "0.5" }, limits: { memory: "0.5Gi" } }),
    needs("f", { requests: { cpu: "0" }, limits: { memory: "0" } }),
    needs("g", { requests: { cpu: "0" }, limits: { memory: "0" } }),
    { method: "PATCH", path: `${space}/pods/c`, ...merge({ metadata: { labels: { a: "b" } } }) }
  ),
  dialogue(
    "selects pods by scope",
    ...quota({ pods: "1" }, { scopes: ["BestEffort"] }),
    pod("a"),
    pod("b"),
    needs("c", { requests: { cpu: "1" } }),
    config("a")
  ),
  dialogue(
    "selects pods by their deadline",
    ...quota({ pods: "1" }, { scopes: ["Terminating"] }),
    pod("a"),
    pod("b", { activeDeadlineSeconds: 60 }),
    pod("c", { activeDeadlineSeconds: 60 }),
    { method: "PATCH", path: `${space}/pods/a`, ...merge({ spec: { activeDeadlineSeconds: 5 } }) }
  ),
  dialogue(
    "selects pods by priority",
    ...quota(
      { pods: "0" },
      {
        scopeSelector: {
          matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["system-node-critical"] }]
        }
      }
    ),
    pod("a"),
    pod("b", { priorityClassName: "system-node-critical" }),
    pod("c", { priorityClassName: "system-cluster-critical" })
  ),
  dialogue(
    "counts the ports of services",
    ...quota({ services: "3", "services.nodeports": "3", "services.loadbalancers": "0" }),
    service("plain", { ports }),
    service("nodes", { type: "NodePort", ports }),
    service("more", { type: "NodePort", ports }),
    service("balanced", { type: "LoadBalancer", ports: [{ port: 80 }] }),
    {
      method: "PATCH",
      path: `${space}/services/plain`,
      ...merge({ spec: { type: "NodePort" } }),
      pauseMillis: 300
    },
    { method: "PATCH", path: `${space}/services/nodes`, ...merge({ spec: { type: "ClusterIP" } }), pauseMillis: 300 }
  ),
  dialogue(
    "counts the storage of claims",
    ...quota({
      persistentvolumeclaims: "3",
      "requests.storage": "5Gi",
      "fast.storageclass.storage.k8s.io/requests.storage": "1Gi"
    }),
    claim("a", "3Gi"),
    claim("b", "3Gi"),
    claim("c", "2Gi", { storageClassName: "fast" }),
    claim("d", "1Gi", { storageClassName: "fast" })
  ),
  dialogue(
    "counts objects of other groups",
    ...quota({ "count/deployments.apps": "0", "count/jobs.batch": "1" }),
    post("/apis/apps/v1/namespaces/NAMESPACE/deployments", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { containers: [container()] } }
      }
    }),
    post("/apis/batch/v1/namespaces/NAMESPACE/jobs", {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "once" },
      spec: { template: { spec: { restartPolicy: "Never", containers: [container()] } } }
    })
  )
]
