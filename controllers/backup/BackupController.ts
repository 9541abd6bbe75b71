/**
 * The Backup controller: runs movers by a schedule or on request, one Job at a time per repository, and reports their results.
 *
 * A reconcile reads the active Job, or the one that has ended, and decides whether a run is due. If so, it checks the source, the
 * credentials and the turn, and creates the Job. Then it writes the status, records Events and deletes old Jobs. The decision depends
 * only on status, Jobs and time (see RunPlan), so the next reconcile can continue after a crash at any point.
 *
 * No data and no values of Secrets pass through the controller: it checks their keys, and the kubelet passes the values to the mover.
 *
 * Needs the permissions that `homeostat rbac` prints: see {@link Prerequisites.access} and {@link MoverJobs.access}.
 */
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import { keyOf, keyString } from "@homeostat/runtime/resource/KubernetesObject"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"
import { Backup } from "./kinds/Backup.ts"
import * as Names from "./kinds/Names.ts"
import { RepositoryQueue } from "./repository/RepositoryQueue.ts"
import * as Cleanup from "./run/Cleanup.ts"
import * as JobProgress from "./run/JobProgress.ts"
import * as Maintenance from "./run/Maintenance.ts"
import * as Metrics from "./run/Metrics.ts"
import * as MoverJobs from "./run/MoverJobs.ts"
import * as Needs from "./run/Needs.ts"
import * as NextAction from "./run/NextAction.ts"
import * as Outcome from "./run/Outcome.ts"
import * as Prerequisites from "./run/Prerequisites.ts"
import * as RunPlan from "./run/RunPlan.ts"
import * as RunState from "./run/RunState.ts"
import * as BackupStatus from "./run/RunStatus.ts"
import * as Spec from "./run/Spec.ts"
import * as Summary from "./run/Summary.ts"
import * as Text from "./run/Text.ts"
import { Settings, type Values } from "./Settings.ts"
import * as Schedule from "./schedule/Schedule.ts"

/** The Backup controller. */
export const controller = Controller.make("backup", {
  for: Backup,
  watches: [...MoverJobs.triggers(Backup, "Backup"), ...Needs.triggers],
  transforms: [...MoverJobs.transforms, ...Needs.transforms],
  finalizer: { name: Names.finalizer, cleanup: Cleanup.cleanup },
  access: [...MoverJobs.access, ...Prerequisites.access],
  reconcile: (stored) =>
    Effect.gen(function* () {
      const backup = BackupStatus.trusted(stored)
      const now = yield* Clock.currentTimeMillis
      const all = (yield* MoverJobs.of(backup)).filter((job) => !Cleanup.isCleanup(job))
      const jobs = all.filter((job) => !Maintenance.isMaintenance(job))
      const maintaining = all.filter(Maintenance.isMaintenance)
      const understood = Spec.parse(backup, yield* Settings)
      const followed = yield* follow(backup, jobs, now)
      const kept = yield* followMaintenance(backup, followed, understood, maintaining, now)
      const found = kept.standing
      const scheduled = schedule(backup, found, understood, jobs, now)
      const run = yield* act(backup, scheduled, understood, now)
      const acted = yield* maintain(backup, run, understood, kept.isActive, now)

      const whole = Summary.of(backup, acted.draft, {
        understood: Option.getOrUndefined(EffectResult.getSuccess(understood)),
        obstacle: acted.obstacle,
        waiting: acted.waiting,
        sharing: acted.sharing,
        upkeep: acted.upkeep,
        course: acted.course,
        next: scheduled.next,
        now
      })
      yield* Status.update(stored, BackupStatus.recorded(whole.status))
      // After the status, because a retry after a failed status write would record the Events twice.
      for (const { note, reason, type } of whole.events) {
        yield* EventRecorder.record({ regarding: backup, type, reason, note })
      }
      const metrics = yield* Metrics.current
      metrics.observe(backup, whole, {
        interval: EffectResult.match(understood, {
          onFailure: () => undefined,
          onSuccess: ({ expectedInterval }) => expectedInterval
        }),
        isWaiting: acted.waiting !== undefined,
        now
      })
      yield* Effect.forEach(RunPlan.abandoned(whole.status, jobs), MoverJobs.endWorking, { discard: true })
      yield* Effect.forEach(RunPlan.superfluous(backup, whole.status, jobs, now), MoverJobs.discard, { discard: true })
      yield* Effect.forEach(Maintenance.superfluous(whole.status, maintaining), MoverJobs.discard, { discard: true })
      return Result.requeueAfter(Math.max(1, Math.min(Schedule.wakeAfter(scheduled.next, now), ...acted.wake)))
    })
})

/** Reads the active Job, or the one that has ended. */
const follow = (backup: Backup, jobs: ReadonlyArray<Job>, now: number) =>
  Effect.gen(function* () {
    const status = backup.status ?? {}
    const known = RunPlan.current(status, jobs)
    const { startTimeout } = yield* Settings
    if (known === undefined && status.active === undefined) return RunState.idle(BackupStatus.draft(backup))
    // A Job that is missing in the cache may be too new for it.
    const { active } = status
    const job = known ?? Option.getOrUndefined(yield* MoverJobs.find({ ...keyOf(backup), name: active?.job ?? "" }))
    const found = job && RunPlan.isOf(job, active) ? { job, progress: yield* MoverJobs.progress(job) } : undefined
    return RunState.of(backup, found, { now, startTimeout })
  })

/** Reads the active maintenance, or the one that has ended. */
const followMaintenance = (
  backup: Backup,
  standing: RunState.RunState,
  understood: EffectResult.Result<Spec.Understood, Spec.Refusal>,
  jobs: ReadonlyArray<Job>,
  now: number
) =>
  Effect.gen(function* () {
    const adopted = RunPlan.adopted(backup, standing.draft)
    const paused = Maintenance.afterRun(backup.status ?? {}, adopted, Spec.longestPause(backup, understood))
    const draft = EffectResult.isSuccess(understood) ? Maintenance.accept(backup, paused, understood.success) : paused
    const done = (draft: BackupStatus.Draft, isActive: boolean, deadline = standing.deadline) => ({
      standing: { ...standing, draft, deadline },
      isActive
    })
    const { active } = draft.status.maintenance ?? {}
    const known = Maintenance.current(draft.status, jobs)
    if (known === undefined && active === undefined) return done(draft, false)
    const job = known ?? Option.getOrUndefined(yield* MoverJobs.find({ ...keyOf(backup), name: active?.job ?? "" }))
    const over = (draft: BackupStatus.Draft, ending: Outcome.Ending, at: number) =>
      done(Maintenance.ended(backup, draft, job, Outcome.judge(ending, { purpose: "maintenance" }), at), false)
    if (job === undefined || job.metadata.deletionTimestamp !== undefined) {
      return over(draft, { _tag: "JobDeleted", job: active?.job ?? "" }, now)
    }
    const begun = active === undefined ? Maintenance.started(draft, job) : draft
    const progress = yield* MoverJobs.progress(job)
    if (progress._tag === "Ended") {
      if (!JobProgress.isOver(job)) yield* MoverJobs.endWorking(job)
      return over(begun, progress.ending, Math.min(progress.at, now))
    }
    const { startTimeout } = yield* Settings
    if (progress._tag === "Running" || !JobProgress.isLate(progress, startTimeout, now)) {
      return done(begun, true, JobProgress.deadlineOf(progress))
    }
    yield* MoverJobs.end(job)
    return over(begun, JobProgress.notStarted(progress, startTimeout), now)
  })

/** The standing of the run, with the decision of the schedule. */
interface Scheduled extends RunState.RunState {
  readonly request: RunPlan.Request | undefined
  readonly next: number | undefined
  /** When to reconcile again, in milliseconds from now. */
  readonly wake: ReadonlyArray<number>
}

/** Decides by the schedule. */
const schedule = (
  backup: Backup,
  standing: RunState.RunState,
  understood: EffectResult.Result<Spec.Understood, Spec.Refusal>,
  jobs: ReadonlyArray<Job>,
  now: number
): Scheduled => {
  const { deadline } = standing
  const wake = deadline === undefined ? [] : [deadline - now]
  if (EffectResult.isFailure(understood)) return { ...standing, request: undefined, next: undefined, wake }
  const { again, draft, next, request } = NextAction.make(backup, understood.success, standing.draft, {
    jobs,
    isBetweenJobs: standing.remaining !== undefined,
    now
  })
  const decided: Scheduled = {
    ...standing,
    draft,
    request,
    next,
    wake: again === undefined ? wake : [...wake, again - now]
  }
  // The replaced run's state does not apply to its successor.
  return request === undefined ? decided : { ...decided, job: undefined, course: undefined }
}

/** The result of a reconcile. */
interface Acted extends Scheduled {
  readonly obstacle: Summary.Facts["obstacle"]
  readonly waiting: string | undefined
  readonly sharing: ReadonlyArray<string> | undefined
  readonly upkeep?: Summary.Facts["upkeep"]
}

/** Checks whether runs are possible, if that is unknown, and starts the run that is due. */
const act = (
  backup: Backup,
  scheduled: Scheduled,
  understood: EffectResult.Result<Spec.Understood, Spec.Refusal>,
  now: number
) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const { remaining, request } = scheduled
    const plain: Acted = { ...scheduled, obstacle: undefined, waiting: undefined, sharing: undefined }
    const wants = request !== undefined || remaining !== undefined
    const leave = Effect.flatMap(RepositoryQueue, (turns) => turns.leave("Backup", keyOf(backup)))
    if (!wants) yield* leave
    if (EffectResult.isFailure(understood)) {
      const draft = RunState.brokenOff(scheduled, understood.failure.message, now)
      return { ...plain, draft, obstacle: { ...understood.failure, final: true } }
    }
    if (!wants && scheduled.stranded !== undefined)
      return yield* move(backup, plain, scheduled.stranded, understood.success)
    const isKnown =
      backup.status?.observedGeneration === backup.metadata.generation && BackupStatus.canRun(backup.status?.conditions)
    const isMissing = yield* Needs.areMissing(backup, understood.success.repository.destination)
    if (!wants && isKnown && (scheduled.draft.status.active !== undefined || !isMissing)) {
      return yield* checkSecrets(backup, plain, understood.success, now)
    }

    const wake = [...scheduled.wake, Duration.toMillis(settings.retryPeriod)]
    const { hash } = understood.success.repository
    // Without this check, a run that continues in another Job could wait for its own Job.
    if (wants && isKnown && remaining === undefined) {
      // Before any request, because many Backups may wait, and the end of a Job triggers each of them.
      const busy = yield* MoverJobs.wait(
        backup,
        "Backup",
        RunPlan.useOf(scheduled.draft.status, request?.trigger),
        hash
      )
      if (busy !== undefined) return { ...plain, wake, waiting: waitingFor(busy) }
    }
    const found = yield* look(backup, understood.success)
    const looked: Acted = { ...plain, sharing: yield* sharing(backup, hash) }
    if (EffectResult.isFailure(found)) {
      // Other Backups must not wait for one that cannot run.
      yield* leave
      const obstacle = { ...found.failure, final: false }
      return { ...looked, wake, obstacle, draft: RunState.brokenOff(scheduled, found.failure.message, now) }
    }
    if (!wants) return looked
    const part = RunPlan.part(found.success.groups, remaining?.claims)
    if (part === undefined) {
      const message = `${remaining?.claims.join(", ")}: removed from spec.source during the run`
      return { ...looked, wake, draft: RunState.brokenOff(scheduled, message, now) }
    }
    const work = RunPlan.work(backup, scheduled.draft.status, understood.success, {
      part,
      request,
      before: scheduled.job,
      credentials: found.success.credentials
    })
    // A sidecar may keep the previous Job of the run from its end.
    const begun = yield* Effect.result(MoverJobs.begin(work, "Backup", scheduled.job))
    if (EffectResult.isFailure(begun)) {
      const refused = MoverJobs.refusalOf(begun.failure)
      if (refused === undefined) return yield* begun.failure
      const draft = RunState.brokenOff(scheduled, refused.message, now)
      return { ...looked, wake, draft, obstacle: { ...refused, final: false } }
    }
    if (EffectResult.isFailure(begun.success)) return { ...looked, wake, waiting: waitingFor(begun.success.failure) }
    const job = begun.success.success
    const active = remaining === undefined ? RunPlan.activeOf(job) : RunPlan.continued(remaining.active, job)
    return {
      ...looked,
      draft: BackupStatus.started(scheduled.draft, active, request?.tick, request?.missed),
      job,
      wake: [...scheduled.wake, lookAfter(job, settings)]
    }
  })

/** Checks the Secrets once in a while between runs. */
const checkSecrets = (backup: Backup, plain: Acted, { repository: { destination } }: Spec.Understood, now: number) =>
  Effect.gen(function* () {
    const needs = yield* Needs.Needs
    const at = needs.checkAt(backup, now)
    if (at > now) return { ...plain, wake: [...plain.wake, at - now] }
    const secrets = yield* Prerequisites.credentials(backup, destination)
    const privileges = yield* Prerequisites.privileges(backup)
    needs.checked(keyOf(backup), now)
    const found: ReadonlyArray<EffectResult.Result<unknown, Spec.Refusal>> = [privileges, secrets]
    const [refusal] = Arr.getFailures(found)
    if (refusal === undefined) return { ...plain, wake: [...plain.wake, Needs.checkMillis] }
    const { retryPeriod } = yield* Settings
    return {
      ...plain,
      wake: [...plain.wake, Duration.toMillis(retryPeriod)],
      obstacle: { ...refusal, final: false }
    }
  })

/**
 * Continues a run in another Job if its volumes are on another node now. If they are not, for example because the workload has not
 * started yet, the Job keeps its place until the start timeout.
 */
const move = (backup: Backup, plain: Acted, stranded: RunState.Stranded, understood: Spec.Understood) =>
  Effect.gen(function* () {
    const found = yield* look(backup, understood)
    if (EffectResult.isFailure(found)) return plain
    const { credentials, groups } = found.success
    const part = RunPlan.part(groups, stranded.claims)
    if (part?.group.node === undefined || part.group.node === stranded.node) return plain
    const { job: before } = stranded
    const work = RunPlan.work(backup, plain.draft.status, understood, {
      part,
      request: undefined,
      before,
      credentials
    })
    const begun = yield* MoverJobs.begin(work, "Backup", before).pipe(
      Effect.catchTags({ NameTaken: () => Effect.succeed(undefined), NotAllowed: () => Effect.succeed(undefined) })
    )
    if (begun === undefined || EffectResult.isFailure(begun)) return plain
    const draft = BackupStatus.started(plain.draft, RunPlan.continued(stranded.active, begun.success), undefined)
    return { ...plain, draft, job: begun.success, course: undefined }
  })

/** Starts the maintenance that is due. Runs come first. */
const maintain = (
  backup: Backup,
  acted: Acted,
  understood: EffectResult.Result<Spec.Understood, Spec.Refusal>,
  isActive: boolean,
  now: number
) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const { draft, obstacle, remaining, request } = acted
    if (isActive) return { ...acted, wake: [...acted.wake, Duration.toMillis(settings.startTimeout)] }
    const isBusy = draft.status.active !== undefined || request !== undefined || remaining !== undefined
    if (isBusy || obstacle !== undefined || EffectResult.isFailure(understood)) return acted
    const { repository } = understood.success
    const due = Maintenance.due(backup, draft.status, understood.success, now)
    if (due.at !== undefined) return { ...acted, wake: [...acted.wake, due.at - now] }
    const damaged = due.operations.some(deletes) ? yield* damagedNeighbour(backup, repository.hash) : undefined
    const operations = due.operations.filter((operation) => damaged === undefined || !deletes(operation))
    if (operations.length === 0) {
      return damaged === undefined ? acted : { ...acted, draft: Maintenance.heldBy(draft, damaged) }
    }
    const wake = [...acted.wake, Duration.toMillis(settings.retryPeriod)]
    // Most maintenances wait a moment, for the end of the pod before them.
    const ended = Text.millis(draft.status.lastRun?.completionTime) ?? 0
    const isLong = now >= ended + Duration.toMillis(settings.retryPeriod)
    const waiting = (reason: string): Acted => ({ ...acted, wake, ...(isLong && { upkeep: { operations, reason } }) })
    const busy = yield* MoverJobs.wait(backup, "Backup", "exclusive", repository.hash)
    if (busy !== undefined) return waiting(busy)
    const credentials = yield* Prerequisites.credentials(backup, repository.destination)
    const placement = yield* Prerequisites.repository(backup, repository.destination)
    const privileges = yield* Prerequisites.privileges(backup)
    if (EffectResult.isFailure(credentials)) return waiting(credentials.failure.message)
    if (EffectResult.isFailure(placement)) return waiting(placement.failure.message)
    if (EffectResult.isFailure(privileges)) return waiting(privileges.failure.message)
    const work = Maintenance.work(backup, draft.status, understood.success, {
      operations,
      placement: placement.success,
      credentials: credentials.success
    })
    const begun = yield* Effect.result(MoverJobs.begin(work, "Backup"))
    if (EffectResult.isFailure(begun)) {
      const refused = MoverJobs.refusalOf(begun.failure)
      if (refused === undefined) return yield* begun.failure
      return { ...acted, draft: operations.some(deletes) ? Maintenance.refusedBy(draft, refused) : draft, wake }
    }
    if (EffectResult.isFailure(begun.success)) return waiting(begun.success.failure)
    const job = begun.success.success
    return { ...acted, draft: Maintenance.started(draft, job), wake: [...acted.wake, lookAfter(job, settings)] }
  })

/** When to look at a started Job again, in ms. If another manager started it, it may have ended, and no event follows. */
const lookAfter = (job: Job, { startTimeout }: Values): number =>
  JobProgress.isOver(job) ? 0 : Duration.toMillis(startTimeout)

const deletes = (operation: Maintenance.Operation): boolean => operation !== "check"

/**
 * Another Backup of the namespace that found damage in the same repository. Not one of another namespace: its users can choose the image
 * that reports damage.
 */
const damagedNeighbour = ({ metadata: { namespace, uid } }: Backup, hash: string) =>
  Effect.map(
    Cache.list(Backup, namespace === undefined ? {} : { namespace }),
    ({ items }) =>
      items.find(
        ({ metadata, status = {} }) =>
          metadata.uid !== uid && status.repositoryHash === hash && BackupStatus.isDamaged(status)
      )?.metadata.name
  )

/** The prerequisites of a run in the cluster: all of them, or the first missing one. */
const look = (backup: Backup, { repository: { destination } }: Spec.Understood) =>
  Effect.map(
    Effect.all(
      [
        Prerequisites.source(backup, destination),
        Prerequisites.credentials(backup, destination),
        Prerequisites.privileges(backup)
      ],
      {
        concurrency: "unbounded"
      }
    ),
    ([source, secrets, privileges]) =>
      EffectResult.gen(function* () {
        yield* EffectResult.mapError(privileges, (refusal): Spec.Refusal => refusal)
        const groups = yield* EffectResult.mapError(source, (refusal): Spec.Refusal => refusal)
        const credentials = yield* EffectResult.mapError(secrets, (refusal): Spec.Refusal => refusal)
        return { groups, credentials }
      })
  )

/** The other Backups with the same repository. Names only those of the same namespace, because a status has readers of its namespace. */
const sharing = (backup: Backup, hash: string) =>
  Effect.map(Cache.list(Backup), ({ items }) => {
    const others = items.filter(
      ({ metadata, status }) => status?.repositoryHash === hash && metadata.uid !== backup.metadata.uid
    )
    const near = others.filter(({ metadata }) => metadata.namespace === backup.metadata.namespace)
    const far = others.length - near.length
    return [
      ...near.map((other) => keyString(keyOf(other))).sort(),
      ...(far === 0 ? [] : [`${Text.counted(far, "Backup")} of other namespaces`])
    ]
  })

const waitingFor = (what: string): string => `A run is due and waits: ${what}`
