/**
 * Combines the schedule and the requests of users at a point in time: a run starts, replaces another, waits for it, or is skipped.
 * Pure.
 */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import type { Backup } from "../kinds/Backup.ts"
import * as Schedule from "../schedule/Schedule.ts"
import * as JobProgress from "./JobProgress.ts"
import * as Outcome from "./Outcome.ts"
import * as RunPlan from "./RunPlan.ts"
import * as BackupStatus from "./RunStatus.ts"
import type { Understood } from "./Spec.ts"

/** A decision. */
export interface NextAction {
  /** Includes the reports of the schedule. */
  readonly draft: BackupStatus.Draft
  /** The run that should start when its turn comes and nothing is missing. It stays the same until the run starts. */
  readonly request: RunPlan.Request | undefined
  /** The next tick. Epoch milliseconds. */
  readonly next: number | undefined
  /**
   * When to decide again before the next tick: a run that found a lock is retried, or an unknown run was found. Epoch milliseconds.
   */
  readonly again: number | undefined
}

/** The facts of a decision. */
export interface Moment {
  /** The Backup's Jobs, the oldest first. */
  readonly jobs: ReadonlyArray<Job>
  /** One Job of the run has ended and the next has not started: such a run is not replaced. */
  readonly isBetweenJobs: boolean
  /** Epoch milliseconds. */
  readonly now: number
}

/** Decides. */
export const make = (
  backup: Backup,
  understood: Understood,
  before: BackupStatus.Draft,
  { isBetweenJobs, jobs, now }: Moment
): NextAction => {
  const { spec } = backup
  const { due, lastScheduleTime, missed, next } = Schedule.decide(
    { ...spec, table: understood.table, startingDeadlineSeconds: spec.startingDeadlineSeconds },
    RunPlan.past(backup, before.status, jobs),
    now
  )
  let draft = before
  if (lastScheduleTime !== undefined) draft = BackupStatus.corrected(draft, lastScheduleTime)
  if (missed !== undefined) draft = BackupStatus.missed(draft, missed, spec.startingDeadlineSeconds ?? 0)
  const { active } = draft.status
  const none: NextAction = { draft, request: undefined, next, again: undefined }
  if (active === undefined) {
    // The Job of a manager that crashed before it wrote the end of the previous run.
    const unreported = RunPlan.current(draft.status, jobs)
    if (unreported !== undefined) {
      return {
        ...none,
        draft: BackupStatus.started(draft, RunPlan.activeOf(unreported), JobProgress.scheduledAt(unreported)),
        again: now
      }
    }
    const again = RunPlan.retryAt(draft.status, now)
    return {
      ...none,
      request: RunPlan.request(backup, draft.status, jobs, due, now),
      again: again !== undefined && again > now ? again : undefined
    }
  }
  if (due === undefined || isBetweenJobs) return none
  switch (Schedule.overlap(spec.concurrencyPolicy, spec.startingDeadlineSeconds)) {
    case "wait":
      return none
    case "skip":
      return { ...none, draft: BackupStatus.skipped(draft, due.at, active.job, due.missed) }
    case "replace": {
      const replaced = BackupStatus.ended(draft, active, Outcome.judge({ _tag: "Replaced" }), now)
      return { ...none, draft: replaced, request: RunPlan.request(backup, replaced.status, jobs, due, now) }
    }
  }
}
