import { expect, test } from "bun:test"
import { at, type JsonObject } from "@homeostat/apiserver/model/Json"
import { nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { mostExpendable, untilAvailable } from "./ManagedPods.ts"

const now = Date.parse("2026-11-21T10:00:00Z")

const pod = (name: string, more: JsonObject = {}): JsonObject => ({
  metadata: { name, uid: name, creationTimestamp: "2026-11-21T09:00:00Z", annotations: more.annotations },
  spec: { nodeName: more.node ?? "node" },
  status: {
    phase: more.phase ?? "Running",
    containerStatuses: [{ restartCount: more.restarts ?? 0 }],
    conditions: [
      { type: "Ready", status: more.ready ?? "True", lastTransitionTime: more.since ?? "2026-11-21T09:00:00Z" }
    ]
  }
})

test("Pods that are less ready are deleted first", () => {
  const pods = [
    pod("old", { since: "2026-11-20T09:00:00Z" }),
    pod("restarted", { since: "2026-11-20T09:00:00Z", restarts: 3 }),
    pod("young", { since: "2026-11-21T09:59:50Z" }),
    pod("crowded", { node: "full" }),
    pod("cheap", { annotations: { "controller.kubernetes.io/pod-deletion-cost": "-1" } }),
    pod("unready", { ready: "False" }),
    pod("pending", { phase: "Pending" }),
    pod("unassigned", { node: "" })
  ]
  const crowd = (one: JsonObject) => (at(one, "spec", "nodeName") === "full" ? 5 : 1)
  expect(mostExpendable(pods, now, crowd).map(nameOf)).toEqual([
    "unassigned",
    "pending",
    "unready",
    "cheap",
    "crowded",
    "young",
    "restarted",
    "old"
  ])
})

test("A ready pod whose condition has no time is deleted before one that just became ready", () => {
  const untimed = { ...pod("untimed"), status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } }
  const young = pod("a", { since: "2026-11-21T09:59:59Z" })
  expect(mostExpendable([young, untimed], now, () => 1).map(nameOf)).toEqual(["untimed", "a"])
})

test("A pod is available after it has been ready for minReadySeconds", () => {
  const ready = pod("p", { since: "2026-11-21T09:59:58Z" })
  expect([0, 1, 5].map((seconds) => untilAvailable(ready, seconds, now))).toEqual([0, 0, 3000])
  expect(untilAvailable(pod("p", { ready: "False" }), 0, now)).toBeUndefined()
})
