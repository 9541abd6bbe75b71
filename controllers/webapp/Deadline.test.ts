import { describe, expect, test } from "bun:test"
import type { Deployment, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Deadline from "./Deadline.ts"

const metadata = { name: "shop", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "" }

/** A time of the test, in seconds. */
const at = (second: number) => new Date(second * 1000).toISOString()

const pod = (created: number, ready?: number, status: "True" | "False" = "True"): Pod => ({
  metadata: { ...metadata, creationTimestamp: at(created) },
  status: ready === undefined ? {} : { conditions: [{ type: "Ready", status, lastTransitionTime: at(ready) }] }
})

type Spec = NonNullable<Deployment["spec"]>
type Status = NonNullable<Deployment["status"]>

const deployment = (
  over: { readonly spec?: Partial<Spec>; readonly status?: Partial<Status>; readonly started?: number } = {}
): Deployment => ({
  metadata: {
    ...metadata,
    generation: 2,
    ...(over.started === undefined ? {} : { annotations: { [Deadline.startedAnnotation]: at(over.started) } })
  },
  spec: { replicas: 2, progressDeadlineSeconds: 10, selector: {}, template: {}, ...over.spec },
  status: {
    observedGeneration: 2,
    replicas: 2,
    updatedReplicas: 2,
    availableReplicas: 1,
    conditions: [{ type: "Progressing", status: "True", reason: "NewReplicaSetAvailable", lastUpdateTime: at(1) }],
    ...over.status
  }
})

const pods = [pod(5), pod(6)]

const reported = (reason: string, lastUpdateTime = at(1), ...others: NonNullable<Status["conditions"]>) => ({
  status: { conditions: [{ type: "Progressing", status: "True", reason, lastUpdateTime }, ...others] }
})

describe("the deadline of the present pods", () => {
  const seconds = (of: Deployment, pods: ReadonlyArray<Pod>) => {
    const due = Deadline.ofPods(of, pods)
    return due === undefined ? undefined : due / 1000
  }

  test("counts from the last pod that was created or became ready", () => {
    expect(seconds(deployment(), pods)).toBe(16)
    expect(seconds(deployment(), [pod(5, 8), pod(6)])).toBe(18)
    expect(seconds(deployment(), [pod(5, 8, "False"), pod(6)])).toBe(16)
  })

  test("counts from the lack of pods if none can be created", () => {
    const none = { replicas: 0, updatedReplicas: 0, availableReplicas: 0 }
    const lack = { type: "Available", status: "False", lastTransitionTime: at(7) }
    const { status } = reported("NewReplicaSetAvailable", at(1), lack)
    expect(seconds(deployment({ status: { ...status, ...none } }), [])).toBe(17)
    expect(seconds(deployment({ status: none }), [])).toBeUndefined()
    expect(seconds(deployment({ status: none, started: 9 }), [])).toBe(19)
  })

  for (const [title, of, seen] of [
    ["while all pods are available", deployment({ status: { availableReplicas: 2 } }), pods],
    ["while kube-controller-manager watches it", deployment(reported("ReplicaSetUpdated")), pods],
    ["before the status is of this generation", deployment({ status: { observedGeneration: 1 } }), pods],
    ["while the Deployment is paused", deployment({ spec: { paused: true } }), pods],
    ["without a progress deadline", deployment({ spec: { progressDeadlineSeconds: 2_147_483_647 } }), pods],
    ["while pods of an older template exist", deployment({ status: { updatedReplicas: 1 } }), pods],
    ["before the cache has the pods", deployment(), [pod(5)]],
    [
      "while the cache has deleted pods only",
      deployment(),
      [pod(5), { ...pod(6), metadata: { ...metadata, deletionTimestamp: at(9) } }]
    ]
  ] as const) {
    test(`is unknown ${title}`, () => {
      expect(Deadline.ofPods(of, seen)).toBeUndefined()
    })
  }
})

describe("the deadline of a template", () => {
  test("counts from its start and its pods, and leaves kube-controller-manager time to report it", () => {
    expect(Deadline.ofTemplate(deployment({ started: 4 }), [])).toBe(19_000)
    expect(Deadline.ofTemplate(deployment({ started: 4 }), pods)).toBe(21_000)
  })

  test("is unknown if kube-controller-manager reported on the template, and without a start", () => {
    expect(Deadline.ofTemplate(deployment({ ...reported("ReplicaSetUpdated", at(4)), started: 4 }), [])).toBeUndefined()
    expect(Deadline.ofTemplate(deployment(), pods)).toBeUndefined()
  })
})

test("the next deadline is the earliest one in the future", () => {
  const of = deployment({ started: 4 })
  expect([15_000, 16_000, 21_000].map((now) => Deadline.left(of, pods, now))).toEqual([1000, 5000, undefined])
})
