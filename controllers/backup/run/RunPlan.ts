/**
 * The next steps of a Backup, from its status, its Jobs and the time. Pure: after a restart or in another manager the result is the
 * same, including the names of Jobs, so that no run starts twice.
 */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Arr from "effect/Array"
import { type Backup, type BackupStatus, type Trigger, triggers } from "../kinds/Backup.ts"
import * as Names from "../kinds/Names.ts"
import type * as Credentials from "../repository/Credentials.ts"
import type * as Schedule from "../schedule/Schedule.ts"
import type * as Placement from "../volumes/Placement.ts"
import * as JobProgress from "./JobProgress.ts"
import * as MoverJob from "./MoverJob.ts"
import * as Outcome from "./Outcome.ts"
import { type Active, type Draft, step } from "./RunStatus.ts"
import type { Understood } from "./Spec.ts"
import * as Text from "./Text.ts"

/** Created by a clock that was set back later. Clocks of two machines differ a little. */
const isFromFuture = (job: Job, now: number): boolean => JobProgress.madeAt(job) > now + 60_000

/** The Job whose end is not in the status yet: that of the active run, or one that the status does not have. */
export const current = (status: BackupStatus, jobs: ReadonlyArray<Job>): Job | undefined => {
  const { active, lastRun } = status
  if (active !== undefined) return jobs.find((job) => isOf(job, active))
  const unreported = jobs.filter(
    (job) =>
      job.metadata.deletionTimestamp === undefined &&
      !isOf(job, lastRun) &&
      (!JobProgress.isOver(job) || !isReported(job, lastRun))
  )
  // After two crashes there may be two: the earlier run is reported first.
  const before = lastRun === undefined ? "" : identity(lastRun)
  return unreported.find((job) => afterOf(job) === before) ?? unreported.at(-1)
}

type RunReference = Pick<Active, "job" | "uid">

/** Names can repeat after the clock was set back. A status of an older manager has no UID. */
export const identity = ({ job, uid = job }: RunReference): string => uid

/** Whether a Job is the one in a status. */
export const isOf = ({ metadata }: Job, run: RunReference | undefined): boolean =>
  metadata.name === run?.job && metadata.uid === (run.uid ?? metadata.uid)

const afterOf = (job: Job): string | undefined => job.metadata.annotations?.[Names.afterAnnotation]

/**
 * Whether the status already has the end of a Job: its last run differs from the one at the Job's creation. Times cannot decide that,
 * because clocks can be set back.
 */
const isReported = (job: Job, lastRun: BackupStatus["lastRun"]): boolean => {
  if (lastRun === undefined) return false
  const after = afterOf(job)
  return after === undefined
    ? JobProgress.madeAt(job) <= (Text.millis(lastRun.completionTime) ?? 0)
    : after !== identity(lastRun)
}

/** The token that requested a Job. Users who may edit Jobs can write any text. */
export const tokenOf = ({ metadata: { annotations } }: Job): string | undefined => {
  const text = annotations?.[Names.tokenAnnotation]
  return text === undefined ? undefined : Text.token(text)
}

/** Tags of runs. Another text could add arguments to those of restic. */
const tags = /^run:[0-9a-f]{8}-[0-9a-z-]{1,50}$/

/** The run of a Job that is not in the status, because its manager crashed between both writes. */
export const activeOf = (job: Job): Active => {
  const label = job.metadata.labels?.[Names.triggerLabel]
  const token = tokenOf(job)
  const tag = job.metadata.annotations?.[Names.tagAnnotation]
  return {
    job: job.metadata.name,
    uid: job.metadata.uid,
    trigger: triggers.find((trigger) => trigger === label) ?? "schedule",
    startTime: Time.seconds(JobProgress.madeAt(job)),
    ...(tag !== undefined && tags.test(tag) && { tag }),
    ...(token !== undefined && { token })
  }
}

/** A run that continues in another Job. */
export const continued = (active: Active, { metadata }: Job): Active => ({
  ...active,
  job: metadata.name,
  uid: metadata.uid
})

/** The past of a Backup, for the schedule. */
export const past = (backup: Backup, status: BackupStatus, jobs: ReadonlyArray<Job>): Schedule.Past => {
  const ticks = jobs.flatMap((job) => JobProgress.scheduledAt(job) ?? [])
  return {
    createdAt: Date.parse(backup.metadata.creationTimestamp),
    lastScheduleTime: Text.millis(status.lastScheduleTime),
    newestRun: ticks.length === 0 ? undefined : Math.max(...ticks),
    lastMissedTime: Text.millis(status.lastMissedTime)
  }
}

/** A run that should start. */
export interface Request {
  readonly trigger: Trigger
  /** Unique among the Backup's runs. */
  readonly id: string
  /** The tick of a scheduled run, epoch milliseconds. */
  readonly tick: number | undefined
  /** How many missed ticks it makes up for. */
  readonly missed: Schedule.Missed
  readonly token: string | undefined
}

const token = (backup: Backup, annotation: string): string | undefined =>
  Text.token(backup.metadata.annotations?.[annotation] ?? "") || undefined

/**
 * A new Backup may have annotations already, copied from an earlier Backup with its name. Their values were requests to that Backup: to
 * delete the snapshots that it counted, or to remove locks that others may hold now. So they count as applied.
 */
export const adopted = (backup: Backup, draft: Draft): Draft => {
  if ((backup.status?.observedGeneration ?? -1) >= 0) return draft
  const [retention, unlock, run] = [Names.retentionAnnotation, Names.unlockAnnotation, Names.runAnnotation].map(
    (annotation) => token(backup, annotation)
  )
  return step(draft, {
    ...(retention !== undefined && { lastRetentionTrigger: retention }),
    ...(unlock !== undefined && { lastUnlockTrigger: unlock }),
    // It waits until its volumes are restored.
    ...(run !== undefined && backup.spec.suspend && { lastManualTrigger: run })
  })
}

/** The identity of a requested run, with the previous one, because a token may repeat. */
const chained = (status: BackupStatus, before: string | undefined, token: string): string =>
  MoverJob.shortHash(`${status.lastRun === undefined ? "" : identity(status.lastRun)}\n${before ?? ""}\n${token}`)

/** Minutes as in the names of a CronJob's Jobs, or seconds for finer schedules. */
const stamp = (at: number): string => `${at % 60_000 === 0 ? at / 60_000 : Math.floor(at / 1000)}`

/** After the clock was set back a tick can repeat, and the status has the end of its first Job: the new run needs another name. */
const ofTick = (backup: Backup, { lastRun }: BackupStatus, jobs: ReadonlyArray<Job>, tick: number): string => {
  const id = stamp(tick)
  const name = MoverJob.nameOf(backup.metadata.name, id)
  const reported = jobs.find(
    (job) => job.metadata.name === name && (isOf(job, lastRun) || (JobProgress.isOver(job) && isReported(job, lastRun)))
  )
  return reported === undefined ? id : `${id}x${MoverJob.shortHash(reported.metadata.uid)}`
}

/** The use of a run: exclusive, if it may create the repository or removes its locks. */
export const useOf = ({ repositoryID }: BackupStatus, trigger: Trigger | undefined): MoverJob.Use =>
  repositoryID === undefined || trigger === "unlock" ? "exclusive" : "backup"

const minute = 60_000

/** The delays before the retries of a failed run, in milliseconds. The last one repeats. */
const delays = [5 * minute, 15 * minute, 60 * minute, 240 * minute]

/** Failures that may pass by themselves. Others need a user, who starts a run by annotation. */
const passing: ReadonlySet<string> = new Set([
  "DestinationUnreachable",
  "ImagePullFailed",
  "OutOfMemory",
  "PodEvicted",
  "ResticFailed",
  "StartTimeout",
  "Terminated"
])

/** The delay before a retry of the last run, in milliseconds; undefined if it is not retried. */
const delayOf = ({ consecutiveFailures = 1, lastRun }: BackupStatus): number | undefined => {
  if (lastRun?.reason === "RepositoryLocked") return Outcome.staleLock
  if (lastRun === undefined || !passing.has(lastRun.reason)) return undefined
  return delays[Math.min(Math.max(1, consecutiveFailures), delays.length) - 1]
}

/** When a failed run is retried, in epoch milliseconds; never far in the future, even if the clock was set back. */
export const retryAt = (status: BackupStatus, now: number): number | undefined => {
  const delay = delayOf(status)
  const ended = Text.millis(status.lastRun?.completionTime)
  if (delay === undefined || ended === undefined) return undefined
  return ended - now > delay ? now : ended + delay
}

/** The run that should start now, if none is active: requests of users come first. */
export const request = (
  backup: Backup,
  status: BackupStatus,
  jobs: ReadonlyArray<Job>,
  due: Schedule.Due | undefined,
  now: number
): Request | undefined => {
  // A requested run also serves a due tick, which would otherwise replace it at once or be skipped with an Event.
  const ofDue = { tick: due?.at, missed: due?.missed ?? "none" }
  const unlock = token(backup, Names.unlockAnnotation)
  if (unlock !== undefined && unlock !== status.lastUnlockTrigger) {
    const id = `u${chained(status, status.lastUnlockTrigger, unlock)}`
    return { trigger: "unlock", id, ...ofDue, token: unlock }
  }
  const manual = token(backup, Names.runAnnotation)
  if (manual !== undefined && manual !== status.lastManualTrigger) {
    const id = `m${chained(status, status.lastManualTrigger, manual)}`
    return { trigger: "manual", id, ...ofDue, token: manual }
  }
  if (due !== undefined) {
    const trigger =
      status.lastScheduleTime === undefined && backup.spec.startPolicy === "Immediately" ? "start" : "schedule"
    return { trigger, id: ofTick(backup, status, jobs, due.at), tick: due.at, missed: due.missed, token: undefined }
  }
  const again = retryAt(status, now)
  return again !== undefined && again <= now && !backup.spec.suspend
    ? { trigger: "retry", id: `r${chained(status, undefined, "")}`, tick: undefined, missed: "none", token: undefined }
    : undefined
}

/** The claims of a Job, and those of the Jobs after it. */
export interface Part {
  readonly group: Placement.Group
  readonly later: ReadonlyArray<string>
}

/**
 * The claims of the next Job.
 *
 * @param remaining the claims that earlier Jobs of the run left; undefined for its first Job
 * @returns undefined if none of them exists any longer
 */
export const part = (
  groups: ReadonlyArray<Placement.Group>,
  remaining: ReadonlyArray<string> | undefined
): Part | undefined => {
  const left = groups.flatMap((group) => {
    const claims = group.claims.filter(({ name }) => remaining === undefined || remaining.includes(name))
    return Arr.isReadonlyArrayNonEmpty(claims) ? [{ ...group, claims }] : []
  })
  const [group, ...others] = left
  return group && { group, later: others.flatMap(({ claims }) => claims.map(({ name }) => name)) }
}

/** The input of a Job besides its Backup. */
export interface Options {
  readonly part: Part
  /** Undefined: continues the run of the previous Job. */
  readonly request: Request | undefined
  readonly before: Job | undefined
  readonly credentials: Credentials.Mounts
}

/** The next Job. */
export const work = (
  backup: Backup,
  status: BackupStatus,
  understood: Understood,
  { before, credentials, part, request }: Options
): MoverJob.Work => {
  const { spec } = backup
  const { name, namespace = "", uid } = backup.metadata
  const { active } = status
  const trigger = request?.trigger ?? active?.trigger ?? "schedule"
  const id = request?.id ?? nextId(before)
  // The same for all Jobs of a run, and never that of an earlier run, whose tick repeats after the clock was set back.
  const after = status.lastRun === undefined ? "" : identity(status.lastRun)
  const tag = request === undefined ? active?.tag : `run:${MoverJob.shortHash(`${uid}\n${after}`)}-${id}`
  return {
    owner: backup,
    spec,
    name: MoverJob.nameOf(name, id),
    trigger,
    use: useOf(status, trigger),
    operations: [
      "preflight",
      // After the repository was opened or created, because a lock does not prevent that.
      ...(request?.trigger === "unlock" ? (["unlock-all"] as const) : []),
      "backup"
    ],
    parameters: {
      BACKUP_HOST: namespace,
      BACKUP_TAG: `${namespace}/${name}`,
      // A retry of the Job recognizes the snapshots of the attempt before it.
      RUN_TAG: tag,
      // A known repository that is missing is a loss and must not be created again. A finished run alone does not prove that it
      // existed, because the tutorial's controller, whose objects we take over, created none.
      INIT: status.repositoryID === undefined ? "1" : undefined,
      REPOSITORY_ID: status.repositoryID,
      ALLOW_EMPTY: spec.allowEmpty === true ? "1" : undefined,
      IS_PART: active?.snapshots !== undefined || part.later.length > 0 ? "1" : undefined,
      ALLOW_PARTIAL: spec.allowPartial ? "1" : undefined,
      EXCLUDES: spec.excludes === undefined || spec.excludes.length === 0 ? undefined : spec.excludes.join("\n")
    },
    repository: understood.repository,
    claims: part.group.claims.map(({ name }) => ({ name, readOnly: true })),
    placement: part.group,
    credentials,
    annotations: {
      [Names.runIdAnnotation]: id,
      [Names.tagAnnotation]: tag,
      [Names.scheduledAtAnnotation]: request?.tick === undefined ? undefined : Time.seconds(request.tick),
      [Names.tokenAnnotation]: request === undefined ? active?.token : request.token,
      [Names.afterAnnotation]: after,
      [Names.claimsAnnotation]: part.group.claims.map(({ name }) => name).join(","),
      [Names.remainingAnnotation]: part.later.length === 0 ? undefined : part.later.join(",")
    }
  }
}

/** The ID of the next Job of a run: the previous one plus one. */
const nextId = (before: Job | undefined): string => {
  const { count, run } = idOf(before)
  return `${run}-${count + 1}`
}

/** The ID of a Job's run, and the number of the Job in the run. */
const idOf = (job: Job | undefined): { readonly run: string; readonly count: number } => {
  const id = job?.metadata.annotations?.[Names.runIdAnnotation] ?? ""
  const [, run = "", count = "1"] = /^(.*?)(?:-(\d+))?$/.exec(id) ?? []
  return { run, count: Number(count) }
}

/** Whether another Job of the same run has taken the place of a Job. */
const isReplaced = (job: Job, by: Job | undefined): boolean =>
  by !== undefined && idOf(job).run === idOf(by).run && idOf(job).count < idOf(by).count

/** Jobs that the status has given up, which the controller must end. */
export const abandoned = ({ active, lastRun }: BackupStatus, jobs: ReadonlyArray<Job>): ReadonlyArray<Job> =>
  jobs.filter(
    (job) =>
      (isOf(job, lastRun) ||
        isReplaced(
          job,
          jobs.find((other) => isOf(other, active))
        )) &&
      !isOf(job, active) &&
      !JobProgress.isOver(job) &&
      job.metadata.deletionTimestamp === undefined
  )

/** The Jobs of finished runs beyond the history limits: the oldest of each kind. */
export const superfluous = (
  backup: Backup,
  status: BackupStatus,
  jobs: ReadonlyArray<Job>,
  now = Number.POSITIVE_INFINITY
): ReadonlyArray<Job> => {
  const open = current(status, jobs)
  const over = jobs
    .filter(
      (job) =>
        JobProgress.isOver(job) &&
        job.metadata.deletionTimestamp === undefined &&
        job.metadata.name !== open?.metadata.name
    )
    .sort((one, other) => Number(isFromFuture(other, now)) - Number(isFromFuture(one, now)))
  const beyond = (some: ReadonlyArray<Job>, limit: number) => some.slice(0, Math.max(0, some.length - limit))
  return [
    ...beyond(over.filter(JobProgress.hasSucceeded), backup.spec.successfulRunsHistoryLimit),
    ...beyond(
      over.filter((job) => !JobProgress.hasSucceeded(job)),
      backup.spec.failedRunsHistoryLimit
    )
  ]
}
