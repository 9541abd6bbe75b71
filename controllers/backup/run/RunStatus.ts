/**
 * The status of a Backup: the steps of its lifecycle, each from one status to the next, with its Events. The Summary adds phase,
 * message and conditions. Pure.
 */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Time from "@homeostat/runtime/resource/Time"
import type { Backup, BackupStatus, Trigger } from "../kinds/Backup.ts"
import type * as MoverReport from "../mover/MoverReport.ts"
import type * as Schedule from "../schedule/Schedule.ts"
import type * as Outcome from "./Outcome.ts"
import { counted, cut, longestMessage, mostSnapshots, whole64 } from "./Text.ts"

/** An event to record after the status was written. */
export interface EventDraft {
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly note: string
}

/** A new status, before it is written. */
export interface Draft {
  readonly status: BackupStatus
  readonly events: ReadonlyArray<EventDraft>
}

/** The current status, without Events. */
export const draft = (backup: Backup): Draft => ({ status: backup.status ?? {}, events: [] })

type Recorded = Pick<Active, "job" | "uid" | "tag" | "recordedJob">

/**
 * A Backup whose status has the identities of its own runs only. A manager of 0.1.0 changes the `job` of a run and keeps `uid` and `tag`,
 * which it does not know.
 */
export const trusted = (backup: Backup): Backup => {
  const checked = <A extends Recorded>({ recordedJob, ...run }: A): Omit<A, "recordedJob"> => {
    if (recordedJob === undefined || recordedJob === run.job) return run
    const { tag: _tag, uid: _uid, ...rest } = run
    return rest as typeof run
  }
  return backup.status === undefined ? backup : { ...backup, status: eachRun(backup.status, checked) }
}

/** The status to write: each identity names its Job, for {@link trusted}. */
export const recorded = (status: BackupStatus): BackupStatus =>
  eachRun(status, (run) => (run.uid === undefined ? run : { ...run, recordedJob: run.job }))

const eachRun = (
  { active, lastRun, ...rest }: BackupStatus,
  change: <A extends Recorded>(run: A) => Omit<A, "recordedJob">
): BackupStatus => ({
  ...rest,
  ...(active !== undefined && { active: change(active) }),
  ...(lastRun !== undefined && { lastRun: change(lastRun) })
})

/** A step: changes of the status, and its Events. An undefined field is removed. */
export const step = (
  { events: before, status }: Draft,
  change: { readonly [field in keyof BackupStatus]?: BackupStatus[field] | undefined },
  ...events: ReadonlyArray<EventDraft>
): Draft => {
  const next = { ...status, ...change }
  // A step removes a field with `undefined`; a status contains no undefined field.
  const kept = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined)) as BackupStatus
  return { status: kept, events: [...before, ...events] }
}

/** An active run. */
export type Active = NonNullable<BackupStatus["active"]>

/** A run starts, or continues in another Job. */
export const started = (
  draft: Draft,
  run: Active,
  /** The tick of a scheduled run, epoch milliseconds. */
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
      : [{ type: "Normal", reason: "BackupStarted", note: `Job ${run.job} started: ${because[run.trigger]}` } as const])
  )
}

const because: { readonly [trigger in Trigger]: string } = {
  start: "the first run",
  schedule: "its scheduled time",
  manual: "requested by annotation",
  unlock: "requested by annotation, to remove the locks of the repository",
  retry: "the last run failed"
}

/** The later of two times. The second one is epoch milliseconds. */
export const later = (time: string | undefined, millis: number): string =>
  time !== undefined && Date.parse(time) >= millis ? time : Time.seconds(millis)

/** A part of a run has ended without a failure, and another Job continues with other volumes. */
export const partEnded = (draft: Draft, run: Active, outcome: Outcome.Outcome): Draft =>
  step(draft, {
    active: {
      ...run,
      snapshots: together(run, outcome),
      ...(outcome.reason === "PartiallyFailed" &&
        run.partial === undefined && { partial: cut(outcome.message, longestMessage) }),
      ...(outcome.reason === "VolumeEmpty" &&
        run.emptied === undefined && { emptied: cut(outcome.message, longestMessage) }),
      ...(outcome.shrunk.length > 0 &&
        run.shrunk === undefined && { shrunk: cut(outcome.shrunk.map(shrunkMessage).join("; "), longestMessage) })
    },
    repositoryID: draft.status.repositoryID ?? outcome.repository
  })

/** The snapshots of all Jobs of a run. Idempotent, because the end of a Job may be read several times. */
const together = ({ snapshots = [] }: Active, outcome: Outcome.Outcome) => {
  const saved = outcome.snapshots.map(toStatus)
  const names = new Set(saved.map(({ pvc }) => pvc))
  return [...snapshots.filter(({ pvc }) => !names.has(pvc)), ...saved].slice(0, mostSnapshots)
}

const toStatus = ({ added, bytes, files, id, pvc }: MoverReport.Snapshot) => ({
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
  // The end is never before the start, with any clock.
  const time = later(run.startTime, at)
  const message = cut(outcome.message, longestMessage)
  const succeeded = outcome.phase === "Completed"
  const snapshots = together(run, outcome)
  const replaced = outcome.reason === "Replaced"
  const shrunk = [...(run.shrunk === undefined ? [] : [run.shrunk]), ...outcome.shrunk.map(shrunkMessage)]
  return step(
    draft,
    {
      active: undefined,
      lastRun: {
        job: run.job,
        trigger: run.trigger,
        startTime: run.startTime,
        ...(run.uid !== undefined && { uid: run.uid }),
        ...(run.tag !== undefined && { tag: run.tag }),
        completionTime: time,
        reason: outcome.reason,
        message,
        ...(snapshots.length > 0 && { snapshots })
      },
      ...(succeeded && { lastBackupTime: time, lastBackupTag: run.tag }),
      consecutiveFailures: succeeded ? 0 : (status.consecutiveFailures ?? 0) + (replaced ? 0 : 1),
      ...(run.trigger === "manual" && run.token !== undefined && { lastManualTrigger: run.token }),
      // The replaced run did not finish the unlock.
      ...(run.trigger === "unlock" && run.token !== undefined && !replaced && { lastUnlockTrigger: run.token }),
      repositoryID: status.repositoryID ?? outcome.repository,
      ...held(status, shrunk, time),
      conditions: conditions(status, [
        {
          type: lastRunSucceeded,
          status: succeeded ? "True" : "False",
          reason: outcome.reason,
          message
        },
        ...intactAfter(status, outcome, shrunk),
        ...healthAfter(status, outcome)
      ])
    },
    {
      type: outcome.warning ? "Warning" : "Normal",
      reason: succeeded ? "BackupCompleted" : (failures[outcome.reason] ?? "BackupFailed"),
      note: outcome.message
    },
    ...shrunk.map(
      (message) => ({ type: "Warning", reason: "VolumeShrunk", note: cut(message, longestMessage) }) as const
    )
  )
}

/** A volume that is much smaller than before holds the deletion of old snapshots. */
const held = (status: BackupStatus, shrunk: ReadonlyArray<string>, since: string) =>
  shrunk.length === 0 ? {} : { retentionHold: status.retentionHold ?? { reason: "VolumeShrunk" as const, since } }

const shrunkMessage = ({ before, bytes, files, pvc }: MoverReport.Snapshot): string =>
  `Volume ${pvc} shrank: ${counted(files, "file")}, ${counted(bytes, "byte")} (${before?.files} and ${before?.bytes} in snapshot ${before?.id.slice(0, 8)})`

/** Failures with their own event. */
const failures: { readonly [reason: string]: string } = {
  PartiallyFailed: "BackupPartiallyFailed",
  VolumeEmpty: "VolumeEmpty",
  RepositoryLocked: "RepositoryLocked",
  Replaced: "RunReplaced"
}

/** The condition type for the outcome of the last run. */
export const lastRunSucceeded = "LastRunSucceeded"
/** The condition type for volumes that lost their files. */
export const volumesIntact = "VolumesIntact"
/** The condition type for the deletion of old snapshots. */
export const retentionApplied = "RetentionApplied"
/** The reason of {@link retentionApplied} without a retention. */
export const keepsEverything = "KeepsEverything"
/** The condition type for the health of the repository. */
export const repositoryHealthy = "RepositoryHealthy"

/** The conditions that Ready sums up, the worst first. */
const summedUp: ReadonlyArray<string> = [volumesIntact, repositoryHealthy, lastRunSucceeded, retentionApplied]

/** A condition with the parts that {@link troubleIn} reads. */
type Stated = Pick<Condition.Condition, "type" | "status" | "reason" | "message">

/** The worst condition that is False, although runs can start; undefined without one. */
export const troubleIn = <C extends Stated>(conditions: ReadonlyArray<C>): C | undefined => {
  for (const type of summedUp) {
    const found = Condition.find(conditions, type)
    if (found?.status === "False") return found
  }
  return undefined
}

/** Whether runs can start: Ready is True, or is False because of another condition. */
export const canRun = (conditions: ReadonlyArray<Stated> = []): boolean => {
  const ready = Condition.find(conditions, Condition.Ready)
  if (ready?.status !== "False") return ready?.status === "True"
  const isStalled = Condition.find(conditions, Condition.Stalled)?.status === "True"
  return (
    !isStalled &&
    summedUp.some((type) => {
      const other = Condition.find(conditions, type)
      return other?.status === "False" && other.reason === ready.reason && other.message === ready.message
    })
  )
}

/** A condition without generation and time. */
export type Finding = Omit<Condition.Draft, "observedGeneration">

/** The next run with files shows that an emptied volume is intact. A shrunk volume needs the annotation that allows the deletion. */
const intactAfter = (
  { conditions: before, retentionHold }: BackupStatus,
  outcome: Outcome.Outcome,
  shrunk: ReadonlyArray<string>
): ReadonlyArray<Finding> => {
  const found = (status: Finding["status"], reason: string, message: string): ReadonlyArray<Finding> => [
    { type: volumesIntact, status, reason, message }
  ]
  if (outcome.reason === "VolumeEmpty") return found("False", "VolumeEmpty", outcome.message)
  if (shrunk.length > 0) return found("False", "VolumeShrunk", shrunk.join("; "))
  if (outcome.phase !== "Completed" || retentionHold?.reason === "VolumeShrunk") return []
  if (outcome.reason === "ResultLost") {
    return Condition.find(before, volumesIntact)?.status === "False"
      ? []
      : found("Unknown", outcome.reason, "The manager does not know what the last run saved")
  }
  return found("True", "Intact", "No volume is empty or much smaller than before")
}

/** Reasons that show whether the repository could be opened. */
const opened: ReadonlySet<string> = new Set([
  "RepositoryMissing",
  "RepositoryExchanged",
  "RepositoryHalfMade",
  "RepositoryLocked",
  "WrongPassword"
])

/** Whether a condition RepositoryHealthy shows damage. Only a successful check ends it. */
export const isDamaged = (status: BackupStatus): boolean => {
  const health = Condition.find(status.conditions, repositoryHealthy)
  return health?.status === "False" && (health.reason === "RepositoryDamaged" || health.reason === "CheckFailed")
}

/** The condition RepositoryHealthy after a run or a maintenance, if it changes. */
export const healthAfter = (status: BackupStatus, outcome: Outcome.Outcome): ReadonlyArray<Finding> => {
  const found = (status: Finding["status"], reason: string, message: string): ReadonlyArray<Finding> => [
    { type: repositoryHealthy, status, reason, message }
  ]
  const before = Condition.find(status.conditions, repositoryHealthy)
  if (outcome.damaged) return found("False", "RepositoryDamaged", outcome.message)
  if (outcome.checked) return found("True", "Checked", "The repository was checked and is undamaged")
  // A damaged repository still opens.
  const wasDamaged = isDamaged(status)
  if (opened.has(outcome.reason)) {
    return wasDamaged && outcome.reason === "RepositoryLocked" ? [] : found("False", outcome.reason, outcome.message)
  }
  if (outcome.phase !== "Completed") return []
  return before?.status === "True" || wasDamaged ? [] : found("True", "Opened", "The last run opened the repository")
}

/** Conditions without times: the Summary sets them. */
export const conditions = (
  status: BackupStatus,
  findings: ReadonlyArray<Finding>
): ReadonlyArray<Condition.Condition> => [
  ...(status.conditions ?? []).filter(({ type }) => findings.every((finding) => finding.type !== type)),
  // The Summary sets the time, and keeps that of an unchanged condition, so this value is never visible.
  ...findings.map((finding) => ({ ...finding, lastTransitionTime: "" }))
]

/** A scheduled run is skipped, because another one is active. */
export const skipped = (draft: Draft, tick: number, job: string, missed: Schedule.Missed = "none"): Draft =>
  step(draft, { lastScheduleTime: later(draft.status.lastScheduleTime, tick) }, ...tooManyMissed(tick, missed), {
    type: "Normal",
    reason: "RunSkipped",
    note: `The run of ${Time.seconds(tick)} was skipped because Job ${job} was still running (concurrencyPolicy Forbid)`
  })

/** A tick passed its deadline. */
export const missed = (draft: Draft, tick: number, deadlineSeconds: number): Draft =>
  step(
    draft,
    { lastMissedTime: Time.seconds(tick) },
    {
      type: "Warning",
      reason: "MissedSchedule",
      note: `The run of ${Time.seconds(tick)} was skipped because it could not start within ${deadlineSeconds} seconds (startingDeadlineSeconds)`
    }
  )

/** One run makes up for many ticks: reported when it starts or is skipped, and not at every check. */
const tooManyMissed = (tick: number | undefined, missed: Schedule.Missed): ReadonlyArray<EventDraft> =>
  tick === undefined || missed !== "many"
    ? []
    : [
        {
          type: "Warning",
          reason: "TooManyMissedTimes",
          note: `More than 100 runs were missed. The run of ${Time.seconds(tick)} makes up for all of them. Check whether the manager was stopped or the clock was set forward`
        }
      ]

/** The clock was set back. */
export const corrected = (draft: Draft, millis: number): Draft =>
  step(
    draft,
    { lastScheduleTime: Time.seconds(millis) },
    {
      type: "Warning",
      reason: "ClockSetBack",
      note: `${draft.status.lastScheduleTime === undefined ? "metadata.creationTimestamp" : `status.lastScheduleTime ${draft.status.lastScheduleTime}`} was in the future, and would have put off runs: status.lastScheduleTime is ${Time.seconds(millis)} now`
    }
  )
