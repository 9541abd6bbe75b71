/** Entries of the catalogue: what makes Pods for ever. */
import { container, core, deployment, type Entry, labels, selector, template, workload } from "./Entry.ts"

/** What makes Pods for ever. */
export const workloads: ReadonlyArray<Entry> = [
  { name: "a deployment", object: deployment({}) },
  {
    name: "a deployment that is recreated",
    object: deployment({ strategy: { type: "Recreate" }, replicas: 0, paused: false })
  },
  {
    name: "a deployment as kubectl makes it",
    object: deployment({
      strategy: {},
      template: {
        metadata: { creationTimestamp: null, labels },
        spec: { containers: [{ ...container, resources: {} }] }
      }
    })
  },
  { name: "a deployment without a selector", object: deployment({ selector: null }) },
  { name: "a deployment of an empty selector", object: deployment({ selector: {} }) },
  { name: "a deployment that selects others", object: deployment({ selector: { matchLabels: { b: "c" } } }) },
  {
    name: "a deployment with a bad selector",
    object: deployment({
      selector: {
        matchLabels: labels,
        matchExpressions: [
          { key: "a", operator: "In" },
          { key: "b c", operator: "Exists", values: ["x"] }
        ]
      }
    })
  },
  { name: "a deployment of no pods", object: deployment({ template: {} }) },
  { name: "negative numbers", object: deployment({ replicas: -1, minReadySeconds: -1, revisionHistoryLimit: -1 }) },
  { name: "a deadline that cannot be met", object: deployment({ progressDeadlineSeconds: 5, minReadySeconds: 5 }) },
  { name: "an unknown strategy", object: deployment({ strategy: { type: "Slow" } }) },
  {
    name: "an unknown strategy with a surge",
    object: deployment({ strategy: { type: "Slow", rollingUpdate: { maxSurge: "30%" } } })
  },
  {
    name: "recreation with a rolling update",
    object: deployment({ strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } })
  },
  {
    name: "an update that cannot go on",
    object: deployment({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "0%" } } })
  },
  {
    name: "shares that are none",
    object: deployment({ strategy: { rollingUpdate: { maxSurge: "x", maxUnavailable: "101%" } } })
  },
  {
    name: "pods that end",
    object: deployment({ template: template({ restartPolicy: "Never", activeDeadlineSeconds: 1 }) })
  },
  {
    name: "bad labels of a template",
    object: deployment({ template: template({}, { labels: { ...labels, b: "c d" } }) })
  },
  { name: "a bad name of a deployment", object: deployment({}, { name: "D_1" }) },
  {
    name: "changes of a deployment",
    object: deployment({}),
    steps: [
      { change: { spec: { replicas: 3 } } },
      { change: { metadata: { labels: { x: "y" } } } },
      { change: { metadata: { annotations: { x: "y" } } } },
      { change: { spec: { selector: { matchLabels: { b: "c" } } } } },
      {
        change: { spec: { selector: { matchLabels: { app: "b" } }, template: { metadata: { labels: { app: "b" } } } } }
      },
      { change: { status: { replicas: 3 } } },
      {
        to: "status",
        change: {
          metadata: { labels: { z: "z" }, annotations: { q: "q" } },
          spec: { replicas: 9 },
          status: { replicas: 3, readyReplicas: 1 }
        }
      },
      { to: "status", change: { status: { readyReplicas: 4, availableReplicas: 5, updatedReplicas: -1 } } },
      { to: "status", change: { status: { collisionCount: 2 } } },
      { to: "status", change: { status: { collisionCount: 1 } } }
    ]
  },
  {
    name: "a replica set",
    object: workload("ReplicaSet"),
    steps: [
      { change: { spec: { replicas: 2 } } },
      { change: { spec: { selector: { matchLabels: { b: "c" } } } } },
      { to: "status", change: { status: { replicas: 1, readyReplicas: 2 } } }
    ]
  },
  {
    name: "a replica set without anything",
    object: { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "w" }, spec: {} }
  },
  {
    name: "a stateful set",
    object: workload("StatefulSet", {
      serviceName: "s",
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
        }
      ],
      template: template({ containers: [{ ...container, volumeMounts: [{ name: "data", mountPath: "/d" }] }] })
    }),
    steps: [
      { change: { spec: { replicas: 2 } } },
      { change: { spec: { serviceName: "t" } } },
      { change: { spec: { podManagementPolicy: "Parallel" } } },
      { to: "status", change: { status: { replicas: 1, currentReplicas: 2 } } }
    ]
  },
  {
    name: "a bad stateful set",
    object: workload("StatefulSet", { podManagementPolicy: "x", replicas: -1, updateStrategy: { type: "y" } })
  },
  {
    name: "a stateful set with an unknown update of a partition",
    object: workload("StatefulSet", { updateStrategy: { type: "y", rollingUpdate: { partition: 1 } } })
  },
  {
    name: "a stateful set with a partition of an update on deletion",
    object: workload("StatefulSet", { updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } })
  },
  {
    name: "a daemon set",
    object: workload("DaemonSet"),
    steps: [
      { change: { spec: { minReadySeconds: 2 } } },
      { change: { spec: { template: { spec: { terminationGracePeriodSeconds: 1 } } } } },
      { change: { spec: { selector: { matchLabels: { b: "c" } } } } }
    ]
  },
  {
    name: "a bad daemon set",
    object: workload("DaemonSet", {
      updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
      minReadySeconds: -1
    })
  },
  {
    name: "a daemon set with an unknown update of two pods",
    object: workload("DaemonSet", { updateStrategy: { type: "y", rollingUpdate: { maxUnavailable: 2 } } })
  },
  {
    name: "a replication controller",
    object: core("ReplicationController", { spec: { template: template() } }),
    steps: [{ change: { spec: { replicas: 5 } } }]
  },
  {
    name: "a replication controller without a template",
    object: core("ReplicationController", { spec: { replicas: -1 } })
  },
  {
    name: "a controller revision",
    object: { apiVersion: "apps/v1", kind: "ControllerRevision", metadata: { name: "r" }, revision: 1, data: { a: 1 } }
  },
  {
    name: "an autoscaler",
    object: {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h" },
      spec: { scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" }, maxReplicas: 3 }
    },
    steps: [{ change: { spec: { maxReplicas: 4, behavior: { scaleUp: {} } } } }]
  },
  {
    name: "an older autoscaler",
    object: {
      apiVersion: "autoscaling/v1",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h1" },
      spec: {
        scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" },
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 50
      }
    }
  },
  {
    name: "a bad autoscaler",
    object: {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h" },
      spec: { scaleTargetRef: { kind: "", name: "" }, minReplicas: 5, maxReplicas: 3 }
    }
  },
  {
    name: "a disruption budget",
    object: {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "b" },
      spec: { minAvailable: 1, selector }
    },
    steps: [{ change: { spec: { minAvailable: 2 } } }]
  },
  {
    name: "a bad disruption budget",
    object: {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "b" },
      spec: { minAvailable: -1, maxUnavailable: "200%" }
    }
  }
]
