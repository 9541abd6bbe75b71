import { describe, expect, test } from "bun:test"
import type { BackupStatus } from "../kinds/Backup.ts"
import * as Names from "../kinds/Names.ts"
import { accepted, at, backup, exited, job, understood } from "./Backups.fixture.ts"
import * as Maintenance from "./Maintenance.ts"
import * as Status from "./RunStatus.ts"

const now = at("2026-11-20T10:00:00Z")
const kept = { retentionPolicy: "30d" }
/** A run has succeeded since the last maintenance. */
const saved: BackupStatus = {
  repositoryID: "ab",
  lastBackupTime: "2026-11-20T02:05:00Z",
  lastBackupTag: "run:1",
  lastRetentionRun: "the run before",
  lastPruneTime: "2026-11-19T02:06:00Z",
  lastCheckTime: "2026-11-19T02:06:00Z",
  snapshots: 30,
  lastRun: {
    job: "cart-29393880",
    uid: "run-uid",
    trigger: "schedule",
    startTime: "2026-11-20T02:00:01Z",
    completionTime: "2026-11-20T02:05:00Z",
    reason: "Succeeded"
  },
  conditions: [{ ...condition(Status.lastRunSucceeded, "Succeeded"), status: "True" }]
}

type Changes = { readonly [field in keyof BackupStatus]?: BackupStatus[field] | undefined }
type Spec = { readonly [field: string]: unknown }

const due = (status: BackupStatus, spec: Spec = kept, metadata: Parameters<typeof backup>[1] = {}, moment = now) => {
  const of = backup(spec, metadata)
  return Maintenance.due(of, status, understood(of), moment)
}

const succeeded = saved.conditions ?? []

describe("Maintenance", () => {
  const cases: ReadonlyArray<readonly [name: string, status: Changes, spec: Spec, operations: string]> = [
    ["deletes old snapshots after a successful run", {}, kept, "forget"],
    ["deletes nothing twice", { lastRetentionRun: "run-uid" }, kept, ""],
    ["deletes nothing without a retention", {}, {}, ""],
    ["does nothing after a failed run", { conditions: [condition(Status.lastRunSucceeded, "ResticFailed")] }, kept, ""],
    ["does nothing before the repository is known", { repositoryID: undefined }, kept, ""],
    ["does nothing while the Backup is suspended", {}, { ...kept, suspend: true }, ""],
    ["frees space when the interval is over", { lastPruneTime: "2026-11-13T10:00:00Z" }, kept, "forget prune"],
    ["frees no space a second earlier", { lastPruneTime: "2026-11-13T10:00:01Z" }, kept, "forget"],
    // At most one interval after now: the clocks of two machines differ.
    ["trusts a time within an interval after now", { lastPruneTime: "2026-11-27T10:00:00Z" }, kept, "forget"],
    ["frees space after the clock was set back", { lastPruneTime: "2027-11-20T02:00:00Z" }, kept, "forget prune"],
    ["frees no space if nothing is deleted", { lastPruneTime: "2025-11-20T02:00:00Z" }, {}, ""],
    ["checks first", { lastCheckTime: "2026-10-21T10:00:00Z" }, kept, "check forget"],
    ["checks without a retention", { lastCheckTime: "2026-10-21T10:00:00Z" }, {}, "check"],
    [
      "only checks a damaged repository",
      { conditions: [...succeeded, condition("RepositoryHealthy", "RepositoryDamaged")] },
      kept,
      "check"
    ],
    [
      "deletes nothing after a volume was emptied",
      { conditions: [...succeeded, condition("VolumesIntact", "VolumeEmpty")] },
      kept,
      ""
    ],
    ["makes room in a full destination", full(), kept, "forget prune"],
    ["counts held snapshots once", { retentionHold: hold({ generation: 1, run: "run-uid" }) }, kept, ""],
    ["counts held snapshots that are not counted", { retentionHold: hold() }, kept, "forget"],
    ["counts held snapshots after each run", { retentionHold: hold({ generation: 1, run: "before" }) }, kept, "forget"],
    [
      "counts held snapshots again for another spec",
      { retentionHold: hold({ generation: 0, run: "run-uid" }) },
      kept,
      "forget"
    ]
  ]
  for (const [name, status, spec, operations] of cases) {
    test(name, () => expect(due(omitted({ ...saved, ...status }), spec).operations.join(" ")).toBe(operations))
  }

  test("deletes held snapshots once for each value of the annotation", () => {
    const status = { ...saved, retentionHold: hold({ generation: 1, run: "run-uid" }) }
    const annotations = { [Names.retentionAnnotation]: "yes" }
    expect(due(status, kept, { annotations }).operations).toEqual(["forget"])
    expect(due({ ...status, lastRetentionTrigger: "yes" }, kept, { annotations }).operations).toEqual([])
  })

  test("is retried after 1, 2, 4 and at most 24 hours, and after 30 minutes if it found a lock", () => {
    const failed = (failures: number, reason = "ResticFailed") => ({
      ...saved,
      maintenance: {
        failures,
        last: { job: "k", startTime: "2026-11-20T09:50:00Z", completionTime: "2026-11-20T10:00:00Z", reason }
      }
    })
    const hours = [1, 2, 3, 4, 5, 6, 60].map((failures) => ((due(failed(failures)).at ?? 0) - now) / 3_600_000)
    expect(hours).toEqual([1, 2, 4, 8, 16, 24, 24])
    expect(((due(failed(1, "RepositoryLocked")).at ?? 0) - now) / 60_000).toBe(30)
    expect(due(failed(1), kept, {}, now + 3_600_000)).toEqual({ operations: ["forget"], at: undefined })
    // It failed before the clock was set back.
    expect(due(failed(1), kept, {}, now - 30 * 86_400_000).operations).toContain("forget")
  })

  test("is retried at once for a new value of the annotation, and after a manual run", () => {
    const { lastRun } = saved
    const failed = (last: { readonly token?: string; readonly run?: string }): BackupStatus => ({
      ...saved,
      maintenance: {
        failures: 1,
        last: {
          job: "k",
          startTime: "2026-11-20T09:50:00Z",
          completionTime: "2026-11-20T10:00:00Z",
          reason: "x",
          ...last
        }
      }
    })
    const annotations = { [Names.retentionAnnotation]: "yes" }
    expect(due(failed({}), kept, { annotations }).operations).toEqual(["forget"])
    expect(due(failed({ token: "yes" }), kept, { annotations }).operations).toEqual([])
    const manual = (status: BackupStatus) => ({
      ...status,
      ...(lastRun && { lastRun: { ...lastRun, trigger: "manual" as const } })
    })
    expect(due(manual(failed({})), kept).operations).toEqual(["forget"])
    expect(due(manual(failed({ run: "run-uid" })), kept).operations).toEqual([])
  })
})

function condition(type: string, reason: string) {
  return { type, status: "False" as const, reason, message: "", lastTransitionTime: "2026-11-20T02:05:00Z" }
}
function hold(over: Partial<NonNullable<BackupStatus["retentionHold"]>> = {}) {
  return { reason: "Paused" as const, since: "2026-11-20T02:05:00Z", ...over }
}
function full(): BackupStatus {
  const { lastRun } = saved
  return {
    lastRetentionRun: "run-uid",
    ...(lastRun && { lastRun: { ...lastRun, reason: "DestinationFull", completionTime: "2026-11-20T09:00:00Z" } })
  }
}
const omitted = (status: object): BackupStatus => JSON.parse(JSON.stringify(status))

describe("A maintenance Job", () => {
  const work = (status: BackupStatus, annotations: { readonly [name: string]: string } = {}) => {
    const of = backup(kept, { annotations })
    return Maintenance.work(of, status, understood(of), {
      operations: ["check", "forget"],
      placement: { node: undefined, tolerations: [], security: { runAsUser: 1 } as never },
      credentials: { env: [], volumes: [], volumeMounts: [] }
    })
  }
  test("has no volume and one attempt", () => {
    const made = work(saved)
    expect(made).toMatchObject({ operations: ["preflight", "check", "forget"], claims: [], spec: { backoffLimit: 0 } })
    expect(made.parameters).toEqual({
      BACKUP_HOST: "shop",
      BACKUP_TAG: "shop/cart",
      REPOSITORY_ID: "ab",
      FORGET_ARGS: "--keep-within 720h --keep-last 3 --keep-tag run:1",
      HOLD: undefined,
      ALLOW_FORGET: undefined,
      CREATED_AT: undefined
    })
  })
  test("looks for snapshots that are older than the Backup until the first deletion", () => {
    const { snapshots: _, ...first } = saved
    expect(work(first).parameters.CREATED_AT).toBe(backup(kept).metadata.creationTimestamp)
  })
  test("holds the deletion until the annotation allows it", () => {
    const status = { ...saved, retentionHold: hold() }
    expect(work(status).parameters).toMatchObject({ HOLD: "Paused", ALLOW_FORGET: undefined })
    expect(work(status, { [Names.retentionAnnotation]: "yes" }).parameters).toMatchObject({ ALLOW_FORGET: "1" })
  })
  test("has the same name after a restart, and another one for the next attempt", () => {
    const { name } = work(saved)
    expect(work(saved).name).toBe(name)
    const last = {
      job: name,
      uid: "u",
      startTime: "2026-11-20T10:00:00Z",
      completionTime: "2026-11-20T10:00:00Z",
      reason: "x"
    }
    expect(work({ ...saved, maintenance: { last } }).name).not.toBe(name)
  })
})

describe("Completed maintenance", () => {
  const of = backup(kept)
  const mine = job("cart-k1", { trigger: "maintenance", after: "run-uid" })
  const active = { job: "cart-k1", uid: mine.metadata.uid, startTime: "2026-11-20T02:06:00Z" }
  const ended = (code: number, result: object, status: BackupStatus = saved, by = mine) =>
    Maintenance.ended(
      of,
      { status: { ...status, maintenance: { active } }, events: [] },
      by,
      exited(code, { ...result }, { purpose: "maintenance" }),
      at("2026-11-20T02:10:00Z")
    )
  test("updates its own times, and does not change lastRun", () => {
    const { status } = ended(0, { kept: 30, removed: 2, pruned: true, checked: true })
    expect(status).toMatchObject({
      lastRun: saved.lastRun,
      lastBackupTime: saved.lastBackupTime,
      snapshots: 30,
      lastRetentionTime: "2026-11-20T02:10:00Z",
      lastRetentionRun: "run-uid",
      lastPruneTime: "2026-11-20T02:10:00Z",
      lastCheckTime: "2026-11-20T02:10:00Z",
      maintenance: { failures: 0, last: { job: "cart-k1", reason: "Succeeded" } }
    })
    expect(status.maintenance?.active).toBeUndefined()
  })
  test("that failed does not fail the last run", () => {
    const before: BackupStatus = {
      ...saved,
      consecutiveFailures: 0,
      conditions: [{ ...condition(Status.lastRunSucceeded, "Succeeded"), status: "True" }]
    }
    const { status, events } = ended(44, { operation: "prune", message: "Fatal: x" }, before)
    expect(status).toMatchObject({
      consecutiveFailures: 0,
      lastBackupTime: saved.lastBackupTime,
      maintenance: { failures: 1 }
    })
    expect(status.conditions?.find(({ type }) => type === Status.lastRunSucceeded)?.status).toBe("True")
    expect(events.map(({ reason }) => reason)).toEqual(["MaintenanceFailed"])
  })
  test("that found damage stops deletions until a check succeeds", () => {
    const { status } = ended(48, { operation: "prune", message: "data is missing" })
    expect(Status.isDamaged(status)).toBe(true)
    expect(Status.isDamaged(ended(0, { checked: true }, status).status)).toBe(false)
  })
  test("holds the deletion that the mover held, with its numbers, and reports it once", () => {
    const first = ended(0, { kept: 1, removed: 5, held: "TooMany" })
    expect(first.status.retentionHold).toEqual({
      reason: "TooMany",
      since: "2026-11-20T02:10:00Z",
      generation: 1,
      run: "run-uid",
      keep: 1,
      remove: 5
    })
    expect(first.status.lastRetentionRun).toBe("the run before")
    expect(first.events.map(({ note }) => note)).toEqual([
      "The deletion of old snapshots is held, because more than half of the snapshots of a volume would be deleted. It would delete 5 snapshots and keep 1. To allow it, set the annotation backup.example.com/apply-retention to a new value"
    ])
    expect(ended(0, { kept: 1, removed: 6, held: "TooMany" }, first.status).events).toEqual([])
  })
  test("writes a valid status, even if a user edited its Job", () => {
    const edited = job("cart-k1", { trigger: "maintenance", after: "u".repeat(9000), token: "t".repeat(9000) })
    const { status } = ended(0, { kept: 1, removed: 5 }, saved, edited)
    expect(status.lastRetentionTrigger).toHaveLength(253)
    accepted(status)
  })
  test("ends a hold only by the annotation", () => {
    const held = { ...saved, retentionHold: hold({ generation: 1, remove: 5 }) }
    const allowed = job("cart-k1", { trigger: "maintenance", token: "yes" })
    const counted = ended(0, { kept: 1, removed: 0 }, held).status.retentionHold
    expect(counted).toMatchObject({ reason: "Paused", generation: 1, keep: 1, remove: 0 })
    const { status } = ended(0, { kept: 1, removed: 5 }, held, allowed)
    expect(status.retentionHold).toBeUndefined()
    expect(status.lastRetentionTrigger).toBe("yes")
  })
})

test("A split character at the end of the annotation counts once", () => {
  const annotations = { [Names.retentionAnnotation]: `${"t".repeat(252)}\u{1F600}` }
  const token = Maintenance.allowed(backup(kept, { annotations }), saved) ?? ""
  // The API server replaces half of a character.
  expect(token.toWellFormed()).toBe(token)
  expect(Maintenance.allowed(backup(kept, { annotations }), { ...saved, lastRetentionTrigger: token })).toBeUndefined()
})

describe("A pause between two successful runs", () => {
  const after = (last: string, pause: number | undefined) =>
    Maintenance.afterRun(
      { lastBackupTime: "2026-09-20T02:05:00Z" },
      { status: { lastBackupTime: last }, events: [] },
      pause
    ).status.retentionHold
  test("holds the deletion if it is longer than the retentionPolicy", () =>
    expect(after("2026-11-20T02:05:00Z", 30 * 86_400_000)).toEqual({ reason: "Paused", since: "2026-11-20T02:05:00Z" }))
  test("does not hold the deletion if it is shorter", () =>
    expect(after("2026-10-20T02:05:00Z", 31 * 86_400_000)).toBeUndefined())
  test("is ignored without a retentionPolicy", () => expect(after("2026-11-20T02:05:00Z", undefined)).toBeUndefined())
})
