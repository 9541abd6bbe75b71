/**
 * What the schedule and the wishes of people come to at a moment: a run that begins, takes the place of another, waits for it or is
 * left out. Pure.
 */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import type { Backup } from "./Backup.ts"
import * as Outcome from "./Outcome.ts"
import * as Plan from "./Plan.ts"
import * as Run from "./Run.ts"
import * as Schedule from "./Schedule.ts"
import type { Understood } from "./Spec.ts"
import * as BackupStatus from "./status.ts"

/** What was decided. */
export interface Decision {
  /** With what the schedule had to tell. */
  readonly draft: BackupStatus.Draft
  /** The run that is to begin, if its turn comes and nothing is missing. The same each time until it has begun. */
  readonly request: Plan.Request | undefined
  /** The next tick. Epoch milliseconds. */
  readonly next: number | undefined
  /** When to look again, besides: a run that found a lock is tried again, or one was found of which nobody knew. Epoch milliseconds. */
  readonly again: number | undefined
}

/** What is known when it is decided. */
export interface Moment {
  /** The Backup's, the oldest first. */
  readonly jobs: ReadonlyArray<Job>
  /** One Job of the run has ended and the next has not begun: it is neither replaced nor passed by. */
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
): Decision => {
  const { spec } = backup
  const { due, lastScheduleTime, missed, next } = Schedule.decide(
    { ...spec, table: understood.table, startingDeadlineSeconds: spec.startingDeadlineSeconds },
    Plan.past(backup, before.status, jobs),
    now
  )
  let draft = before
  if (lastScheduleTime !== undefined) draft = BackupStatus.mended(draft, lastScheduleTime)
  if (missed !== undefined) draft = BackupStatus.missed(draft, missed, spec.startingDeadlineSeconds ?? 0)
  const { active } = draft.status
  const none: Decision = { draft, request: undefined, next, again: undefined }
  if (active === undefined) {
    // Begun by a manager that ended before it could tell the end of the run before as well.
    const untold = Plan.current(draft.status, jobs)
    if (untold !== undefined) {
      return { ...none, draft: BackupStatus.started(draft, Plan.activeOf(untold), Run.scheduledAt(untold)), again: now }
    }
    const again = Plan.retryAt(draft.status, now)
    return {
      ...none,
      request: Plan.request(backup, draft.status, jobs, due, now),
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
      return { ...none, draft: replaced, request: Plan.request(backup, replaced.status, jobs, due, now) }
    }
  }
}
