/** Answers and their facts in situations that `docs/why.md` does not show. */
import { describe, expect, test } from "bun:test"
import { type Answer, answerOf } from "./Answer.ts"
import type { Facts } from "./Facts.ts"
import { setterOf, writersOf } from "./Fields.ts"
import type { Run } from "./Journal.ts"
import { cases, facts, now, shop } from "./Why.fixture.ts"
import { type Explanation, explain } from "./Why.ts"
import { deeds, inBrief, sentence, timesInARow, wordsOf } from "./Words.ts"

const [last] = cases.reconciled.entry?.runs.slice(-1) ?? []

const ran = (over: Partial<Run>): Run => {
  if (last === undefined) throw new Error("The case has a run.")
  return { ...last, ...over }
}

const entry = (...runs: ReadonlyArray<Run>): Facts["entry"] => ({ runs, ignored: [], deleted: undefined })

const queue = (position: NonNullable<Facts["queue"]>["position"], over: Partial<Facts["queue"]> = {}) => ({
  position,
  triggers: [],
  dropped: 0,
  busy: 0,
  ...over
})

const delayed = (until: number) => queue({ _tag: "Delayed", until, priority: 0 })

const condition = (type: string, status: string, lastTransitionTime = "2026-11-21T10:20:13Z") => ({
  type,
  status,
  reason: "No",
  message: `${type} is ${status}`,
  lastTransitionTime
})

const deleting = (finalizers?: ReadonlyArray<string>) =>
  shop({
    deletionTimestamp: "2026-11-21T10:16:13Z",
    ...(finalizers === undefined ? {} : { finalizers }),
    managedFields: []
  })

const paused = (value: string) =>
  shop({
    annotations: { "homeostat.dev/paused": value },
    managedFields: [
      {
        manager: "kubectl-annotate",
        operation: "Update",
        fieldsV1: { "f:metadata": { "f:annotations": { "f:homeostat.dev/paused": {} } } }
      }
    ]
  })

test("An explanation warns of another manager with the same objects, and names the end of a stop as the next step", () => {
  const election = { leading: true, holder: "me", identity: "me", lease: { namespace: "a", name: "b" } }
  const explained = (over: Partial<NonNullable<Facts["election"]>>) =>
    explain({ ...cases.reconciled, election: { ...election, ...over } })
  expect(explained({ overlap: "another manager shares objects" }).hints).toEqual([
    "Beware: another manager shares objects."
  ])
  expect(explained({ stop: { until: now, reason: "" } }).next).toEqual({
    at: "2026-11-21T10:21:13.000Z",
    why: "when the stop of all writes ends"
  })
})

const tap = { ...cases.reconciled.controller, finalizers: ["example.com/tap"] }

const again = (until: number) => queue({ _tag: "Processing", since: now, again: false, until })

describe("The answer", () => {
  const asked = "WebApp default/shop is being deleted, as requested 5m ago (10:16:13Z),"
  const rested =
    "WebApp default/shop was reconciled 2m ago (10:19:13Z) without an error, and nothing has asked for it since."
  const itRested = "It was reconciled 2m ago (10:19:13Z) without an error, and nothing has asked for it since."
  const situations: { readonly [title: string]: readonly [facts: Partial<Facts>, answer: Answer] } = {
    "for a deleted object that is still in the cache": [
      { live: { _tag: "NotThere" }, entry: undefined },
      {
        verdict: "deleted",
        answer: "WebApp default/shop has just been deleted; this process has not seen that yet."
      }
    ],
    "for a deleted object that was never reconciled": [
      {
        cached: undefined,
        entry: { runs: [ran({ outcome: "Vanished" })], ignored: [], deleted: { uid: "", at: now - 2000 } }
      },
      { verdict: "deleted", answer: "WebApp default/shop was deleted 2s ago (10:21:11Z)." }
    ],
    "for an object that never existed in any namespace": [
      { cached: undefined, entry: undefined },
      {
        verdict: "absent",
        answer:
          "WebApp default/shop does not exist, and this process, which started to watch 1d2h ago (2026-11-20 08:21:13Z), has not seen it.",
        hints: []
      }
    ],
    "for a new object": [
      { cached: undefined, live: { _tag: "There", object: shop() }, labelSelector: undefined },
      {
        verdict: "not-seen-yet",
        answer: "WebApp default/shop exists, and this process has not seen it yet.",
        hints: ["That takes milliseconds. If it lasts, see the log."]
      }
    ],
    "for a new object with the selected labels": [
      {
        cached: undefined,
        live: { _tag: "There", object: shop({ labels: { team: "red" } }) },
        labelSelector: "team=red"
      },
      {
        verdict: "not-seen-yet",
        answer: "WebApp default/shop exists, and this process has not seen it yet.",
        hints: ["That takes milliseconds. If it lasts, see the log."]
      }
    ],
    "for an object without labels": [
      { cached: undefined, live: { _tag: "There", object: shop() }, labelSelector: "team=red" },
      {
        verdict: "out-of-scope",
        answer:
          "WebApp default/shop exists, but this process only sees objects with labels team=red (--selector); this one has none."
      }
    ],
    "for an object without an answer of the API server, with a label selector": [
      { cached: undefined, live: { _tag: "Unknown", reason: "x" }, labelSelector: "team=red" },
      {
        verdict: "absent",
        answer: "This process sees no WebApp default/shop, and the API server did not say whether there is one."
      }
    ],
    "of a standby without a known leader": [
      { election: { leading: false, holder: "me", identity: "me", lease: { namespace: "a", name: "b" } } },
      {
        verdict: "standby",
        answer:
          "This process does not reconcile WebApp default/shop: it stands by, and the Lease a/b has no known holder at the moment.",
        hints: ["Ask again in some seconds: a replica is about to acquire it."]
      }
    ],
    "while a kind is listed": [
      { caches: [{ resource: "pods", synced: false, problem: undefined }] },
      {
        verdict: "cache-not-synced",
        answer:
          "Controller webapp has not started, so nothing is done for WebApp default/shop: pods are still being listed.",
        hints: [
          "The controller starts as soon as it can read these kinds; the preflight command names every missing permission."
        ]
      }
    ],
    "while no API server answers, without a queue": [
      { reachable: false, queue: undefined },
      {
        verdict: "unreachable",
        answer:
          "No API server answers, so all reconciles pause, that of WebApp default/shop too; they go on by themselves when one does."
      }
    ],
    "while no API server answers, and a reconcile runs": [
      { reachable: false, queue: queue({ _tag: "Processing", since: now - 1500, again: false, until: undefined }) },
      { verdict: "running", answer: "WebApp default/shop is being reconciled right now, for 1s." }
    ],
    "for an object that is deleted while a reconcile runs": [
      { cached: deleting(), queue: queue({ _tag: "Processing", since: now - 1500, again: false, until: undefined }) },
      { verdict: "running", answer: "WebApp default/shop is being reconciled right now, for 1s." }
    ],
    "for an object that is being deleted without finalizers": [
      { cached: deleting(), queue: undefined },
      { verdict: "deleting", answer: `${asked} and is about to go.` }
    ],
    "for a clean-up that has not run": [
      { cached: deleting(["example.com/tap"]), controller: tap, entry: undefined },
      {
        verdict: "deleting",
        answer: `${asked} and waits for the clean-up of controller webapp (finalizer example.com/tap).`
      }
    ],
    "for a running clean-up": [
      { cached: deleting(["example.com/tap"]), controller: tap, queue: delayed(now + 5000) },
      {
        verdict: "deleting",
        answer: `${asked} and waits for the clean-up of controller webapp (finalizer example.com/tap). The controller checks it again in 5s (10:21:18Z).`
      }
    ],
    "for a clean-up that failed once": [
      {
        cached: deleting(["example.com/tap"]),
        controller: tap,
        entry: entry(ran({ outcome: "Failed", message: "it leaks" }))
      },
      {
        verdict: "deleting",
        answer: `${asked} and waits for the clean-up of controller webapp (finalizer example.com/tap). It failed: it leaks.`
      }
    ],
    "for a deletion that waits for two finalizers of unknown managers": [
      { cached: deleting(["a/b", "orphan"]), live: { _tag: "Unknown", reason: "x" } },
      {
        verdict: "deletion-blocked",
        answer: `${asked} and waits for finalizers a/b and orphan, which controller webapp does not own; webapp has nothing left to do.`,
        hints: ["The manager that added it removes it when its own work is done."]
      }
    ],
    "while all writes are stopped": [
      {
        election: {
          leading: true,
          holder: "me",
          identity: "me",
          lease: { namespace: "a", name: "b" },
          stop: { until: now + 600_000, reason: "restore of etcd" }
        },
        queue: queue({ _tag: "Ready", index: 0, priority: 0, since: now })
      },
      {
        verdict: "writes-stopped",
        answer:
          "WebApp default/shop waits: All writes are stopped until 2026-11-21T10:31:13Z: restore of etcd. Its reconcile goes on in 10m (10:31:13Z).",
        hints: [
          'To go on now: kubectl annotate lease b -n a homeostat.dev/writes-stopped-until-, or the command "writes resume".'
        ]
      }
    ],
    "for an object whose CRD another program narrowed": [
      { narrowed: "the CRD webapps.apps.kubedojo.io of the cluster lacks fields of this program: spec.jobs" },
      {
        verdict: "crd-narrowed",
        answer:
          "WebApp default/shop waits, as all objects of its kind do: the CRD webapps.apps.kubedojo.io of the cluster lacks fields of this program: spec.jobs.",
        hints: ["Without these fields, a reconcile would undo what they ask for. It goes on when the CRD has them."]
      }
    ],
    "for a paused object": [
      {
        cached: paused("maintenance until 18:00"),
        live: { _tag: "There", object: paused("maintenance until 18:00") },
        queue: queue({ _tag: "Absent" })
      },
      {
        verdict: "paused",
        answer:
          "The annotation homeostat.dev/paused pauses WebApp default/shop: maintenance until 18:00. kubectl-annotate set it.",
        hints: [
          "No controller writes it or its children. To resume: kubectl annotate webapps.apps.kubedojo.io shop -n default homeostat.dev/paused-"
        ]
      }
    ],
    "for a paused object without an answer of the API server": [
      { cached: paused("true"), live: { _tag: "Unknown", reason: "x" }, queue: undefined },
      {
        verdict: "paused",
        answer: "The annotation homeostat.dev/paused pauses WebApp default/shop.",
        hints: [
          "No controller writes it or its children. To resume: kubectl annotate webapps.apps.kubedojo.io shop -n default homeostat.dev/paused-"
        ]
      }
    ],
    "for a paused object whose last reconcile still runs": [
      {
        cached: paused("true"),
        queue: queue({ _tag: "Processing", since: now - 1500, again: false, until: undefined })
      },
      { verdict: "running", answer: "WebApp default/shop is being reconciled right now, for 1s." }
    ],
    "for an object that waits for the only worker": [
      {
        controller: { ...cases.reconciled.controller, workers: 1 },
        queue: queue({ _tag: "Ready", index: 2, priority: 0, since: now - 20 }, { busy: 1 })
      },
      {
        verdict: "queued",
        answer:
          "WebApp default/shop has waited for a free worker for 20ms: 2 objects are before it, and the only worker is busy."
      }
    ],
    "for an object that waits while one worker is busy": [
      { queue: queue({ _tag: "Ready", index: 0, priority: 0, since: now - 20 }, { busy: 1 }) },
      {
        verdict: "queued",
        answer: "WebApp default/shop has waited for a free worker for 20ms: it is next, and 1 of 16 workers is busy."
      }
    ],
    "for an object that was given up, without a known attempt": [
      { queue: delayed(Number.POSITIVE_INFINITY), entry: undefined },
      {
        verdict: "given-up",
        answer: "WebApp default/shop was given up, and will not be retried until something changes.",
        hints: ["The manager retries it at once after a change of the object, or of an object that it depends on."]
      }
    ],
    "for a delayed object without a known attempt": [
      { queue: delayed(now + 1000), entry: undefined },
      { verdict: "scheduled", answer: "WebApp default/shop waits; its controller checks it again in 1s (10:21:14Z)." }
    ],
    "for an object that waits for a retry after an attempt that failed permanently": [
      { queue: delayed(now + 1000), entry: entry(ran({ outcome: "Terminal" })) },
      {
        verdict: "backoff",
        answer: "WebApp default/shop failed, and the manager retries it in 1s (10:21:14Z).",
        hints: ["The manager retries at once when the object changes. A change of its spec also resets the delays."]
      }
    ],
    "for an object that waits for an API server": [
      { queue: delayed(now + 1000), entry: entry(ran({ outcome: "Unreachable", message: "no route." })) },
      {
        verdict: "backoff",
        answer: "WebApp default/shop failed, and the manager retries it in 1s (10:21:14Z): no route.",
        hints: ["The manager retries at once when the object changes. A change of its spec also resets the delays."]
      }
    ],
    "for an interrupted reconcile": [
      { entry: entry(ran({ outcome: "Interrupted" })) },
      {
        verdict: "interrupted",
        answer:
          "WebApp default/shop was interrupted 2m ago (10:19:13Z), because the process or its leadership ended. The next leader starts with it."
      }
    ],
    "for an object without entries in the journal": [
      { entry: undefined, queue: undefined },
      {
        verdict: "forgotten",
        answer:
          "WebApp default/shop waits for nothing. The journal no longer has its attempts, as many other objects came later.",
        hints: ["No attempt of it is known; the next attempt follows a change of the object, or the periodic resync."]
      }
    ],
    "for an object with an ignored change at the time of its reconcile": [
      { ignored: cases.filtered.ignored.map((each) => ({ ...each, at: now - 120_000 })) },
      { verdict: "reconciled", answer: rested }
    ],
    "for an object that is stalled and not ready": [
      { cached: shop({}, [condition("Ready", "False"), condition("Stalled", "True")]) },
      {
        verdict: "not-ready",
        answer: `WebApp default/shop is not ready: its condition Stalled has been True for 1m: No: Stalled is True. ${itRested}`,
        hints: []
      }
    ],
    "for an object that is not stalled, and not ready since an unknown time": [
      { cached: shop({}, [condition("Stalled", "False"), condition("Ready", "Unknown", "?")]) },
      {
        verdict: "not-ready",
        answer: `WebApp default/shop is not ready: its condition Ready has been Unknown: No: Ready is Unknown. ${itRested}`,
        hints: []
      }
    ]
  }
  for (const [title, [over, answer]] of Object.entries(situations)) {
    test(title, () => expect(answerOf(facts(over))).toEqual(answer))
  }
})

describe("An explanation", () => {
  test("has the next attempt, and its reason", () => {
    const next = (over: Partial<Facts>): Explanation["next"] => explain(facts(over)).next
    const nothing = { at: undefined, why: "nothing before something changes" }
    const soon = { _tag: "Processing", since: now, until: undefined } as const
    expect(next({ queue: queue({ ...soon, again: true }) })).toEqual({ at: undefined, why: "right after this run" })
    expect(next({ queue: queue({ ...soon, again: false }) })).toEqual(nothing)
    expect(next({ queue: queue({ _tag: "Absent" }) })).toEqual(nothing)
    const at = "2026-11-21T10:21:18.000Z"
    const failed = { at, why: "retry 2, as the last attempt failed" }
    const first = ran({})
    const after = (outcome: Run["outcome"]) => ({
      queue: delayed(now + 5000),
      entry: entry(first, first, ran({ outcome, number: 2 }))
    })
    expect(next(after("Failed"))).toEqual(failed)
    expect(next(after("Unreachable"))).toEqual(failed)
    expect(next(after("Requeue"))).toEqual({ at, why: "as the controller requeued it" })
    expect(next(after("RequeueAfter"))).toEqual({ at, why: "as the controller asked for" })
    expect(next({ queue: delayed(now + 5000), entry: undefined })).toEqual({ at, why: "as the controller asked for" })
    expect(next({ queue: again(now + 5000) })).toEqual({ at, why: "as the controller asked for" })
  })

  test("has no next attempt if the process does not reconcile", () => {
    const lease = { namespace: "a", name: "b" }
    const situations: ReadonlyArray<Partial<Facts>> = [
      { reachable: false },
      { cached: undefined, live: { _tag: "There", object: shop() } },
      { election: { leading: false, holder: "me", identity: "me", lease } }
    ]
    for (const each of situations) expect(explain(facts({ ...each, queue: delayed(now) })).next).toBeUndefined()
  })

  test("counts waiting and dropped triggers", () => {
    const trigger = { kind: "resync", at: now, source: undefined } as const
    const waiting = queue({ _tag: "Ready", index: 0, priority: 0, since: now }, { triggers: [trigger], dropped: 3 })
    expect(explain(facts({ queue: waiting })).wokenBy).toMatchObject({ waiting: true, count: 4 })
    expect(explain(facts({ entry: undefined })).wokenBy).toEqual({ waiting: false, count: 0, triggers: [] })
  })

  test("lists the latest ignored change first", () => {
    const ignored = [1, 2].flatMap((times) => cases.filtered.ignored.map((one) => ({ ...one, times })))
    expect(explain(facts({ ignored })).ignored.map(({ times }) => times)).toEqual([2, 1])
  })

  test("contains the cached object of this process", () => {
    const live = { _tag: "There", object: shop({ resourceVersion: "2" }) } as const
    expect(explain(facts({ cached: shop({ resourceVersion: "1" }), live })).object.resourceVersion).toBe("1")
    const cached = undefined
    expect(explain(facts({ cached, live })).object.resourceVersion).toBe("2")
    const unknown = explain(facts({ cached, live: { _tag: "Unknown", reason: "x" } }))
    expect(unknown.object.resourceVersion).toBeUndefined()
    expect(unknown.writers).toEqual([])
  })

  test("leaves the existence of a child open if the API server did not answer", () => {
    const live = { _tag: "Unknown", reason: "x" } as const
    const children = [{ kind: "Pod", key: "default/a", live }]
    expect(explain(facts({ children })).children).toMatchObject([{ exists: undefined, others: [] }])
  })

  test("names the other managers of a child, except those of its status", () => {
    const status = { manager: "kubelet", operation: "Update", subresource: "status", fieldsV1: {} } as const
    const live = { _tag: "There", object: shop({ managedFields: [status, { manager: "me" }] }) } as const
    const children = [{ kind: "Pod", key: "default/a", live }]
    const [child] = explain(facts({ children })).children
    expect(child?.others.map(({ manager }) => manager)).toEqual(["me"])
  })

  test("does not attribute initial objects to the controller", () => {
    const source = { kind: "WebApp", key: "default/shop", resourceVersion: "1" }
    const triggers = [{ kind: "startup", at: now, source } as const]
    const { wokenBy } = explain(facts({ entry: entry(ran({ triggers })), isOwn: () => true }))
    expect(wokenBy.triggers).toMatchObject([{ own: false, text: "it existed when the controller started" }])
  })
})

describe("The result of an attempt", () => {
  const outcomes: ReadonlyArray<readonly [over: Partial<Run>, brief: string]> = [
    [{ writes: [], corrections: [] }, "nothing to do"],
    [{ corrections: [] }, "done"],
    [{ writes: [] }, "done"],
    [{ outcome: "RequeueAfter" }, "done"],
    [{ outcome: "RequeueAfter", next: { _tag: "Run", afterMillis: 5000 } }, "done, requeue after 5s"],
    [{ outcome: "Requeue" }, "requeued"],
    [{ outcome: "Vanished" }, "it was gone"],
    [{ outcome: "Interrupted" }, "interrupted, as the process or its leadership ended, or writes were stopped"],
    [{ outcome: "Unreachable" }, "no API server answered"],
    [{ outcome: "Terminal", message: "m" }, "failed permanently: m"],
    [{ outcome: "Failed", message: "m" }, "failed: m"],
    [{ outcome: "Failed", message: undefined }, "failed: "],
    [{ outcome: "Terminal", message: undefined }, "failed permanently: "]
  ]
  for (const [at, [over, brief]] of outcomes.entries()) {
    test(`is one phrase: ${at + 1}. ${brief}`, () => expect(inBrief(ran(over))).toBe(brief))
  }

  test("is counted from the second consecutive time", () => {
    expect([1, 2].map((number) => timesInARow(ran({ number })))).toEqual(["", ", 2 times in a row"])
  })

  test("lists the writes and the corrections", () => {
    const write = { what: "Pod", key: "default/a", changed: true, error: undefined, subresource: undefined }
    const correction = { kind: "Pod", key: "default/b", fields: [] }
    const listed = deeds(
      {
        corrections: [
          { ...correction, reason: "created" },
          { ...correction, reason: "drift", fields: ["spec.a", "spec.b"] },
          { ...correction, reason: "intent" }
        ],
        writes: [
          { ...write, verb: "create" },
          { ...write, verb: "apply", subresource: "status" },
          { ...write, verb: "apply", subresource: "status", error: "Conflict" }
        ],
        moreWrites: 1
      },
      { kind: "WebApp", namespace: "default", name: "shop" }
    )
    expect(listed).toEqual([
      "created Pod b",
      "repaired Pod b, which another manager had changed (spec.a, spec.b)",
      "changed Pod b",
      "created Pod a",
      "wrote status of Pod a",
      "could not apply status of Pod a (Conflict)",
      "1 more write"
    ])
  })

  test("ends with exactly one punctuation mark", () => {
    expect(["a", "a.", "a!", "a?", "a…"].map(sentence)).toEqual(["a.", "a.", "a!", "a?", "a…"])
  })

  test("has a phrase for each change of a child", () => {
    const source = { kind: "Pod", key: "default/a", resourceVersion: "1" }
    const self = { kind: "WebApp", namespace: "default", name: "shop" }
    const words = (["owned.added", "owned.modified", "owned.deleted"] as const).map((kind) =>
      wordsOf({ kind, at: 0, source }, self)
    )
    expect(words).toEqual(["its Pod a was created", "its Pod a was changed", "its Pod a was deleted"])
  })
})

describe("The fields of a manager", () => {
  const fieldsOf = (fieldsV1: object) =>
    writersOf(shop({ managedFields: [{ manager: "m", fieldsV1: { ...fieldsV1 } }] }))[0]?.fields

  test("are listed individually up to four, and otherwise grouped", () => {
    const leaves = (...names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [`f:${name}`, {}]))
    expect(fieldsOf({ "f:a": leaves("1", "2", "3", "4") })).toEqual(["a.1", "a.2", "a.3", "a.4"])
    expect(fieldsOf({ "f:a": { "f:x": leaves("1", "2", "3"), "f:y": leaves("1", "2") } })).toEqual([
      "a.x (3 fields)",
      "a.y (2 fields)"
    ])
    expect(fieldsOf({ "f:a": leaves("1", "2", "3", "4", "5") })).toEqual(["a.1", "a.2", "a.3", "2 more"])
    expect(fieldsOf({ "f:a": leaves("1", "2", "3", "4", "5", "6") })).toEqual(["a.1", "a.2", "a.3", "3 more"])
  })

  test("name list items by their keys, and set items by their values", () => {
    expect(fieldsOf({ "f:a": { 'k:{"port":80,"protocol":"TCP"}': {}, "v:3": {}, "v:null": {}, "k:{": {} } })).toEqual([
      "a[80,TCP]",
      "a[3]",
      "a[null]",
      "a[{]"
    ])
    expect(fieldsOf({ "f:a": { "i:0": {} } })).toEqual(["a.i:0"])
    expect(fieldsOf({ "f:a": null, "f:b": 3 })).toEqual(["a", "b"])
  })

  test("are omitted without managedFields", () => {
    const { managedFields: _, ...metadata } = shop().metadata
    expect(writersOf({ ...shop(), metadata })).toEqual([])
    expect(setterOf({ ...shop(), metadata }, "a/b")).toBeUndefined()
    const [scale, later] = writersOf(
      shop({ managedFields: [{ manager: "a" }, { manager: "b", subresource: "scale", time: "2026-11-21T10:00:00Z" }] })
    )
    expect(scale).toMatchObject({ manager: "b", subresource: "scale" })
    expect(later).toMatchObject({ manager: "a", at: undefined })
  })
})
