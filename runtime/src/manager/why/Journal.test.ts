import { describe, expect, test } from "bun:test"
import type { Change } from "../../cache/Store.ts"
import type { Exchange } from "../../client/Exchange.ts"
import { attempt, exchange } from "../../controller/Attempt.fixture.ts"
import { Outcome } from "../../controller/Attempt.ts"
import type { KubernetesObject } from "../../resource/KubernetesObject.ts"
import * as Journal from "./Journal.ts"

const failed = (message: string, number = 1) =>
  attempt({
    number,
    outcome: Outcome.Failed({ cause: undefined as never, error: new Error(message), defect: false }),
    next: { _tag: "Run", afterMillis: 5 }
  })

/** A patch of `deployments/shop` and its outcome. */
const patched = (over: Partial<Exchange> = {}): Exchange =>
  exchange({
    request: {
      method: "PATCH",
      path: "/apis/apps/v1/namespaces/default/deployments/shop",
      template: "/apis/apps/v1/namespaces/{ns}/deployments/{name}",
      headers: {},
      repeatable: true,
      namespace: "default",
      name: "shop"
    },
    write: {
      kind: "Deployment",
      verb: "apply",
      subresource: undefined,
      fieldManager: "webapp",
      before: "1",
      after: "2",
      changed: true
    },
    ...over
  })

const object = (name: string, resourceVersion = "7"): KubernetesObject => ({
  metadata: { namespace: "default", name, uid: `uid-${name}`, resourceVersion, creationTimestamp: "" }
})

const change = (name: string, over: Partial<Change> = {}): Change => ({
  type: "updated",
  object: object(name),
  initial: false,
  relisted: false,
  receivedAt: 100,
  ...over
})

const ignore = (journal: Journal.Journal, name: string, predicate = "no", over: Partial<Change> = {}) =>
  journal.ignored(`default/${name}`, "watch.modified", "Widget", change(name, over), predicate)

const runs = (journal: Journal.Journal, key = "default/a") => journal.of(key)?.runs ?? []

describe("The journal", () => {
  test("redacts errors like the log", () => {
    const journal = Journal.make()
    journal.record(failed("refused: Bearer hunter2-hunter2\n of https://me:hunter2@proxy.test"))
    expect(runs(journal)).toMatchObject([{ message: "refused: Bearer <redacted> of https://<redacted>@proxy.test" }])
  })

  test("contains the shown parts of an attempt", () => {
    const journal = Journal.make()
    const fired = (at: number) => ({ kind: "watch.modified" as const, at })
    journal.record(
      attempt({
        triggers: [1, 2, 3, 4, 5].map(fired),
        dropped: 2,
        object: object("a"),
        exchanges: [
          patched({ write: undefined, request: { ...patched().request, method: "GET" } }),
          patched(),
          patched({ write: undefined, status: 409, error: "Conflict" })
        ]
      })
    )
    expect(runs(journal)).toMatchObject([
      {
        startedAt: 10,
        finishedAt: 35,
        waitedMillis: 10,
        outcome: "Done",
        message: undefined,
        triggers: [fired(3), fired(4), fired(5)],
        coalesced: 7,
        requests: 3,
        writes: [
          { verb: "apply", what: "Deployment", key: "default/shop", changed: true, error: undefined },
          { verb: "patch", what: "deployments", key: "default/shop", changed: undefined, error: "Conflict" }
        ]
      }
    ])
    // The journal must not keep the object.
    expect(JSON.stringify(journal.of("default/a"))).not.toContain("uid-a")
  })

  test("contains the number of requests, including dropped ones", () => {
    const journal = Journal.make()
    journal.record(attempt({ exchanges: [patched()], requests: 300 }))
    expect(runs(journal)).toMatchObject([{ requests: 300 }])
  })

  test("merges equal attempts into the last one, with their number and the first time", () => {
    const journal = Journal.make()
    journal.record(failed("dry", 1))
    journal.record({ ...failed("dry", 2), startedAt: 50 })
    journal.record({ ...failed("dry", 3), startedAt: 90 })
    journal.record({ ...failed("wet", 4), startedAt: 200 })
    expect(runs(journal)).toMatchObject([
      { message: "dry", number: 3, times: 3, since: 10, startedAt: 90 },
      { message: "wet", number: 4, times: 1, since: 200 }
    ])
  })

  test("keeps each attempt that changed an object", () => {
    const journal = Journal.make()
    for (let count = 0; count < 3; count++) journal.record(attempt({ exchanges: [patched()] }))
    expect(runs(journal)).toHaveLength(3)
    journal.record(attempt())
    journal.record(attempt())
    expect(runs(journal)).toHaveLength(4)
  })

  test("keeps the last eight attempts of an object, and truncates long messages", () => {
    const journal = Journal.make()
    for (let count = 0; count < 20; count++) journal.record(failed(`${count} ${"x".repeat(5000)}`))
    expect(runs(journal).map(({ message }) => message?.split(" ")[0])).toEqual([
      ...["12", "13", "14", "15", "16", "17", "18", "19"]
    ])
    for (const { message } of runs(journal)) expect(message?.length).toBeLessThan(600)
  })

  test("contains ignored changes, merged by reason", () => {
    const journal = Journal.make()
    ignore(journal, "a", "size")
    ignore(journal, "a", "size", { receivedAt: 200 })
    ignore(journal, "a", "colour", { receivedAt: 300 })
    expect(journal.of("default/a")?.ignored).toMatchObject([
      {
        predicate: "size",
        times: 2,
        at: 200,
        uid: "uid-a",
        source: { kind: "Widget", key: "default/a", resourceVersion: "7" }
      },
      { predicate: "colour", times: 1, at: 300 }
    ])
    for (let count = 0; count < 9; count++) ignore(journal, "a", `${count}`)
    expect(journal.of("default/a")?.ignored.map(({ predicate }) => predicate)).toEqual(["6", "7", "8"])
  })

  test("counts the bytes of an attempt by the length of its texts", () => {
    const bytesOf = (over: Parameters<typeof attempt>[0]): number => {
      const journal = Journal.make()
      journal.record(attempt(over))
      return journal.size().bytes
    }
    const long = "x".repeat(100)
    const triggered = (key: string) => ({
      triggers: [{ kind: "watch.added" as const, at: 0, source: { kind: "Widget", key, resourceVersion: "1" } }]
    })
    const written = (name: string) => ({ exchanges: [patched({ request: { ...patched().request, name } })] })
    const corrected = (key: string, field = "f", reason = "drift" as const) => ({
      corrections: [{ kind: "Pod", key, reason, fields: [field] }]
    })
    expect(bytesOf(triggered("")) - bytesOf({})).toBe(200)
    expect(bytesOf(triggered(long)) - bytesOf(triggered(""))).toBe(100)
    expect(bytesOf(written(long)) - bytesOf(written("a"))).toBe(99)
    expect(bytesOf(corrected(long)) - bytesOf(corrected(""))).toBe(100)
    expect(bytesOf(corrected("", long)) - bytesOf(corrected("", "f"))).toBe(99)
    expect(bytesOf(corrected("", "")) - bytesOf({})).toBe(130)
    expect(bytesOf({ key: long }) - bytesOf({ key: "" })).toBe(100)
  })

  test("counts the bytes of three ignored changes, because a fourth replaces the first", () => {
    const journal = Journal.make()
    const bytes = [0, 1, 2, 3, 4].map((count) => {
      ignore(journal, "a", `${count}`)
      return journal.size().bytes
    })
    const [one = 0, two = 0, three = 0] = bytes
    const each = two - one
    expect(each).toBePositive()
    expect(bytes).toEqual([one, one + each, three, three, three])
    expect(three).toBe(two + each)
  })

  test("keeps the last 200 ignored sources of a trigger", () => {
    const journal = Journal.make()
    const trigger = {}
    for (let count = 0; count < 500; count++) {
      journal.ignoredElsewhere(trigger, "watch.modified", "Pod", change(`pod-${count}`), "no")
    }
    journal.ignoredElsewhere(trigger, "watch.modified", "Pod", change("pod-400"), "no")
    const sources = Array.from(journal.elsewhere(trigger))
    expect(sources).toHaveLength(200)
    expect(sources.at(-1)).toMatchObject({ source: { key: "default/pod-400" }, times: 2 })
    expect(Array.from(journal.elsewhere({}))).toEqual([])
  })

  test("contains the deletion of an object with its attempts", () => {
    const journal = Journal.make()
    journal.record(attempt())
    journal.deleted("default/a", "uid-a", 900)
    expect(journal.of("default/a")).toMatchObject({ deleted: { uid: "uid-a", at: 900 }, runs: [{ outcome: "Done" }] })
  })

  test("drops the oldest objects when it is full", () => {
    const journal = Journal.make({ capacity: 10_000 })
    for (const key of ["a", "b"]) journal.record(attempt({ key }))
    let count = 0
    for (; journal.of("b") !== undefined && count < 100; count++) {
      journal.record(attempt({ key: `n${count}` }))
      if (count % 3 === 0) journal.record(attempt({ key: "a", generation: 2 }))
      expect(journal.size().bytes).toBeLessThanOrEqual(10_000)
    }
    expect(count).toBeWithin(9, 30)
    // The last of its two attempts is left.
    expect(runs(journal, "a").at(-1)).toMatchObject({ generation: 2 })
    expect(runs(journal, `n${count - 1}`)).toHaveLength(1)
  })

  for (const [when, written] of [
    ["a start", false],
    ["their creation", true]
  ] as const) {
    test(`keeps the last attempt of each of 10,000 idle objects after ${when}`, () => {
      const journal = Journal.make()
      const key = (count: number) => `team-${count % 10}/application-${count}`
      for (let count = 0; count < 10_000; count++) {
        const triggers = ["WebApp", "Deployment", "Service"].map((kind) => ({
          kind: "startup" as const,
          at: count,
          source: { kind, key: key(count), resourceVersion: `${count}` }
        }))
        if (written) {
          const exchanges = [patched(), patched(), patched(), patched()]
          journal.record(attempt({ key: key(count), triggers, exchanges }))
        }
        journal.record(attempt({ key: key(count), triggers }))
      }
      const known = Array.from({ length: 10_000 }, (_, count) => runs(journal, key(count)).at(-1))
      expect(known.filter((run) => run === undefined)).toEqual([])
      expect(known[0]).toMatchObject({ outcome: "Done", triggers: [{ source: { kind: "Service" } }], coalesced: 3 })
      // The latest objects keep all attempts.
      expect(runs(journal, key(9999))).toHaveLength(written ? 2 : 1)
      expect(journal.size().bytes).toBeLessThanOrEqual(Journal.capacity)
    })
  }

  test("counts the bytes of long field names, which it truncates", () => {
    const heap = (): number => {
      Bun.gc(true)
      return process.memoryUsage().heapUsed
    }
    const before = heap()
    const journal = Journal.make()
    for (let count = 0; count < 5000; count++) {
      const fields = [0, 1, 2, 3, 4].map((field) => `env[${count} ${field} ${"я".repeat(10_000)}]`)
      const corrections = [0, 1].map((child) => ({
        kind: "Deployment",
        key: `shop/${count}-${child}`,
        reason: "drift" as const,
        fields
      }))
      journal.record(attempt({ key: `shop/${count}`, corrections }))
    }
    const { bytes, keys } = journal.size()
    expect(bytes).toBeLessThanOrEqual(Journal.capacity)
    expect(keys).toBeGreaterThan(500)
    expect(heap() - before).toBeLessThan(1.5 * bytes)
    expect(journal.of("shop/4999")?.runs[0]?.corrections[0]?.fields).toEqual(
      [0, 1, 2, 3].map((field) => `${`env[4999 ${field} ${"я".repeat(256)}`.slice(0, 256)}…`)
    )
  })

  test("does not grow while 100,000 objects are created and deleted", () => {
    const journal = Journal.make()
    const heap = (): number => {
      Bun.gc(true)
      return process.memoryUsage().heapUsed
    }
    const live = (from: number, to: number): void => {
      for (let count = from; count < to; count++) {
        const name = `object-${count}`
        const key = `default/${name}`
        const triggers = [
          { kind: "watch.added" as const, at: count, source: { kind: "Widget", key, resourceVersion: `${count}` } }
        ]
        journal.record({ ...failed(`nothing comes of ${name}`), key, triggers })
        journal.record(attempt({ key, triggers, exchanges: [patched()] }))
        ignore(journal, name, "size")
        journal.deleted(key, `uid-${name}`, count)
      }
    }
    live(0, 20_000)
    const before = { heap: heap() }
    live(20_000, 100_000)
    const after = { heap: heap(), ...journal.size() }
    expect(after.bytes).toBeLessThanOrEqual(Journal.capacity)
    expect(after.keys).toBeWithin(1000, 20_000)
    expect(after.heap - before.heap).toBeLessThan(Journal.capacity)
    expect(journal.of("default/object-99999")?.runs).toHaveLength(2)
    expect(journal.of("default/object-1")).toBeUndefined()
  }, 60_000)
})

describe("A deleted object", () => {
  const hour = Journal.retentionMillis
  const filled = () => {
    const journal = Journal.make()
    journal.record(attempt({ key: "default/a", uid: "one" }))
    journal.deleted("default/a", "one", 1000)
    return journal
  }

  test("is kept for an hour, and then dropped", () => {
    const journal = filled()
    journal.expire(1000 + hour - 1)
    expect(journal.of("default/a")?.deleted).toEqual({ uid: "one", at: 1000 })
    journal.expire(1000 + hour)
    expect(journal.of("default/a")).toBeUndefined()
    expect(journal.size()).toEqual({ keys: 0, bytes: 0 })
  })
  test("does not affect a new object with the same name when it is dropped", () => {
    const journal = filled()
    journal.record(attempt({ key: "default/a", uid: "two" }))
    journal.expire(1000 + hour)
    expect(journal.of("default/a")?.deleted).toBeUndefined()
    expect(journal.of("default/a")?.runs).not.toBeEmpty()
  })
  test("is kept from its last deletion on", () => {
    const journal = filled()
    journal.deleted("default/a", "two", 1000 + hour)
    journal.expire(1000 + hour)
    expect(journal.of("default/a")?.deleted).toEqual({ uid: "two", at: 1000 + hour })
  })
  test("is dropped together with ignored changes of other kinds of the same age", () => {
    const journal = filled()
    const trigger = {}
    journal.ignoredElsewhere(trigger, "owned.modified", "Pod", change("p", { receivedAt: 0 }), "no")
    journal.ignoredElsewhere(trigger, "owned.modified", "Pod", change("q", { receivedAt: hour }), "no")
    journal.expire(hour)
    expect(Array.from(journal.elsewhere(trigger), ({ source }) => source.key)).toEqual(["default/q"])
  })
})
