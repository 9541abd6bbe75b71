/**
 * Random values for kinds of Kubernetes. No JSON patch replaces the whole object: without apiVersion and kind, a kube-apiserver reads
 * the rest as its internal type.
 */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as FastCheck from "fast-check"
import type { Subject } from "./Subject.ts"
import * as Value from "./Value.ts"

const quantity = Value.mostly(Value.one("1", 2, "100m", "0.5", "1Gi", "1500m"), "much", null)
const amounts = Value.some({ cpu: quantity, memory: quantity })
const names = Value.mostly(Value.one("a", "b", "c"), "A", "", null)
const protocol = Value.mostly(Value.one("TCP", "UDP"), "tcp", null)

const env = Value.object(
  { name: Value.mostly(Value.one("A", "B", "C"), "", null) },
  {
    value: Value.text,
    valueFrom: Value.mostly(
      Value.one({ configMapKeyRef: { name: "a", key: "b" } }, { fieldRef: { fieldPath: "metadata.name" } }),
      {},
      { fieldRef: { fieldPath: "metadata.nothing" } }
    ),
    unknown: Value.text
  },
  1
)

const containerPort = Value.object(
  { containerPort: Value.mostly(Value.one(80, 81), 0, "80") },
  { protocol, name: Value.mostly(Value.one("http", "web"), "no name!"), hostPort: Value.one(80) }
)

const probe = Value.object(
  { httpGet: Value.object({ port: Value.mostly(Value.one(80, "http"), 0, null) }, { path: Value.text }) },
  { periodSeconds: Value.count, timeoutSeconds: Value.count }
)

const container = (directives: boolean): FastCheck.Arbitrary<JsonObject> =>
  Value.object(
    { name: names },
    {
      image: Value.mostly(Value.one("a", "b:1", "c:latest"), "", null),
      imagePullPolicy: Value.mostly(Value.one("Always", "Never"), "No"),
      command: Value.list(Value.one("a", "b")),
      env: lists(directives, env, "name"),
      ports: lists(directives, containerPort, "containerPort"),
      resources: Value.some({ limits: amounts, requests: amounts }),
      readinessProbe: probe,
      volumeMounts: lists(
        directives,
        Value.object({ name: names, mountPath: Value.one("/a", "/b") }, { readOnly: Value.flag }),
        "mountPath"
      ),
      securityContext: Value.some({ runAsUser: Value.count, privileged: Value.flag }),
      unknown: Value.text
    },
    3
  )

/** A list. With `directives`, some lists delete an item or replace the whole list. */
const lists = (directives: boolean, item: FastCheck.Arbitrary<JsonObject>, key: string): Value.Values => {
  if (!directives) return Value.list(item)
  const removed = item.map((value): JsonObject => ({ $patch: "delete", [key]: value[key] }))
  const items = FastCheck.oneof({ weight: 4, arbitrary: item }, { weight: 1, arbitrary: removed })
  return FastCheck.tuple(Value.list(items), FastCheck.nat(9)).map(([value, dice]) =>
    dice === 0 && Array.isArray(value) ? [...value, { $patch: "replace" }] : value
  )
}

const volume = (directives: boolean) =>
  Value.object(
    { name: names },
    {
      emptyDir: Value.mostly(Value.one({}, { medium: "Memory" }), null),
      configMap: Value.mostly(Value.one({ name: "a" }, { name: "b", defaultMode: 256 }), {}),
      ...(directives && { $retainKeys: Value.one(["name", "emptyDir"], ["name", "configMap"]) })
    },
    1
  )

const podSpec = (directives: boolean): Value.Fields => {
  const containers = FastCheck.array(container(directives), { maxLength: 2 })
  return {
    containers,
    initContainers: Value.list(container(directives), 1),
    volumes: lists(directives, volume(directives), "name"),
    restartPolicy: Value.mostly(Value.one("Always", "Never", "OnFailure"), "Sometimes"),
    terminationGracePeriodSeconds: Value.count,
    nodeSelector: Value.map(Value.text),
    tolerations: Value.list(
      Value.some({
        key: Value.one("a", "b"),
        operator: Value.mostly(Value.one("Exists", "Equal"), "Is"),
        effect: Value.mostly(Value.one("NoSchedule", "NoExecute"), "No")
      })
    ),
    imagePullSecrets: lists(directives, Value.object({ name: names }), "name"),
    serviceAccountName: Value.one("a", ""),
    securityContext: Value.some({ runAsNonRoot: Value.flag, fsGroup: Value.count }),
    hostNetwork: Value.flag,
    unknown: Value.text,
    ...(directives && {
      "$setElementOrder/containers": Value.one([{ name: "a" }, { name: "b" }], [{ name: "b" }], [{ name: "app" }]),
      $patch: Value.one("replace", "merge", "nothing")
    })
  }
}

const template = (directives: boolean) =>
  Value.some(
    {
      metadata: Value.some({ labels: Value.some({ app: Value.one("a", "b"), b: Value.text }) }),
      spec: Value.some(podSpec(directives), 3)
    },
    2
  )

const deploymentSpec = (directives: boolean): Value.Fields => ({
  replicas: Value.count,
  selector: Value.one({ matchLabels: { app: "a" } }, { matchLabels: { app: "b" } }, {}),
  template: template(directives),
  strategy: Value.mostly(
    Value.one(
      { type: "Recreate" },
      { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } },
      { rollingUpdate: { maxUnavailable: "10%", maxSurge: "0%" } },
      ...(directives ? [{ $retainKeys: ["type"], type: "Recreate" }] : [])
    ),
    { type: "Other" },
    { rollingUpdate: { maxUnavailable: "0%", maxSurge: 0 } },
    null
  ),
  minReadySeconds: Value.count,
  progressDeadlineSeconds: Value.count,
  revisionHistoryLimit: Value.count,
  paused: Value.flag,
  unknown: Value.text
})

const jobSpec = (directives: boolean): Value.Fields => ({
  parallelism: Value.count,
  completions: Value.count,
  backoffLimit: Value.count,
  activeDeadlineSeconds: Value.count,
  ttlSecondsAfterFinished: Value.count,
  suspend: Value.flag,
  completionMode: Value.mostly(Value.one("Indexed", "NonIndexed"), "Other"),
  podReplacementPolicy: Value.mostly(Value.one("Failed", "TerminatingOrFailed"), "Other"),
  manualSelector: Value.flag,
  selector: Value.one({ matchLabels: { app: "a" } }),
  template: template(directives),
  unknown: Value.text
})

const servicePort = Value.object(
  { port: Value.mostly(Value.one(80, 81), 0, "80", null) },
  {
    name: Value.mostly(Value.one("a", "b"), "A_"),
    protocol,
    targetPort: Value.mostly(Value.one(80, "http"), "much-too-long-a-name"),
    appProtocol: Value.one("http")
  }
)

/** The spec sets no addresses and node ports, because the free ones differ between the servers. */
const serviceSpec = (directives: boolean): Value.Fields => ({
  ports: directives ? lists(true, servicePort, "port") : Value.list(servicePort),
  selector: Value.map(Value.text),
  type: Value.mostly(Value.one("ClusterIP", "NodePort", "LoadBalancer"), "ExternalName", "Other"),
  clusterIP: Value.mostly(Value.one("None"), "", "1.2.3"),
  externalName: Value.one("a.example.com", "A_"),
  sessionAffinity: Value.mostly(Value.one("ClientIP", "None"), "Other"),
  externalTrafficPolicy: Value.mostly(Value.one("Local", "Cluster"), "Other"),
  internalTrafficPolicy: Value.mostly(Value.one("Local", "Cluster"), "Other"),
  publishNotReadyAddresses: Value.flag,
  loadBalancerSourceRanges: Value.mostly(Value.one(["10.1.0.0/16"]), ["a"]),
  ipFamilyPolicy: Value.mostly(Value.one("SingleStack", "PreferDualStack"), "RequireDualStack", "", null),
  ipFamilies: Value.mostly(Value.one(["IPv4"], ["IPv4", "IPv6"]), ["IPv6"], ["IPv5"], ["IPv4", "IPv4"], [], null),
  unknown: Value.text
})

const conditions = (...types: ReadonlyArray<string>): Value.Values =>
  Value.list(
    Value.object(
      { type: Value.one(...types), status: Value.mostly(Value.one("True", "False"), null) },
      {
        reason: Value.one("A", "B"),
        lastTransitionTime: Value.mostly(Value.one("2020-01-01T00:00:00Z", null), "yesterday")
      }
    )
  )

const podTemplatePointers = [
  "/spec/template/metadata/labels/app",
  "/spec/template/spec/containers",
  "/spec/template/spec/containers/-",
  "/spec/template/spec/containers/0",
  "/spec/template/spec/containers/0/image",
  "/spec/template/spec/containers/0/env",
  "/spec/template/spec/containers/0/env/0",
  "/spec/template/spec/containers/0/resources",
  "/spec/template/spec/restartPolicy",
  "/spec/template/spec/volumes"
]

const specOf = (fields: Value.Fields): FastCheck.Arbitrary<JsonObject> =>
  FastCheck.record({ spec: Value.some(fields, 3) })

export const deployment: Subject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  plural: "deployments",
  base: {
    spec: {
      selector: { matchLabels: { app: "a" } },
      template: { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "app", image: "a" }] } }
    }
  },
  members: specOf(deploymentSpec(false)),
  strategic: specOf(deploymentSpec(true)),
  status: Value.some({
    replicas: Value.count,
    readyReplicas: Value.count,
    availableReplicas: Value.count,
    observedGeneration: Value.count,
    collisionCount: Value.count,
    conditions: conditions("Available", "Progressing")
  }),
  scale: true,
  pointers: ["/spec", "/spec/replicas", "/spec/selector", "/spec/strategy", "/spec/paused", ...podTemplatePointers]
}

export const job: Subject = {
  apiVersion: "batch/v1",
  kind: "Job",
  plural: "jobs",
  base: { spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "app", image: "a" }] } } } },
  members: specOf(jobSpec(false)),
  strategic: specOf(jobSpec(true)),
  status: Value.some({
    active: Value.count,
    ready: Value.count,
    succeeded: Value.count,
    failed: Value.count,
    startTime: Value.one("2020-01-01T00:00:00Z", null),
    completionTime: Value.one("2020-01-02T00:00:00Z", null),
    conditions: conditions("Complete", "Failed", "Suspended", "SuccessCriteriaMet", "FailureTarget")
  }),
  scale: false,
  pointers: ["/spec", "/spec/parallelism", "/spec/suspend", "/spec/selector", ...podTemplatePointers]
}

export const service: Subject = {
  apiVersion: "v1",
  kind: "Service",
  plural: "services",
  base: { spec: { ports: [{ port: 80 }] } },
  members: specOf(serviceSpec(false)),
  strategic: specOf(serviceSpec(true)),
  status: Value.some({
    loadBalancer: Value.mostly(
      Value.one({ ingress: [{ ip: "1.2.3.4" }] }, { ingress: [{ ip: "1.2.3.5", ipMode: "VIP" }] }, {}),
      { ingress: [{ ip: "a", ipMode: "VIP" }] },
      { ingress: [{ ip: "1.2.3.4", ipMode: "Other" }] },
      { ingress: [{ ipMode: "Proxy", hostname: "1.2.3.4" }] },
      { ingress: [{ hostname: "a_b" }] }
    ),
    conditions: Value.list(
      Value.object({
        type: Value.one("A", "B"),
        status: Value.mostly(Value.one("True", "False"), "Yes"),
        reason: Value.mostly(Value.one("A"), ""),
        message: Value.one(""),
        lastTransitionTime: Value.one("2020-01-01T00:00:00Z")
      })
    )
  }),
  scale: false,
  pointers: [
    "/spec",
    "/spec/ports",
    "/spec/ports/-",
    "/spec/ports/0",
    "/spec/ports/0/port",
    "/spec/ports/0/targetPort",
    "/spec/selector",
    "/spec/selector/a",
    "/spec/type",
    "/spec/sessionAffinity"
  ]
}

const word = Value.mostly(Value.one("a", "b", ""), 1)
const data = Value.object({ a: word }, { b: word, c: word })

/** Never with empty data or null bytes: Go distinguishes them from absent data and from empty bytes. */
export const configMap: Subject = {
  apiVersion: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  base: {},
  members: Value.some({
    data: Value.mostly(data, { "no key!": "a" }),
    binaryData: Value.mostly(
      Value.object({ d: Value.one("YQ==", "") }, { a: Value.one("YQ==") }),
      { e: "no base64" },
      { e: 1 }
    ),
    immutable: Value.flag,
    unknown: Value.text
  }),
  strategic: Value.some({
    data: Value.mostly(data, { $patch: "replace", a: "b" }, { $patch: "delete" }, { $patch: "other" }),
    binaryData: Value.object({ d: Value.one("YQ==", "Yg==") }),
    immutable: Value.flag,
    $patch: Value.one("replace")
  }),
  scale: false,
  pointers: ["/data/a", "/data/b", "/data/-", "/immutable"]
}
