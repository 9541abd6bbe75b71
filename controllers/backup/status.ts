/**
 * What a Backup's status says: steps that its life takes, each from one status to the next, with the events that tell of it; and
 * what follows from all of it together (phase, message, conditions). Pure.
 */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Time from "@homeostat/runtime/resource/Time"
import type { Backup, BackupStatus, Trigger } from "./Backup.ts"
import type * as Outcome from "./Outcome.ts"
import type * as Result from "./Result.ts"
import { cut, longestCondition, longestMessage, mostSnapshots, whole64 } from "./Room.ts"
import type * as Schedule from "./Schedule.ts"
import type { Refusal, Understood } from "./Spec.ts"

/** An event to be recorded once the status is written. */
export interface Told {
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly note: string
}

/** A status in the making. */
export interface Draft {
  readonly status: BackupStatus
  readonly told: ReadonlyArray<Told>
}

/** Nothing has happened yet. */
export const draft = (backup: Backup): Draft => ({ status: backup.status ?? {}, told: [] })

/** A step: what changes in the status, and what is told of it. A field that is undefined is taken away. */
const step = (
  { status, told }: Draft,
  change: { readonly [field in keyof BackupStatus]?: BackupStatus[field] | undefined },
  ...events: ReadonlyArray<Told>
): Draft => {
  const next = { ...status, ...change }
  // `undefined` is how a step takes a field away; in a status there is none.
  const kept = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined)) as BackupStatus
  return { status: kept, told: [...told, ...events] }
}

/** A run that goes on. */
export type Active = NonNullable<BackupStatus["active"]>

/** A run began, or goes on in another Job. */
export const started = (
  draft: Draft,
  run: Active,
  /** The tick of a scheduled one, epoch milliseconds. */
  tick: number | undefined,
  missed: Schedule.Missed = "none"
): Draft => {
  const before = draft.status.active
  const goesOn = before !== undefined && before.startTime === run.startTime
  return step(
    draft,
    { active: run, ...(tick !== undefined && { lastScheduleTime: later(draft.status.lastScheduleTime, tick) }) },
    ...tooManyMissed(tick, missed),
    ...(goesOn
      ? []
      : [{ type: "Normal", reason: "BackupStarted", note: `Job ${run.job} began: ${because[run.trigger]}` } as const])
  )
}

const because: { readonly [trigger in Trigger]: string } = {
  start: "the first run",
  schedule: "its time has come",
  manual: "it was asked for by annotation",
  unlock: "it was asked to remove the locks of the repository, and to run",
  retry: "the lock that the last run found counts as stale by now"
}

const later = (time: string | undefined, millis: number): string =>
  time !== undefined && Date.parse(time) >= millis ? time : Time.seconds(millis)

/** A part of a run has ended well enough, and another Job goes on with other volumes. */
export const partEnded = (draft: Draft, run: Active, outcome: Outcome.Outcome): Draft =>
  step(draft, {
    active: {
      ...run,
      snapshots: together(run, outcome),
      ...(outcome.reason === "PartiallyFailed" &&
        run.partial === undefined && { partial: cut(outcome.message, longestMessage) })
    },
    repositoryID: draft.status.repositoryID ?? outcome.repository
  })

/** What all Jobs of a run have saved; the same however often the end of one of them is read. */
const together = ({ snapshots = [] }: Active, outcome: Outcome.Outcome) => {
  const saved = outcome.snapshots.map(toStatus)
  const names = new Set(saved.map(({ pvc }) => pvc))
  return [...snapshots.filter(({ pvc }) => !names.has(pvc)), ...saved].slice(0, mostSnapshots)
}

const toStatus = ({ added, bytes, files, id, pvc }: Result.Snapshot) => ({
  pvc: cut(pvc, 253),
  ...(id !== undefined && { id }),
  bytes: whole64(bytes),
  added: whole64(added),
  files: whole64(files)
})

/** A run has ended. */
export const ended = (
  draft: Draft,
  run: Active,
  outcome: Outcome.Outcome,
  /** Epoch milliseconds. */
  at: number
): Draft => {
  const { status } = draft
  // By whosever clock, nothing ends before it began: what was told until when could not be seen from it.
  const time = later(run.startTime, at)
  const message = cut(outcome.message, longestMessage)
  const succeeded = outcome.phase === "Completed"
  const snapshots = together(run, outcome)
  const replaced = outcome.reason === "Replaced"
  return step(
    draft,
    {
      active: undefined,
      lastRun: {
        job: run.job,
        trigger: run.trigger,
        startTime: run.startTime,
        completionTime: time,
        reason: outcome.reason,
        message,
        ...(snapshots.length > 0 && { snapshots })
      },
      ...(succeeded && { lastBackupTime: time }),
      consecutiveFailures: succeeded ? 0 : (status.consecutiveFailures ?? 0) + (replaced ? 0 : 1),
      ...(run.trigger === "manual" && run.token !== undefined && { lastManualTrigger: run.token }),
      // Whoever took its place removes no locks.
      ...(run.trigger === "unlock" && run.token !== undefined && !replaced && { lastUnlockTrigger: run.token }),
      repositoryID: status.repositoryID ?? outcome.repository,
      ...(outcome.kept !== undefined && { snapshots: whole64(outcome.kept) }),
      ...(outcome.pruned && { lastPruneTime: time }),
      ...(outcome.checked && { lastCheckTime: time }),
      conditions: conditions(status, [
        {
          type: lastRunSucceeded,
          status: succeeded ? "True" : "False",
          reason: outcome.reason,
          message
        },
        ...retentionAfter(outcome),
        ...healthAfter(status, outcome)
      ])
    },
    {
      type: outcome.warning ? "Warning" : "Normal",
      reason: succeeded ? "BackupCompleted" : (failures[outcome.reason] ?? "BackupFailed"),
      note: outcome.message
    },
    ...(outcome.removed !== undefined && outcome.removed > 0
      ? [
          {
            type: "Normal",
            reason: "SnapshotsPruned",
            note: `${counted(outcome.removed, "old snapshot")} deleted${outcome.pruned ? ", and their space given back" : ""}${outcome.kept === undefined ? "" : `; ${outcome.kept} kept`}`
          } as const
        ]
      : [])
  )
}

/** Failures with an event of their own. */
const failures: { readonly [reason: string]: string } = {
  PartiallyFailed: "BackupPartiallyFailed",
  RepositoryLocked: "RepositoryLocked",
  Replaced: "RunReplaced"
}

/** Types of conditions besides those of kstatus. */
const lastRunSucceeded = "LastRunSucceeded"
/** The type of the condition that says whether old snapshots are deleted. */
export const retentionApplied = "RetentionApplied"
/** The reason of {@link retentionApplied} where there is nothing to delete. */
export const keepsEverything = "KeepsEverything"
const repositoryHealthy = "RepositoryHealthy"

type Finding = Omit<Condition.Draft, "observedGeneration">

const retentionAfter = (outcome: Outcome.Outcome): ReadonlyArray<Finding> =>
  outcome.retention === "skipped"
    ? []
    : [
        outcome.retention === "applied"
          ? {
              type: retentionApplied,
              status: "True",
              reason: "Applied",
              message: `${counted(outcome.removed ?? 0, "snapshot")} deleted${outcome.kept === undefined ? "" : `, ${outcome.kept} kept`}`
            }
          : {
              type: retentionApplied,
              status: "False",
              reason: "RetentionFailed",
              message: cut(outcome.message, longestMessage)
            }
      ]

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** What opening it has told of the repository. */
const opened: ReadonlySet<string> = new Set(["RepositoryMissing", "RepositoryLocked", "WrongPassword"])

const healthAfter = (status: BackupStatus, outcome: Outcome.Outcome): ReadonlyArray<Finding> => {
  const found = (status: Finding["status"], reason: string, message: string): ReadonlyArray<Finding> => [
    { type: repositoryHealthy, status, reason, message }
  ]
  const before = Condition.find(status.conditions, repositoryHealthy)
  if (outcome.checkFailed) return found("False", "CheckFailed", outcome.message)
  if (outcome.checked) return found("True", "Checked", "The repository was checked, and is whole")
  // That it opens, or is locked, is no sign that it is whole, if a check has said otherwise.
  const isDamaged = before?.reason === "CheckFailed"
  if (opened.has(outcome.reason)) {
    return isDamaged && outcome.reason === "RepositoryLocked" ? [] : found("False", outcome.reason, outcome.message)
  }
  if (outcome.phase !== "Completed") return []
  return before?.status === "True" || isDamaged
    ? []
    : found("True", "Opened", "The repository opens and takes snapshots")
}

/** Conditions without times: those are given when the status is whole. */
const conditions = (status: BackupStatus, findings: ReadonlyArray<Finding>): ReadonlyArray<Condition.Condition> => [
  ...(status.conditions ?? []).filter(({ type }) => findings.every((finding) => finding.type !== type)),
  // `whole` sets the time: it keeps that of a condition whose status stays, and this one is never seen.
  ...findings.map((finding) => ({ ...finding, lastTransitionTime: "" }))
]

/** A scheduled run is passed over, since another goes on. */
export const skipped = (draft: Draft, tick: number, job: string, missed: Schedule.Missed = "none"): Draft =>
  step(draft, { lastScheduleTime: later(draft.status.lastScheduleTime, tick) }, ...tooManyMissed(tick, missed), {
    type: "Normal",
    reason: "RunSkipped",
    note: `The run of ${Time.seconds(tick)} is left out, since Job ${job} goes on (concurrencyPolicy Forbid)`
  })

/** A tick was missed for good. */
export const missed = (draft: Draft, tick: number, deadlineSeconds: number): Draft =>
  step(
    draft,
    { lastMissedTime: Time.seconds(tick) },
    {
      type: "Warning",
      reason: "MissedSchedule",
      note: `The run of ${Time.seconds(tick)} could not begin within ${deadlineSeconds} seconds (startingDeadlineSeconds), and is left out`
    }
  )

/** One run makes up for many: told when it begins or is left out, and not each time that it is looked for. */
const tooManyMissed = (tick: number | undefined, missed: Schedule.Missed): ReadonlyArray<Told> =>
  tick === undefined || missed !== "many"
    ? []
    : [
        {
          type: "Warning",
          reason: "TooManyMissedTimes",
          note: `More than 100 runs were missed: that of ${Time.seconds(tick)} makes up for all. Was the manager away, or the clock set forward?`
        }
      ]

/** The clock was set back. */
export const mended = (draft: Draft, millis: number): Draft =>
  step(
    draft,
    { lastScheduleTime: Time.seconds(millis) },
    {
      type: "Warning",
      reason: "ClockSetBack",
      note: `${draft.status.lastScheduleTime === undefined ? "metadata.creationTimestamp" : `status.lastScheduleTime ${draft.status.lastScheduleTime}`} was in the future, and would have put off runs: status.lastScheduleTime is ${Time.seconds(millis)} now`
    }
  )

/** What is known besides the steps when a reconcile ends. */
export interface Facts {
  readonly understood: Understood | undefined
  /** Why nothing can run: the spec, which only its author can mend, or something that is missing. */
  readonly obstacle: (Refusal & { readonly final: boolean }) | undefined
  /** How the run that goes on stands. */
  readonly course: string | undefined
  /** A run is due and has to wait for its turn: for what. */
  readonly waiting: string | undefined
  /** Others that write to the same repository. Undefined: it was not looked for, and what was said of it stays. */
  readonly sharing: ReadonlyArray<string> | undefined
  /** The next tick. Epoch milliseconds. */
  readonly next: number | undefined
  readonly now: number
}

/** The status as it is to be written, and the events that its transitions make. */
export const whole = (backup: Backup, { status, told }: Draft, facts: Facts): Draft => {
  const { next, now, obstacle, understood } = facts
  const observedGeneration = backup.metadata.generation ?? 0
  const found = readiness(backup, status, facts)
  const ready = { ...found, message: cut(found.message, longestCondition) }
  const before = Condition.find(backup.status?.conditions, Condition.Ready)
  const findings: ReadonlyArray<Finding> = [
    ready,
    ...(obstacle?.final === true
      ? [{ type: Condition.Stalled, status: "True", reason: obstacle.reason, message: obstacle.message } as const]
      : []),
    Condition.find(status.conditions, lastRunSucceeded) ?? {
      type: lastRunSucceeded,
      status: "Unknown",
      reason: "NeverRun",
      message: "It has not run yet"
    },
    retention(status, understood),
    Condition.find(status.conditions, repositoryHealthy) ?? {
      type: repositoryHealthy,
      status: "Unknown",
      reason: "NeverOpened",
      message: "The repository has not been opened yet"
    }
  ]
  const drafts = findings.map(
    ({ message, reason, status, type }): Condition.Draft => ({
      type,
      status,
      reason,
      message: cut(message, longestCondition),
      observedGeneration
    })
  )
  const ours = new Set(drafts.map(({ type }) => type))
  const warned = Condition.find(backup.status?.conditions, retentionApplied)?.message ?? ""
  const events: Array<Told> = []
  if (obstacle !== undefined && !(before?.reason === obstacle.reason && before.message === ready.message)) {
    events.push({ type: "Warning", reason: obstacle.reason, note: obstacle.message })
  }
  if (ready.status === "True" && before?.status !== "True") {
    events.push({ type: "Normal", reason: "BackupScheduled", note: ready.message })
  }
  for (const warning of understood?.warnings ?? []) {
    if (!warned.includes(warning)) events.push({ type: "Warning", reason: "RetentionUnusual", note: warning })
  }
  const lasting: BackupStatus = {
    ...omit(status, ["nextBackupTime", "effectiveSchedule", "conditions"]),
    observedGeneration,
    phase: phaseOf(status, obstacle),
    message: cut(messageOf(status, ready, facts), longestMessage),
    ...(next !== undefined && { nextBackupTime: Time.seconds(next) }),
    ...(understood?.table !== undefined && { effectiveSchedule: understood.table.effective }),
    ...(understood !== undefined && { repositoryHash: understood.repository.hash }),
    conditions: Condition.set(
      backup.status?.conditions?.filter(({ type }) => ours.has(type)),
      drafts,
      Time.seconds(now)
    )
  }
  return { status: lasting, told: [...events, ...told] }
}

const omit = <A extends object, const K extends keyof A>(object: A, fields: ReadonlyArray<K>): Omit<A, K> => {
  const copy = { ...object }
  for (const field of fields) delete copy[field]
  return copy
}

const readiness = (backup: Backup, status: BackupStatus, facts: Facts): Finding => {
  const type = Condition.Ready
  const { obstacle, understood } = facts
  if (obstacle !== undefined) return { type, status: "False", reason: obstacle.reason, message: obstacle.message }
  const before = Condition.find(status.conditions, type)
  const shared =
    facts.sharing === undefined
      ? (/ Its repository is also that of .*/.exec(before?.message ?? "")?.[0] ?? "")
      : facts.sharing.length === 0
        ? ""
        : ` Its repository is also that of ${facts.sharing.join(", ")}: they take turns.`
  if (backup.spec.suspend) {
    return { type, status: "True", reason: "Suspended", message: `Scheduled runs are suspended.${shared}` }
  }
  if (understood?.table === undefined) {
    return {
      type,
      status: "True",
      reason: "Unscheduled",
      message: `${backup.spec.startPolicy === "Immediately" ? "It runs once, since it has no schedule" : "It runs when the annotation backup.example.com/run asks for it, since it has no schedule"}.${shared}`
    }
  }
  const zone = backup.spec.timeZone ?? "UTC"
  return {
    type,
    status: "True",
    reason: "Scheduled",
    message: `It runs by ${understood.table.effective} (${zone}).${shared}`
  }
}

const retention = (status: BackupStatus, understood: Understood | undefined): Finding => {
  const before = Condition.find(status.conditions, retentionApplied)
  if (understood === undefined) {
    return (
      before ?? {
        type: retentionApplied,
        status: "Unknown",
        reason: "NotUnderstood",
        message: "The spec is not understood"
      }
    )
  }
  const warnings = understood.warnings.length === 0 ? "" : `${mind}${understood.warnings.join(". ")}.`
  if (understood.keep.length === 0) {
    return {
      type: retentionApplied,
      status: "True",
      reason: keepsEverything,
      message: "Every snapshot is kept, since neither retentionPolicy nor retention is set"
    }
  }
  if (before === undefined || before.status === "Unknown" || before.reason === keepsEverything) {
    return {
      type: retentionApplied,
      status: "Unknown",
      reason: "NotYetApplied",
      message: `Old snapshots are deleted after a successful run.${warnings}`
    }
  }
  const plain = before.message.split(mind, 1)[0] ?? ""
  return { ...before, message: `${plain.replace(/\.?$/, ".")}${warnings}` }
}

/** Before the warnings of a condition: what stands after it is of a spec that may have changed since. */
const mind = " Mind: "

const phaseOf = (status: BackupStatus, obstacle: Facts["obstacle"]): NonNullable<BackupStatus["phase"]> => {
  if (status.active !== undefined) return "Running"
  if (obstacle?.final === true) return "Failed"
  if (status.lastRun === undefined) return "Pending"
  return Condition.find(status.conditions, lastRunSucceeded)?.status === "True" ? "Completed" : "Failed"
}

const messageOf = (status: BackupStatus, ready: Finding, { course, obstacle, waiting }: Facts): string => {
  if (status.active !== undefined) return course ?? waiting ?? `Job ${status.active.job} has begun`
  if (obstacle !== undefined) return obstacle.message
  if (waiting !== undefined) return waiting
  return status.lastRun?.message ?? ready.message ?? ""
}
