import { describe, expect, test } from "bun:test"
import type { ManagedFieldsEntry } from "../resource/KubernetesObject.ts"
import * as ForeignWriters from "./ForeignWriters.ts"

const child = (uid = "u") => ({
  metadata: { name: "a", namespace: "default", uid, resourceVersion: "1", creationTimestamp: "2026-11-21T09:00:00Z" },
  spec: { replicas: 3, paused: true }
})

const entry = (manager: string, fields: object, over: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager,
  operation: "Update",
  time: "2026-11-21T10:00:00Z",
  fieldsV1: { "f:spec": fields },
  ...over
})

const replicas = { "f:replicas": {} }
const ours = "widgets"

/** The manager that changed the field, after events with these entries. */
const named = (field: string, ...events: ReadonlyArray<ReadonlyArray<ManagedFieldsEntry>>): string | undefined => {
  const writers = ForeignWriters.make()
  for (const entries of events) writers.take(child(), entries, ours)
  return writers.of(child())([field])
}

describe("The manager that changed a field of a child", () => {
  const table: ReadonlyArray<
    readonly [
      title: string,
      field: string,
      events: ReadonlyArray<ReadonlyArray<ManagedFieldsEntry>>,
      manager: string | undefined
    ]
  > = [
    ["is its owner", "spec.replicas", [[entry(ours, { "f:paused": {} }), entry("scaler", replicas)]], "scaler"],
    ["is not the owner of another field", "spec.paused", [[entry("scaler", replicas)]], undefined],
    [
      "is the one that wrote last",
      "spec.replicas",
      [[entry("b", replicas, { time: "2026-11-21T10:00:09Z" }), entry("a", replicas)]],
      "b"
    ],
    [
      "is not the controller",
      "spec.replicas",
      [[entry(ours, replicas), entry(`${ours}-handover`, replicas)]],
      undefined
    ],
    ["is not a writer of the status", "spec.replicas", [[entry("a", replicas, { subresource: "status" })]], undefined],
    ["is one of the scale subresource", "spec.replicas", [[entry("a", replicas, { subresource: "scale" })]], "a"],
    [
      "is forgotten when it owns nothing",
      "spec.replicas",
      [[entry("a", replicas)], [entry(ours, replicas)]],
      undefined
    ],
    [
      "is unknown if the entries are too large",
      "spec.replicas",
      [[entry("a", { ...replicas, [`f:${"x".repeat(20_000)}`]: {} })]],
      undefined
    ],
    ["is cut", "spec.replicas", [[entry("x".repeat(1000), replicas)]], `${"x".repeat(256)}…`],
    ["is unknown without an event", "spec.replicas", [], undefined]
  ]
  for (const [title, field, events, manager] of table) {
    test(title, () => expect(named(field, ...events)).toBe(manager))
  }

  test("is known after the event of the correction, which may come before its answer", () => {
    const writers = ForeignWriters.make()
    writers.take(child(), [entry("a", replicas)], ours)
    const before = writers.of(child())
    writers.take(child(), [entry(ours, replicas)], ours)
    expect([before(["spec.replicas"]), writers.of(child())(["spec.replicas"])]).toEqual(["a", undefined])
  })

  test("is known for a bounded number of children", () => {
    const writers = ForeignWriters.make()
    for (let at = 0; at < 1000; at++) writers.take(child(`u${at}`), [entry("a", replicas)], ours)
    expect(writers.size()).toBeLessThanOrEqual(ForeignWriters.most)
    expect(writers.of(child("u999"))(["spec.replicas"])).toBe("a")
  })
})
