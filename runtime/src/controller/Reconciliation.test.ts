import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as EventRecorder from "../events/EventRecorder.ts"
import { announce, type Correction } from "./Reconciliation.ts"

const owner = {
  metadata: { name: "shop", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "" }
}

const correction = (kind: string, reason: Correction["reason"], ...fields: ReadonlyArray<string>): Correction => ({
  kind,
  key: "default/shop",
  reason,
  fields
})

/** The Events of an attempt with these corrections. */
const recorded = (...corrections: ReadonlyArray<Correction>): ReadonlyArray<string> => {
  const events: Array<string> = []
  const recorder = EventRecorder.EventRecorder.of({
    record: ({ note, reason, regarding }) =>
      Effect.sync(() => void events.push(`${regarding.metadata.name} ${reason}: ${note}`)),
    flush: Effect.void,
    dropped: () => 0
  })
  const announced = announce(owner, corrections) ?? Effect.void
  Effect.runSync(Effect.provideService(announced, EventRecorder.EventRecorder, recorder))
  return events
}

const deployment = correction("Deployment", "created")
const service = correction("Service", "created")

describe("An attempt that corrects", () => {
  for (const [what, corrections, expected] of [
    ["nothing records no Event", [], []],
    ["one new child records its kind", [deployment], ["shop DeploymentCreated: Created Deployment shop"]],
    [
      "two new children records one Event",
      [deployment, service],
      ["shop ChildrenCreated: Created Deployment shop, Service shop"]
    ],
    [
      "a new child and an existing one records one Event",
      [deployment, correction("Service", "intent", "spec.ports", "spec.selector")],
      ["shop ChildrenApplied: Created Deployment shop; updated Service shop (spec.ports, spec.selector)"]
    ],
    [
      "two existing children records one Event for each",
      [correction("Deployment", "drift", "spec.replicas"), correction("Service", "intent")],
      [
        "shop DeploymentUpdated: Updated Deployment shop (spec.replicas)",
        "shop ServiceUpdated: Updated Service shop (metadata)"
      ]
    ]
  ] as const) {
    test(what, () => expect(recorded(...corrections)).toEqual([...expected]))
  }
})
