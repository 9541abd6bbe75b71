/** How a Backup's run stands: what its Job has come to since the status was written, and what that makes of the status. Pure. */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Duration from "effect/Duration"
import type { Backup } from "./Backup.ts"
import * as Outcome from "./Outcome.ts"
import * as Plan from "./Plan.ts"
import * as Run from "./Run.ts"
import * as BackupStatus from "./status.ts"

/** How it stands. */
export interface Standing {
  readonly draft: BackupStatus.Draft
  /** The Job of the run that goes on; undefined if none does. */
  readonly job: Job | undefined
  /** How it goes on. */
  readonly course: string | undefined
  /** A Job of the run has ended, and another goes on with what is left of its claims. */
  readonly remaining: { readonly active: BackupStatus.Active; readonly claims: ReadonlyArray<string> } | undefined
  /** When the Job has had its time to start, epoch milliseconds; undefined if it has started. */
  readonly deadline: number | undefined
}

/** The Job of a run, or undefined if it is gone. */
export interface Found {
  readonly job: Job
  readonly progress: Run.Progress
}

/** No run goes on. */
export const idle = (draft: BackupStatus.Draft): Standing => ({
  draft,
  job: undefined,
  course: undefined,
  remaining: undefined,
  deadline: undefined
})

/**
 * How the run stands that the status tells of, or else that of a Job of which it does not know yet.
 *
 * @param options.startTimeout how long a mover may take until its container runs
 */
export const of = (
  backup: Backup,
  found: Found | undefined,
  { now, startTimeout }: { readonly now: number; readonly startTimeout: Duration.Duration }
): Standing => {
  const before = BackupStatus.draft(backup)
  const { active } = before.status
  const run = active ?? (found && Plan.activeOf(found.job))
  if (run === undefined) return idle(before)
  const over = (draft: BackupStatus.Draft, ending: Outcome.Ending, at: number): Standing =>
    idle(BackupStatus.ended(draft, run, judge(backup, run, ending), at))
  if (found === undefined || (found.job.metadata.deletionTimestamp !== undefined && !Run.isOver(found.job))) {
    return over(before, { _tag: "JobDeleted", job: run.job }, now)
  }
  const { job, progress } = found
  const draft = active === undefined ? BackupStatus.started(before, run, Run.scheduledAt(job)) : before
  switch (progress._tag) {
    case "Running":
      return { ...idle(draft), job, course: progress.message }
    case "Starting":
      return Run.isLate(progress, startTimeout, now)
        ? over(draft, Run.notStarted(progress, startTimeout), now)
        : {
            ...idle(draft),
            job,
            course: progress.message,
            deadline: progress.since + Duration.toMillis(startTimeout)
          }
    case "Ended": {
      const outcome = Outcome.judge(progress.ending, { allowPartial: backup.spec.allowPartial })
      const claims = Run.remaining(job)
      const goesOn = claims.length > 0 && (outcome.phase === "Completed" || outcome.reason === "PartiallyFailed")
      // A node's clock may be behind the API server's, or ahead of all others.
      if (!goesOn) return over(draft, progress.ending, Math.max(Math.min(progress.at, now), Run.madeAt(job)))
      const parted = BackupStatus.partEnded(draft, run, outcome)
      return { ...idle(parted), job, remaining: { active: parted.status.active ?? run, claims } }
    }
  }
}

/** What a run came to as a whole: one of which a part was partial is partial. */
const judge = (
  backup: Backup,
  { partial, snapshots = [] }: BackupStatus.Active,
  ending: Outcome.Ending
): Outcome.Outcome => {
  const { allowPartial } = backup.spec
  const earlier = snapshots.map(({ id, ...rest }) => ({ ...rest, id }))
  const outcome = Outcome.judge(ending, { allowPartial, earlier })
  return partial !== undefined && outcome.phase === "Completed" && !allowPartial
    ? { ...outcome, reason: "PartiallyFailed", phase: "Failed", warning: true, message: partial }
    : outcome
}

/** What is lost in the middle of a run ends it, and what was saved before counts. */
export const brokenOff = ({ draft, remaining }: Standing, text: string, now: number): BackupStatus.Draft =>
  remaining === undefined
    ? draft
    : BackupStatus.ended(
        draft,
        remaining.active,
        Outcome.judge({ _tag: "Exited", exitCode: Outcome.exitCodes.PartiallyFailed, text }),
        now
      )
