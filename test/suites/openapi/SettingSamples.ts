/** Nodes, volumes, settings, permissions and events in the states that their columns distinguish. */
import { ago, of, type Sample } from "./Sample.ts"

const node = of("v1", "nodes", false)
const volume = of("v1", "persistentvolumes", false)
const claim = of("v1", "persistentvolumeclaims")
const resources = { requests: { storage: "1Gi" } }
const event = of("v1", "events")
const newEvent = of("events.k8s.io/v1", "events")
const binding = of("rbac.authorization.k8s.io/v1", "rolebindings")
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" }
const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }]
const subjects = [
  { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "jane" },
  { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "joe" },
  { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "all" },
  { kind: "ServiceAccount", namespace: "other", name: "robot" }
]

export const settings: ReadonlyArray<Sample> = [
  of("v1", "configmaps")("three", { data: { a: "1", b: "2" }, binaryData: { c: "AAAA" } }),
  of("v1", "secrets")("two", { type: "Opaque", stringData: { a: "1", b: "2" } }),
  of("v1", "serviceaccounts")("robot", {}),
  of("v1", "limitranges")("limits", { spec: { limits: [{ type: "Container", max: { cpu: "1" } }] } }),
  of("v1", "resourcequotas")(
    "quota",
    {
      spec: { hard: { pods: "100", "limits.cpu": "2", "requests.memory": "10Gi" } }
    },
    {
      hard: { pods: "100", "limits.cpu": "2", "requests.memory": "10Gi", "limits.memory": "1Gi" },
      used: { pods: "1", "limits.cpu": "500m" }
    }
  ),
  of("coordination.k8s.io/v1", "leases")("held", { spec: { holderIdentity: "me" } }),
  of("coordination.k8s.io/v1", "leases")("free", { spec: {} }),
  of("scheduling.k8s.io/v1", "priorityclasses", false)("openapi-high", { value: 7, preemptionPolicy: "Never" }),
  of("node.k8s.io/v1", "runtimeclasses", false)("openapi-sandbox", { handler: "sandbox" }),
  of("v1", "namespaces", false)("openapi-plain", {}),
  of("v1", "namespaces", false)("openapi-ending", {}),
  of(
    "apiextensions.k8s.io/v1",
    "customresourcedefinitions",
    false
  )("plains.openapi.example.org", {
    spec: {
      group: "openapi.example.org",
      scope: "Cluster",
      names: { plural: "plains", kind: "Plain" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }]
    }
  }),
  of("storage.k8s.io/v1", "storageclasses", false)("openapi-plain", { provisioner: "example.com/disk" }),
  of(
    "storage.k8s.io/v1",
    "storageclasses",
    false
  )("openapi-large", {
    provisioner: "example.com/disk",
    reclaimPolicy: "Retain",
    volumeBindingMode: "WaitForFirstConsumer",
    allowVolumeExpansion: true
  }),
  of("rbac.authorization.k8s.io/v1", "roles")("reader", { rules }),
  of("rbac.authorization.k8s.io/v1", "clusterroles", false)("openapi-reader", { rules }),
  binding("nobody", { roleRef }),
  binding("many", { roleRef, subjects }),
  of(
    "rbac.authorization.k8s.io/v1",
    "clusterrolebindings",
    false
  )("openapi-many", {
    roleRef: { ...roleRef, kind: "ClusterRole" },
    subjects
  }),
  node("openapi-new", {}),
  node(
    "openapi-ready",
    {
      metadata: { labels: { "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge" } },
      spec: { unschedulable: true }
    },
    {
      conditions: [
        { type: "MemoryPressure", status: "False" },
        { type: "Ready", status: "True" }
      ],
      addresses: [
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "ExternalIP", address: "192.0.2.1" }
      ],
      nodeInfo: {
        kubeletVersion: "v1.37.1",
        osImage: "Linux",
        kernelVersion: "6.1",
        architecture: "amd64",
        containerRuntimeVersion: "containerd://2",
        bootID: "",
        kubeProxyVersion: "",
        machineID: "",
        operatingSystem: "linux",
        systemUUID: ""
      }
    }
  ),
  node("openapi-lost", {}, { conditions: [{ type: "Ready", status: "Unknown" }] }),
  volume("openapi-free", {
    spec: {
      capacity: { storage: "5Gi" },
      accessModes: ["ReadOnlyMany", "ReadWriteOnce"],
      hostPath: { path: "/tmp" },
      storageClassName: "slow"
    }
  }),
  volume(
    "openapi-claimed",
    {
      spec: {
        capacity: { storage: "1024Mi" },
        accessModes: ["ReadWriteOncePod"],
        hostPath: { path: "/tmp" },
        persistentVolumeReclaimPolicy: "Delete",
        claimRef: { namespace: "one", name: "claim" }
      }
    },
    { phase: "Failed", reason: "Broken" }
  ),
  claim("unbound", { spec: { accessModes: ["ReadWriteOnce"], storageClassName: "slow", resources } }),
  claim(
    "bound",
    {
      spec: { accessModes: ["ReadWriteMany"], storageClassName: "", volumeName: "openapi-free", resources }
    },
    { phase: "Bound", accessModes: ["ReadWriteMany", "ReadWriteOnce"], capacity: { storage: "5Gi" } }
  ),
  event("old", {
    involvedObject: { kind: "Pod", name: "web", fieldPath: "spec.containers{main}" },
    type: "Normal",
    reason: "Pulled",
    message: " Pulled it.\n",
    source: { component: "kubelet", host: "node-1" },
    firstTimestamp: ago(1000),
    lastTimestamp: ago(30),
    count: 4
  }),
  event("bare", { involvedObject: {} }),
  newEvent("series", {
    regarding: { kind: "Deployment", name: "web" },
    type: "Warning",
    reason: "Waiting",
    action: "Wait",
    note: "It waits.",
    reportingController: "example.com/controller",
    reportingInstance: "controller-1",
    eventTime: `${ago(800).slice(0, -1)}.123456Z`,
    series: { count: 9, lastObservedTime: `${ago(20).slice(0, -1)}.000000Z` }
  }),
  newEvent("single", {
    regarding: { kind: "Deployment", name: "web" },
    type: "Normal",
    reason: "Done",
    action: "Do",
    reportingController: "example.com/controller",
    reportingInstance: "controller-1",
    eventTime: `${ago(60).slice(0, -1)}.123456Z`
  })
]
