/**
 * What is to be done for a Backup, given its status, its Jobs and the time. Pure: after a restart, or in another manager, the
 * answer is the same, down to the names of Jobs, so that nothing is begun twice.
 */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import { type Backup, type BackupStatus, type Trigger, triggers } from "./Backup.ts"
import type * as Credentials from "./Credentials.ts"
import * as MoverJob from "./Job.ts"
import * as Names from "./Names.ts"
import * as Outcome from "./Outcome.ts"
import type * as Placement from "./Placement.ts"
import * as Run from "./Run.ts"
import type * as Schedule from "./Schedule.ts"
import type * as Settings from "./Settings.ts"
import type { Understood } from "./Spec.ts"
import type { Active } from "./status.ts"
import { millis } from "./Words.ts"

/** Made by a clock that was set back since: so much later than now. Clocks of two machines differ a little. */
const isFromFuture = (job: Job, now: number): boolean => Run.madeAt(job) > now + 60_000

/** The Job whose end is still to be told: that of the run that goes on, or one of which the status does not know yet. */
export const current = (status: BackupStatus, jobs: ReadonlyArray<Job>): Job | undefined => {
  const { active, lastRun } = status
  if (active !== undefined) return jobs.find((job) => isOf(job, active))
  const untold = jobs.filter(
    (job) =>
      job.metadata.deletionTimestamp === undefined && !isOf(job, lastRun) && (!Run.isOver(job) || !isTold(job, lastRun))
  )
  // After two crashes there may be two: the run that came next is reported first.
  return untold.find((job) => lastRun !== undefined && afterOf(job) === identity(lastRun)) ?? untold.at(-1)
}

type Told = Pick<Active, "job" | "uid">

/** Names come again when the clock is set back. A status that an older manager wrote has no uid. */
const identity = ({ job, uid = job }: Told): string => uid

/** Whether a Job is the one that a status names. */
export const isOf = ({ metadata }: Job, run: Told | undefined): boolean =>
  metadata.name === run?.job && metadata.uid === (run.uid ?? metadata.uid)

const afterOf = (job: Job): string | undefined => job.metadata.annotations?.[Names.afterAnnotation]

/**
 * Whether the end of a Job was told, given the run that was told last: if that is another than it was when the Job was begun. The
 * times of both would not do, since clocks are set back.
 */
const isTold = (job: Job, lastRun: BackupStatus["lastRun"]): boolean => {
  if (lastRun === undefined) return false
  const after = afterOf(job)
  return after === undefined ? Run.madeAt(job) <= (millis(lastRun.completionTime) ?? 0) : after !== identity(lastRun)
}

/** The run of a Job that the status does not know of: its manager ended between making it and saying so. */
export const activeOf = (job: Job): Active => {
  const label = job.metadata.labels?.[Names.triggerLabel]
  const token = job.metadata.annotations?.[Names.tokenAnnotation]
  return {
    job: job.metadata.name,
    uid: job.metadata.uid,
    trigger: triggers.find((trigger) => trigger === label) ?? "schedule",
    startTime: Time.seconds(Run.madeAt(job)),
    ...(token !== undefined && { token })
  }
}

/** A run that goes on in another Job. */
export const continued = (active: Active, { metadata }: Job): Active => ({
  ...active,
  job: metadata.name,
  uid: metadata.uid
})

/** What the schedule is to know of the past. */
export const past = (backup: Backup, status: BackupStatus, jobs: ReadonlyArray<Job>): Schedule.Past => {
  const ticks = jobs.flatMap((job) => Run.scheduledAt(job) ?? [])
  return {
    createdAt: Date.parse(backup.metadata.creationTimestamp),
    lastScheduleTime: millis(status.lastScheduleTime),
    newestRun: ticks.length === 0 ? undefined : Math.max(...ticks),
    lastMissedTime: millis(status.lastMissedTime)
  }
}

/** A run that should begin. */
export interface Request {
  readonly trigger: Trigger
  /** Tells it apart from the Backup's other runs. */
  readonly id: string
  /** The tick of a scheduled run, epoch milliseconds. */
  readonly tick: number | undefined
  /** How many ticks it makes up for. */
  readonly missed: Schedule.Missed
  readonly token: string | undefined
}

/** A field of a status holds no more, and a longer one would be refused. Half a character would not come back as it was sent. */
const token = (backup: Backup, annotation: string): string | undefined => {
  const value = backup.metadata.annotations?.[annotation]?.slice(0, 253).replace(/[\uD800-\uDBFF]$/, "")
  return value === "" ? undefined : value
}

/** Tells runs that were asked for apart, by what was before: a token may come back after another, and again. */
const chained = (status: BackupStatus, before: string | undefined, token: string): string =>
  MoverJob.shortHash(`${status.lastRun === undefined ? "" : identity(status.lastRun)}\n${before ?? ""}\n${token}`)

/** Minutes as CronJob has them in the names of its Jobs, or seconds where a schedule is finer. */
const stamp = (at: number): string => `${at % 60_000 === 0 ? at / 60_000 : Math.floor(at / 1000)}`

/** A tick that comes again, since the clock was set back, has a Job of that name that is told: its run is another. */
const ofTick = (backup: Backup, { lastRun }: BackupStatus, jobs: ReadonlyArray<Job>, tick: number): string => {
  const id = stamp(tick)
  const name = MoverJob.nameOf(backup.metadata.name, id)
  const told = jobs.find(
    (job) => job.metadata.name === name && (isOf(job, lastRun) || (Run.isOver(job) && isTold(job, lastRun)))
  )
  return told === undefined ? id : `${id}x${MoverJob.shortHash(told.metadata.uid)}`
}

/** When a run that found a lock is tried again. Epoch milliseconds; never far off, if the clock was set back since. */
export const retryAt = ({ lastRun }: BackupStatus, now: number): number | undefined => {
  const ended = lastRun?.reason === "RepositoryLocked" ? millis(lastRun.completionTime) : undefined
  return ended === undefined ? undefined : ended - now > Outcome.staleLock ? now : ended + Outcome.staleLock
}

/** The run that should begin now, while none goes on: what people ask for comes first. */
export const request = (
  backup: Backup,
  status: BackupStatus,
  jobs: ReadonlyArray<Job>,
  due: Schedule.Due | undefined,
  now: number
): Request | undefined => {
  // One that was asked for is that of a tick too, if one is due: else that would replace it at once, or be left out with a word.
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

/** The claims of a Job, and those that are left to the Jobs after it. */
export interface Part {
  readonly group: Placement.Group
  readonly later: ReadonlyArray<string>
}

/**
 * The next Job's part of what is to be saved.
 *
 * @param remaining the claims that the run's Jobs before have left; undefined for its first
 * @returns undefined if none of them is there any more
 */
export const part = (
  groups: ReadonlyArray<Placement.Group>,
  remaining: ReadonlyArray<string> | undefined
): Part | undefined => {
  const left = groups.flatMap((group) => {
    const claims = group.claims.filter(({ name }) => remaining === undefined || remaining.includes(name))
    return Arr.isNonEmptyReadonlyArray(claims) ? [{ ...group, claims }] : []
  })
  const [group, ...others] = left
  return group && { group, later: others.flatMap(({ claims }) => claims.map(({ name }) => name)) }
}

/** What a Job is made from, besides its Backup. */
export interface Options {
  readonly part: Part
  /** Undefined: it goes on with the run of the Job before. */
  readonly request: Request | undefined
  readonly before: Job | undefined
  readonly credentials: Credentials.Mounts
  readonly settings: Settings.Values
  readonly now: number
}

/** The next Job. The last one of a run deletes old snapshots, gives space back and checks, when that is due. */
export const work = (
  backup: Backup,
  status: BackupStatus,
  understood: Understood,
  { before, credentials, now, part, request, settings }: Options
): MoverJob.Work => {
  const { spec } = backup
  const { creationTimestamp, name, namespace = "" } = backup.metadata
  const { active } = status
  // What is said to have been done in the future was done before the clock was set back, and nobody knows when.
  const isDue = (last: string | undefined, interval: number) => {
    const at = millis(last) ?? Date.parse(creationTimestamp)
    return at + interval <= now || at - now > interval
  }
  const isLast = part.later.length === 0
  // Old snapshots are not thinned out after a part of the new one is missing.
  const forgets = isLast && understood.keep.length > 0 && (spec.allowPartial || active?.partial === undefined)
  const trigger = request?.trigger ?? active?.trigger ?? "schedule"
  const id = request?.id ?? nextId(before)
  return {
    owner: backup,
    spec,
    name: MoverJob.nameOf(name, id),
    trigger,
    operations: [
      "preflight",
      // After the repository was found, or made: no lock keeps it from being looked at.
      ...(request?.trigger === "unlock" ? (["unlock-all"] as const) : []),
      "backup",
      ...(forgets ? (["forget"] as const) : []),
      ...(forgets && isDue(status.lastPruneTime, understood.pruneInterval) ? (["prune"] as const) : []),
      ...(isLast && isDue(status.lastCheckTime, understood.checkInterval) ? (["check"] as const) : [])
    ],
    parameters: {
      BACKUP_HOST: namespace,
      BACKUP_TAG: `${namespace}/${name}`,
      // Once there was a repository, one that is gone is a loss, and no place for a new one. That there was a backup says nothing of
      // it: the tutorial's controller, whose objects we inherit, made none.
      INIT: status.repositoryID === undefined ? "1" : undefined,
      ALLOW_PARTIAL: spec.allowPartial ? "1" : undefined,
      FORGET_ARGS: forgets ? understood.keep.join(" ") : undefined,
      EXCLUDES: spec.excludes === undefined || spec.excludes.length === 0 ? undefined : spec.excludes.join("\n")
    },
    repository: understood.repository,
    claims: part.group.claims.map(({ name }) => ({ name, readOnly: true })),
    placement: part.group,
    credentials,
    annotations: {
      [Names.runIdAnnotation]: id,
      [Names.scheduledAtAnnotation]: request?.tick === undefined ? undefined : Time.seconds(request.tick),
      [Names.tokenAnnotation]: request === undefined ? active?.token : request.token,
      [Names.afterAnnotation]: status.lastRun === undefined ? "" : identity(status.lastRun),
      [Names.claimsAnnotation]: part.group.claims.map(({ name }) => name).join(","),
      [Names.remainingAnnotation]: isLast ? undefined : part.later.join(",")
    },
    image: settings.moverImage,
    preflightSeconds: Math.round(Duration.toSeconds(settings.preflightTimeout))
  }
}

/** The id of the Job that goes on with a run: that of the one before, counted up. */
const nextId = (before: Job | undefined): string => {
  const id = before?.metadata.annotations?.[Names.runIdAnnotation] ?? ""
  const [, run = "", count = "1"] = /^(.*?)(?:-(\d+))?$/.exec(id) ?? []
  return `${run}-${Number(count) + 1}`
}

/** Jobs that were given up, as the status says: they are to be ended, by whoever finds them. */
export const abandoned = ({ active, lastRun }: BackupStatus, jobs: ReadonlyArray<Job>): ReadonlyArray<Job> =>
  jobs.filter(
    (job) =>
      isOf(job, lastRun) && !isOf(job, active) && !Run.isOver(job) && job.metadata.deletionTimestamp === undefined
  )

/** Jobs of runs that are told, and that are more than should be kept: the oldest of each kind. */
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
        Run.isOver(job) && job.metadata.deletionTimestamp === undefined && job.metadata.name !== open?.metadata.name
    )
    .sort((one, other) => Number(isFromFuture(other, now)) - Number(isFromFuture(one, now)))
  const beyond = (some: ReadonlyArray<Job>, limit: number) => some.slice(0, Math.max(0, some.length - limit))
  return [
    ...beyond(over.filter(Run.hasSucceeded), backup.spec.successfulRunsHistoryLimit),
    ...beyond(
      over.filter((job) => !Run.hasSucceeded(job)),
      backup.spec.failedRunsHistoryLimit
    )
  ]
}
