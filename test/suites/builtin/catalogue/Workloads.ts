/** Deployments and other workloads, autoscalers and disruption budgets. */
import { container, core, deployment, type Entries, labels, of, selector, template, workload } from "./Entry.ts"

export const workloads: Entries = {
  "a deployment": deployment({}),
  "a deployment that is recreated": deployment({ strategy: { type: "Recreate" }, replicas: 0, paused: false }),
  "a deployment as kubectl creates it": deployment({
    strategy: {},
    template: {
      metadata: { creationTimestamp: null, labels },
      spec: { containers: [{ ...container, resources: {} }] }
    }
  }),
  "a deployment without a selector": deployment({ selector: null }),
  "a deployment with an empty selector": deployment({ selector: {} }),
  "a deployment whose selector does not match its template": deployment({ selector: { matchLabels: { b: "c" } } }),
  "a deployment with a bad selector": deployment({
    selector: {
      matchLabels: labels,
      matchExpressions: [
        { key: "a", operator: "In" },
        { key: "b c", operator: "Exists", values: ["x"] }
      ]
    }
  }),
  "a deployment with an empty template": deployment({ template: {} }),
  "a deployment with negative numbers": deployment({ replicas: -1, minReadySeconds: -1, revisionHistoryLimit: -1 }),
  "a deadline that cannot be met": deployment({ progressDeadlineSeconds: 5, minReadySeconds: 5 }),
  "an unknown strategy": deployment({ strategy: { type: "Slow" } }),
  "an unknown strategy with a surge": deployment({ strategy: { type: "Slow", rollingUpdate: { maxSurge: "30%" } } }),
  "recreation with a rolling update": deployment({ strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } }),
  "a rolling update without surge and unavailable pods": deployment({
    strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "0%" } }
  }),
  "invalid percentages": deployment({ strategy: { rollingUpdate: { maxSurge: "x", maxUnavailable: "101%" } } }),
  "a deployment whose pods do not restart": deployment({
    template: template({ restartPolicy: "Never", activeDeadlineSeconds: 1 })
  }),
  "bad labels of a template": deployment({ template: template({}, { labels: { ...labels, b: "c d" } }) }),
  "a bad name of a deployment": deployment({}, { name: "D_1" }),
  "changes of a deployment": [
    deployment({}),
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
  ],
  "a replica set": [
    workload("ReplicaSet"),
    { change: { spec: { replicas: 2 } } },
    { change: { spec: { selector: { matchLabels: { b: "c" } } } } },
    { to: "status", change: { status: { replicas: 1, readyReplicas: 2 } } }
  ],
  "an empty replica set": of("apps/v1", "ReplicaSet", "w", { spec: {} }),
  "a stateful set": [
    workload("StatefulSet", {
      serviceName: "s",
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
        }
      ],
      template: template({ containers: [{ ...container, volumeMounts: [{ name: "data", mountPath: "/d" }] }] })
    }),
    { change: { spec: { replicas: 2 } } },
    { change: { spec: { serviceName: "t" } } },
    { change: { spec: { podManagementPolicy: "Parallel" } } },
    { to: "status", change: { status: { replicas: 1, currentReplicas: 2 } } }
  ],
  "a bad stateful set": workload("StatefulSet", {
    podManagementPolicy: "x",
    replicas: -1,
    updateStrategy: { type: "y" }
  }),
  "a stateful set with an unknown update strategy and a partition": workload("StatefulSet", {
    updateStrategy: { type: "y", rollingUpdate: { partition: 1 } }
  }),
  "a stateful set with OnDelete and a partition": workload("StatefulSet", {
    updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } }
  }),
  "a daemon set": [
    workload("DaemonSet"),
    { change: { spec: { minReadySeconds: 2 } } },
    { change: { spec: { template: { spec: { terminationGracePeriodSeconds: 1 } } } } },
    { change: { spec: { selector: { matchLabels: { b: "c" } } } } }
  ],
  "a bad daemon set": workload("DaemonSet", {
    updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
    minReadySeconds: -1
  }),
  "a daemon set with an unknown update strategy and a maximum": workload("DaemonSet", {
    updateStrategy: { type: "y", rollingUpdate: { maxUnavailable: 2 } }
  }),
  "a replication controller": [
    core("ReplicationController", { spec: { template: template() } }),
    { change: { spec: { replicas: 5 } } }
  ],
  "a replication controller without a template": core("ReplicationController", { spec: { replicas: -1 } }),
  "a controller revision": of("apps/v1", "ControllerRevision", "r", { revision: 1, data: { a: 1 } }),
  "an autoscaler": [
    of("autoscaling/v2", "HorizontalPodAutoscaler", "h", {
      spec: { scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" }, maxReplicas: 3 }
    }),
    { change: { spec: { maxReplicas: 4, behavior: { scaleUp: {} } } } }
  ],
  "an autoscaler of autoscaling/v1": of("autoscaling/v1", "HorizontalPodAutoscaler", "h1", {
    spec: {
      scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" },
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 50
    }
  }),
  "a bad autoscaler": of("autoscaling/v2", "HorizontalPodAutoscaler", "h", {
    spec: { scaleTargetRef: { kind: "", name: "" }, minReplicas: 5, maxReplicas: 3 }
  }),
  "a disruption budget": [
    of("policy/v1", "PodDisruptionBudget", "b", { spec: { minAvailable: 1, selector } }),
    { change: { spec: { minAvailable: 2 } } }
  ],
  "a bad disruption budget": of("policy/v1", "PodDisruptionBudget", "b", {
    spec: { minAvailable: -1, maxUnavailable: "200%" }
  })
}
