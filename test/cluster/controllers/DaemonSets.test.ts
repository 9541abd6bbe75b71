import { describe, expect } from "bun:test"
import { at, type JsonObject } from "@homeostat/apiserver/model/Json"
import { nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { effect } from "../Test.ts"
import * as Running from "./Running.fixture.ts"

const template = (spec: JsonObject = {}): JsonObject => ({
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "i:1" }], ...spec }
})

const set = (spec: JsonObject = {}): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: "a", namespace: Running.namespace },
  spec: { selector: { matchLabels: { app: "a" } }, template: template(), ...spec }
})

const node = (running: Running.Running, name: string, spec: JsonObject = {}) => {
  running.make({ apiVersion: "v1", kind: "Node", metadata: { name }, spec })
  const status = {
    conditions: [{ type: "Ready", status: "True" }],
    capacity: { pods: "10" },
    allocatable: { pods: "10" }
  }
  running.merge("v1", "Node", name, { status }, "status")
  return running.idle
}

const pods = (running: Running.Running) => running.store.list("/pods")

const placed = (running: Running.Running) => pods(running).map((pod) => at(pod, "spec", "nodeName"))

/** Sets the pods to ready, and removes those that are being deleted. */
const kubelet = (running: Running.Running) =>
  Effect.suspend(() => {
    const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-11-21T10:00:00Z" }
    for (const pod of pods(running)) {
      if (at(pod, "metadata", "deletionTimestamp") !== undefined) {
        running.remove("v1", "Pod", nameOf(pod), { gracePeriodSeconds: 0 })
      } else running.merge("v1", "Pod", nameOf(pod), { status: { phase: "Running", conditions: [ready] } }, "status")
    }
    return running.idle
  })

const status = (running: Running.Running, field: string) =>
  at(running.find("apps/v1", "DaemonSet", "a"), "status", field)

describe("A DaemonSet", () => {
  effect("runs on each node with tolerated taints, and on a new node", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      yield* node(running, "free")
      yield* node(running, "tainted", { taints: [{ key: "k", effect: "NoSchedule" }] })
      yield* node(running, "cordoned", {
        unschedulable: true,
        taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }]
      })
      running.make(set())
      yield* running.idle
      expect(status(running, "desiredNumberScheduled")).toBe(2)
      yield* node(running, "later")
      expect(placed(running).toSorted()).toEqual(["cordoned", "free", "later"])
    })
  )

  effect("deletes its pod for a taint with the effect NoExecute, but not for NoSchedule", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      yield* node(running, "a")
      yield* node(running, "b")
      running.make(set())
      yield* running.idle
      yield* kubelet(running)
      running.merge("v1", "Node", "a", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } })
      running.merge("v1", "Node", "b", { spec: { taints: [{ key: "k", effect: "NoExecute" }] } })
      yield* running.idle
      yield* kubelet(running)
      expect(placed(running)).toEqual(["a"])
      expect(status(running, "numberMisscheduled")).toBe(1)
    })
  )

  effect("replaces one pod at a time", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      for (const name of ["a", "b", "c"]) yield* node(running, name)
      running.make(set())
      yield* running.idle
      yield* kubelet(running)
      running.merge("apps/v1", "DaemonSet", "a", { spec: { template: template({ priority: 0, hostNetwork: true }) } })
      const updated: Array<unknown> = []
      for (let count = 0; count < 10; count++) {
        yield* running.idle
        const deleting = pods(running).filter((pod) => at(pod, "metadata", "deletionTimestamp") !== undefined)
        expect(deleting.length).toBeLessThanOrEqual(1)
        updated.push(status(running, "updatedNumberScheduled") ?? 0)
        yield* kubelet(running)
      }
      expect([...new Set(updated)]).toEqual([0, 1, 2, 3])
    })
  )

  effect("delays the deletion of each further failed pod of a node", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      yield* node(running, "a")
      running.make(set())
      yield* running.idle
      const names = () => pods(running).map(nameOf)
      const fail = Effect.suspend(() => {
        for (const name of names()) running.merge("v1", "Pod", name, { status: { phase: "Failed" } }, "status")
        return running.idle
      })
      const first = names()
      yield* fail
      const second = names()
      expect(second).not.toEqual(first)
      yield* fail
      expect(names()).toEqual(second)
      yield* TestClock.adjust("1 second")
      yield* running.idle
      expect(names()).not.toEqual(second)
    })
  )
})
