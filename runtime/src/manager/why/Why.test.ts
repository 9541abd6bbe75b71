import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import type { TriggerEvent } from "../../controller/Trigger.ts"
import type { Verdict } from "./Answer.ts"
import type { Facts } from "./Facts.ts"
import { setterOf, writersOf } from "./Fields.ts"
import type { Run } from "./Journal.ts"
import * as Text from "./Text.ts"
import { ago, clock, future, span } from "./Time.ts"
import { cases, facts, now, shop } from "./Why.fixture.ts"
import { explain } from "./Why.ts"
import { deeds, wordsOf } from "./Words.ts"

const [last] = cases.reconciled.entry?.runs.slice(-1) ?? []

const after = (run: Partial<Run>): Facts["entry"] =>
  last === undefined ? undefined : { runs: [{ ...last, ...run }], ignored: [], deleted: undefined }

const answer = (over: Partial<Facts>) => explain(facts(over)).answer

const delayed = (until: number): Facts["queue"] => ({
  position: { _tag: "Delayed", until, priority: 0 },
  triggers: [],
  dropped: 0,
  busy: 0
})

describe("The explanation", () => {
  test("has a verdict for each case", () => {
    const verdicts: { readonly [title in keyof typeof cases]: Verdict } = {
      reconciled: "reconciled",
      "not ready": "not-ready",
      "put back": "drift",
      fight: "fight",
      suspended: "paused",
      backoff: "backoff",
      "failed permanently": "failed-permanently",
      queued: "queued",
      filtered: "filtered",
      "never seen": "absent",
      denied: "denied",
      deleted: "deleted",
      "blocked by a finalizer": "deletion-blocked",
      standby: "standby",
      "cache not synced": "cache-not-synced",
      "outside of what is looked at": "out-of-scope"
    }
    expect(Object.fromEntries(Object.entries(cases).map(([title, each]) => [title, explain(each).verdict]))).toEqual(
      verdicts
    )
  })

  test("of each case is in docs/why.md", async () => {
    const docs = await Bun.file(join(import.meta.dir, "../../../../docs/why.md")).text()
    for (const each of Object.values(cases)) {
      expect(docs).toContain(
        `\n$ homeostat why ${each.kind.toLowerCase()}/shop\n${Text.render(explain(each))}\n\`\`\`\n`
      )
    }
  })

  test("survives JSON", () => {
    for (const each of Object.values(cases)) {
      const explanation = explain(each)
      expect(Text.render(JSON.parse(JSON.stringify(explanation)))).toBe(Text.render(explanation))
    }
  })

  test("does not count an ignored own write as an ignored change", () => {
    const ignored = cases.filtered.ignored.map((each) => ({ ...each, own: true }))
    expect(explain(facts({ ignored })).verdict).toBe("reconciled")
    const others = cases.filtered.ignored.map((each) => ({ ...each, source: { ...each.source, kind: "Pod" } }))
    expect(explain(facts({ ignored: others })).verdict).toBe("reconciled")
  })

  test("omits an ignored change that a later reconcile followed", () => {
    const ignored = cases.filtered.ignored.map((each) => ({ ...each, at: now - 200_000 }))
    expect(explain(facts({ ignored })).verdict).toBe("reconciled")
  })

  test("of an ignored object without a reconcile contains the predicate", () => {
    expect(answer({ ignored: cases.filtered.ignored, entry: undefined })).toBe(
      "WebApp default/shop has not been reconciled: a predicate ignored it 5s ago (10:21:08Z): generationChanged: its spec is unchanged."
    )
  })

  test("of an object that is not ready contains its condition, even without a failed reconcile", () => {
    const conditions = [
      {
        type: "Ready",
        status: "False",
        reason: "ImagePullBackOff",
        message: "web:9 is not there",
        lastTransitionTime: "2026-11-21T10:20:13Z"
      }
    ]
    expect(answer({ cached: shop({}, conditions) })).toBe(
      "WebApp default/shop is not ready: its condition Ready has been False for 1m: ImagePullBackOff: web:9 is not there. It was reconciled 2m ago (10:19:13Z) without an error, and nothing has asked for it since."
    )
  })

  test("ignores a status without valid conditions", () => {
    for (const status of [undefined, null, 3, { conditions: "x" }, { conditions: [null, 3, { type: "Ready" }] }]) {
      const odd = { ...shop(), status }
      expect(explain(facts({ cached: odd })).conditions).toEqual([])
    }
  })

  test("contains an active run and its next run", () => {
    const running = (again: boolean, until?: number): Facts["queue"] => ({
      position: { _tag: "Processing", since: now - 1500, again, until },
      triggers: [],
      dropped: 0,
      busy: 1
    })
    const begin = "WebApp default/shop is being reconciled right now, for 1s."
    expect(answer({ queue: running(false) })).toBe(begin)
    expect(answer({ queue: running(true) })).toBe(
      `${begin} It runs once more right after, as something happened meanwhile.`
    )
    expect(answer({ queue: running(true, now + 5000) })).toBe(`${begin} It runs again in 5s (10:21:18Z).`)
  })

  test("contains the position in the queue", () => {
    const ready = (index: number, priority: number): Facts["queue"] => ({
      position: { _tag: "Ready", index, priority, since: now - 20 },
      triggers: [],
      dropped: 0,
      busy: 15
    })
    expect(answer({ queue: ready(0, 0) })).toEndWith(": it is next, and 15 of 16 workers are busy.")
    expect(answer({ queue: ready(1, -100) })).toEndWith(
      ": 1 object is before it, and 15 of 16 workers are busy. Recently changed objects go first, and this object has not changed."
    )
  })

  test("contains the next check after a requeue", () => {
    const queue = delayed(now + 90_000)
    expect(answer({ queue, entry: after({ outcome: "RequeueAfter" }) })).toBe(
      "WebApp default/shop was reconciled 2m ago (10:19:13Z) without an error; its controller checks it again in 1m30s (10:22:43Z)."
    )
    expect(answer({ queue, entry: after({ outcome: "Requeue" }) })).toBe(
      "WebApp default/shop is not ready yet; its controller checks it again in 1m30s (10:22:43Z)."
    )
  })

  test("contains an object that was given up, and the number of attempts", () => {
    const queue = delayed(Number.POSITIVE_INFINITY)
    const entry = after({ outcome: "Failed", number: 6, message: "the tap is dry" })
    expect(explain(facts({ queue, entry }))).toMatchObject({
      verdict: "given-up",
      answer:
        "WebApp default/shop was given up 2m ago (10:19:13Z) after 6 attempts, and will not be retried until something changes: the tap is dry.",
      next: { at: undefined, why: "nothing before something changes" }
    })
  })

  test("contains a failed clean-up and the finalizer of the controller", () => {
    const controller = { ...cases.reconciled.controller, finalizers: ["example.com/tap"] }
    const cached = shop({
      deletionTimestamp: "2026-11-21T10:16:13Z",
      finalizers: ["example.com/hold", "example.com/tap"]
    })
    const entry = after({ outcome: "Failed", number: 2, message: "the sink is full" })
    expect(explain(facts({ controller, cached, entry, queue: delayed(now + 1000) }))).toMatchObject({
      verdict: "deleting",
      answer:
        "WebApp default/shop is being deleted, as requested 5m ago (10:16:13Z), and waits for the clean-up of controller webapp (finalizer example.com/tap). It failed, 2 times in a row, and the manager retries it in 1s (10:21:14Z): the sink is full.",
      finalizers: [
        { name: "example.com/hold", ours: false },
        { name: "example.com/tap", ours: true }
      ]
    })
  })

  test("explains the finalizers of Kubernetes", () => {
    const cached = shop({ deletionTimestamp: "2026-11-21T10:16:13Z", finalizers: ["foregroundDeletion"] })
    expect(explain(facts({ cached })).hints).toEqual([
      "That is for Kubernetes' garbage collector, which deletes what belongs to the object first."
    ])
  })

  test("reports an unreachable API server first", () => {
    expect(explain(facts({ reachable: false, queue: delayed(now + 1000) })).verdict).toBe("unreachable")
  })

  test("contains what is unknown without an answer of the API server", () => {
    const live = { _tag: "Unknown", reason: "no answer within 3s" } as const
    const explanation = explain(facts({ live }))
    expect(explanation).toMatchObject({ verdict: "reconciled", unknown: ["no answer within 3s"] })
    expect(explanation.object.exists).toBeUndefined()
    expect(Text.render(explanation)).toContain("\nNot known   no answer within 3s\n")
    expect(explain(facts({ live, cached: undefined })).answer).toBe(
      "This process sees no WebApp default/shop, and the API server did not say whether there is one."
    )
  })

  test("warns of stale data if a watch is rejected", () => {
    const caches = cases.reconciled.caches.map((each) => ({ ...each, problem: "cannot watch it" }))
    expect(explain(facts({ caches }))).toMatchObject({
      verdict: "reconciled",
      hints: ["What is known may be old: cannot watch it."]
    })
  })

  test("reports a namespace outside of the cache, whether or not the object exists", () => {
    const namespaces = ["prod", "test"]
    const end = "this process only sees namespace prod and test (--namespace)."
    expect(answer({ namespaces })).toBe(`WebApp default/shop exists, but ${end}`)
    expect(answer({ namespaces, live: { _tag: "NotThere" } })).toBe(`WebApp default/shop does not exist, and ${end}`)
    expect(answer({ namespaces, live: { _tag: "Unknown", reason: "x" } })).toBe(
      `WebApp default/shop is not looked at: ${end}`
    )
  })

  test("of a standby without a leader contains that", () => {
    const election = { ...cases.standby.election, leading: false, holder: undefined, identity: "me" }
    const { lease } = { lease: { namespace: "a", name: "b" }, ...cases.standby.election }
    expect(answer({ election: { ...election, lease } })).toEndWith(
      "it stands by, and the Lease homeostat-system/homeostat has no known holder at the moment."
    )
  })

  test("of an object that the journal has dropped contains that", () => {
    expect(explain(facts({ entry: undefined }))).toMatchObject({ verdict: "forgotten" })
  })

  test("marks own writes, and lists the other triggers of an attempt", () => {
    const own = { kind: "Deployment", key: "default/shop", resourceVersion: "own" }
    const entry = after({
      triggers: [
        {
          kind: "watch.modified",
          at: now - 5000,
          source: { kind: "WebApp", key: "default/shop", resourceVersion: "1" }
        },
        { kind: "owned.modified", at: now - 4000, source: own }
      ],
      coalesced: 2
    })
    const explanation = explain(facts({ entry, isOwn: ({ resourceVersion }) => resourceVersion === "own" }))
    expect(explanation.wokenBy.triggers.map(({ text }) => text)).toEqual([
      "it was changed",
      "its Deployment shop was changed by this controller"
    ])
    expect(Text.render(explanation)).toMatch(/\nAttempts .* it was changed \(\+1\) /)
  })
})

test("Each trigger has a phrase", () => {
  const self = { kind: "WebApp", namespace: "default", name: "shop" }
  const words = (kind: TriggerEvent["kind"], key?: string, of = "Pod"): string =>
    wordsOf({ kind, at: 0, ...(key !== undefined && { source: { kind: of, key, resourceVersion: "1" } }) }, self)
  expect(words("watch.added", "default/shop", "WebApp")).toBe("it was created")
  expect(words("watch.deleted", "default/a")).toBe("Pod a was deleted")
  expect(words("watch.modified", "prod/a")).toBe("Pod prod/a was changed")
  expect(words("owned.modified", "default/a")).toBe("its Pod a was changed")
  expect(words("startup", "default/shop", "WebApp")).toBe("it existed when the controller started")
  for (const kind of ["retry", "requeue", "requeue_after", "resync", "unreachable", "given_up"] as const) {
    expect(words(kind).length).toBeGreaterThan(5)
  }
})

test("The writes of an attempt are listed once, by their correction if there is one", () => {
  const self = { kind: "WebApp", namespace: "default", name: "shop" }
  const write = (what: string, over: object = {}) => ({
    verb: "apply",
    what,
    key: "default/shop",
    subresource: undefined,
    changed: true,
    error: undefined,
    ...over
  })
  expect(
    deeds(
      {
        corrections: [{ kind: "Deployment", key: "default/shop", reason: "intent", fields: ["spec.replicas"] }],
        writes: [
          write("Deployment"),
          write("Service", { changed: false }),
          write("WebApp", { subresource: "status" }),
          write("WebApp"),
          write("Job", { verb: "delete", key: "prod/old" }),
          write("secrets", { verb: "post", error: "Forbidden" })
        ],
        moreWrites: 2
      },
      self
    )
  ).toEqual([
    "changed Deployment shop (spec.replicas)",
    "wrote Service shop (nothing new)",
    "wrote its status",
    "wrote itself",
    "deleted Job prod/old",
    "could not post secrets shop (Forbidden)",
    "2 more writes"
  ])
})

describe("writersOf", () => {
  const object = shop({
    managedFields: [
      {
        manager: "old",
        operation: "Update",
        time: "2026-11-21T10:00:00Z",
        fieldsV1: { "f:spec": { "f:image": {}, "f:ports": { "f:a": {}, "f:b": {} } } }
      },
      {
        manager: "new",
        operation: "Apply",
        time: "2026-11-21T10:10:00Z",
        fieldsV1: {
          "f:metadata": { "f:finalizers": { ".": {}, 'v:"a/b"': {} }, "f:annotations": { "f:example.com/x": {} } },
          "f:spec": {
            "f:containers": {
              'k:{"name":"app"}': { ".": {}, "f:image": {}, "f:ports": { 'k:{"port":80,"protocol":"TCP"}': {} } }
            },
            "f:paused": {}
          }
        }
      },
      { fieldsV1: {}, subresource: "" }
    ]
  })

  test("returns the managers with their fields or common prefixes, the latest first", () => {
    expect(writersOf(object)).toEqual([
      {
        manager: "new",
        operation: "apply",
        subresource: undefined,
        at: "2026-11-21T10:10:00Z",
        fields: [
          "metadata.finalizers[a/b]",
          "metadata.annotations.example.com/x",
          "spec.containers (2 fields)",
          "spec.paused"
        ]
      },
      {
        manager: "old",
        operation: "update",
        subresource: undefined,
        at: "2026-11-21T10:00:00Z",
        fields: ["spec.image", "spec.ports.a", "spec.ports.b"]
      },
      { manager: "unknown", operation: "update", subresource: undefined, at: undefined, fields: [] }
    ])
  })

  test("has setterOf for finalizers", () => {
    expect(setterOf(object, "a/b")).toBe("new")
    expect(setterOf(object, "a/c")).toBeUndefined()
    expect(setterOf(undefined, "a/b")).toBeUndefined()
  })
})

test("Durations and times are readable", () => {
  const at = (millis: number): string => span(millis)
  expect([0, 350, 999, 1000, 59_999, 60_000, 200_000, 3_600_000, 7_500_000, 90_000_000, 86_400_000].map(at)).toEqual([
    ...["0ms", "350ms", "999ms", "1s", "59s", "1m", "3m20s", "1h", "2h5m", "1d1h", "1d"]
  ])
  expect(ago(now - 10, now)).toBe("just now")
  expect(ago(now + 5000, now)).toBe("just now")
  expect(ago(now - 1000, now)).toBe("1s ago")
  expect(span(90_061_000)).toBe("1d1h")
  expect(span(3_661_000)).toBe("1h1m")
  expect(future(now, now)).toBe("now (10:21:13Z)")
  expect(future(now - 5, now)).toBe("now (10:21:12Z)")
  expect(clock(now - 86_400_000, now)).toBe("2026-11-20 10:21:13Z")
})
