/** The standing of a Backup's run: the progress of its Job since the last status, and the changes of the status. Pure. */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Duration from "effect/Duration"
import type { Backup } from "../kinds/Backup.ts"
import * as JobProgress from "./JobProgress.ts"
import * as MoverJob from "./MoverJob.ts"
import * as Outcome from "./Outcome.ts"
import * as RunPlan from "./RunPlan.ts"
import * as BackupStatus from "./RunStatus.ts"

/** The standing of a run. */
export interface RunState {
  readonly draft: BackupStatus.Draft
  /** The active Job; undefined without one. */
  readonly job: Job | undefined
  /** The progress of the run, in words. */
  readonly course: string | undefined
  /** A Job of the run has ended, and another one continues with the remaining claims. */
  readonly remaining: { readonly active: BackupStatus.Active; readonly claims: ReadonlyArray<string> } | undefined
  /** The scheduler refuses the node of the Job, for example because it was drained. */
  readonly stranded: Stranded | undefined
  /** When to look at the Job again without an event, epoch milliseconds; undefined while its mover runs. */
  readonly deadline: number | undefined
}

/** A Job whose pod cannot run on its node. */
export interface Stranded {
  readonly active: BackupStatus.Active
  readonly job: Job
  readonly node: string
  /** The claims of the Job, and of the Jobs after it. */
  readonly claims: ReadonlyArray<string>
}

/** The Job of a run, or undefined if it is gone. */
export interface Found {
  readonly job: Job
  readonly progress: JobProgress.Progress
}

/** Without an active run. */
export const idle = (draft: BackupStatus.Draft): RunState => ({
  draft,
  job: undefined,
  course: undefined,
  remaining: undefined,
  stranded: undefined,
  deadline: undefined
})

/**
 * The standing of the run in the status, or else of a Job that the status does not have yet.
 *
 * @param options.startTimeout how long a mover may take until its container runs
 */
export const of = (
  backup: Backup,
  found: Found | undefined,
  { now, startTimeout }: { readonly now: number; readonly startTimeout: Duration.Duration }
): RunState => {
  const before = BackupStatus.draft(backup)
  const { active } = before.status
  const run = active ?? (found && RunPlan.activeOf(found.job))
  if (run === undefined) return idle(before)
  const over = (draft: BackupStatus.Draft, ending: Outcome.Ending, at: number): RunState =>
    idle(BackupStatus.ended(draft, run, judge(backup, run, ending), at))
  if (found === undefined || (found.job.metadata.deletionTimestamp !== undefined && !JobProgress.isOver(found.job))) {
    return over(before, { _tag: "JobDeleted", job: run.job }, now)
  }
  const { job, progress } = found
  const draft = active === undefined ? BackupStatus.started(before, run, JobProgress.scheduledAt(job)) : before
  switch (progress._tag) {
    case "Running":
      return { ...idle(draft), job, course: progress.message, deadline: JobProgress.deadlineOf(progress) }
    case "Starting":
      return JobProgress.isLate(progress, startTimeout, now)
        ? over(draft, JobProgress.notStarted(progress, startTimeout), now)
        : {
            ...idle(draft),
            job,
            course: progress.message,
            stranded: strandedOf(run, job, progress),
            // Not every obstacle changes a Job or pod.
            deadline: Math.min(progress.since + Duration.toMillis(startTimeout), now + JobProgress.lookMillis)
          }
    case "Ended": {
      const { allowEmpty = false, allowPartial } = backup.spec
      const claims = JobProgress.remaining(job)
      const outcome = Outcome.judge(progress.ending, { allowEmpty, allowPartial, isPart: claims.length > 0 })
      const isSaved =
        outcome.phase === "Completed" || outcome.reason === "PartiallyFailed" || outcome.reason === "VolumeEmpty"
      const goesOn = claims.length > 0 && isSaved
      // A node's clock may differ from the API server's.
      if (!goesOn) return over(draft, progress.ending, Math.max(Math.min(progress.at, now), JobProgress.madeAt(job)))
      const parted = BackupStatus.partEnded(draft, run, outcome)
      return { ...idle(parted), job, remaining: { active: parted.status.active ?? run, claims } }
    }
  }
}

const strandedOf = (
  active: BackupStatus.Active,
  job: Job,
  { obstacle }: JobProgress.Starting
): Stranded | undefined => {
  const node = MoverJob.nodeOf(job)
  return obstacle?.reason === "Unschedulable" && node !== undefined
    ? { active, job, node, claims: [...JobProgress.claims(job), ...JobProgress.remaining(job)] }
    : undefined
}

/** The outcome of a whole run: one partial Job makes the run partial, and so does one with an emptied volume. */
const judge = (
  backup: Backup,
  { emptied, partial, snapshots = [] }: BackupStatus.Active,
  ending: Outcome.Ending
): Outcome.Outcome => {
  const { allowEmpty = false, allowPartial } = backup.spec
  const earlier = snapshots.map(({ id, ...rest }) => ({ ...rest, id }))
  const outcome = Outcome.judge(ending, { allowEmpty, allowPartial, earlier })
  if (emptied !== undefined && outcome.phase === "Completed" && !allowEmpty) {
    return { ...outcome, reason: "VolumeEmpty", phase: "Failed", warning: true, message: emptied }
  }
  return partial !== undefined && outcome.phase === "Completed" && !allowPartial
    ? { ...outcome, reason: "PartiallyFailed", phase: "Failed", warning: true, message: partial }
    : outcome
}

/** A missing volume in the middle of a run ends the run; earlier snapshots count. */
export const brokenOff = ({ draft, remaining }: RunState, text: string, now: number): BackupStatus.Draft =>
  remaining === undefined
    ? draft
    : BackupStatus.ended(
        draft,
        remaining.active,
        Outcome.judge({ _tag: "Exited", exitCode: Outcome.exitCodes.PartiallyFailed, text }),
        now
      )
