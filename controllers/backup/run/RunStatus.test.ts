import { describe, expect, test } from "bun:test"
import * as Condition from "@homeostat/runtime/resource/Condition"
import type { Backup, BackupStatus } from "../kinds/Backup.ts"
import { accepted, at, backup, exited, run, saved, understood } from "./Backups.fixture.ts"
import * as Maintenance from "./Maintenance.ts"
import * as Outcome from "./Outcome.ts"
import * as Status from "./RunStatus.ts"
import * as Summary from "./Summary.ts"

const tick = at("2026-11-20T02:00:00Z")
const end = at("2026-11-20T02:05:00Z")
const events = ({ events }: Status.Draft) => events.map(({ note, reason, type }) => `${type} ${reason}: ${note}`)
const reasons = ({ events }: Status.Draft) => events.map(({ reason }) => reason)
const of = (status: BackupStatus = {}): Status.Draft => ({ status, events: [] })
const condition = ({ status }: Status.Draft, type: string) => Condition.find(status.conditions, type)

describe("A started run", () => {
  test("is active and reported once, and updates lastScheduleTime", () => {
    const draft = Status.started(of(), run(), tick)
    expect(draft.status).toEqual({ active: run(), lastScheduleTime: "2026-11-20T02:00:00Z" })
    expect(events(draft)).toEqual(["Normal BackupStarted: Job cart-29393880 started: its scheduled time"])
  })
  for (const [trigger, why] of [
    ["start", "the first run"],
    ["manual", "requested by annotation"],
    ["unlock", "requested by annotation, to remove the locks of the repository"],
    ["retry", "the last run failed"]
  ] as const) {
    test(`has a reason in its Event: ${trigger}`, () => {
      const draft = Status.started(of({ lastScheduleTime: "2026-11-19T02:00:00Z" }), run({ trigger }), undefined)
      expect(events(draft)).toEqual([`Normal BackupStarted: Job cart-29393880 started: ${why}`])
      expect(draft.status.lastScheduleTime).toBe("2026-11-19T02:00:00Z")
    })
  }
  test("that continues in another Job is not reported again", () => {
    const draft = Status.started(of({ active: run() }), run({ job: "cart-29393880-2" }), undefined)
    expect(draft).toEqual({ status: { active: run({ job: "cart-29393880-2" }) }, events: [] })
  })
  test("never decreases lastScheduleTime", () =>
    expect(Status.started(of({ lastScheduleTime: "2026-11-21T02:00:00Z" }), run(), tick).status.lastScheduleTime).toBe(
      "2026-11-21T02:00:00Z"
    ))
  test("reports TooManyMissedTimes if it replaces more than a hundred runs", () => {
    expect(reasons(Status.started(of(), run(), tick, "many"))).toEqual(["TooManyMissedTimes", "BackupStarted"])
    expect(reasons(Status.started(of(), run(), tick, "few"))).toEqual(["BackupStarted"])
  })
})

describe("A successful run", () => {
  const before = of({ active: run(), lastScheduleTime: "2026-11-20T02:00:00Z", consecutiveFailures: 2 })
  const draft = Status.ended(before, run(), exited(0, saved), end)
  test("becomes lastRun with its snapshots", () =>
    expect(draft.status).toMatchObject({
      lastRun: {
        job: "cart-29393880",
        trigger: "schedule",
        startTime: "2026-11-20T02:00:01Z",
        completionTime: "2026-11-20T02:05:00Z",
        reason: "Succeeded",
        message: "1 volume saved",
        snapshots: saved.snapshots
      },
      lastBackupTime: "2026-11-20T02:05:00Z",
      consecutiveFailures: 0,
      repositoryID: saved.repository,
      lastScheduleTime: "2026-11-20T02:00:00Z"
    }))
  test("removes active, and leaves no field undefined", () => {
    expect("active" in draft.status).toBe(false)
    expect(Object.values(draft.status)).not.toContain(undefined)
  })
  test("records an Event", () => expect(events(draft)).toEqual(["Normal BackupCompleted: 1 volume saved"]))
  test("with an accepted empty volume has a warning", () => {
    const result = { snapshots: [{ pvc: "data", empty: true }] }
    const empty = Status.ended(before, run(), exited(0, result, { allowEmpty: true }), end)
    expect(empty.events[0]).toMatchObject({ type: "Warning", reason: "BackupCompleted" })
    expect(empty.status.lastRun?.snapshots).toEqual([{ pvc: "data", bytes: 0, added: 0, files: 0 }])
    expect(empty.status.lastBackupTime).toBe("2026-11-20T02:05:00Z")
  })
  test("acknowledges the token of its annotation only", () => {
    const asked = (trigger: "manual" | "unlock" | "schedule") =>
      Status.ended(before, run({ trigger, token: "T" }), exited(0, saved), end).status
    expect(asked("manual").lastManualTrigger).toBe("T")
    expect(asked("manual").lastUnlockTrigger).toBeUndefined()
    expect(asked("unlock").lastUnlockTrigger).toBe("T")
    expect(asked("unlock").lastManualTrigger).toBeUndefined()
    expect(asked("schedule").lastManualTrigger).toBeUndefined()
  })
  test("keeps the first repositoryID", () =>
    expect(Status.ended(of({ repositoryID: "first" }), run(), exited(0, saved), end).status.repositoryID).toBe("first"))
  test("never ends before it started, even with clock skew", () =>
    expect(
      Status.ended(before, run(), exited(0, saved), at("2026-11-20T01:00:00Z")).status.lastRun?.completionTime
    ).toBe("2026-11-20T02:00:01Z"))
})

describe("A failed run", () => {
  const before = of({ active: run(), consecutiveFailures: 2, lastBackupTime: "2026-11-19T02:05:00Z", snapshots: 5 })
  const failed = (outcome: Outcome.Outcome, active = run()) => Status.ended(before, active, outcome, end)
  test("increments consecutiveFailures, and keeps the last success", () => {
    const { status } = failed(exited(44, { message: "boom" }))
    expect(status).toMatchObject({
      consecutiveFailures: 3,
      lastBackupTime: "2026-11-19T02:05:00Z",
      snapshots: 5,
      lastRun: { reason: "ResticFailed" }
    })
    expect(status.lastRun?.snapshots).toBeUndefined()
  })
  test("acknowledges its annotation, so that it is not repeated", () =>
    expect(failed(exited(44), run({ trigger: "manual", token: "T" })).status.lastManualTrigger).toBe("T"))
  for (const [outcome, event] of [
    [exited(3, saved), "BackupPartiallyFailed"],
    [exited(41), "RepositoryLocked"],
    [exited(40), "BackupFailed"],
    [exited(42), "BackupFailed"],
    [exited(43), "BackupFailed"],
    [Outcome.judge({ _tag: "JobDeleted", job: "j" }), "BackupFailed"],
    [Outcome.judge({ _tag: "DeadlineExceeded", seconds: 60 }), "BackupFailed"],
    [Outcome.judge({ _tag: "Lost", succeeded: false }), "BackupFailed"],
    [Outcome.judge({ _tag: "ImagePullFailed", image: "i", message: "m" }), "BackupFailed"]
  ] as const) {
    test(`records a Warning ${event}: ${outcome.reason}`, () => {
      expect(failed(outcome).events).toEqual([{ type: "Warning", reason: event, note: outcome.message }])
      expect(condition(failed(outcome), "LastRunSucceeded")).toMatchObject({ status: "False", reason: outcome.reason })
    })
  }
  test("that saved some files keeps its snapshots", () =>
    expect(failed(exited(3, saved)).status.lastRun?.snapshots).toEqual(saved.snapshots))
  test("that was replaced counts neither as a failure nor as a success", () => {
    const replaced = failed(Outcome.judge({ _tag: "Replaced" }))
    expect(replaced.status.consecutiveFailures).toBe(2)
    expect(reasons(replaced)).toEqual(["RunReplaced"])
    const asked = (trigger: "manual" | "unlock") =>
      failed(Outcome.judge({ _tag: "Replaced" }), run({ trigger, token: "T" })).status
    expect(asked("manual").lastManualTrigger).toBe("T")
    // The locks are not removed yet.
    expect(asked("unlock").lastUnlockTrigger).toBeUndefined()
  })
  test("that saved some files counts as a success with a warning if spec.allowPartial is set", () => {
    const allowed = failed(exited(3, saved, { allowPartial: true }))
    expect(allowed.status).toMatchObject({ consecutiveFailures: 0, lastBackupTime: "2026-11-20T02:05:00Z" })
    expect(allowed.events[0]).toMatchObject({ type: "Warning", reason: "BackupCompleted" })
  })
  test("with a lost result counts as a success with a warning if its Job succeeded", () => {
    const lost = failed(Outcome.judge({ _tag: "Lost", succeeded: true }))
    expect(lost.status).toMatchObject({ consecutiveFailures: 0, lastRun: { reason: "ResultLost" } })
    expect(lost.events[0]).toMatchObject({ type: "Warning", reason: "BackupCompleted" })
  })
})

describe("A run of several Jobs", () => {
  const first = exited(0, saved)
  const second = exited(0, { snapshots: [{ pvc: "logs", id: "1".repeat(64), bytes: 5, added: 5, files: 1 }] })
  const between = Status.partEnded(of({ active: run() }), run(), first)
  test("collects the snapshots of each Job", () => {
    expect(between.status).toMatchObject({ active: { snapshots: saved.snapshots }, repositoryID: saved.repository })
    expect(between.events).toEqual([])
    const active = between.status.active ?? run()
    expect(Status.ended(between, active, second, end).status.lastRun?.snapshots?.map(({ pvc }) => pvc)).toEqual([
      "data",
      "logs"
    ])
  })
  test("is idempotent if the end of a Job is read again", () => {
    const again = Status.partEnded(between, between.status.active ?? run(), first)
    expect(again).toEqual(between)
  })
  test("keeps the message of the first partial Job", () => {
    const partial = Status.partEnded(between, run(), exited(3, { ...saved, message: "denied" }))
    expect(partial.status.active?.partial).toContain("denied")
    const later = Status.partEnded(partial, partial.status.active ?? run(), exited(3, { ...saved, message: "other" }))
    expect(later.status.active?.partial).toBe(partial.status.active?.partial ?? "")
  })
})

describe("A scheduled time", () => {
  test("that is skipped updates lastScheduleTime", () => {
    const draft = Status.skipped(of({ active: run() }), tick, "cart-1")
    expect(draft.status.lastScheduleTime).toBe("2026-11-20T02:00:00Z")
    expect(events(draft)).toEqual([
      "Normal RunSkipped: The run of 2026-11-20T02:00:00Z was skipped because Job cart-1 was still running (concurrencyPolicy Forbid)"
    ])
    expect(reasons(Status.skipped(of(), tick, "cart-1", "many"))).toEqual(["TooManyMissedTimes", "RunSkipped"])
    expect(Status.skipped(of({ lastScheduleTime: "2026-11-21T02:00:00Z" }), tick, "a").status.lastScheduleTime).toBe(
      "2026-11-21T02:00:00Z"
    )
  })
  test("that missed its deadline updates lastMissedTime", () => {
    const draft = Status.missed(of(), tick, 600)
    expect(draft.status).toEqual({ lastMissedTime: "2026-11-20T02:00:00Z" })
    expect(events(draft)).toEqual([
      "Warning MissedSchedule: The run of 2026-11-20T02:00:00Z was skipped because it could not start within 600 seconds (startingDeadlineSeconds)"
    ])
  })
  test("in the future is corrected, which alone decreases lastScheduleTime", () => {
    const draft = Status.corrected(of({ lastScheduleTime: "2027-11-20T02:00:00Z" }), tick)
    expect(draft.status).toEqual({ lastScheduleTime: "2026-11-20T02:00:00Z" })
    expect(events(draft)).toEqual([
      "Warning ClockSetBack: status.lastScheduleTime 2027-11-20T02:00:00Z was in the future, and would have put off runs: status.lastScheduleTime is 2026-11-20T02:00:00Z now"
    ])
  })
})

describe("The condition RepositoryHealthy is", () => {
  const after = (...outcomes: ReadonlyArray<Outcome.Outcome>) => {
    const draft = outcomes.reduce((before, outcome) => Status.ended(before, run(), outcome, end), of())
    const found = condition(draft, "RepositoryHealthy")
    return found && `${found.status} ${found.reason}`
  }
  const good = exited(0, saved)
  const checked = exited(0, { checked: true }, { purpose: "maintenance" })
  const damaged = exited(44, { operation: "check", message: "pack is damaged" })
  for (const [name, outcomes, expected] of [
    ["Opened after a success", [good], "True Opened"],
    ["Checked after a check", [checked], "True Checked"],
    ["still Checked after the repository is opened", [checked, good], "True Checked"],
    ["RepositoryDamaged after a failed check", [checked, damaged], "False RepositoryDamaged"],
    ["still RepositoryDamaged after the repository is opened", [damaged, good], "False RepositoryDamaged"],
    ["still RepositoryDamaged after the repository was locked", [damaged, exited(41), good], "False RepositoryDamaged"],
    ["True again only after a successful check", [damaged, good, checked], "True Checked"],
    ["RepositoryMissing after the repository is gone", [good, exited(40)], "False RepositoryMissing"],
    ["RepositoryLocked while another process holds the lock", [good, exited(41)], "False RepositoryLocked"],
    ["WrongPassword if the password is wrong", [good, exited(42)], "False WrongPassword"],
    ["Opened again after the password is corrected", [good, exited(42), good], "True Opened"],
    ["unchanged if the server does not answer", [good, exited(43)], "True Opened"],
    ["absent if the server has never answered", [exited(43)], undefined]
  ] as const) {
    test(name, () => expect(after(...outcomes)).toBe(expected))
  }
})

test("A volume that shrank in an earlier Job of the run is reported once, and holds the deletion", () => {
  const volume = (pvc: string, files: number) => ({
    pvc,
    id: "ab".repeat(32),
    bytes: files,
    added: 1,
    files,
    before: { id: "cd".repeat(32), bytes: 100, files: 100 }
  })
  const first = exited(0, { snapshots: [volume("data-0", 1)] })
  const between = Status.partEnded(of({ active: run() }), run(), first)
  // The end of a Job may be read several times.
  const again = Status.partEnded(between, between.status.active ?? run(), first)
  expect(again).toEqual(between)
  expect(between.events).toEqual([])
  accepted(between.status)
  const draft = Status.ended(
    again,
    again.status.active ?? run(),
    exited(0, { snapshots: [volume("data-1", 100)] }),
    end
  )
  expect(condition(draft, "VolumesIntact")).toMatchObject({ status: "False", reason: "VolumeShrunk" })
  expect(draft.status.retentionHold?.reason).toBe("VolumeShrunk")
  expect(draft.events.filter(({ reason }) => reason === "VolumeShrunk").map(({ note }) => note)).toEqual([
    "Volume data-0 shrank: 1 file, 1 byte (100 and 100 in snapshot cdcdcdcd)"
  ])
})

test("A volume that shrank stays reported until a user allows the deletion", () => {
  const before = { id: "cd".repeat(32), bytes: 100, files: 100 }
  const volume = (files: number) => ({ pvc: "data", id: "ab".repeat(32), bytes: files, added: 1, files, before })
  const shrunk = Status.ended(of(), run(), exited(0, { snapshots: [volume(1)] }), end)
  const later = Status.ended(shrunk, run(), exited(0, { snapshots: [volume(100)] }), end)
  expect(condition(later, "VolumesIntact")).toMatchObject({ status: "False", reason: "VolumeShrunk" })
  const allowed = Status.step(later, { retentionHold: undefined })
  const after = Status.ended(allowed, run(), exited(0, { snapshots: [volume(100)] }), end)
  expect(condition(after, "VolumesIntact")).toMatchObject({ status: "True", reason: "Intact" })
})

describe("The condition RetentionApplied", () => {
  const policy = { retentionPolicy: "30d" }
  const whole = (of: Backup, draft = Status.draft(of)) =>
    Summary.of(of, draft, {
      understood: understood(of),
      obstacle: undefined,
      course: undefined,
      waiting: undefined,
      sharing: [],
      next: undefined,
      now: end
    })
  const next = (before: Backup, draft: Status.Draft, spec: Parameters<typeof backup>[0] = before.spec) =>
    backup(spec, { status: draft.status })
  const conditionText = (draft: Status.Draft) => {
    const found = condition(draft, "RetentionApplied")
    return `${found?.status} ${found?.reason}: ${found?.message}`
  }
  const ends = (of: Backup, result: { readonly [field: string]: unknown }, code = 0) => {
    const outcome = exited(code, result, { purpose: "maintenance" })
    return whole(of, Maintenance.ended(of, Status.draft(of), undefined, outcome, end))
  }

  test("is KeepsEverything without a retention", () =>
    expect(conditionText(whole(backup()))).toBe(
      "True KeepsEverything: Every snapshot is kept, because neither retentionPolicy nor retention is set"
    ))
  test("is Unknown before the first run", () =>
    expect(conditionText(whole(backup(policy)))).toBe(
      "Unknown NotYetApplied: Old snapshots are deleted after a successful run."
    ))
  test("is True after old snapshots were deleted, also if a later run fails earlier", () => {
    const first = ends(backup(policy), { removed: 1, kept: 30 })
    expect(conditionText(first)).toBe("True Applied: 1 snapshot deleted, 30 kept.")
    expect(conditionText(ends(next(backup(policy), first), {}, 44))).toBe("True Applied: 1 snapshot deleted, 30 kept.")
  })
  test("is False after a failed deletion", () => {
    const draft = ends(backup(policy), { message: "403 Forbidden" }, 47)
    expect(conditionText(draft)).toStartWith(
      "False RetentionFailed: Old snapshots could not be deleted. 403 Forbidden."
    )
    expect(reasons(draft)).toContain("MaintenanceFailed")
  })

  const unusual = { retentionPolicy: "1m" }
  const warnings = understood(backup(unusual)).warnings
  test("does not contain the warnings, which stay in the status and have one Event each", () => {
    const of = backup(unusual)
    const first = whole(of)
    expect(first.events.filter(({ reason }) => reason === "RetentionUnusual").map(({ note }) => note)).toEqual([
      ...warnings
    ])
    expect(first.status.warnings).toEqual([...warnings])
    const second = ends(next(of, first), { removed: 0 })
    expect(reasons(second)).not.toContain("RetentionUnusual")
    expect(second.status.warnings).toEqual([...warnings])
    expect(conditionText(second)).toBe("True Applied: 0 snapshots deleted.")
    expect(whole(next(of, second))).toEqual({ status: second.status, events: [] })
  })
  test("does not keep the warnings of an earlier spec, and records those of the new one", () => {
    const applied = ends(backup(unusual), { removed: 0 })
    expect(whole(next(backup(), applied, policy)).status.warnings).toBeUndefined()
    const other = whole(next(backup(), applied, { retentionPolicy: "2m" }))
    expect(other.status.warnings?.join()).toContain("retentionPolicy 2m")
    expect(other.status.warnings?.join()).not.toContain("retentionPolicy 1m")
    expect(reasons(other)).toContain("RetentionUnusual")
    const early = whole(next(backup(), whole(backup(unusual)), policy))
    expect(conditionText(early)).toBe("Unknown NotYetApplied: Old snapshots are deleted after a successful run.")
  })
  test("is reset when the retention is removed and set again", () => {
    const everything = whole(next(backup(), ends(backup(policy), { removed: 3 }), {}))
    expect(conditionText(everything)).toStartWith("True KeepsEverything")
    expect(conditionText(whole(next(backup(), everything, policy)))).toStartWith("Unknown NotYetApplied")
  })
})

describe("After a manager of 0.1.0, which changes the job of a run and keeps fields that it does not know,", () => {
  const written = Status.recorded({
    active: run({ job: "cart-2", uid: "u2", tag: "run:t2" }),
    lastRun: {
      ...run({ job: "cart-1", uid: "u1", tag: "run:t1" }),
      completionTime: "2026-11-20T02:05:00Z",
      reason: "Succeeded"
    }
  })
  const read = (status: BackupStatus) => {
    const { active, lastRun } = Status.trusted({ ...backup(), status }).status ?? {}
    const of = (run: Partial<Status.Active> | undefined) => run && [run.job, run.uid, run.tag]
    expect(JSON.stringify({ active, lastRun })).not.toContain("recordedJob")
    return { active: of(active), lastRun: of(lastRun) }
  }
  const { active, lastRun } = written
  if (active === undefined || lastRun === undefined) throw new Error("a run is missing")
  for (const [what, status, expected] of [
    ["an unchanged status", written, { active: ["cart-2", "u2", "run:t2"], lastRun: ["cart-1", "u1", "run:t1"] }],
    [
      "another active Job",
      { ...written, active: { ...active, job: "cart-3" } },
      { active: ["cart-3", undefined, undefined], lastRun: ["cart-1", "u1", "run:t1"] }
    ],
    [
      "another last run",
      { lastRun: { ...lastRun, job: "cart-3" } },
      { active: undefined, lastRun: ["cart-3", undefined, undefined] }
    ],
    [
      "a status of 0.1.0 alone",
      { lastRun: { ...run({ job: "cart-3" }), completionTime: "2026-11-20T02:05:00Z", reason: "Succeeded" } },
      { active: undefined, lastRun: ["cart-3", undefined, undefined] }
    ]
  ] as const) {
    test(`no run has the identity of another one: ${what}`, () => {
      expect<object>(read(accepted(status))).toEqual(expected)
    })
  }
})
