/**
 * The maintenance of a Backup's repository: a Job of its own checks it, deletes old snapshots and frees their space. A failure of the
 * maintenance does not concern the runs. Pure.
 *
 * It follows a successful run. A deletion can be held, because it may remove the last good data: then the Job only counts, a condition
 * says what would go, and an annotation allows it.
 */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Time from "@homeostat/runtime/resource/Time"
import type { Backup, BackupStatus } from "../kinds/Backup.ts"
import * as Names from "../kinds/Names.ts"
import type * as Credentials from "../repository/Credentials.ts"
import type * as Placement from "../volumes/Placement.ts"
import * as JobProgress from "./JobProgress.ts"
import * as MoverJob from "./MoverJob.ts"
import * as Outcome from "./Outcome.ts"
import * as RunPlan from "./RunPlan.ts"
import * as State from "./RunStatus.ts"
import type { Refusal, Understood } from "./Spec.ts"
import * as Text from "./Text.ts"

/** Whether a Job maintains a repository. */
export const isMaintenance = (job: Job): boolean =>
  job.metadata.labels?.[Names.triggerLabel] === Names.maintenanceTrigger

/** A kind of maintenance. */
export type Operation = "check" | "forget" | "prune"

/** The maintenance that is due. */
export interface Due {
  /** In their order; empty: none. */
  readonly operations: ReadonlyArray<Operation>
  /** When to decide again, in epoch milliseconds. */
  readonly at: number | undefined
}

const nothing: Due = { operations: [], at: undefined }

const hour = 3_600_000

/** The delay before the next attempt, in milliseconds: 1, 2, 4 … 24 hours, and for a lock the time after which it is stale. */
const delayOf = ({ failures = 1, last }: NonNullable<BackupStatus["maintenance"]>): number =>
  last?.reason === "RepositoryLocked" ? Outcome.staleLock : Math.min(24, 2 ** (Math.max(1, failures) - 1)) * hour

/** The annotation that allows a held deletion, if it was not applied yet. */
export const allowed = ({ metadata }: Backup, { lastRetentionTrigger }: BackupStatus): string | undefined => {
  const token = Text.token(metadata.annotations?.[Names.retentionAnnotation] ?? "")
  return token === "" || token === lastRetentionTrigger ? undefined : token
}

/** The operations that are due now. None before the first successful run, and while the Backup is suspended. */
export const due = (
  backup: Backup,
  status: BackupStatus,
  { checkInterval, keep, pruneInterval }: Understood,
  now: number
): Due => {
  const { lastBackupTime, lastCheckTime, lastPruneTime, lastRetentionRun, lastRun, maintenance, retentionHold } = status
  if (backup.spec.suspend || status.repositoryID === undefined || lastRun === undefined) return nothing
  const token = allowed(backup, status)
  const isAllowed = token !== undefined
  // Times cannot decide what came first, because clocks can be set back.
  const run = RunPlan.identity(lastRun)
  // A new value of the annotation, and a manual run, end the delay once.
  const isRequested =
    (isAllowed && token !== maintenance?.last?.token) ||
    (lastRun.trigger === "manual" && maintenance?.last?.run !== run)
  const ended = Text.millis(maintenance?.last?.completionTime)
  if (maintenance !== undefined && (maintenance.failures ?? 0) > 0 && ended !== undefined && !isRequested) {
    const delay = delayOf(maintenance)
    // An end far in the future was written before the clock was set back.
    const at = ended - now > delay ? now : ended + delay
    if (at > now) return { operations: [], at }
  }
  // A time in the future was written before the clock was set back, so the real time is unknown.
  const isDue = (last: string | undefined, interval: number): boolean => {
    const at = Text.millis(last) ?? Date.parse(backup.metadata.creationTimestamp)
    return at + interval <= now || at - now > interval
  }
  if (State.isDamaged(status)) return { operations: ["check"], at: undefined }
  const hasSucceeded = Condition.isTrue(status.conditions, State.lastRunSucceeded)
  const isNew = hasSucceeded && run !== lastRetentionRun
  // A full destination needs room, although the last run failed.
  const makesRoom = lastRun.reason === "DestinationFull" && run !== maintenance?.last?.run
  // Held snapshots are counted again after each run, and for another spec.
  const isCounted = retentionHold?.generation === backup.metadata.generation && retentionHold?.run === run
  // Older snapshots may be the last ones with files.
  const isEmptied = Condition.find(status.conditions, State.volumesIntact)?.reason === "VolumeEmpty"
  const forgets =
    keep.length > 0 && !isEmptied && (isAllowed || (retentionHold === undefined ? isNew || makesRoom : !isCounted))
  const isPruned = !isDue(lastPruneTime, pruneInterval) && !makesRoom
  const operations: ReadonlyArray<Operation> = [
    ...(lastBackupTime !== undefined && isDue(lastCheckTime, checkInterval) ? (["check"] as const) : []),
    ...(forgets ? (["forget"] as const) : []),
    ...(keep.length > 0 && lastBackupTime !== undefined && !isPruned ? (["prune"] as const) : [])
  ]
  return { operations, at: undefined }
}

/** A deletion is held after a pause: everything from before it could go at once. */
export const afterRun = (before: BackupStatus, draft: State.Draft, longestPause: number | undefined): State.Draft => {
  const [earlier, later] = [Text.millis(before.lastBackupTime), Text.millis(draft.status.lastBackupTime)]
  const isPaused =
    longestPause !== undefined && earlier !== undefined && later !== undefined && later - earlier > longestPause
  return !isPaused || draft.status.retentionHold !== undefined
    ? draft
    : State.step(draft, {
        retentionHold: { reason: "Paused", since: draft.status.lastBackupTime ?? Time.seconds(later) }
      })
}

/** Another Backup found damage in the repository. Its old snapshots may be the only good ones, so none is deleted. */
export const heldBy = (draft: State.Draft, backup: string): State.Draft =>
  State.step(draft, {
    conditions: State.conditions(draft.status, [
      {
        type: State.retentionApplied,
        status: "False",
        reason: "RepositoryDamaged",
        message: `Backup ${backup} found damage in the shared repository: no snapshot is deleted until its check succeeds`
      }
    ])
  })

/** The Job that deletes old snapshots cannot be created. */
export const refusedBy = (draft: State.Draft, { message, reason }: Refusal): State.Draft =>
  State.step(draft, {
    conditions: State.conditions(draft.status, [
      { type: State.retentionApplied, status: "False", reason, message: Text.cut(message, Text.longestMessage) }
    ])
  })

/** The input of a Job besides its Backup. */
export interface Options {
  readonly operations: ReadonlyArray<Operation>
  readonly placement: Omit<Placement.Group, "claims">
  readonly credentials: Credentials.Mounts
}

/** The Job. Its name follows from the maintenance before it, so that it starts once. */
export const work = (
  backup: Backup,
  status: BackupStatus,
  understood: Understood,
  { credentials, operations, placement }: Options
): MoverJob.Work => {
  const { creationTimestamp, name, namespace = "" } = backup.metadata
  const token = allowed(backup, status)
  const before = [status.maintenance?.last?.uid, status.maintenance?.last?.job, status.lastRun?.uid, token].join("\n")
  const forgets = operations.includes("forget")
  return {
    owner: backup,
    // The next attempt is a new Job.
    spec: { ...backup.spec, backoffLimit: 0 },
    name: MoverJob.nameOf(name, `k${MoverJob.shortHash(before)}`),
    trigger: Names.maintenanceTrigger,
    use: "exclusive",
    operations: ["preflight", ...operations],
    parameters: {
      BACKUP_HOST: namespace,
      BACKUP_TAG: `${namespace}/${name}`,
      REPOSITORY_ID: status.repositoryID,
      FORGET_ARGS: forgets ? [...understood.keep, ...protectedBy(status)].join(" ") : undefined,
      HOLD: forgets ? status.retentionHold?.reason : undefined,
      ALLOW_FORGET: forgets && token !== undefined ? "1" : undefined,
      // Only before the first deletion: older snapshots are those of an earlier Backup with this name.
      CREATED_AT: forgets && status.snapshots === undefined ? creationTimestamp : undefined
    },
    repository: understood.repository,
    claims: [],
    placement,
    credentials,
    annotations: {
      [Names.tokenAnnotation]: token,
      [Names.previousAnnotation]: status.maintenance?.last?.uid ?? "",
      [Names.afterAnnotation]: status.lastRun === undefined ? undefined : RunPlan.identity(status.lastRun)
    }
  }
}

/** restic sorts by time, and the newest data is not the newest by time after the clock was set back. */
const protectedBy = ({ lastBackupTag }: BackupStatus): ReadonlyArray<string> =>
  lastBackupTag === undefined ? [] : ["--keep-tag", lastBackupTag]

/** The Job of the active maintenance, or one that the status does not have because its manager crashed. */
export const current = ({ maintenance }: BackupStatus, jobs: ReadonlyArray<Job>): Job | undefined => {
  const uid = maintenance?.active?.uid
  if (maintenance?.active !== undefined) {
    return jobs.find(
      ({ metadata }) => metadata.name === maintenance.active?.job && metadata.uid === (uid ?? metadata.uid)
    )
  }
  return jobs.find(
    ({ metadata }) =>
      metadata.deletionTimestamp === undefined &&
      metadata.uid !== maintenance?.last?.uid &&
      metadata.annotations?.[Names.previousAnnotation] === (maintenance?.last?.uid ?? "")
  )
}

/** Finished Jobs beyond the newest one. */
export const superfluous = (status: BackupStatus, jobs: ReadonlyArray<Job>): ReadonlyArray<Job> => {
  const over = jobs.filter(
    (job) => JobProgress.isOver(job) && job.metadata.deletionTimestamp === undefined && job !== current(status, jobs)
  )
  return over.slice(0, -1)
}

/** The maintenance starts. */
export const started = (draft: State.Draft, { metadata }: Job): State.Draft =>
  State.step(draft, {
    maintenance: {
      ...draft.status.maintenance,
      active: { job: metadata.name, uid: metadata.uid, startTime: Time.seconds(Date.parse(metadata.creationTimestamp)) }
    }
  })

/** The maintenance has ended. */
export const ended = (
  backup: Backup,
  draft: State.Draft,
  job: Job | undefined,
  outcome: Outcome.Outcome,
  /** Epoch milliseconds. */
  at: number
): State.Draft => {
  const { status } = draft
  const { active, failures = 0 } = status.maintenance ?? {}
  const startTime = active?.startTime ?? Time.seconds(at)
  const time = State.later(startTime, at)
  const isApplied = outcome.retention === "applied"
  // Without its result, it is due again, and needs a delay.
  const succeeded = outcome.phase === "Completed" && (outcome.reason !== "ResultLost" || isApplied)
  const token = job && RunPlan.tokenOf(job)
  // The annotation of a deleted Job is unknown.
  const run =
    job === undefined && status.lastRun !== undefined
      ? RunPlan.identity(status.lastRun)
      : Text.token(job?.metadata.annotations?.[Names.afterAnnotation] ?? "") || undefined
  const { held, kept, removed } = outcome
  // Only the annotation ends a hold: nothing may be old enough yet.
  const reason = held ?? (isApplied && token !== undefined ? undefined : status.retentionHold?.reason)
  const hold = reason && {
    ...status.retentionHold,
    reason,
    since: status.retentionHold?.since ?? time,
    ...(kept !== undefined &&
      removed !== undefined && {
        generation: backup.metadata.generation ?? 0,
        ...(run !== undefined && { run }),
        keep: Text.whole64(kept),
        remove: Text.whole64(removed)
      })
  }
  return State.step(
    draft,
    {
      maintenance: {
        last: {
          job: active?.job ?? job?.metadata.name ?? "",
          ...(active?.uid !== undefined && { uid: active.uid }),
          startTime,
          completionTime: time,
          reason: outcome.reason,
          message: Text.cut(outcome.message, Text.longestMessage),
          ...(run !== undefined && { run }),
          ...(token !== undefined && { token })
        },
        failures: succeeded ? 0 : failures + 1
      },
      retentionHold: hold,
      ...(isApplied && { lastRetentionTime: time }),
      ...(isApplied && run !== undefined && { lastRetentionRun: run }),
      ...(isApplied && token !== undefined && { lastRetentionTrigger: token }),
      ...(isApplied && kept !== undefined && { snapshots: Text.whole64(kept) }),
      ...(outcome.pruned && { lastPruneTime: time }),
      ...(outcome.checked && { lastCheckTime: time }),
      conditions: State.conditions(status, [
        ...(status.retentionHold?.reason === "VolumeShrunk" && hold === undefined ? [accepted] : []),
        ...retentionAfter(outcome),
        ...State.healthAfter(status, outcome)
      ])
    },
    ...(succeeded
      ? []
      : [
          {
            type: "Warning",
            reason: "MaintenanceFailed",
            note: Text.cut(outcome.message, Text.longestMessage)
          } as const
        ]),
    ...(isApplied && removed !== undefined && removed > 0
      ? [
          {
            type: "Normal",
            reason: "SnapshotsPruned",
            note: `${Text.counted(removed, "old snapshot")} deleted${outcome.pruned ? " and their space freed" : ""}${kept === undefined ? "" : `; ${kept} kept`}`
          } as const
        ]
      : []),
    ...(held !== undefined && status.retentionHold?.remove === undefined
      ? [
          {
            type: "Warning",
            reason: "RetentionHeld",
            note: holdMessage({ reason: held, keep: kept, remove: removed })
          } as const
        ]
      : [])
  )
}

/** Applies the annotation to volumes that shrank. Without a retention, no maintenance does that. */
export const accept = (backup: Backup, draft: State.Draft, { keep }: Understood): State.Draft => {
  const { status } = draft
  const token = allowed(backup, status)
  return token === undefined || keep.length > 0 || status.retentionHold?.reason !== "VolumeShrunk"
    ? draft
    : State.step(draft, {
        retentionHold: undefined,
        lastRetentionTrigger: token,
        conditions: State.conditions(status, [accepted])
      })
}

const accepted: State.Finding = {
  type: State.volumesIntact,
  status: "True",
  reason: "Accepted",
  message: "An annotation accepted the size of the volumes"
}

const retentionAfter = (outcome: Outcome.Outcome): ReadonlyArray<State.Finding> => {
  const type = State.retentionApplied
  if (outcome.retention === "failed") {
    return [
      { type, status: "False", reason: "RetentionFailed", message: Text.cut(outcome.message, Text.longestMessage) }
    ]
  }
  if (outcome.retention === "skipped") return []
  const kept = outcome.kept === undefined ? "" : `, ${outcome.kept} kept`
  return [
    {
      type,
      status: "True",
      reason: "Applied",
      message: `${Text.counted(outcome.removed ?? 0, "snapshot")} deleted${kept}`
    }
  ]
}

const because: { readonly [hold in NonNullable<BackupStatus["retentionHold"]>["reason"]]: string } = {
  Paused: "the last run followed a pause that is longer than the retention keeps",
  VolumeShrunk: "a volume is much smaller than before",
  ExistingSnapshots: "the repository has snapshots from before this Backup was created",
  ClockSetBack: "a snapshot is from the future, so the order of the snapshots is unknown",
  TooMany: "more than half of the snapshots of a volume would be deleted"
}

/** The effect of a held deletion, why it is held, and how to allow it. */
export const holdMessage = ({
  keep,
  reason,
  remove
}: {
  readonly reason: NonNullable<BackupStatus["retentionHold"]>["reason"]
  readonly keep?: number | undefined
  readonly remove?: number | undefined
}): string => {
  const what = remove === undefined ? "" : ` It would delete ${Text.counted(remove, "snapshot")} and keep ${keep ?? 0}.`
  return `The deletion of old snapshots is held, because ${because[reason]}.${what} To allow it, set the annotation ${Names.retentionAnnotation} to a new value`
}
