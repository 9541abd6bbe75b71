import { describe, expect, test } from "bun:test"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import type { Backup, BackupStatus } from "../kinds/Backup.ts"
import { accepted, at, backup, exited, run, saved, understood } from "./Backups.fixture.ts"
import * as Outcome from "./Outcome.ts"
import * as Status from "./RunStatus.ts"
import * as Summary from "./Summary.ts"

const now = at("2026-11-20T10:00:00Z")
const facts = (of: Backup, over: Partial<Summary.Facts> = {}): Summary.Facts => ({
  understood: understood(of),
  obstacle: undefined,
  course: undefined,
  waiting: undefined,
  sharing: undefined,
  next: at("2026-11-21T02:00:00Z"),
  now,
  ...over
})
const whole = (of: Backup, over: Partial<Summary.Facts> = {}, draft = Status.draft(of)) =>
  Summary.of(of, draft, facts(of, over))
/** The Backup with this status, for the next reconcile. */
const written = (of: Backup, { status }: Status.Draft): Backup => ({ ...of, status: accepted(status) })
const condition = (status: BackupStatus, type: string) => Condition.find(status.conditions, type)
const conditionText = (status: BackupStatus, type: string) => {
  const found = condition(status, type)
  return `${found?.status} ${found?.reason}: ${found?.message}`
}
const types = ({ conditions }: BackupStatus) => conditions?.map(({ status, type }) => `${type}=${status}`)
const events = ({ events }: Status.Draft) => events.map(({ reason, type }) => `${type} ${reason}`)
const missing = { reason: "CredentialsMissing", message: "Secret not found: a (create it)", final: false }
const invalid = { reason: "InvalidSchedule", message: "schedule: write another", final: true }

describe("A Backup before its first run", () => {
  const draft = whole(backup())
  test("is Ready without an obstacle, with one BackupScheduled Event", () => {
    expect(types(draft.status)).toEqual([
      "Ready=True",
      "LastRunSucceeded=Unknown",
      "VolumesIntact=Unknown",
      "RetentionApplied=True",
      "RepositoryHealthy=Unknown"
    ])
    expect(draft.status).toMatchObject({
      observedGeneration: 1,
      phase: "Pending",
      message: "Scheduled: 0 2 * * * (UTC).",
      nextBackupTime: "2026-11-21T02:00:00Z",
      effectiveSchedule: "0 2 * * *",
      repositoryHash: understood(backup()).repository.hash
    })
    expect(events(draft)).toEqual(["Normal BackupScheduled"])
  })
  test("shows its time zone and the effective schedule of a nickname", () => {
    expect(conditionText(whole(backup({ timeZone: "Europe/Berlin" })).status, "Ready")).toBe(
      "True Scheduled: Scheduled: 0 2 * * * (Europe/Berlin)."
    )
    expect(whole(backup({ schedule: "@daily-random" })).status.effectiveSchedule).toMatch(/^\d+ \d+ \* \* \*$/)
  })
  test("shows that it is suspended, or has no schedule", () => {
    expect(conditionText(whole(backup({ suspend: true })).status, "Ready")).toBe(
      "True Suspended: Scheduled runs are suspended."
    )
    expect(conditionText(whole(backup({ schedule: undefined })).status, "Ready")).toBe(
      "True Unscheduled: It runs once, because it has no schedule."
    )
    expect(conditionText(whole(backup({ schedule: undefined, startPolicy: "OnSchedule" })).status, "Ready")).toBe(
      "True Unscheduled: It runs on the annotation backup.example.com/run, because it has no schedule."
    )
  })
  test("is Pending with the message of an obstacle", () => {
    const pending = whole(backup(), { obstacle: missing })
    expect(pending.status).toMatchObject({ phase: "Pending", message: missing.message })
    expect(conditionText(pending.status, "Ready")).toBe(`False CredentialsMissing: ${missing.message}`)
    expect(condition(pending.status, "Stalled")).toBeUndefined()
    expect(events(pending)).toEqual(["Warning CredentialsMissing"])
  })
  test("is Failed and Stalled while its spec is invalid", () => {
    const failed = whole(backup(), { obstacle: invalid, understood: undefined, next: undefined })
    expect(failed.status).toMatchObject({ phase: "Failed", message: invalid.message })
    expect(failed.status.nextBackupTime).toBeUndefined()
    expect(types(failed.status)).toEqual([
      "Ready=False",
      "Stalled=True",
      "LastRunSucceeded=Unknown",
      "VolumesIntact=Unknown",
      "RetentionApplied=Unknown",
      "RepositoryHealthy=Unknown"
    ])
    expect(events(failed)).toEqual(["Warning InvalidSchedule"])
  })
  test("shows the reason why its run waits", () =>
    expect(whole(backup(), { waiting: "A run waits for its turn" }).status.message).toBe("A run waits for its turn"))
})

describe("An obstacle", () => {
  const first = whole(backup(), { obstacle: missing })
  const of = written(backup(), first)
  test("is reported once", () => expect(whole(of, { obstacle: missing }).events).toEqual([]))
  test("is reported again with another reason or message", () => {
    expect(events(whole(of, { obstacle: { ...missing, message: "Secret a lacks b" } }))).toEqual([
      "Warning CredentialsMissing"
    ])
    expect(events(whole(of, { obstacle: { ...missing, reason: "SourceNotFound" } }))).toEqual([
      "Warning SourceNotFound"
    ])
  })
  test("is reported as resolved", () => {
    const healed = whole(of)
    expect(events(healed)).toEqual(["Normal BackupScheduled"])
    expect(condition(healed.status, "Ready")?.status).toBe("True")
  })
  test("of an invalid spec no longer sets Stalled after the spec is corrected", () => {
    const stalled = written(backup(), whole(backup(), { obstacle: invalid, understood: undefined }))
    expect(types(whole(stalled).status)).not.toContain("Stalled=True")
  })
})

describe("Ready sums up the other conditions", () => {
  const first = written(backup(), whole(backup()))
  const withFalse = (...types: ReadonlyArray<string>): Backup => ({
    ...first,
    status: {
      ...first.status,
      conditions: (first.status?.conditions ?? []).map((each) =>
        types.includes(each.type)
          ? { ...each, status: "False", reason: `${each.type}Failed`, message: "Because." }
          : each
      )
    }
  })
  const all = ["VolumesIntact", "RepositoryHealthy", "LastRunSucceeded"]
  for (const [at, type] of all.entries()) {
    test(`and shows the worst: ${type}`, () => {
      const { status } = whole(withFalse(...all.slice(at)))
      expect(conditionText(status, "Ready")).toBe(`False ${type}Failed: Because.`)
      expect(Status.canRun(status.conditions)).toBe(true)
    })
  }
  test("and shows an obstacle, or a suspended Backup, before them", () => {
    const of = withFalse(...all)
    const blocked = whole(of, { obstacle: missing }).status
    expect(condition(blocked, "Ready")?.reason).toBe(missing.reason)
    expect(Status.canRun(blocked.conditions)).toBe(false)
    expect(condition(whole({ ...of, spec: { ...of.spec, suspend: true } }).status, "Ready")?.reason).toBe("Suspended")
  })
})

describe("The other Backups of a repository", () => {
  const shared = whole(backup(), { sharing: ["shop/db", "shop/web"] })
  const sentence = "Scheduled: 0 2 * * * (UTC). The repository is shared with shop/db, shop/web: they take turns."
  test("are named in the message", () => expect(condition(shared.status, "Ready")?.message).toBe(sentence))
  test("stay in the message until a lookup finds none", () => {
    const of = written(backup(), shared)
    expect(condition(whole(of).status, "Ready")?.message).toBe(sentence)
    expect(condition(whole(of, { sharing: [] }).status, "Ready")?.message).toBe("Scheduled: 0 2 * * * (UTC).")
  })
})

describe("A nightly run", () => {
  const before = written(backup(), whole(backup(), { now: at("2026-11-19T00:00:00Z") }))
  const begun = whole(
    before,
    { course: "The mover runs", now },
    Status.started(Status.draft(before), run(), at("2026-11-20T02:00:00Z"))
  )
  const during = written(before, begun)
  const over = whole(during, { now }, Status.ended(Status.draft(during), run(), exited(0, saved), now))
  test("is Running with its progress, and then Completed with its result", () => {
    expect(begun.status).toMatchObject({ phase: "Running", message: "The mover runs" })
    expect(over.status).toMatchObject({ phase: "Completed", message: "1 volume saved" })
  })
  test("does not change Ready or Reconciling", () => {
    for (const { status } of [begun, over]) {
      expect(condition(status, "Ready")).toEqual(condition(before.status ?? {}, "Ready") as Condition.Condition)
      expect(condition(status, "Reconciling")).toBeUndefined()
      expect(condition(status, "Stalled")).toBeUndefined()
    }
  })
  test("with the same result as the last one changes no transition time", () => {
    const first = written(during, over)
    const again = whole(
      first,
      { now: now + 86_400_000 },
      Status.ended(Status.draft(first), run({ job: "next" }), exited(0, saved), now)
    )
    for (const { lastTransitionTime, type } of again.status.conditions ?? []) {
      expect(lastTransitionTime).toBe(condition(over.status, type)?.lastTransitionTime ?? "")
    }
  })
  test("that fails changes LastRunSucceeded and the phase", () => {
    const first = written(during, over)
    const failed = whole(
      first,
      { now: now + 5000 },
      Status.ended(Status.draft(first), run({ job: "next" }), exited(43), now)
    )
    expect(failed.status.phase).toBe("Failed")
    expect(condition(failed.status, "LastRunSucceeded")).toMatchObject({
      status: "False",
      reason: "DestinationUnreachable",
      lastTransitionTime: "2026-11-20T10:00:05Z"
    })
    const { message = "" } = condition(failed.status, "LastRunSucceeded") ?? {}
    expect(conditionText(failed.status, "Ready")).toBe(`False DestinationUnreachable: ${message}`)
    // Runs could start, so the recovery changes nothing about the schedule.
    expect(Status.canRun(failed.status.conditions)).toBe(true)
    const healed = whole(
      written(first, failed),
      { now: now + 9000 },
      Status.ended(Status.draft(written(first, failed)), run({ job: "third" }), exited(0, saved), now)
    )
    expect(condition(healed.status, "Ready")).toMatchObject({ status: "True", reason: "Scheduled" })
    expect(events(healed)).not.toContain("Normal BackupScheduled")
  })
  test("leaves the phase of the last run when the Backup is suspended, or an obstacle appears", () => {
    const of = { ...written(during, over), spec: { ...before.spec, suspend: true } }
    expect(whole(of, { next: undefined }).status).toMatchObject({ phase: "Completed" })
    expect(whole(of, { next: undefined }).status.nextBackupTime).toBeUndefined()
    expect(whole(written(during, over), { obstacle: missing }).status).toMatchObject({
      phase: "Completed",
      message: missing.message
    })
  })
  test("updates observedGeneration when the spec is edited, and continues", () => {
    const edited = { ...during, metadata: { ...during.metadata, generation: 2 } }
    expect(whole(edited, { course: "The mover runs" }).status).toMatchObject({
      observedGeneration: 2,
      phase: "Running"
    })
  })
})

const long = FastCheck.oneof(
  FastCheck.string({ maxLength: 50, unit: "binary" }),
  FastCheck.constantFrom("x".repeat(5000), "\u{1f600}".repeat(3000), "a. ", "\n\n", "")
)
const amount = FastCheck.constantFrom(0, 1, 2 ** 31, Number.MAX_SAFE_INTEGER, 1e300)
const snapshots = FastCheck.oneof(
  FastCheck.array(
    FastCheck.record({
      pvc: long,
      id: FastCheck.constantFrom("0".repeat(64), "short"),
      bytes: amount,
      added: amount,
      files: amount
    }),
    { maxLength: 3 }
  ),
  FastCheck.constant(
    Array.from({ length: 1500 }, (_, index) => ({
      pvc: `${"v".repeat(200)}${index}`,
      id: "0".repeat(64),
      bytes: 1e300,
      added: 0,
      files: 0
    }))
  )
)
const ending: FastCheck.Arbitrary<Outcome.Ending> = FastCheck.oneof(
  FastCheck.record({
    _tag: FastCheck.constant("Exited" as const),
    exitCode: FastCheck.constantFrom(0, 1, 3, 40, 41, 42, 43, 44, 47, 137, 143),
    text: FastCheck.oneof(
      long,
      FastCheck.record({
        reason: FastCheck.constantFrom("Succeeded", "x"),
        message: long,
        snapshots,
        repository: FastCheck.constant("ab".repeat(32)),
        kept: amount,
        removed: amount,
        operation: FastCheck.constantFrom("backup", "forget", "check"),
        pruned: FastCheck.boolean(),
        checked: FastCheck.boolean()
      }).map((result) => JSON.stringify(result))
    )
  }),
  long.map((message) => ({ _tag: "Evicted", message }) as const),
  long.map((message) => ({ _tag: "ImagePullFailed", image: "i".repeat(1024), message }) as const),
  long.map((message) => ({ _tag: "NotStarted", seconds: 600, message }) as const),
  FastCheck.constant({ _tag: "Replaced" } as const),
  FastCheck.boolean().map((succeeded) => ({ _tag: "Lost", succeeded }) as const),
  FastCheck.constant({ _tag: "JobDeleted", job: "j" } as const)
)
type Step = (draft: Status.Draft) => Status.Draft
const later = (draft: Status.Draft): Status.Active => draft.status.active ?? run()
const step: FastCheck.Arbitrary<Step> = FastCheck.oneof(
  FastCheck.record({
    token: FastCheck.constant("T".repeat(253)),
    trigger: FastCheck.constantFrom("manual" as const, "schedule" as const, "unlock" as const)
  }).map(
    (over): Step =>
      (draft) =>
        Status.started(draft, run({ ...over, job: "j".repeat(63) }), now)
  ),
  FastCheck.record({ ending, allowPartial: FastCheck.boolean() }).map(
    ({ allowPartial, ending }): Step =>
      (draft) =>
        Status.ended(draft, later(draft), Outcome.judge(ending, { allowPartial }), now)
  ),
  ending.map(
    (ending): Step =>
      (draft) =>
        Status.partEnded(draft, later(draft), Outcome.judge(ending))
  ),
  FastCheck.constant<Step>((draft) => Status.skipped(draft, now, "j".repeat(63))),
  FastCheck.constant<Step>((draft) => Status.missed(draft, now, 60)),
  FastCheck.constant<Step>((draft) => Status.corrected(draft, now))
)
const steps = FastCheck.array(FastCheck.array(step, { maxLength: 3 }), { minLength: 1, maxLength: 5 })
const known = FastCheck.record({
  obstacle: FastCheck.option(
    FastCheck.record({ reason: FastCheck.constant("SourceNotFound"), message: long, final: FastCheck.boolean() }),
    { nil: undefined }
  ),
  course: FastCheck.option(long, { nil: undefined }),
  waiting: FastCheck.option(long, { nil: undefined }),
  sharing: FastCheck.option(
    FastCheck.array(FastCheck.constantFrom("shop/db", `shop/${"y".repeat(253)}`), { maxLength: 2000, size: "max" }),
    { nil: undefined }
  )
})
const specs = FastCheck.constantFrom(
  {},
  { retentionPolicy: "30d" },
  { retentionPolicy: "1m" },
  { suspend: true },
  { schedule: "@every 95m", allowPartial: true }
)

describe("For any sequence of events,", () => {
  test("the status is valid, and a second reconcile changes and reports nothing", () =>
    FastCheck.assert(
      FastCheck.property(specs, steps, known, (spec, rounds, over) => {
        let of = backup(spec)
        for (const round of rounds) {
          const draft = round.reduce((before, take) => take(before), Status.draft(of))
          const first = whole(of, over, draft)
          of = written(of, first)
          const second = whole(of, { ...over, now: now + 3_600_000 })
          expect(second.events).toEqual([])
          expect(second.status).toEqual(first.status)
        }
      }),
      { numRuns: 150, seed: Seed.current() }
    ))

  test("lastScheduleTime decreases only by a correction, and transition times change only with the status of a condition", () =>
    FastCheck.assert(
      FastCheck.property(steps, FastCheck.array(FastCheck.integer({ min: -9e8, max: 9e8 })), (rounds, ticks) => {
        let draft = Status.draft(backup())
        for (const offset of ticks) {
          const before = draft.status.lastScheduleTime ?? ""
          const take =
            offset % 2 === 0 ? Status.skipped(draft, now + offset, "j") : Status.started(draft, run(), now + offset)
          expect(take.status.lastScheduleTime?.localeCompare(before)).toBeGreaterThanOrEqual(0)
          draft = take
        }
        let of = backup()
        rounds.forEach((round, index) => {
          const draft = round.reduce((before, take) => take(before), Status.draft(of))
          const next = whole(of, { now: now + index * 1000 }, draft)
          for (const { lastTransitionTime, status, type } of next.status.conditions ?? []) {
            const former = condition(of.status ?? {}, type)
            if (former?.status === status) expect(lastTransitionTime).toBe(former.lastTransitionTime)
            else expect(lastTransitionTime).toBe(new Date(now + index * 1000).toISOString().replace(".000", ""))
          }
          of = written(of, next)
        })
      }),
      { numRuns: 60, seed: Seed.current() }
    ))
})

describe("A maintenance that waits", () => {
  const of = backup({ retention: { keepLast: 1 } })
  const reason = "Pod shop/other works on the repository"
  const last = {
    job: "cart-k1",
    startTime: "2026-11-19T02:00:00Z",
    completionTime: "2026-11-19T02:01:00Z",
    reason: "Succeeded"
  }
  const before = {
    ...of,
    status: Status.ended(Status.draft(of), run(), exited(0, { ...saved, removed: 1, kept: 1 }), now).status
  }
  const applied = {
    ...before,
    status: {
      ...before.status,
      maintenance: { last },
      conditions: Status.conditions(before.status, [
        { type: "RetentionApplied", status: "True", reason: "Applied", message: "1 snapshot deleted, 1 kept" }
      ])
    }
  }
  for (const [operations, type, message] of [
    [["check", "forget"], "RetentionApplied", "True Applied: 1 snapshot deleted, 1 kept."],
    [["prune"], "RetentionApplied", "True Applied: 1 snapshot deleted, 1 kept."],
    [["check"], "RepositoryHealthy", "True Opened: The last run opened the repository."]
  ] as const) {
    test(`is in the status and in ${type}, until it starts: ${operations.join(", ")}`, () => {
      const other = type === "RetentionApplied" ? "RepositoryHealthy" : "RetentionApplied"
      const waits = whole(applied, { upkeep: { operations, reason } })
      expect(accepted(waits.status).maintenance).toEqual({ last, waiting: reason })
      expect(conditionText(waits.status, type)).toBe(`${message} The maintenance waits: ${reason}`)
      expect(conditionText(waits.status, other)).not.toContain("waits")
      // The reason is there once, and the next status has the present one.
      const again = whole(written(applied, waits), { upkeep: { operations, reason: "another" } })
      expect(conditionText(again.status, type)).toBe(`${message} The maintenance waits: another`)
      const started = whole(written(applied, again))
      expect(started.status.maintenance).toEqual({ last })
      expect(JSON.stringify(started.status)).not.toContain("waits")
      expect(events(again)).toEqual([])
    })
  }
})

test("VolumesIntact does not report NeverRun after runs of 0.1.0", () => {
  const of = {
    ...backup(),
    status: { lastRun: { ...run(), completionTime: "2026-11-20T02:05:00Z", reason: "Succeeded" } }
  }
  expect(conditionText(whole(of).status, "VolumesIntact")).toBe("Unknown NotChecked: The next run checks the volumes")
})
