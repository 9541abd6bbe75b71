import { describe, expect, test } from "bun:test"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import { nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import * as Rollout from "./Rollout.ts"

const deployment = (replicas: number, maxSurge: Json, maxUnavailable: Json): JsonObject => ({
  metadata: { name: "d" },
  spec: { replicas, strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } } }
})

const set = (name: string, replicas: number, available = replicas, max?: number): JsonObject => ({
  metadata: {
    name,
    creationTimestamp: `2026-11-21T10:00:0${name.length}Z`,
    ...(max === undefined ? {} : { annotations: { [Rollout.maxAnnotation]: String(max) } })
  },
  spec: { replicas },
  status: { availableReplicas: available }
})

const shown = (steps: ReadonlyArray<Rollout.Step>) =>
  Object.fromEntries(steps.map(([one, replicas]) => [nameOf(one), replicas]))

describe("The numbers of surplus and missing pods", () => {
  test.each([
    [10, "25%", "25%", 3, 2],
    [2, "0%", "1%", 0, 1],
    [1, "1%", "25%", 1, 0],
    [4, 2, 10, 2, 4],
    [0, 1, 1, 1, 0]
  ])("of %p with surge %p and unavailable %p: %p and %p", (replicas, surge, unavailable, more, fewer) => {
    const one = deployment(replicas, surge, unavailable)
    expect([Rollout.maxSurge(one), Rollout.maxUnavailable(one)]).toEqual([more, fewer])
  })
})

describe("The new ReplicaSet", () => {
  test.each([
    [10, 10, 0, 3],
    [10, 8, 3, 5],
    [10, 0, 5, 10],
    [10, 13, 0, 0]
  ])("of %p replicas, with %p old pods and %p own pods, may have %p pods", (replicas, old, now, may) => {
    expect(Rollout.newReplicas(deployment(replicas, 3, 2), [set("old", old)], now)).toBe(may)
  })
})

describe("The old ReplicaSets", () => {
  const rolling = deployment(10, 3, 2)

  test("shrink by the number of pods that may be missing", () => {
    expect(shown(Rollout.scaleDown(rolling, set("new", 3, 0), [set("o", 10)]))).toEqual({ o: 8 })
  })

  test("do not shrink while too many new pods are not ready", () => {
    expect(Rollout.scaleDown(rolling, set("new", 5, 0), [set("o", 8, 7)])).toEqual([])
  })

  test("first lose the pods that are not ready, the older ReplicaSet before the newer", () => {
    const old = [set("o", 5, 3), set("old", 5, 4)]
    expect(shown(Rollout.scaleDown(rolling, set("new", 3, 3), old))).toEqual({ o: 3, old: 4 })
  })

  test("wait until their deleted pods are gone", () => {
    expect(Rollout.scaleDown(rolling, set("new", 3, 3), [set("o", 8, 10)])).toEqual([])
  })
})

describe("A change of the replicas during a rollout", () => {
  test("is distributed by size for more replicas", () => {
    const sets = [set("o", 8, 8, 13), set("new", 5, 5, 13)]
    expect(shown(Rollout.proportionally(deployment(20, 3, 2), sets))).toEqual({ o: 14, new: 9 })
  })

  test("is distributed by size for fewer replicas", () => {
    const sets = [set("o", 8, 8, 13), set("new", 5, 5, 13)]
    expect(shown(Rollout.proportionally(deployment(5, 3, 2), sets))).toEqual({ o: 5, new: 3 })
  })

  test("applies to all ReplicaSets for zero replicas", () => {
    const sets = [set("o", 8, 8, 13), set("new", 5, 5, 13)]
    expect(shown(Rollout.proportionally(deployment(0, 3, 2), sets))).toEqual({ o: 0, new: 0 })
  })
})

describe("A rolling update deletes pods", () => {
  // The length of a name is the second in which `set` creates the ReplicaSet.
  const [older, newer] = [set("b", 2), set("aaa", 2)]
  test.each([[[older, newer]], [[newer, older]]])("of the older ReplicaSet first, in any order of the list", (sets) =>
    expect(shown(Rollout.scaleDown(deployment(4, 0, 1), set("fresh", 1), sets))).toEqual({ b: 0 })
  )
})
