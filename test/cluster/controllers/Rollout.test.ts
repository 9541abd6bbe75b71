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

describe("how many pods more and fewer than wanted there may be", () => {
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

describe("the new ReplicaSet", () => {
  test.each([
    [10, 10, 0, 3],
    [10, 8, 3, 5],
    [10, 0, 5, 10],
    [10, 13, 0, 0]
  ])("of %p, with %p old pods and %p of its own, may have %p", (replicas, old, now, may) => {
    expect(Rollout.newReplicas(deployment(replicas, 3, 2), [set("old", old)], now)).toBe(may)
  })
})

describe("the old ReplicaSets", () => {
  const rolling = deployment(10, 3, 2)

  test("shrink by as many as may be missing", () => {
    expect(shown(Rollout.scaleDown(rolling, set("new", 3, 0), [set("o", 10)]))).toEqual({ o: 8 })
  })

  test("do not shrink while too many new pods do not serve", () => {
    expect(Rollout.scaleDown(rolling, set("new", 5, 0), [set("o", 8, 7)])).toEqual([])
  })

  test("first lose the pods that do not serve, the older ReplicaSet before the newer", () => {
    const old = [set("o", 5, 3), set("old", 5, 4)]
    expect(shown(Rollout.scaleDown(rolling, set("new", 3, 3), old))).toEqual({ o: 3, old: 4 })
  })

  test("wait until what was taken from them is gone", () => {
    expect(Rollout.scaleDown(rolling, set("new", 3, 3), [set("o", 8, 10)])).toEqual([])
  })
})

describe("a change of the number of replicas in the middle of a rollout", () => {
  test("is shared by size when there are to be more", () => {
    const sets = [set("o", 8, 8, 13), set("new", 5, 5, 13)]
    expect(shown(Rollout.proportionally(deployment(20, 3, 2), sets))).toEqual({ o: 14, new: 9 })
  })

  test("is shared by size when there are to be fewer", () => {
    const sets = [set("o", 8, 8, 13), set("new", 5, 5, 13)]
    expect(shown(Rollout.proportionally(deployment(5, 3, 2), sets))).toEqual({ o: 5, new: 3 })
  })

  test("takes all when there are to be none", () => {
    const sets = [set("o", 8, 8, 13), set("new", 5, 5, 13)]
    expect(shown(Rollout.proportionally(deployment(0, 3, 2), sets))).toEqual({ o: 0, new: 0 })
  })
})

describe("A rolling update takes pods", () => {
  // The length of a name is the second in which `set` creates the ReplicaSet.
  const [older, newer] = [set("b", 2), set("aaa", 2)]
  test.each([[[older, newer]], [[newer, older]]])(
    "from the older ReplicaSet first, in whatever order they come",
    (sets) => expect(shown(Rollout.scaleDown(deployment(4, 0, 1), set("fresh", 1), sets))).toEqual({ b: 0 })
  )
})
