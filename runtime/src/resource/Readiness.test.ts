import { describe, expect, test } from "bun:test"
import * as BuiltIn from "./BuiltIn.ts"
import type { KubernetesObject } from "./KubernetesObject.ts"
import * as Readiness from "./Readiness.ts"
import * as Resource from "./Resource.ts"

type Fields = { readonly metadata?: object; readonly [field: string]: unknown }

const object = ({ metadata, ...fields }: Fields): KubernetesObject => ({
  ...fields,
  metadata: { name: "a", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "", ...metadata }
})

const Site = Resource.make({ group: "example.com", version: "v1", kind: "Site", plural: "sites" })

const condition = (type: string, status: string, message = "", reason = "Because") => ({
  type,
  status,
  message,
  reason
})

const rollout = { observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 }
const available = [condition("Available", "True"), condition("Progressing", "True")]

const cases: ReadonlyArray<readonly [string, Resource.Any, Fields, string]> = [
  ["is being deleted", Site, { metadata: { deletionTimestamp: "x" } }, "Terminating: it is being deleted"],
  [
    "has a new spec that its controller has not seen",
    Site,
    { metadata: { generation: 2 }, status: { observedGeneration: 1, conditions: [condition("Ready", "True")] } },
    "InProgress: its controller has not seen its present spec"
  ],
  [
    "is reconciling",
    Site,
    { status: { conditions: [condition("Ready", "True"), condition("Reconciling", "True", "step 2")] } },
    "InProgress: step 2"
  ],
  [
    "has a condition about an earlier spec",
    Site,
    { metadata: { generation: 2 }, status: { conditions: [{ ...condition("Ready", "True"), observedGeneration: 1 }] } },
    "InProgress: its controller has not seen its present spec"
  ],
  ["is stalled", Site, { status: { conditions: [condition("Stalled", "True", "no quota")] } }, "Failed: no quota"],
  ["is ready", Site, { status: { conditions: [condition("Ready", "True", "answers")] } }, "Current: answers"],
  ["is not ready", Site, { status: { conditions: [condition("Ready", "False")] } }, "InProgress: Because"],
  ["has no condition", Site, {}, "Current: it exists"],
  ["has a status of another form", Site, { status: { conditions: "none" } }, "Current: it exists"],

  ["is new", BuiltIn.Deployment, { spec: { replicas: 3 } }, "InProgress: 0 of 3 replicas exist"],
  [
    "has no pods, as in its spec",
    BuiltIn.Deployment,
    { spec: { replicas: 0 }, status: { conditions: available } },
    "Current: 0 of 0 replicas are available"
  ],
  [
    "runs",
    BuiltIn.Deployment,
    { metadata: { generation: 2 }, spec: { replicas: 3 }, status: { ...rollout, conditions: available } },
    "Current: 3 of 3 replicas are available"
  ],
  [
    "is rolling out",
    BuiltIn.Deployment,
    { spec: { replicas: 3 }, status: { ...rollout, updatedReplicas: 1, conditions: available } },
    "InProgress: 1 of 3 replicas run the present spec"
  ],
  [
    "still runs an old replica",
    BuiltIn.Deployment,
    { spec: { replicas: 3 }, status: { ...rollout, replicas: 4, conditions: available } },
    "InProgress: 1 old replicas still run"
  ],
  [
    "is not available for long enough",
    BuiltIn.Deployment,
    { spec: { replicas: 3 }, status: { ...rollout, availableReplicas: 2, conditions: available } },
    "InProgress: 2 of 3 replicas are available"
  ],
  [
    "has missed its deadline",
    BuiltIn.Deployment,
    { spec: {}, status: { conditions: [condition("Progressing", "False", "timed out", "ProgressDeadlineExceeded")] } },
    "Failed: timed out"
  ],

  ["runs", BuiltIn.ReplicaSet, { spec: { replicas: 3 }, status: rollout }, "Current: 3 of 3 replicas are available"],
  [
    "cannot create pods",
    BuiltIn.ReplicaSet,
    { spec: { replicas: 3 }, status: { conditions: [condition("ReplicaFailure", "True", "quota")] } },
    "InProgress: quota"
  ],

  ["is new", BuiltIn.StatefulSet, { spec: { replicas: 2 } }, "InProgress: 0 of 2 replicas exist"],
  [
    "runs",
    BuiltIn.StatefulSet,
    { spec: { replicas: 3 }, status: { ...rollout, currentRevision: "a", updateRevision: "a" } },
    "Current: 3 of 3 replicas are ready"
  ],
  [
    "is rolling out",
    BuiltIn.StatefulSet,
    { spec: { replicas: 3 }, status: { ...rollout, updatedReplicas: 1, currentRevision: "a", updateRevision: "b" } },
    "InProgress: 1 of 3 replicas run the present spec"
  ],
  [
    "is rolled out up to its partition",
    BuiltIn.StatefulSet,
    {
      spec: { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } },
      status: { ...rollout, updatedReplicas: 1, currentRevision: "a", updateRevision: "b" }
    },
    "Current: 3 of 3 replicas are ready, up to the partition"
  ],

  ["is new", BuiltIn.DaemonSet, {}, "InProgress: its controller has not seen it"],
  [
    "misses a pod",
    BuiltIn.DaemonSet,
    {
      status: {
        observedGeneration: 1,
        desiredNumberScheduled: 2,
        currentNumberScheduled: 2,
        updatedNumberScheduled: 2,
        numberReady: 1
      }
    },
    "InProgress: 1 of 2 replicas are ready"
  ],
  [
    "has no node",
    BuiltIn.DaemonSet,
    { status: { observedGeneration: 1, desiredNumberScheduled: 0 } },
    "Current: 0 of 0 replicas are available"
  ],

  ["runs", BuiltIn.Job, { status: { active: 1, failed: 1 } }, "InProgress: 0 of 1 pods succeeded, 1 failed"],
  [
    "is complete",
    BuiltIn.Job,
    { status: { succeeded: 1, conditions: [condition("Complete", "True")] } },
    "Current: it is complete"
  ],
  [
    "has failed",
    BuiltIn.Job,
    { status: { conditions: [condition("Failed", "True", "too many")] } },
    "Failed: too many"
  ],
  [
    "is suspended",
    BuiltIn.Job,
    { status: { conditions: [condition("Suspended", "True")] } },
    "InProgress: it is suspended"
  ],

  ["is new", BuiltIn.Pod, {}, "InProgress: its phase is Pending, and it is not ready"],
  [
    "has no node",
    BuiltIn.Pod,
    { status: { phase: "Pending", conditions: [condition("PodScheduled", "False", "0/3 nodes")] } },
    "InProgress: 0/3 nodes"
  ],
  [
    "is ready",
    BuiltIn.Pod,
    { status: { phase: "Running", conditions: [condition("Ready", "True")] } },
    "Current: it is ready"
  ],
  ["has succeeded", BuiltIn.Pod, { status: { phase: "Succeeded" } }, "Current: it has succeeded"],
  ["has failed", BuiltIn.Pod, { status: { phase: "Failed", message: "evicted" } }, "Failed: evicted"],
  [
    "crashes",
    BuiltIn.Pod,
    {
      status: {
        phase: "Running",
        containerStatuses: [{ name: "web", state: { waiting: { reason: "CrashLoopBackOff" } } }]
      }
    },
    "Failed: container web crashes again and again"
  ],

  ["is not bound", BuiltIn.PersistentVolumeClaim, { status: { phase: "Pending" } }, "InProgress: its phase is Pending"],
  ["is bound", BuiltIn.PersistentVolumeClaim, { status: { phase: "Bound" } }, "Current: it is bound"],

  ["has no address", BuiltIn.Service, { spec: { type: "LoadBalancer" } }, "InProgress: it has no IP address yet"],
  ["has an address", BuiltIn.Service, { spec: { type: "LoadBalancer", clusterIP: "10.0.0.1" } }, "Current: it exists"],
  ["is headless", BuiltIn.Service, { spec: { type: "ClusterIP", clusterIP: "None" } }, "Current: it exists"],

  ["is new", BuiltIn.CustomResourceDefinition, {}, "InProgress: the API server does not serve it yet"],
  [
    "is served",
    BuiltIn.CustomResourceDefinition,
    { status: { conditions: [condition("Established", "True")] } },
    "Current: the API server serves it"
  ],
  [
    "has a name that is taken",
    BuiltIn.CustomResourceDefinition,
    { status: { conditions: [condition("NamesAccepted", "False", "taken")] } },
    "Failed: taken"
  ]
]

describe("The readiness", () => {
  for (const [what, kind, fields, expected] of cases) {
    test(`of a ${kind.kind} that ${what} is ${expected}`, () => {
      const { message, state } = Readiness.of(kind, object(fields))
      expect(`${state}: ${message}`).toBe(expected)
    })
  }
})
