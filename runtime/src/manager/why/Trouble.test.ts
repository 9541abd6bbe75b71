/** The worst fact leads the answer: one row for each kind of fact, and their order. */
import { describe, expect, test } from "bun:test"
import type { Verdict } from "./Answer.ts"
import { answerOf } from "./Answer.ts"
import type { Facts } from "./Facts.ts"
import * as Health from "./Health.ts"
import * as Trouble from "./Trouble.ts"
import { cases, facts, now, shop } from "./Why.fixture.ts"

const second = 1000

const entry = (...runs: NonNullable<Facts["entry"]>["runs"]): Facts["entry"] => ({
  runs,
  ignored: [],
  deleted: undefined
})

const [failed] = cases.backoff.entry?.runs.slice(-1) ?? []
const [repair] = cases["put back"].entry?.runs ?? []
if (failed === undefined || repair === undefined) throw new Error("The cases have attempts.")

const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: "Because.",
  lastTransitionTime: "2026-11-21T10:18:13Z"
})

const rewrite: Facts["loop"] = {
  reason: "rewrite",
  manager: undefined,
  note: "status.seen is new.",
  since: now,
  at: now
}

/** The facts that can lead, the worst first, each with the beginning of its answer. */
const facets: ReadonlyArray<
  readonly [fact: string, over: Partial<Facts>, verdict: Verdict, begins: string, health: Health.Health]
> = [
  [
    "a deletion that waits",
    {
      cached: shop({ deletionTimestamp: "2026-11-21T10:16:13Z", finalizers: ["example.com/hold"] }),
      state: "Deleting"
    },
    "deletion-blocked",
    "WebApp default/shop is being deleted, as requested 5m ago (10:16:13Z), and waits for finalizer example.com/hold,",
    "unhealthy"
  ],
  [
    "a fight",
    { loop: cases.fight.loop },
    "fight",
    "WebApp default/shop is in a fight with kubectl-scale, last 2s ago (10:21:11Z): spec.replicas of Deployment default/shop was put back",
    "unhealthy"
  ],
  [
    "a loop",
    { loop: rewrite },
    "loop",
    "Controller webapp writes WebApp default/shop to no effect, last just now (10:21:13Z): status.seen is new.",
    "unhealthy"
  ],
  [
    "failed attempts",
    { entry: entry(failed), queue: cases.backoff.queue },
    "backoff",
    "WebApp default/shop failed, 9 times in a row, and the manager retries it in 12s (10:21:25Z): ",
    "unhealthy"
  ],
  [
    "a condition",
    { cached: shop({}, [condition("Ready", "False", "WrongPassword")]), state: "Failed" },
    "not-ready",
    "WebApp default/shop is not ready: its condition Ready has been False for 3m: WrongPassword: Because. It was",
    "unhealthy"
  ],
  [
    "a change that was put back",
    { entry: entry(repair) },
    "drift",
    "kubectl-scale changed spec.replicas of Deployment shop, and controller webapp put it back 1m59s ago (10:19:13Z). It was",
    "healthy"
  ],
  [
    "a pause",
    { cached: shop({}, [condition("Ready", "True", "Suspended")]), state: "Paused" },
    "paused",
    "WebApp default/shop is paused: its condition Ready has been True for 3m: Suspended: Because. It was",
    "unhealthy"
  ],
  ["nothing", {}, "reconciled", "WebApp default/shop was reconciled 2m ago (10:19:13Z) without an error", "healthy"]
]

describe("The answer begins with the worst fact:", () => {
  for (const [at, [fact, over, verdict, begins, health]] of facets.entries()) {
    test(fact, () => {
      const whole = facts(over)
      const answer = answerOf(whole)
      expect(answer.verdict).toBe(verdict)
      expect(answer.answer).toStartWith(begins)
      expect(Health.of(verdict, whole.state)).toBe(health)
      // It leads each fact that is less bad, if the two can hold together.
      for (const [less, milder] of facets.slice(at + 1)) {
        const both = facts({ ...milder, ...over })
        expect([less, answerOf(both).verdict]).toEqual([less, verdict])
      }
    })
  }

  test("in the order of the troubles", () => {
    const order = facets.flatMap(([, , verdict]) => Trouble.all.filter((each) => each === verdict))
    expect(order).toEqual([...Trouble.all])
  })
})

describe("A fact that is over does not lead:", () => {
  const over: { readonly [fact: string]: Partial<Facts> } = {
    "a loop of five minutes ago": { loop: { ...rewrite, at: now - Trouble.recentMillis } },
    "a value that the API server changed": { loop: { ...rewrite, reason: "altered" } },
    "a change that was put back five minutes ago": {
      entry: entry({ ...repair, finishedAt: now - Trouble.recentMillis })
    },
    "a change of the intent": {
      entry: entry({ ...repair, corrections: repair.corrections.map((each) => ({ ...each, reason: "intent" })) })
    }
  }
  for (const [fact, facet] of Object.entries(over)) {
    test(fact, () => expect(answerOf(facts(facet)).verdict).toBe("reconciled"))
  }
})

describe("A change that was put back", () => {
  const answer = (...runs: NonNullable<Facts["entry"]>["runs"]) => answerOf(facts({ entry: entry(...runs) }))
  const unnamed = repair.corrections.map(({ manager: _, ...each }) => each)

  test("by an unknown manager leads to the audit log", () => {
    const { answer: text, hints } = answer({ ...repair, corrections: unnamed })
    expect(text).toStartWith("Another manager changed spec.replicas of Deployment shop, ")
    expect(hints).toEqual([
      "The API server's audit log names the manager. Either it stops, or WebApp default/shop asks for what it wants."
    ])
  })

  test("several times is counted", () => {
    const { answer: text } = answer(repair, { ...repair, finishedAt: now - second })
    expect(text).toContain("put it back 1s ago (10:21:12Z) (2 times in 5m).")
  })

  test("without fields names the child", () => {
    const { answer: text } = answer({ ...repair, corrections: unnamed.map((each) => ({ ...each, fields: [] })) })
    expect(text).toStartWith("Another manager changed Deployment shop, ")
  })
})

describe("The health of an object", () => {
  test("is unknown if this process does not know it", () => {
    for (const each of [cases["never seen"], cases.denied, cases.deleted, cases.standby, cases["cache not synced"]]) {
      expect(Health.of(answerOf(each).verdict, each.state)).toBe("unknown")
    }
    expect(Health.of("reconciled", "Unknown")).toBe("unknown")
    expect(Health.of("queued", "Progressing")).toBe("unhealthy")
  })

  test.each(["crd-narrowed", "writes-stopped"] as const)("is bad while nothing reconciles it: %s", (verdict) => {
    expect(Health.of(verdict, "Ready")).toBe("unhealthy")
  })

  test("of several controllers is the worst", () => {
    expect(Health.worst([])).toBe("unknown")
    expect(Health.worst(["healthy", "healthy"])).toBe("healthy")
    expect(Health.worst(["healthy", "unknown"])).toBe("unknown")
    expect(Health.worst(["unknown", "unhealthy"])).toBe("unhealthy")
  })

  test("has an exit code, and 0 without a header", () => {
    expect(["healthy", "unhealthy", "unknown", "odd", null].map(Health.codeOf)).toEqual([0, 3, 4, 0, 0])
  })
})
