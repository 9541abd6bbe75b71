import { describe, expect, test } from "bun:test"
import * as Condition from "./Condition.ts"
import { compile } from "./SchemaCompiler.ts"

const earlier = "2026-11-20T09:00:00Z"
const now = "2026-11-20T10:00:00Z"

const available: Condition.Condition = {
  type: "Available",
  status: "True",
  reason: "MinimumReplicas",
  message: "somebody else's",
  lastTransitionTime: earlier
}
const ready: Condition.Condition = {
  type: "Ready",
  status: "False",
  reason: "ReplicasNotReady",
  message: "2/3 ready",
  observedGeneration: 1,
  lastTransitionTime: earlier
}
const facts = { reason: "ReplicasNotReady", message: "2/3 ready", observedGeneration: 1 }

describe("Condition.set", () => {
  test("adds a condition with the current time", () =>
    expect(Condition.set([available], Condition.true("Ready", { reason: "Ok", message: "3/3 ready" }), now)).toEqual([
      available,
      { type: "Ready", status: "True", reason: "Ok", message: "3/3 ready", lastTransitionTime: now }
    ]))

  test("creates the list", () =>
    expect(Condition.set(undefined, Condition.unknown("Ready", { reason: "New", message: "" }), now)).toEqual([
      { type: "Ready", status: "Unknown", reason: "New", message: "", lastTransitionTime: now }
    ]))

  test("updates the transition time when the status changes, and keeps the position", () =>
    expect(Condition.set([ready, available], Condition.true("Ready", facts), now)).toEqual([
      { ...ready, status: "True", lastTransitionTime: now },
      available
    ]))

  test("keeps the transition time when only the message or the generation change", () =>
    expect(
      Condition.set(
        [available, ready],
        Condition.false("Ready", { ...facts, message: "1/3 ready", observedGeneration: 2 }),
        now
      )
    ).toEqual([available, { ...ready, message: "1/3 ready", observedGeneration: 2 }]))

  test("keeps the transition time when only the message changes", () =>
    expect(Condition.set([ready], Condition.false("Ready", { ...facts, message: "1/3 ready" }), now)).toEqual([
      { ...ready, message: "1/3 ready" }
    ]))

  test("removes an observedGeneration that is no longer set", () => {
    const { observedGeneration: _, ...without } = ready
    expect(
      Condition.set([ready], Condition.false("Ready", { reason: facts.reason, message: facts.message }), now)
    ).toEqual([without])
  })

  test("returns the same array without a change", () => {
    const conditions = [available, ready]
    expect(Condition.set(conditions, Condition.false("Ready", facts), now)).toBe(conditions)
    expect(Condition.set(conditions, [], now)).toBe(conditions)
  })

  test("sets several conditions", () => {
    const stalled = Condition.true(Condition.Stalled, { reason: "NotOwned", message: "another owner's" })
    const conditions = Condition.set([available], [Condition.false(Condition.Ready, facts), stalled], now)
    expect(conditions.map(({ type, status }) => [type, status])).toEqual([
      ["Available", "True"],
      ["Ready", "False"],
      ["Stalled", "True"]
    ])
  })

  test("does not modify its arguments", () => {
    const conditions = Object.freeze([Object.freeze({ ...ready })])
    Condition.set(conditions, Condition.true("Ready", facts), now)
    expect(conditions).toEqual([ready])
  })
})

test("Condition.find returns the condition with this type", () => {
  expect(Condition.find([available, ready], "Ready")).toBe(ready)
  expect(Condition.find([available], "Ready")).toBeUndefined()
  expect(Condition.find(undefined, "Ready")).toBeUndefined()
})

test("Condition.isTrue is true only for status True", () => {
  expect(Condition.isTrue([available, ready], "Available")).toBe(true)
  expect(Condition.isTrue([available, ready], "Ready")).toBe(false)
  expect(Condition.isTrue([{ ...ready, status: "Unknown" }], "Ready")).toBe(false)
  expect(Condition.isTrue([], "Ready")).toBe(false)
})

test("Condition.remove removes a condition, and returns the same array without a change", () => {
  const conditions = [available, ready]
  expect(Condition.remove(conditions, "Available")).toEqual([ready])
  expect(Condition.remove(conditions, "Stalled")).toBe(conditions)
})

test("Condition.schema has the patterns and lengths of Kubernetes, and Condition.list merges by type", () => {
  const { items, ...list } = compile(Condition.list, { kind: "WebApp", field: "status.conditions" })
  expect(list).toEqual({ type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] })
  const properties = Object.entries(items?.properties ?? {}).map(([name, { description: _, ...schema }]) => [
    name,
    schema
  ])
  expect(Object.fromEntries(properties)).toEqual({
    type: {
      type: "string",
      maxLength: 316,
      pattern:
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
    },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    lastTransitionTime: { type: "string", format: "date-time" },
    reason: { type: "string", minLength: 1, maxLength: 1024, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" },
    message: { type: "string", maxLength: 32_768 }
  })
  expect(items?.required).toEqual(["type", "status", "lastTransitionTime", "reason", "message"])
})
