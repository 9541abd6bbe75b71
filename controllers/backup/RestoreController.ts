/**
 * The Restore controller: one Job that writes a snapshot to a volume, once. The status keeps the outcome, and later changes of the
 * Job have no effect.
 *
 * Needs the permissions that `homeostat rbac` prints: see {@link Prerequisites.access} and {@link MoverJobs.access}.
 */

import * as Client from "@homeostat/runtime/client/Client"
import * as Pages from "@homeostat/runtime/client/Pages"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import { type Job, PersistentVolumeClaim } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { keyOf } from "@homeostat/runtime/resource/KubernetesObject"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"
import { Backup } from "./kinds/Backup.ts"
import * as Names from "./kinds/Names.ts"
import { modeOf, Restore, type RestoreStatus } from "./kinds/Restore.ts"
import { RepositoryQueue } from "./repository/RepositoryQueue.ts"
import * as JobProgress from "./run/JobProgress.ts"
import * as MoverJob from "./run/MoverJob.ts"
import * as MoverJobs from "./run/MoverJobs.ts"
import * as Outcome from "./run/Outcome.ts"
import * as Prerequisites from "./run/Prerequisites.ts"
import * as Spec from "./run/Spec.ts"
import * as Text from "./run/Text.ts"
import { Settings } from "./Settings.ts"
import * as Target from "./volumes/Target.ts"
import type { VolumeClaim } from "./volumes/VolumeClaim.ts"

/** The state of a Restore. */
type State =
  | { readonly _tag: "Pending"; readonly reason: string; readonly message: string }
  | { readonly _tag: "Running"; readonly live: Job; readonly message: string }
  | {
      readonly _tag: "Ended"
      readonly outcome: Outcome.Outcome
      readonly at: number
      /** The Job if it exists: the status does not have it if the process died after its creation. */
      readonly live: Job | undefined
    }

/** The Restore controller. */
export const controller = Controller.make("restore", {
  for: Restore,
  watches: MoverJobs.triggers(Restore, "Restore"),
  transforms: MoverJobs.transforms,
  access: [
    ...MoverJobs.access,
    ...Prerequisites.access,
    Access.of(Backup, ["get", "list"]),
    Access.of(PersistentVolumeClaim, ["create"])
  ],
  reconcile: (restore) =>
    Effect.gen(function* () {
      const turns = yield* RepositoryQueue
      const [job] = yield* MoverJobs.of(restore)
      if (isOver(restore)) {
        yield* turns.leave("Restore", keyOf(restore))
        // Ends a mover that did not start. The event of the Restore's last status triggers this, as a restart does.
        if (job !== undefined && !JobProgress.isOver(job)) yield* MoverJobs.endWorking(job)
        return Result.done
      }
      const now = yield* Clock.currentTimeMillis
      const { startTimeout } = yield* Settings
      const standing = yield* follow(restore, job, now)
      const status = statusOf(restore, standing)
      yield* Status.update(restore, status)
      yield* report(restore, status, standing)
      // Other objects must not wait for one that cannot run.
      if (standing._tag === "Pending" && standing.reason !== busyReason) yield* turns.leave("Restore", keyOf(restore))
      switch (standing._tag) {
        case "Ended":
          return Result.done
        case "Pending":
          return Result.requeueAfter((yield* Settings).retryPeriod)
        case "Running":
          return Result.requeueAfter(Duration.min(startTimeout, Duration.millis(JobProgress.lookMillis)))
      }
    })
})

/** Whether it has finished: a Restore runs once. */
const isOver = ({ status }: Restore): boolean => status?.phase === "Complete" || status?.phase === "Failed"

/** The state of a Restore. */
const follow = (restore: Restore, job: Job | undefined, now: number) =>
  Effect.gen(function* () {
    const known = restore.status?.job
    const live =
      job ??
      (known === undefined
        ? undefined
        : Option.getOrUndefined(yield* MoverJobs.find({ ...keyOf(restore), name: known })))
    if (live === undefined && known === undefined) return yield* begin(restore)
    if (live === undefined || (live.metadata.deletionTimestamp !== undefined && !JobProgress.isOver(live))) {
      return over({ _tag: "JobDeleted", job: known ?? live?.metadata.name ?? "" }, now, live)
    }
    const progress = yield* MoverJobs.progress(live)
    const running: State = {
      _tag: "Running",
      live,
      message: progress._tag === "Ended" ? "" : Text.cut(progress.message, Text.longestMessage)
    }
    if (progress._tag === "Running") return running
    if (progress._tag === "Ended") return over(progress.ending, Math.max(progress.at, JobProgress.madeAt(live)), live)
    const { startTimeout } = yield* Settings
    return JobProgress.isLate(progress, startTimeout, now)
      ? over(JobProgress.notStarted(progress, startTimeout), now, live)
      : running
  })

const over = (ending: Outcome.Ending, at: number, live: Job | undefined): State => ({
  _tag: "Ended",
  outcome: Outcome.judge(ending, { purpose: "restore" }),
  at,
  live
})

/** The Job and its start in a status. */
const startOf = (job: Job) => ({ job: job.metadata.name, startTime: Time.seconds(JobProgress.madeAt(job)) })

const pending = ({ message, reason }: Spec.Refusal): State => ({
  _tag: "Pending",
  reason,
  message: Text.cut(message, Text.longestMessage)
})

/** Creates the Job, or returns the missing prerequisite. */
const begin = (restore: Restore) =>
  Effect.gen(function* () {
    const { namespace = "" } = restore.metadata
    const { spec } = restore
    const { backupNamespace = namespace } = spec
    const granted = yield* Prerequisites.granted(restore)
    if (EffectResult.isFailure(granted)) return pending(granted.failure)
    const backup = yield* Client.get(Backup, { namespace: backupNamespace, name: spec.backupRef }).pipe(
      Effect.catchTag("NotFound", () => Effect.succeed(undefined))
    )
    if (backup === undefined) {
      return pending({
        reason: "BackupNotFound",
        message: `Backup not found in namespace ${backupNamespace}: ${spec.backupRef} (create it with the same destination and spec.suspend if it was deleted)`
      })
    }
    const understood = Spec.parse(backup, yield* Settings)
    if (EffectResult.isFailure(understood)) return pending(understood.failure)
    const { repository } = understood.success
    if (repository.destination._tag === "Pvc" && backupNamespace !== namespace) {
      return pending({
        reason: "InvalidDestination",
        message: `spec.backupNamespace is not allowed for a Backup with the destination pvc://${repository.destination.claim}: only pods of namespace ${backupNamespace} can mount that claim`
      })
    }
    const busy = yield* MoverJobs.wait(restore, "Restore", "restore", repository.hash)
    if (busy !== undefined) return pending(waitingFor(busy))
    const [privileges, volume, target, credentials] = yield* Effect.all(
      [
        Prerequisites.privileges(restore),
        volumeOf(restore, backup, repository),
        Prerequisites.target(restore, backup, repository.destination),
        Prerequisites.credentials(backup, repository.destination, {
          namespace,
          serviceAccountName: spec.serviceAccountName
        })
      ],
      { concurrency: "unbounded" }
    )
    if (EffectResult.isFailure(privileges)) return pending(privileges.failure)
    if (EffectResult.isFailure(volume)) return pending(volume.failure)
    if (EffectResult.isFailure(target)) return pending(target.failure)
    const holder = yield* repositoryHolder(restore)
    if (holder !== undefined) {
      return pending({
        reason: "VolumeInUse",
        message: `PersistentVolumeClaim ${spec.targetPVC} holds the repository of Backup ${holder} (create a Restore with another spec.targetPVC)`
      })
    }
    if (EffectResult.isFailure(credentials)) return pending(credentials.failure)
    const refused = yield* makeClaim(restore, target.success.claims[0])
    if (refused !== undefined) return pending(refused)
    const begun = yield* MoverJobs.begin(
      {
        owner: restore,
        spec: { ...(backupNamespace === namespace && inherited(backup)), ...spec },
        name: MoverJob.nameOf(restore.metadata.name, "restore"),
        trigger: "restore",
        use: "restore",
        operations: ["preflight", "restore"],
        parameters: {
          BACKUP_HOST: backupNamespace,
          BACKUP_TAG: `${backupNamespace}/${backup.metadata.name}`,
          RESTORE_VOLUME: volume.success,
          RESTORE_TARGET: MoverJob.dataPath(spec.targetPVC),
          SNAPSHOT: spec.snapshot,
          AS_OF: limitOf(restore),
          RESTORE_PATHS: spec.paths?.join("\n"),
          RESTORE_ID: restore.metadata.uid,
          REPOSITORY_ID: backup.status?.repositoryID,
          ALLOW_EMPTY: backup.spec.allowEmpty === true ? "1" : undefined,
          RESTORE_MODE: modeOf(spec)
        },
        repository,
        claims: [{ name: spec.targetPVC, readOnly: false }],
        placement: target.success,
        credentials: credentials.success,
        annotations: { [Names.claimsAnnotation]: spec.targetPVC }
      },
      "Restore"
    ).pipe(Effect.result)
    if (EffectResult.isFailure(begun)) {
      const refused = MoverJobs.refusalOf(begun.failure)
      return refused === undefined ? yield* begun.failure : pending(refused)
    }
    if (EffectResult.isFailure(begun.success)) {
      return pending(waitingFor(begun.success.failure))
    }
    const job = begun.success.success
    const running: State = { _tag: "Running", live: job, message: `Job ${job.metadata.name} started` }
    return running
  })

/** The Backup whose repository is in the target claim, if any. A Restore into it could delete all snapshots. */
const repositoryHolder = ({ metadata: { namespace = "" }, spec }: Restore) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    return yield* Pages.find(Backup, { namespace }, (backup) =>
      EffectResult.match(Spec.parse(backup, settings), {
        onFailure: () => undefined,
        onSuccess: ({ repository: { destination } }) =>
          destination._tag === "Pvc" && destination.claim === spec.targetPVC ? backup.metadata.name : undefined
      })
    )
  })

/** Creates the claim of `spec.volumeClaimTemplate`. Returns the reason if the API server rejects it, for example because of a quota. */
const makeClaim = (restore: Restore, { isNew, name }: VolumeClaim) =>
  Effect.gen(function* () {
    const { volumeClaimTemplate } = restore.spec
    if (volumeClaimTemplate === undefined || !isNew) return undefined
    yield* Client.create(PersistentVolumeClaim, Target.claimOf(restore, volumeClaimTemplate))
    const note = `PersistentVolumeClaim ${name} was created from spec.volumeClaimTemplate`
    yield* EventRecorder.record({ regarding: restore, type: "Normal", reason: "ClaimCreated", note })
    return undefined
  }).pipe(
    Effect.catchTags({
      Forbidden: ({ message }) => Effect.succeed(claimRefused(message)),
      Invalid: ({ message }) => Effect.succeed(claimRefused(message))
    })
  )

const claimRefused = (message: string): Spec.Refusal => ({
  reason: "ClaimRefused",
  message: `The API server refuses the PersistentVolumeClaim of spec.volumeClaimTemplate: ${message}`
})

/**
 * The latest time of the snapshot, in RFC 3339. `latest` excludes snapshots that are made after the Restore: a Restore that waits must
 * not bring back the damage that it was created for. Undefined for a snapshot by its ID.
 */
const limitOf = ({ metadata, spec: { asOf, snapshot } }: Restore): string | undefined => {
  if (asOf !== undefined) return Time.seconds(Date.parse(asOf))
  // The API server cuts the time of creation to seconds.
  return snapshot === "latest" ? metadata.creationTimestamp.replace(/Z$/, ".999Z") : undefined
}

const busyReason = "RepositoryBusy"

const waitingFor = (what: string): Spec.Refusal => ({
  reason: busyReason,
  message: `The Restore waits: ${what}`
})

/**
 * The image and the ServiceAccount of the Backup's movers, unless the Restore overrides them. A Backup of another namespace must not
 * choose the program that runs here.
 */
const inherited = ({ spec: { image, serviceAccountName } }: Backup) => ({
  ...(image !== undefined && { image }),
  ...(serviceAccountName !== undefined && { serviceAccountName })
})

/** The claim of the snapshot. */
const volumeOf = (restore: Restore, backup: Backup, { destination }: Spec.Understood["repository"]) =>
  Effect.gen(function* () {
    const { targetPVC, volume } = restore.spec
    if (volume !== undefined) return EffectResult.succeed(volume)
    const saved = backup.status?.lastRun?.snapshots?.map(({ pvc }) => pvc) ?? []
    const source = yield* Prerequisites.source(backup, destination)
    const claims = EffectResult.match(source, {
      onFailure: () => [],
      onSuccess: (groups) => groups.flatMap(({ claims }) => claims.map(({ name }) => name))
    })
    const [first, ...others] = new Set([...saved, ...claims])
    if (first === targetPVC || others.includes(targetPVC)) return EffectResult.succeed(targetPVC)
    // The snapshots of a failed run may be incomplete.
    const isAll = EffectResult.isSuccess(source) || backup.status?.lastRun?.reason === "Succeeded"
    if (isAll && first !== undefined && others.length === 0) return EffectResult.succeed(first)
    const refusal: Spec.Refusal = {
      reason: "VolumeUnknown",
      message:
        first === undefined
          ? `spec.volume is required: the volumes of Backup ${backup.metadata.name} are unknown (create a Restore with spec.volume)`
          : `spec.volume is required: Backup ${backup.metadata.name} does not save ${targetPVC} (must be one of ${[first, ...others].join(", ")})`
    }
    return EffectResult.fail(refusal)
  })

/** A status without the times of conditions, which `Status.update` adds. */
type DesiredStatus = Status.Desired<RestoreStatus>

/** The new status. */
const statusOf = (restore: Restore, standing: State): DesiredStatus => {
  const observedGeneration = restore.metadata.generation ?? 0
  const before = restore.status ?? {}
  const waiting = (reason: string, message: string) => [
    Condition.false(Condition.Ready, { reason, message }),
    Condition.true(Condition.Reconciling, { reason, message })
  ]
  switch (standing._tag) {
    case "Pending":
      return {
        observedGeneration,
        phase: "Pending",
        message: standing.message,
        conditions: waiting(standing.reason, standing.message)
      }
    case "Running":
      return {
        observedGeneration,
        phase: "Running",
        message: standing.message,
        ...startOf(standing.live),
        conditions: waiting("Running", standing.message)
      }
    case "Ended": {
      const { phase, reason, restored } = standing.outcome
      const message = Text.cut(standing.outcome.message, Text.longestMessage)
      const isComplete = phase === "Completed"
      return {
        ...before,
        ...(standing.live !== undefined && startOf(standing.live)),
        observedGeneration,
        phase: isComplete ? "Complete" : "Failed",
        message,
        completionTime: Time.seconds(standing.at),
        ...(restored !== undefined && { restored }),
        conditions: isComplete
          ? [Condition.true(Condition.Ready, { reason, message })]
          : [
              Condition.false(Condition.Ready, { reason, message }),
              Condition.true(Condition.Stalled, { reason, message })
            ]
      }
    }
  }
}

/** Records Events for transitions, each once, by comparison with the previous status. */
const report = (restore: Restore, status: DesiredStatus, standing: State) => {
  const before = Condition.find(restore.status?.conditions, Condition.Ready)
  const now = Condition.find(status.conditions, Condition.Ready)
  const record = (type: "Normal" | "Warning", reason: string, note: string) =>
    EventRecorder.record({ regarding: restore, type, reason, note })
  if (before?.reason === now?.reason) return Effect.void
  switch (standing._tag) {
    case "Pending":
      return record("Warning", standing.reason, standing.message)
    case "Running":
      return record("Normal", "RestoreStarted", `Job ${standing.live.metadata.name} started`)
    case "Ended":
      return standing.outcome.phase === "Completed"
        ? record(standing.outcome.warning ? "Warning" : "Normal", "RestoreCompleted", standing.outcome.message)
        : record("Warning", "RestoreFailed", standing.outcome.message)
  }
}
