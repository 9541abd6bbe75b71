import { describe, expect, test } from "bun:test"
import { Deployment } from "./BuiltIn.ts"
import type { KubernetesObject } from "./KubernetesObject.ts"
import * as ObjectState from "./ObjectState.ts"
import { annotation } from "./PauseAnnotation.ts"
import * as Resource from "./Resource.ts"

const Widget = Resource.make({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets" })

const condition = (type: string, status: string, reason = "No", message = "", observedGeneration?: number) => ({
  type,
  status,
  reason,
  message,
  ...(observedGeneration !== undefined && { observedGeneration })
})

const object = (status?: unknown, metadata: Partial<KubernetesObject["metadata"]> = {}): KubernetesObject => ({
  metadata: {
    name: "a",
    namespace: "default",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2026-11-21T09:00:00Z",
    generation: 2,
    ...metadata
  },
  ...(status !== undefined && { status })
})

const withConditions = (...conditions: ReadonlyArray<unknown>) => object({ observedGeneration: 2, conditions })

const lasting = condition("Ready", "False", "Conflict", `${ObjectState.lasting}409`)

describe("The state of an object", () => {
  const table: ReadonlyArray<readonly [title: string, object: KubernetesObject, state: ObjectState.State]> = [
    ["that is being deleted", object({}, { deletionTimestamp: "2026-11-21T10:00:00Z" }), "Deleting"],
    ["whose controller has not reported on it", object({ observedGeneration: -1 }), "Unknown"],
    ["whose status is older than its spec", object({ observedGeneration: 1, conditions: [] }), "Progressing"],
    ["whose condition is older than its spec", withConditions(condition("Ready", "True", "", "", 1)), "Progressing"],
    ["with an older condition of another type", withConditions(condition("Tested", "True", "", "", 1)), "Ready"],
    ["that is stalled", withConditions(condition("Ready", "False"), condition("Stalled", "True")), "Failed"],
    [
      "that is stalled and reconciling",
      withConditions(condition("Reconciling", "True"), condition("Stalled", "True")),
      "Failed"
    ],
    ["whose reconciles keep failing", withConditions(lasting, condition("Reconciling", "True")), "Failed"],
    [
      "that is reconciling",
      withConditions(condition("Ready", "False"), condition("Reconciling", "True")),
      "Progressing"
    ],
    ["with a pause", object({ observedGeneration: 1, conditions: [condition("Paused", "True")] }), "Paused"],
    ["that its annotation pauses", object({}, { annotations: { [annotation]: "" } }), "Paused"],
    ["that its annotation does not pause", object({}, { annotations: { [annotation]: "false" } }), "Ready"],
    ["whose pause is over", withConditions(condition("Paused", "False"), condition("Ready", "True")), "Ready"],
    ["that is suspended", withConditions(condition("Ready", "True", "Suspended")), "Paused"],
    ["that is paused", withConditions(condition("Ready", "False", "Paused")), "Paused"],
    ["that is ready", withConditions(condition("Ready", "True"), condition("Stalled", "False")), "Ready"],
    ["that is not ready", withConditions(condition("Ready", "False")), "Failed"],
    ["whose readiness is unknown", withConditions(condition("Ready", "Unknown")), "Unknown"],
    ["without a status", object(), "Ready"],
    ["without conditions", object({ observedGeneration: 2 }), "Ready"],
    ["with conditions that are none", withConditions(null, 3, "Ready", { type: 1 }), "Ready"],
    ["with conditions that are no list", object({ conditions: { Ready: "False" } }), "Ready"]
  ]
  for (const [title, wire, state] of table) {
    test(`${title} is ${state}`, () => expect(ObjectState.of(Widget, wire)).toBe(state))
  }

  test("of a built-in kind with the annotation of a pause is Paused", () => {
    expect(ObjectState.of(Deployment, object({}, { annotations: { [annotation]: "x" } }))).toBe("Paused")
  })

  test("of a built-in kind follows the rules of kstatus", () => {
    expect(ObjectState.of(Deployment, object({ observedGeneration: 2 }))).toBe("Progressing")
    const missed = [condition("Progressing", "False", "ProgressDeadlineExceeded")]
    expect(ObjectState.of(Deployment, object({ observedGeneration: 2, conditions: missed }))).toBe("Failed")
  })
})
