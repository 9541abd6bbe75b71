import { describe, expect, test } from "bun:test"
import { Conflict } from "@homeostat/runtime/client/ApiError"
import type { Exchange, WriteOutcome } from "@homeostat/runtime/client/Exchange"
import { type Attempt, Outcome } from "@homeostat/runtime/controller/Attempt"
import * as Fixture from "@homeostat/runtime/controller/Attempt.fixture"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import type { TriggerEvent } from "@homeostat/runtime/controller/Trigger"
import { unreachable } from "@homeostat/runtime/controller/World.fixture"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Recording from "@homeostat/runtime/telemetry/Recording"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import * as AttemptTrace from "./AttemptTrace.ts"

const trace = "a".repeat(32)
const before = `00-${"b".repeat(32)}-${"c".repeat(16)}-01`

/** The start of these attempts in nanoseconds since 1970; the record's clock is at 10 ms. */
const start = 1_000_000_000_000n

const rootOf = (exit: Exit.Exit<unknown, unknown> = Exit.void) => {
  const root = Recording.root("reconcile widgets", { traceId: trace, startTime: start, kind: "consumer" })
  root.end(start + 25_000_000n, exit)
  return root
}

/** A traced attempt. */
const traced = (over: Partial<Attempt> = {}) => Fixture.attempt({ root: rootOf(), ...over })

const completed = (over: Partial<Attempt> = {}) => {
  const attempt = traced(over)
  const recording = AttemptTrace.complete(attempt)
  const [root, wait] = recording?.spans ?? []
  if (recording === undefined || root === undefined || wait === undefined) throw new Error("no trace")
  return { recording, root, wait, attributes: Object.fromEntries(root.attributes) }
}

const change = (over: Partial<TriggerEvent> = {}): TriggerEvent => ({
  kind: "watch.modified",
  source: { kind: "Widget", key: "default/a", resourceVersion: "7" },
  at: 4,
  ...over
})

const wrote = (write: Partial<WriteOutcome>): Exchange =>
  Fixture.exchange({
    write: {
      kind: "ConfigMap",
      verb: "apply",
      subresource: undefined,
      fieldManager: "m",
      before: "1",
      after: "2",
      changed: true,
      ...write
    }
  })

describe("The root span of an attempt", () => {
  test("has the object, the triggers and the result as attributes", () => {
    const object: KubernetesObject & { readonly status: unknown } = {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: {
        name: "a",
        namespace: "default",
        uid: "u",
        resourceVersion: "7",
        generation: 3,
        creationTimestamp: ""
      },
      status: { observedGeneration: 2 }
    }
    const { attributes } = completed({
      object,
      generation: 3,
      resourceVersion: "7",
      priority: -100,
      number: 2,
      triggers: [change({ at: 1 }), change({ at: 4 }), { kind: "retry", at: 0 }],
      dropped: 5,
      queuedAt: 6,
      outcome: Outcome.RequeueAfter({ after: Duration.seconds(3) }),
      next: { _tag: "Run", afterMillis: 3000 },
      exchanges: [wrote({}), wrote({ changed: undefined }), wrote({ changed: false })]
    })
    expect(attributes).toEqual({
      "controller.name": "widgets",
      "reconcile.id": "id",
      "k8s.object.kind": "Widget",
      "k8s.object.api_version": "example.com/v1",
      "k8s.namespace.name": "default",
      "k8s.object.name": "a",
      "k8s.object.uid": "u",
      "k8s.object.resource_version": "7",
      "reconcile.generation": 3,
      "reconcile.observed_generation": 2,
      "reconcile.deleting": false,
      "reconcile.trigger.kinds": ["watch.modified", "retry"],
      "reconcile.trigger.count": 8,
      "reconcile.trigger.dropped_links": 5,
      "reconcile.queue.wait_ms": 4,
      "reconcile.event.age_ms": 9,
      "reconcile.priority": -100,
      "reconcile.attempt": 2,
      "reconcile.result": "requeue_after",
      "reconcile.requeue_after_ms": 3000,
      "reconcile.writes": 2,
      "reconcile.noop_writes": 1
    })
  })

  test("ignores an observedGeneration that is not a number", () => {
    for (const status of [{ observedGeneration: "2" }, {}, null, 3, undefined]) {
      const metadata = { name: "a", uid: "u", resourceVersion: "7", creationTimestamp: "" }
      const object: KubernetesObject & { readonly status: unknown } = { metadata, status }
      expect(completed({ object }).attributes["reconcile.observed_generation"]).toBeUndefined()
    }
  })

  test("omits unknown attributes: of a deleted object, without a namespace, without a change", () => {
    const { attributes } = completed({
      key: "a",
      object: undefined,
      uid: undefined,
      generation: undefined,
      resourceVersion: undefined,
      outcome: Outcome.Vanished(),
      triggers: [{ kind: "requeue_after", at: 0 }]
    })
    for (const name of [
      "k8s.namespace.name",
      "k8s.object.uid",
      "k8s.object.resource_version",
      "reconcile.generation",
      "reconcile.observed_generation",
      "reconcile.deleting",
      "reconcile.event.age_ms",
      "reconcile.requeue_after_ms",
      "error.type"
    ]) {
      expect(attributes).not.toHaveProperty([name])
    }
    expect(attributes["k8s.object.name"]).toBe("a")
  })

  const failed = (error: unknown, defect = false): Outcome =>
    Outcome.Failed({ cause: Cause.fail(error), error, defect })
  const conflict = new Conflict({
    message: "modified",
    code: 409,
    reason: "Conflict",
    causes: [],
    details: { group: "", kind: "", name: "", uid: "" },
    retryAfterMillis: undefined,
    request: { method: "PATCH", path: "/" }
  })
  const again: Attempt["next"] = { _tag: "Run", afterMillis: 5 }
  const table: ReadonlyArray<readonly [string, Pick<Attempt, "outcome" | "next">, AttemptTrace.Result, string?]> = [
    ["succeeded", { outcome: Outcome.Done(), next: { _tag: "Wait" } }, "success"],
    ["requested a requeue", { outcome: Outcome.Requeue({}), next: again }, "requeue"],
    ["requested one requeue too many", { outcome: Outcome.Requeue({}), next: { _tag: "GiveUp" } }, "given_up"],
    ["found no object", { outcome: Outcome.Vanished(), next: { _tag: "Wait" } }, "skipped"],
    ["was interrupted", { outcome: Outcome.Interrupted(), next: { _tag: "Wait" } }, "interrupted", "Interrupted"],
    ["failed", { outcome: failed(new RangeError("x")), next: again }, "retryable", "RangeError"],
    ["failed with a tag", { outcome: failed({ _tag: "Odd" }), next: again }, "retryable", "Odd"],
    ["failed with a string", { outcome: failed("no"), next: again }, "retryable", "string"],
    ["had a conflict", { outcome: failed(conflict), next: again }, "conflict", "Conflict"],
    [
      "could not reach the API server for the last time",
      { outcome: Outcome.Unreachable({ error: unreachable }), next: { _tag: "GiveUp" } },
      "given_up",
      "Transport"
    ],
    ["failed with an object", { outcome: failed({}), next: again }, "retryable", "Object"],
    [
      "failed with an object without a prototype",
      { outcome: failed(Object.create(null)), next: again },
      "retryable",
      "Object"
    ],
    ["failed with an instance of a class", { outcome: failed(new Map()), next: again }, "retryable", "Map"],
    ["failed for the last time", { outcome: failed(conflict), next: { _tag: "GiveUp" } }, "given_up", "Conflict"],
    [
      "could not reach the API server",
      { outcome: Outcome.Unreachable({ error: unreachable }), next: again },
      "retryable",
      "Transport"
    ],
    [
      "failed permanently",
      { outcome: Outcome.Terminal({ error: new TerminalError({ message: "x" }) }), next: { _tag: "Wait" } },
      "terminal",
      "TerminalError"
    ],
    [
      "failed permanently with a cause",
      {
        outcome: Outcome.Terminal({ error: new TerminalError({ message: "x", cause: unreachable }) }),
        next: { _tag: "Wait" }
      },
      "terminal",
      "Transport"
    ]
  ]
  for (const [what, of, result, error] of table) {
    test(`of one that ${what} has the result ${result}${error === undefined ? "" : ` and the error ${error}`}`, () => {
      const { attributes } = completed(of)
      expect(attributes["reconcile.result"]).toBe(result)
      expect(attributes["error.type"]).toBe(error)
    })
  }

  test("has the number of dropped spans", () => {
    const root = rootOf()
    root.recording.dropped = 3
    expect(completed({ root }).attributes["reconcile.dropped_spans"]).toBe(3)
  })

  test("is completed once, and does not exist without tracing", () => {
    const attempt = traced({ triggers: [change()] })
    const recording = AttemptTrace.complete(attempt)
    expect(AttemptTrace.complete(attempt)).toBe(recording)
    expect(recording?.spans).toHaveLength(2)
    expect(recording?.spans[0]?.links).toHaveLength(1)
    expect(AttemptTrace.complete(Fixture.attempt())).toBeUndefined()
  })
})

describe("The queue wait span", () => {
  test("is a child of the root, even if the trace is full", () => {
    const root = rootOf()
    const more = () => root.recording.span("step", root.parent, start)
    for (let span = 0; span < 2 * Recording.mostSpans; span++) more()
    const { recording, wait } = completed({ root, queuedAt: 2.5, startedAt: 10 })
    expect(wait.name).toBe("queue wait")
    expect(wait.parent._tag === "Some" && wait.parent.value).toBe(root)
    expect([wait.traceId, recording.spans[0]]).toEqual([trace, root])
    expect(wait.status).toMatchObject({ _tag: "Ended", startTime: start - 7_500_000n, endTime: start })
  })

  test("never starts after the reconcile, even if the clock was changed", () => {
    const { attributes, wait } = completed({ queuedAt: 5000, startedAt: 10, triggers: [change({ at: 5000 })] })
    expect(wait.status.startTime).toBe(start)
    expect(attributes["reconcile.queue.wait_ms"]).toBe(0)
    expect(attributes["reconcile.event.age_ms"]).toBe(0)
  })

  test("has each trigger as an event with its time and attributes", () => {
    const { wait } = completed({ triggers: [change({ at: 4 }), { kind: "retry", at: 2 }] })
    expect(wait.events).toEqual([
      {
        name: "watch.modified",
        at: start - 6_000_000n,
        attributes: {
          "trigger.kind": "watch.modified",
          "trigger.time": "1970-01-01T00:00:00.004Z",
          "trigger.source.kind": "Widget",
          "trigger.source.namespace": "default",
          "trigger.source.name": "a",
          "trigger.source.resource_version": "7"
        }
      },
      {
        name: "retry",
        at: start - 8_000_000n,
        attributes: { "trigger.kind": "retry", "trigger.time": "1970-01-01T00:00:00.002Z" }
      }
    ])
  })
})

describe("The links of the root span", () => {
  const linksOf = (...triggers: ReadonlyArray<TriggerEvent>) => {
    const { root, wait } = completed({ triggers })
    return root.links.map(({ attributes, span }) => ({
      to: span === wait ? "wait" : `${span.traceId} ${span.spanId}`,
      relation: attributes["link.relation"],
      kind: attributes["trigger.kind"]
    }))
  }
  const there = `${"b".repeat(32)} ${"c".repeat(16)}`

  test("lead from each trigger to its cause, or to the queue wait if the cause is unknown", () => {
    expect(
      linksOf(
        change(),
        change({ kind: "owned.modified", traceparent: before }),
        { kind: "retry", at: 1, traceparent: before },
        { kind: "unreachable", at: 1, traceparent: before },
        { kind: "given_up", at: 1, traceparent: before },
        { kind: "requeue", at: 1, traceparent: before },
        { kind: "requeue_after", at: 1, traceparent: before },
        { kind: "startup", at: 1 }
      )
    ).toEqual([
      { to: "wait", relation: undefined, kind: "watch.modified" },
      { to: there, relation: "cause", kind: "owned.modified" },
      { to: there, relation: "retry_of", kind: "retry" },
      { to: there, relation: "retry_of", kind: "unreachable" },
      { to: there, relation: "retry_of", kind: "given_up" },
      { to: there, relation: "requeue_of", kind: "requeue" },
      { to: there, relation: "requeue_of", kind: "requeue_after" },
      { to: "wait", relation: undefined, kind: "startup" }
    ])
  })

  test("ignore invalid traceparents", () => {
    const zeros = `00-${"0".repeat(32)}-${"0".repeat(16)}-01`
    for (const traceparent of ["", "nonsense", zeros]) {
      expect(linksOf(change({ traceparent }))).toEqual([{ to: "wait", relation: undefined, kind: "watch.modified" }])
    }
  })
})
