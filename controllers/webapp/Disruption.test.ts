import { describe, expect, test } from "bun:test"
import type { PodDisruptionBudget } from "@homeostat/runtime/resource/BuiltIn"
import * as Disruption from "./Disruption.ts"
import type { WebApp } from "./WebApp.ts"

const metadata = {
  name: "shop",
  namespace: "default",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-11-20T08:00:00Z"
}

const app = (spec: Partial<WebApp["spec"]> = {}): WebApp => ({
  metadata,
  spec: { image: "nginx:1.27", replicas: 2, port: 8080, ...spec }
})

const bySpec = { by: "Spec", replicas: 2, isWanted: false } as const
const byOwn = { by: "Autoscaler", replicas: 2, isWanted: true } as const

describe("a WebApp has a budget", () => {
  for (const [title, spec, scaling, isWanted] of [
    ["from two replicas on", {}, bySpec, true],
    ["not with one replica", { replicas: 1 }, bySpec, false],
    ["not while it is stopped", { replicas: 0, autoscaling: { max: 5 } }, byOwn, false],
    ["not if the spec has none", { disruptionBudget: { none: {} } }, bySpec, false],
    ["if the autoscaler keeps two replicas", { replicas: 1, autoscaling: { max: 5 } }, byOwn, true],
    ["not if the autoscaler may keep one", { replicas: 3, autoscaling: { min: 1, max: 5 } }, byOwn, false],
    ["if another autoscaler comes first", { replicas: 3, autoscaling: { min: 1, max: 5 } }, bySpec, true]
  ] as const) {
    test(title, () => expect(Disruption.isWanted(app(spec), scaling)).toBe(isWanted))
  }
  const selector = { matchLabels: { app: "shop" } }
  test("that allows one unavailable pod and the eviction of pods that are not ready", () =>
    expect(Disruption.desired(app(), selector, { a: "b" })).toEqual({
      metadata: { name: "shop", labels: { a: "b" } },
      spec: { maxUnavailable: 1, selector, unhealthyPodEvictionPolicy: "AlwaysAllow" }
    }))
  test("with the number of the spec", () =>
    expect(
      Disruption.desired(app({ disruptionBudget: { maxUnavailable: "25%" } }), selector, {}).spec?.maxUnavailable
    ).toBe("25%"))
})

const budget = (name: string, spec: PodDisruptionBudget["spec"] = {}): PodDisruptionBudget => ({
  metadata: { ...metadata, name },
  spec
})

test("the first of the budgets that select the pods is found", () => {
  const others = [
    budget("d", { selector: { matchLabels: { app: "shop" } } }),
    budget("c", { selector: {} }),
    budget("b", { selector: { matchLabels: { app: "cart" } } }),
    budget("a")
  ]
  expect(Disruption.selecting(others, { app: "shop" })?.metadata.name).toBe("c")
  expect(Disruption.selecting(others.slice(2), { app: "shop" })).toBeUndefined()
})

describe("the condition DisruptionBudgetReady", () => {
  const other = budget("drain", { selector: {} })
  const problem = { reason: "NotOwned", message: "taken" }
  const own = { disruptionBudget: { maxUnavailable: 2 } }
  for (const [title, spec, found, failed, text] of [
    ["is absent by default", {}, undefined, undefined, undefined],
    ["is absent without a budget", { replicas: 1 }, other, problem, undefined],
    [
      "is True with the number of the spec",
      own,
      undefined,
      undefined,
      "DisruptionBudgetReady True Applied: PodDisruptionBudget shop has maxUnavailable 2"
    ],
    [
      "names another budget of the pods",
      {},
      other,
      undefined,
      "DisruptionBudgetReady False OtherBudget: PodDisruptionBudget drain already selects the pods (delete it, or set spec.disruptionBudget.none)"
    ],
    ["says why the budget was not applied", {}, undefined, problem, "DisruptionBudgetReady False NotOwned: taken"]
  ] as const) {
    test(title, () => {
      const condition = Disruption.condition(app(spec), bySpec, found, failed)
      const { message, reason, status, type } = condition ?? {}
      expect(condition && `${type} ${status} ${reason}: ${message}`).toBe(text)
    })
  }
})
