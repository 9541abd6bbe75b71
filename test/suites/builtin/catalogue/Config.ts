/** Entries of the catalogue: what is configured, stored, leased, limited and told. */
import { core, type Entry, later, now } from "./Entry.ts"

/** What is configured, stored, leased, limited and told. */
export const config: ReadonlyArray<Entry> = [
  {
    name: "a config map",
    object: core("ConfigMap", { data: { a: "b" }, binaryData: { c: "AAE=" } }),
    steps: [
      { change: { immutable: true } },
      { change: { data: { a: "c" } } },
      { change: { immutable: null } },
      { change: { metadata: { labels: { x: "y" } } } }
    ]
  },
  { name: "an empty config map", object: core("ConfigMap", { data: {} }) },
  { name: "a bad key", object: core("ConfigMap", { data: { "a b": "c" } }) },
  { name: "a key that leads up", object: core("ConfigMap", { data: { "..": "c" } }) },
  { name: "a key of two kinds", object: core("ConfigMap", { data: { a: "c" }, binaryData: { a: "AAE=" } }) },
  { name: "a config map too big", object: core("ConfigMap", { data: { a: "x".repeat(1024 * 1024 + 1) } }) },
  {
    name: "a secret",
    object: core("Secret", { data: { a: "Yg==" }, stringData: { c: "d", a: "x" } }),
    steps: [
      { change: { stringData: { e: "ü" } } },
      { change: { type: "foo" } },
      { change: { immutable: true } },
      { change: { data: { a: "Yw==" } } }
    ]
  },
  { name: "an empty secret", object: core("Secret") },
  { name: "a secret of a type that lacks its keys", object: core("Secret", { type: "kubernetes.io/tls" }) },
  { name: "a basic secret", object: core("Secret", { type: "kubernetes.io/basic-auth" }) },
  { name: "a token secret", object: core("Secret", { type: "kubernetes.io/service-account-token" }) },
  { name: "a secret with a bad key", object: core("Secret", { stringData: { "a/b": "c" } }) },
  { name: "a service account", object: core("ServiceAccount", { imagePullSecrets: [{ name: "x" }] }) },
  {
    name: "a namespace",
    object: core("Namespace", {}, "strategies-a"),
    steps: [
      { change: { metadata: { labels: { "kubernetes.io/metadata.name": null, x: "y" } } } },
      { change: { spec: { finalizers: [] } } },
      { to: "status", change: { status: { phase: "Terminating" } } }
    ]
  },
  { name: "a namespace with a bad name", object: core("Namespace", {}, "a.b") },
  {
    name: "a namespace with a finalizer",
    object: core("Namespace", { spec: { finalizers: ["foo"] } }, "strategies-b")
  },
  {
    name: "a node",
    object: core(
      "Node",
      { spec: { taints: [{ key: "a", effect: "NoSchedule" }] }, status: { capacity: { cpu: "1000m", pods: 110 } } },
      "strategies-node"
    ),
    steps: [
      { change: { spec: { unschedulable: true } } },
      { to: "status", change: { status: { phase: "Running" } } },
      { change: { spec: { taints: [{ key: "a b", effect: "x" }] } } }
    ]
  },
  {
    name: "a lease",
    object: {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "l" },
      spec: {
        holderIdentity: "a",
        leaseDurationSeconds: 15,
        renewTime: "2026-11-20T10:00:00.500000Z",
        acquireTime: "2026-11-20T11:00:00.000000+01:00"
      }
    }
  },
  {
    name: "a bad lease",
    object: {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "l" },
      spec: { leaseDurationSeconds: 0, leaseTransitions: -1 }
    }
  },
  {
    name: "an event",
    object: core(
      "Event",
      {
        involvedObject: { kind: "Pod", name: "p", namespace: "NAMESPACE" },
        reason: "R",
        message: "M",
        type: "Normal",
        count: 1,
        firstTimestamp: now,
        source: { component: "x" }
      },
      "ev"
    ),
    steps: [{ change: { count: 2, lastTimestamp: later } }]
  },
  {
    name: "an event of elsewhere",
    object: core("Event", { involvedObject: { kind: "Pod", name: "p", namespace: "other" } }, "ev")
  },
  { name: "an event of nowhere", object: core("Event", { involvedObject: { kind: "Node", name: "p" } }, "ev") },
  {
    name: "an event of now without all that it takes",
    object: core(
      "Event",
      { involvedObject: { kind: "Pod", name: "p", namespace: "NAMESPACE" }, eventTime: "2026-11-20T10:00:00.000000Z" },
      "ev"
    )
  },
  {
    name: "a newer event",
    object: {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "ev2" },
      eventTime: "2026-11-20T10:00:00.000000Z",
      reportingController: "a.b/c",
      reportingInstance: "i",
      action: "A",
      reason: "R",
      type: "Normal",
      note: "N",
      regarding: { kind: "Pod", name: "p", namespace: "NAMESPACE" }
    },
    steps: [
      { change: { note: "other" } },
      { change: { series: { count: 2, lastObservedTime: "2026-11-20T10:00:00.000000Z" } } }
    ]
  },
  {
    name: "a newer event without anything",
    object: {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "ev3" },
      regarding: { kind: "Pod", name: "p", namespace: "NAMESPACE" },
      deprecatedCount: 1
    }
  },
  {
    name: "a claim",
    object: core("PersistentVolumeClaim", {
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1000Mi" } } }
    }),
    steps: [
      { change: { spec: { volumeName: "v" } } },
      { change: { spec: { accessModes: ["ReadWriteMany"] } } },
      { change: { spec: { storageClassName: "fast" } } },
      {
        to: "status",
        change: { status: { phase: "Bound", capacity: { storage: "1000Mi" }, accessModes: ["ReadWriteOnce"] } }
      },
      { change: { spec: { resources: { requests: { storage: "2Gi" } } } } },
      { change: { spec: { resources: { requests: { storage: "1Gi" } } } } }
    ]
  },
  {
    name: "a bad claim",
    object: core("PersistentVolumeClaim", { spec: { accessModes: ["Foo"], volumeMode: "x", storageClassName: "A" } })
  },
  {
    name: "a claim of nothing",
    object: core("PersistentVolumeClaim", { spec: { resources: { requests: { storage: "0" } } } })
  },
  {
    name: "a volume",
    object: core(
      "PersistentVolume",
      { spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } } },
      "strategies-pv"
    ),
    steps: [{ to: "status", change: { status: { phase: "Available" } } }]
  },
  { name: "a volume of nothing", object: core("PersistentVolume", { spec: {} }, "strategies-pv2") },
  {
    name: "a storage class",
    object: {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "strategies-sc" },
      provisioner: "a/b"
    },
    steps: [{ change: { reclaimPolicy: "Retain" } }, { change: { provisioner: "c" } }]
  },
  {
    name: "a bad storage class",
    object: {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "strategies-sc" },
      reclaimPolicy: "x",
      volumeBindingMode: "y"
    }
  },
  {
    name: "a priority class",
    object: {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name: "strategies-pc" },
      value: 5
    },
    steps: [{ change: { value: 6 } }, { change: { preemptionPolicy: "Never" } }, { change: { description: "x" } }]
  },
  {
    name: "a priority class above all",
    object: {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name: "strategies-pc" },
      value: 1000000001,
      preemptionPolicy: "x"
    }
  },
  {
    name: "a priority class of the system",
    object: { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "system-x" }, value: 1 }
  },
  {
    name: "a limit range",
    object: core("LimitRange", { spec: { limits: [{ type: "Container", max: { cpu: "2" }, min: { memory: "1Mi" } }] } })
  },
  {
    name: "a limit range upside down",
    object: core("LimitRange", { spec: { limits: [{ type: "Container", max: { cpu: "1" }, min: { cpu: "2" } }] } })
  },
  {
    name: "a quota",
    object: core("ResourceQuota", { spec: { hard: { pods: "10", "requests.cpu": "1000m", "count/jobs.batch": 5 } } }),
    steps: [{ change: { spec: { hard: { pods: "11" } } } }, { change: { spec: { scopes: ["BestEffort"] } } }]
  },
  { name: "a quota of an unknown resource", object: core("ResourceQuota", { spec: { hard: { foo: "1" } } }) },
  { name: "a quota of part of a pod", object: core("ResourceQuota", { spec: { hard: { pods: "1.5" } } }) }
]
