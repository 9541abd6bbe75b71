/** Objects of configuration, storage, leases, limits and events. */
import { core, type Entries, later, now, of } from "./Entry.ts"

export const config: Entries = {
  "a config map": [
    core("ConfigMap", { data: { a: "b" }, binaryData: { c: "AAE=" } }),
    { change: { immutable: true } },
    { change: { data: { a: "c" } } },
    { change: { immutable: null } },
    { change: { metadata: { labels: { x: "y" } } } }
  ],
  "an empty config map": core("ConfigMap", { data: {} }),
  "a bad key": core("ConfigMap", { data: { "a b": "c" } }),
  "a key of two dots": core("ConfigMap", { data: { "..": "c" } }),
  "a key in both data and binaryData": core("ConfigMap", { data: { a: "c" }, binaryData: { a: "AAE=" } }),
  "a config map too big": core("ConfigMap", { data: { a: "x".repeat(1024 * 1024 + 1) } }),
  "a secret": [
    core("Secret", { data: { a: "Yg==" }, stringData: { c: "d", a: "x" } }),
    { change: { stringData: { e: "ü" } } },
    { change: { type: "foo" } },
    { change: { immutable: true } },
    { change: { data: { a: "Yw==" } } }
  ],
  "an empty secret": core("Secret"),
  "a secret of a type that lacks its keys": core("Secret", { type: "kubernetes.io/tls" }),
  "a basic secret": core("Secret", { type: "kubernetes.io/basic-auth" }),
  "a token secret": core("Secret", { type: "kubernetes.io/service-account-token" }),
  "a secret with a bad key": core("Secret", { stringData: { "a/b": "c" } }),
  "a service account": core("ServiceAccount", { imagePullSecrets: [{ name: "x" }] }),
  "a namespace": [
    core("Namespace", {}, "strategies-a"),
    { change: { metadata: { labels: { "kubernetes.io/metadata.name": null, x: "y" } } } },
    { change: { spec: { finalizers: [] } } },
    { to: "status", change: { status: { phase: "Terminating" } } }
  ],
  "a namespace with a bad name": core("Namespace", {}, "a.b"),
  "a namespace with a finalizer": core("Namespace", { spec: { finalizers: ["foo"] } }, "strategies-b"),
  "a node": [
    core(
      "Node",
      { spec: { taints: [{ key: "a", effect: "NoSchedule" }] }, status: { capacity: { cpu: "1000m", pods: 110 } } },
      "strategies-node"
    ),
    { change: { spec: { unschedulable: true } } },
    { to: "status", change: { status: { phase: "Running" } } },
    { change: { spec: { taints: [{ key: "a b", effect: "x" }] } } }
  ],
  "a lease": of("coordination.k8s.io/v1", "Lease", "l", {
    spec: {
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      renewTime: "2026-11-20T10:00:00.500000Z",
      acquireTime: "2026-11-20T11:00:00.000000+01:00"
    }
  }),
  "a bad lease": of("coordination.k8s.io/v1", "Lease", "l", {
    spec: { leaseDurationSeconds: 0, leaseTransitions: -1 }
  }),
  "an event": [
    core(
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
    { change: { count: 2, lastTimestamp: later } }
  ],
  "an event about another namespace": core(
    "Event",
    { involvedObject: { kind: "Pod", name: "p", namespace: "other" } },
    "ev"
  ),
  "an event about an object without a namespace": core("Event", { involvedObject: { kind: "Node", name: "p" } }, "ev"),
  "an event with a time but without other required fields": core(
    "Event",
    { involvedObject: { kind: "Pod", name: "p", namespace: "NAMESPACE" }, eventTime: "2026-11-20T10:00:00.000000Z" },
    "ev"
  ),
  "an event of events.k8s.io": [
    of("events.k8s.io/v1", "Event", "ev2", {
      eventTime: "2026-11-20T10:00:00.000000Z",
      reportingController: "a.b/c",
      reportingInstance: "i",
      action: "A",
      reason: "R",
      type: "Normal",
      note: "N",
      regarding: { kind: "Pod", name: "p", namespace: "NAMESPACE" }
    }),
    { change: { note: "other" } },
    { change: { series: { count: 2, lastObservedTime: "2026-11-20T10:00:00.000000Z" } } }
  ],
  "an event of events.k8s.io without required fields": of("events.k8s.io/v1", "Event", "ev3", {
    regarding: { kind: "Pod", name: "p", namespace: "NAMESPACE" },
    deprecatedCount: 1
  }),
  "a claim": [
    core("PersistentVolumeClaim", {
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1000Mi" } } }
    }),
    { change: { spec: { volumeName: "v" } } },
    { change: { spec: { accessModes: ["ReadWriteMany"] } } },
    { change: { spec: { storageClassName: "fast" } } },
    {
      to: "status",
      change: { status: { phase: "Bound", capacity: { storage: "1000Mi" }, accessModes: ["ReadWriteOnce"] } }
    },
    { change: { spec: { resources: { requests: { storage: "2Gi" } } } } },
    { change: { spec: { resources: { requests: { storage: "1Gi" } } } } }
  ],
  "a bad claim": core("PersistentVolumeClaim", {
    spec: { accessModes: ["Foo"], volumeMode: "x", storageClassName: "A" }
  }),
  "a claim of zero bytes": core("PersistentVolumeClaim", { spec: { resources: { requests: { storage: "0" } } } }),
  "a volume": [
    core(
      "PersistentVolume",
      { spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } } },
      "strategies-pv"
    ),
    { to: "status", change: { status: { phase: "Available" } } }
  ],
  "a volume without a spec": core("PersistentVolume", { spec: {} }, "strategies-pv2"),
  "a storage class": [
    of("storage.k8s.io/v1", "StorageClass", "strategies-sc", { provisioner: "a/b" }),
    { change: { reclaimPolicy: "Retain" } },
    { change: { provisioner: "c" } }
  ],
  "a bad storage class": of("storage.k8s.io/v1", "StorageClass", "strategies-sc", {
    reclaimPolicy: "x",
    volumeBindingMode: "y"
  }),
  "a priority class": [
    of("scheduling.k8s.io/v1", "PriorityClass", "strategies-pc", { value: 5 }),
    { change: { value: 6 } },
    { change: { preemptionPolicy: "Never" } },
    { change: { description: "x" } }
  ],
  "a priority class above the maximum": of("scheduling.k8s.io/v1", "PriorityClass", "strategies-pc", {
    value: 1000000001,
    preemptionPolicy: "x"
  }),
  "a priority class with a system name": of("scheduling.k8s.io/v1", "PriorityClass", "system-x", { value: 1 }),
  "a limit range": core("LimitRange", {
    spec: { limits: [{ type: "Container", max: { cpu: "2" }, min: { memory: "1Mi" } }] }
  }),
  "a limit range with min above max": core("LimitRange", {
    spec: { limits: [{ type: "Container", max: { cpu: "1" }, min: { cpu: "2" } }] }
  }),
  "a quota": [
    core("ResourceQuota", { spec: { hard: { pods: "10", "requests.cpu": "1000m", "count/jobs.batch": 5 } } }),
    { change: { spec: { hard: { pods: "11" } } } },
    { change: { spec: { scopes: ["BestEffort"] } } }
  ],
  "a quota of an unknown resource": core("ResourceQuota", { spec: { hard: { foo: "1" } } }),
  "a quota of one and a half pods": core("ResourceQuota", { spec: { hard: { pods: "1.5" } } })
}
