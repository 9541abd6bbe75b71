/**
 * The clean-up of a deleted Backup. It ends the mover, so that no lock is left, and with `deletionPolicy: Delete` a last Job deletes
 * the snapshots. If the clean-up fails, a condition and an Event give the reason, and an annotation can skip it.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { keyOf } from "@homeostat/runtime/resource/KubernetesObject"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import type { Backup } from "../kinds/Backup.ts"
import * as Names from "../kinds/Names.ts"
import { RepositoryQueue } from "../repository/RepositoryQueue.ts"
import { Settings } from "../Settings.ts"
import * as JobProgress from "./JobProgress.ts"
import * as MoverJob from "./MoverJob.ts"
import * as MoverJobs from "./MoverJobs.ts"
import * as Needs from "./Needs.ts"
import * as Outcome from "./Outcome.ts"
import * as Prerequisites from "./Prerequisites.ts"
import * as Spec from "./Spec.ts"
import * as Text from "./Text.ts"

const trigger = "delete"

/** A mover has a minute to release its lock, and its node may be busy. */
const patience = Duration.minutes(5)

/** Whether a Job is the clean-up of a Backup. */
export const isCleanup = (job: Job): boolean => job.metadata.labels?.[Names.triggerLabel] === trigger

/** The reason why a deletion cannot continue. */
interface Obstacle {
  readonly reason: string
  readonly message: string
}

/** Cleans up after a Backup. Requests a requeue while movers end. */
export const cleanup = (backup: Backup) =>
  Effect.gen(function* () {
    const { retryPeriod } = yield* Settings
    const again = Result.requeueAfter(retryPeriod)
    ;(yield* Needs.Needs).forget(keyOf(backup))
    const jobs = yield* MoverJobs.of(backup)
    const movers = jobs.filter((job) => !isCleanup(job))
    const skip = backup.metadata.annotations?.[Names.skipCleanupAnnotation] === "true"
    // Includes finished Jobs: with foreground deletion, a Job is gone only when its last pod is.
    yield* Effect.forEach(skip ? jobs : movers, MoverJobs.end, { discard: true })
    const deletes = backup.spec.deletionPolicy === "Delete" && hasBegun(backup)
    if (skip || !deletes) yield* (yield* RepositoryQueue).leave("Backup", keyOf(backup))
    if (skip) return Result.done
    if (movers.length > 0) {
      const since = Date.parse(backup.metadata.deletionTimestamp ?? backup.metadata.creationTimestamp)
      if (since + Duration.toMillis(patience) <= (yield* Clock.currentTimeMillis)) {
        const names = movers.map(({ metadata }) => metadata.name).join(", ")
        yield* report(backup, {
          reason: "MoverStillStops",
          message: `Job ${names} does not stop. Check whether its node is running`
        })
      }
      return again
    }
    if (!deletes) return Result.done
    return yield* deleteSnapshots(backup, jobs.find(isCleanup))
  })

/** Whether a run has ever begun. Otherwise there is nothing to delete, and maybe no repository. */
const hasBegun = ({ status }: Backup): boolean =>
  [status?.active, status?.lastRun, status?.lastScheduleTime, status?.repositoryID].some((fact) => fact !== undefined)

const deleteSnapshots = (backup: Backup, job: Job | undefined) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const again = Result.requeueAfter(settings.retryPeriod)
    if (job === undefined) {
      // A namespace that is being deleted accepts no new Job, and its content is deleted with it.
      if (yield* namespaceGoes(backup)) return Result.done
      const obstacle = (yield* waits(backup)) ?? (yield* begin(backup))
      if (obstacle !== undefined) yield* report(backup, obstacle)
      return again
    }
    const progress = yield* MoverJobs.progress(job)
    if (progress._tag === "Starting") {
      if (!JobProgress.isLate(progress, settings.startTimeout, yield* Clock.currentTimeMillis)) return again
      // Its manager died before it started the reserved Job: see Reservation.
      if (job.spec?.suspend === true) {
        yield* MoverJobs.discard(job)
        return again
      }
      yield* report(backup, { reason: "CleanupFailed", message: progress.message })
      return again
    }
    if (progress._tag === "Running") return again
    const outcome = Outcome.judge(progress.ending, { purpose: "delete" })
    if (outcome.phase === "Completed") {
      yield* EventRecorder.record({
        regarding: backup,
        type: "Normal",
        reason: "SnapshotsDeleted",
        note: outcome.message
      })
      return Result.done
    }
    // A repository that was never opened was never created. A known repository that is missing is reported.
    if (outcome.reason === "RepositoryMissing" && backup.status?.repositoryID === undefined) return Result.done
    // A stale lock expires.
    if (outcome.reason === "RepositoryLocked" && progress.at + Outcome.staleLock <= (yield* Clock.currentTimeMillis)) {
      yield* MoverJobs.discard(job)
      return again
    }
    const { name } = job.metadata
    yield* report(backup, { reason: "CleanupFailed", message: `${outcome.message}. To try again, delete Job ${name}` })
    return again
  })

/** Whether the namespace is being deleted. A dry-run create shows it without a permission to read namespaces. */
const namespaceGoes = ({ metadata: { name, namespace } }: Backup) =>
  Client.create(
    Job,
    {
      metadata: { ...(namespace !== undefined && { namespace }), name: MoverJob.nameOf(name, "question") },
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "question", image: "none" }] } } }
    },
    { dryRun: true }
  ).pipe(
    Effect.as(false),
    // The Job itself will fail with any other error, which is reported then.
    Effect.catch((error) =>
      Effect.succeed(error._tag === "Forbidden" && error.causes.some(({ reason }) => reason === "NamespaceTerminating"))
    )
  )

/** Why the snapshots may not be deleted yet. */
const waits = (backup: Backup): Effect.Effect<Obstacle | undefined, never, never> =>
  Effect.gen(function* () {
    const due = Spec.deletionTime(backup)
    if (EffectResult.isFailure(due)) return due.failure
    if (due.success <= (yield* Clock.currentTimeMillis)) return undefined
    // Other Backups must not wait for it.
    yield* (yield* RepositoryQueue).leave("Backup", keyOf(backup))
    return {
      reason: "DeletionPending",
      message: `Its snapshots are deleted after ${Time.seconds(due.success)} (spec.deletionGracePeriod). To delete them now, remove that field. To keep them, set spec.deletionPolicy to Retain`
    }
  })

/** Creates the clean-up Job, or returns the obstacle. */
const begin = (backup: Backup) =>
  Effect.gen(function* () {
    // The rest of the spec may be invalid.
    const known = Spec.repository(backup, yield* Settings)
    if (EffectResult.isFailure(known)) return known.failure
    const repository = known.success
    const credentials = yield* Prerequisites.credentials(backup, repository.destination)
    if (EffectResult.isFailure(credentials)) return credentials.failure
    const place = yield* Prerequisites.repository(backup, repository.destination)
    if (EffectResult.isFailure(place)) return place.failure
    const privileges = yield* Prerequisites.privileges(backup)
    if (EffectResult.isFailure(privileges)) return privileges.failure
    const { name, namespace = "" } = backup.metadata
    const begun = yield* MoverJobs.begin(
      {
        owner: backup,
        spec: backup.spec,
        name: MoverJob.nameOf(name, trigger),
        trigger,
        use: "exclusive",
        operations: ["preflight", "delete"],
        parameters: {
          BACKUP_HOST: namespace,
          BACKUP_TAG: `${namespace}/${name}`,
          // Another repository may have the snapshots of another Backup with this name.
          REPOSITORY_ID: backup.status?.repositoryID
        },
        repository,
        claims: [],
        placement: place.success,
        credentials: credentials.success,
        annotations: {}
      },
      "Backup"
    ).pipe(Effect.result)
    if (EffectResult.isSuccess(begun)) return undefined
    return MoverJobs.refusalOf(begun.failure) ?? (yield* begun.failure)
  })

/** Reports why the deletion does not continue, and a fix. Once, because the status records it. */
const report = (backup: Backup, { message, reason }: Obstacle) =>
  Effect.gen(function* () {
    const note = `The Backup cannot be deleted yet. ${Text.cut(message, 1500).replace(/[.]?$/, ".")} To delete the Backup without the clean-up, set the annotation ${Names.skipCleanupAnnotation} to "true"`
    const { conditions = [], ...others } = backup.status ?? {}
    if (Condition.find(conditions, Condition.Stalled)?.message === note) return
    const stalled = Condition.true(Condition.Stalled, { reason, message: note })
    const rest = conditions.filter(({ type }) => type !== Condition.Stalled)
    yield* Status.update(backup, { ...others, message: note, conditions: [...rest, stalled] })
    yield* EventRecorder.record({ regarding: backup, type: "Warning", reason, note })
  })
