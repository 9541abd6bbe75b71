/**
 * The outcome of a run: turns the exit code and the output of the mover into a reason for the condition LastRunSucceeded, a phase, and
 * a message with a fix. Pure.
 *
 * The mover has its own exit codes, so that a Job's podFailurePolicy can use them: restic exits with 1 for many errors.
 */

import * as MoverReport from "../mover/MoverReport.ts"
import { advice, adviceElsewhere, type Failing, happened, type Purpose, type Reason } from "./Reasons.ts"
import { counted } from "./Text.ts"

/** The mover's exit codes. 143 is a shell's exit code after SIGTERM. */
export const exitCodes = {
  Succeeded: 0,
  PartiallyFailed: 3,
  RepositoryMissing: 40,
  RepositoryLocked: 41,
  WrongPassword: 42,
  DestinationUnreachable: 43,
  ResticFailed: 44,
  TargetNotEmpty: 45,
  SnapshotNotFound: 46,
  RetentionFailed: 47,
  RepositoryDamaged: 48,
  RepositoryExchanged: 49,
  VolumeEmpty: 50,
  RepositoryHalfMade: 51,
  MoverTooOld: 52,
  TargetFull: 53,
  Terminated: 143
} as const

/** Exit codes after which a retry of the same Job cannot succeed: FailJob in its podFailurePolicy. */
export const futile: ReadonlyArray<number> = [
  // The files would still be unreadable, and a retry would add a snapshot.
  exitCodes.PartiallyFailed,
  exitCodes.RepositoryMissing,
  // restic has waited for the lock for minutes; the run is retried when the lock is stale.
  exitCodes.RepositoryLocked,
  exitCodes.WrongPassword,
  exitCodes.TargetNotEmpty,
  exitCodes.SnapshotNotFound,
  exitCodes.RetentionFailed,
  exitCodes.RepositoryDamaged,
  exitCodes.RepositoryExchanged,
  exitCodes.VolumeEmpty,
  exitCodes.RepositoryHalfMade,
  exitCodes.MoverTooOld,
  exitCodes.TargetFull
]

/** The known facts about the end of a run. */
export type Ending =
  | {
      readonly _tag: "Exited"
      readonly exitCode: number
      /** The container's termination message. */
      readonly text: string | undefined
      /** The kubelet's reason, such as OOMKilled. */
      readonly reason?: string | undefined
      /** The image of the mover, and the protocol that its Job asked for; undefined: any. */
      readonly mover?: { readonly image: string; readonly protocol: number } | undefined
    }
  /** The Job has ended and its pods are gone: only its condition is known. */
  | { readonly _tag: "Lost"; readonly succeeded: boolean }
  | {
      readonly _tag: "Evicted"
      /** The kubelet's message. */
      readonly message: string
      /** The second eviction for storage, after which the manager does not wait for another attempt. */
      readonly isRepeated?: boolean
    }
  | { readonly _tag: "ImagePullFailed"; readonly image: string; readonly message: string }
  /** No container started within the timeout; `message` is the cause. */
  | { readonly _tag: "NotStarted"; readonly seconds: number; readonly message: string }
  /** The next run replaced it, by `concurrencyPolicy: Replace`. */
  | { readonly _tag: "Replaced" }
  /** The run exceeded `activeDeadlineSeconds`. */
  | { readonly _tag: "DeadlineExceeded"; readonly seconds: number }
  | { readonly _tag: "JobDeleted"; readonly job: string }

/**
 * The outcome of the retention, for the condition RetentionApplied: `applied` if `forget` succeeded, `failed` if it failed, and
 * `skipped` if it did not run, because it was not requested or an earlier operation failed.
 */
export type Retention = "applied" | "skipped" | "failed"

/** The outcome of a run. */
export interface Outcome {
  readonly reason: Reason
  /** Completed: LastRunSucceeded is True, because the data is safe, even with a warning. */
  readonly phase: "Completed" | "Failed"
  /** One line, at most about 1200 characters. */
  readonly message: string
  /** Whether to record a Warning event: for each failure, and for a success with a problem. */
  readonly warning: boolean
  readonly snapshots: ReadonlyArray<MoverReport.Snapshot>
  readonly retention: Retention
  /** restic's ID of the repository. */
  readonly repository: string | undefined
  /** The remaining snapshots of this Backup; undefined if they were not counted. */
  readonly kept: number | undefined
  /** The deleted snapshots; undefined if the retention did not run. */
  readonly removed: number | undefined
  /** Why `forget` deleted nothing: `kept` and `removed` are what it would do. */
  readonly held: MoverReport.Hold | undefined
  readonly pruned: boolean
  readonly checked: boolean
  /** The repository is damaged, or `check` failed: for the condition RepositoryHealthy. */
  readonly damaged: boolean
  /** Volumes that are much smaller than before. */
  readonly shrunk: ReadonlyArray<MoverReport.Snapshot>
  readonly restored: MoverReport.Restored | undefined
}

/** restic treats a lock without an owner as stale after this time, in ms. */
export const staleLock = 30 * 60_000

/** The known facts about a run before its end. */
export interface Options {
  /** `spec.allowPartial`: unreadable files are only a warning. */
  readonly allowPartial?: boolean
  /** `spec.allowEmpty`: volumes without files do not fail the run. */
  readonly allowEmpty?: boolean
  /** Default: `backup`. */
  readonly purpose?: Purpose
  /** Another Job of the same run follows. */
  readonly isPart?: boolean
  /** The snapshots of earlier Jobs of the same run. */
  readonly earlier?: ReadonlyArray<MoverReport.Snapshot>
}

/** The outcome of a run. */
export const judge = (ending: Ending, options: Options = {}): Outcome => {
  const purpose = options.purpose ?? "backup"
  const again = purpose === "restore" ? ". Then create a new Restore" : ""
  switch (ending._tag) {
    case "Exited":
      return exited(ending, { ...options, purpose })
    case "Lost":
      return {
        ...ended("ResultLost"),
        phase: ending.succeeded ? "Completed" : "Failed",
        message: ending.succeeded
          ? "The run succeeded, but its pod was deleted before the manager read the result. The manager does not know what was saved or written"
          : "The run failed, and its pod was deleted before the manager read the result. Look for the cause in the logs of the node"
      }
    case "Evicted":
      return {
        ...ended("PodEvicted"),
        message: `${ending.isRepeated === true ? "The pod was evicted twice because of its files" : "The pod was evicted, and no attempt is left"}. ${sentence(MoverReport.clean(ending.message))}${adviceAfterEviction(ending.message)}${again}`
      }
    case "ImagePullFailed":
      return {
        ...ended("ImagePullFailed"),
        message: `The image ${ending.image} could not be pulled. ${sentence(MoverReport.clean(ending.message))}Correct spec.image or the manager's HOMEOSTAT_BACKUP_MOVER_IMAGE, or give the ServiceAccount the credentials of the registry${again}`
      }
    case "DeadlineExceeded":
      return {
        ...ended("DeadlineExceeded"),
        message: `The run was stopped after ${ending.seconds} seconds. ${purpose === "restore" ? "If the Restore needs longer, create a new one with a larger spec.activeDeadlineSeconds" : "Raise spec.activeDeadlineSeconds if the run needs longer"}`
      }
    case "NotStarted":
      return {
        ...ended("StartTimeout"),
        message: `The mover did not start within ${ending.seconds} seconds, and its Job was deleted. ${sentence(MoverReport.clean(ending.message))}${retried[purpose]}`
      }
    case "Replaced":
      return { ...ended("Replaced"), message: "The next run was due and replaced this one (concurrencyPolicy Replace)" }
    case "JobDeleted":
      return {
        ...ended("JobDeleted"),
        message: `Job ${ending.job} was deleted before the manager read its result. ${deletedJob[purpose]}`
      }
  }
}

/** The setting to change, by the kubelet's message. */
const adviceAfterEviction = (message: string): string => {
  if (/EmptyDir volume "cache"/.test(message)) return "Raise HOMEOSTAT_BACKUP_CACHE_SIZE of the manager"
  if (/EmptyDir volume "tmp"/.test(message)) return "Raise HOMEOSTAT_BACKUP_TEMPORARY_SIZE of the manager"
  if (/low on resource: ephemeral-storage/.test(message)) {
    return "Set requests.ephemeral-storage in spec.resources, so that the pod runs on a node with enough of it"
  }
  if (/ephemeral[- ](local )?storage/.test(message)) return "Raise limits.ephemeral-storage in spec.resources"
  return "If the node ran short of a resource, set its request in spec.resources"
}

const ended = (reason: Reason): Outcome => ({
  reason,
  phase: reason === "Succeeded" ? "Completed" : "Failed",
  message: "",
  warning: reason !== "Succeeded",
  snapshots: [],
  retention: "skipped",
  repository: undefined,
  kept: undefined,
  removed: undefined,
  held: undefined,
  pruned: false,
  checked: false,
  damaged: false,
  shrunk: [],
  restored: undefined
})

/** The manager's next step after a mover that did not start. */
const retried: { readonly [purpose in Purpose]: string } = {
  backup: "The run is retried",
  maintenance: "The maintenance is retried",
  restore: "Create a new Restore after you fix the cause",
  delete: "Some or all snapshots still exist"
}

const deletedJob: { readonly [purpose in Purpose]: string } = {
  backup: "Start a run with the annotation backup.example.com/run",
  maintenance: "The maintenance is retried",
  restore: "Delete this Restore and create it again",
  delete: "The snapshots still exist"
}

const exited = (
  ending: Extract<Ending, { readonly _tag: "Exited" }>,
  {
    allowEmpty = false,
    allowPartial = false,
    earlier = [],
    isPart = false,
    purpose
  }: Options & { readonly purpose: Purpose }
): Outcome => {
  const result = MoverReport.parse(ending.text)
  const all = [...earlier, ...result.snapshots]
  const { repository, snapshots, kept, removed, held, pruned, checked, restored } = result
  const reason = reasonOf(ending, result)
  // The mover exits with success if a partial backup is allowed.
  const allowed = allowPartial || ending.exitCode === exitCodes.Succeeded
  const facts = {
    repository,
    snapshots,
    kept,
    removed,
    held,
    pruned,
    checked,
    restored,
    retention: retentionOf(reason, result),
    damaged: reason === "RepositoryDamaged" || (result.operation === "check" && reason === "ResticFailed"),
    shrunk: snapshots.filter(isShrunk)
  }
  // A run of several Jobs may have saved nothing in any of them.
  if (purpose === "backup" && (reason === "VolumeEmpty" || (reason === "Succeeded" && !allowEmpty))) {
    // The mover has seen all volumes.
    const message = emptied(all, isPart || result.cut)
    if (message !== undefined) return { ...ended("VolumeEmpty"), ...facts, message }
  }
  if (reason === "Succeeded" && result.reason === undefined) {
    return {
      ...ended("ResultLost"),
      ...facts,
      message: `The pod succeeded without a report of a mover, so nothing is known to be done. ${sentence(result.message)}Check that spec.image is the image of a mover`
    }
  }
  if (reason === "Succeeded" && !result.complete) {
    return {
      ...ended("ResultLost"),
      ...facts,
      phase: "Completed",
      message: `The run succeeded, but the manager could not read its whole result. ${sentence(result.message)}Sizes in the status may be incomplete`
    }
  }
  if (reason === "Succeeded") {
    return {
      ...ended(reason),
      ...facts,
      warning: all.some(({ id }) => id === undefined) || facts.shrunk.length > 0 || held !== undefined,
      message: done({ ...result, snapshots: all }, purpose)
    }
  }
  const cause = sentence(result.message)
  if (reason === "PartiallyFailed" && allowed) {
    return {
      ...ended(reason),
      ...facts,
      phase: "Completed",
      message: `Saved, except for files that could not be read (spec.allowPartial). ${cause}`.trim()
    }
  }
  return {
    ...ended(reason),
    ...facts,
    message: `${happened[reason]} ${reason === "MoverTooOld" ? versions(ending, result) : ""}${cause}${purpose === "restore" || purpose === "delete" ? (adviceElsewhere[purpose][reason] ?? advice[reason]) : advice[reason]}`
  }
}

/** The protocols of a mover and its Job. */
const versions = (
  { mover }: Extract<Ending, { readonly _tag: "Exited" }>,
  { protocol }: MoverReport.MoverReport
): string =>
  mover === undefined ? "" : `The image ${mover.image} has protocol ${protocol} (must be ${mover.protocol}). `

/**
 * The message about volumes without files: those that had some before, or all volumes of the run. Undefined if the run has no such
 * volume. A volume that was always empty does not fail a run that saves another one.
 */
const emptied = (volumes: ReadonlyArray<MoverReport.Snapshot>, isPart: boolean): string | undefined => {
  const names = (some: ReadonlyArray<MoverReport.Snapshot>) => some.map(({ pvc }) => pvc).join(", ")
  const empty = volumes.filter(({ id }) => id === undefined)
  const had = empty.filter(({ before }) => before !== undefined && before.files > 0)
  if (had.length > 0) {
    const last = had.map(({ before }) => `${before?.files} in snapshot ${before?.id.slice(0, 8)}`).join(", ")
    return `No files found: ${names(had)} (${last}). Restore the volume, or set spec.allowEmpty if it may be empty`
  }
  return !isPart && empty.length > 0 && empty.length === volumes.length
    ? `No files found: ${names(empty)}. Check that spec.source names the intended volume, or set spec.allowEmpty`
    : undefined
}

const isShrunk = (volume: MoverReport.Snapshot): boolean =>
  volume.id !== undefined && volume.before !== undefined && MoverReport.isMuchSmaller(volume, volume.before)

const retentionOf = (reason: Reason, { held, operation, removed }: MoverReport.MoverReport): Retention => {
  if (reason === "RetentionFailed" || operation === "forget") return "failed"
  return removed === undefined || held !== undefined ? "skipped" : "applied"
}

/** The effects of a run, in a sentence without a full stop. */
const done = (
  { checked, cut, held, pruned, removed, restored, snapshots }: MoverReport.MoverReport,
  purpose: Purpose
): string => {
  if (restored !== undefined) {
    const files = restored.files === 1 ? "1 file or folder" : `${restored.files} files and folders`
    const what = `${files} restored from snapshot ${restored.snapshot.slice(0, 8)}, ${counted(restored.bytes, "byte")}`
    return restored.ownership === "AsMover"
      ? `${what}; the files belong to the user of the mover, because only a privileged mover restores other owners`
      : what
  }
  if (purpose === "delete") return `${counted(removed ?? 0, "snapshot")} deleted`
  if (purpose === "maintenance") {
    const parts = [
      ...(checked ? ["the repository is undamaged"] : []),
      ...(removed === undefined || held !== undefined ? [] : [`${counted(removed, "snapshot")} deleted`]),
      ...(pruned ? ["the space of deleted snapshots freed"] : [])
    ]
    return parts.join(", ")
  }
  const empty = snapshots.filter(({ id }) => id === undefined).map(({ pvc }) => pvc)
  const saved = `${cut ? "At least " : ""}${counted(snapshots.length - empty.length, "volume")} saved`
  if (empty.length === 0) return saved
  return `${saved}; no files found: ${empty.join(", ")}`
}

/** The exit code decides, because output can be cut. The output only distinguishes reasons with the same code. */
const reasonOf = (
  ending: Extract<Ending, { readonly _tag: "Exited" }>,
  result: MoverReport.MoverReport
): Failing | "Succeeded" => {
  // Even with a success: a mover that ignores parameters may have done too much.
  if (result.reason !== undefined && result.protocol < (ending.mover?.protocol ?? 0)) return "MoverTooOld"
  switch (ending.exitCode) {
    case exitCodes.Succeeded:
      return result.reason === "PartiallyFailed" ? "PartiallyFailed" : "Succeeded"
    case exitCodes.PartiallyFailed:
      return "PartiallyFailed"
    case exitCodes.RepositoryMissing:
      return "RepositoryMissing"
    case exitCodes.RepositoryLocked:
      return "RepositoryLocked"
    case exitCodes.WrongPassword:
      return "WrongPassword"
    case exitCodes.DestinationUnreachable:
      return "DestinationUnreachable"
    case exitCodes.TargetNotEmpty:
      return "TargetNotEmpty"
    case exitCodes.SnapshotNotFound:
      return "SnapshotNotFound"
    case exitCodes.RetentionFailed:
      return "RetentionFailed"
    case exitCodes.RepositoryDamaged:
      return "RepositoryDamaged"
    case exitCodes.RepositoryExchanged:
      return "RepositoryExchanged"
    case exitCodes.VolumeEmpty:
      return "VolumeEmpty"
    case exitCodes.RepositoryHalfMade:
      return "RepositoryHalfMade"
    case exitCodes.MoverTooOld:
      return "MoverTooOld"
    case exitCodes.TargetFull:
      return "TargetFull"
  }
  if (ending.reason === "OOMKilled" || result.reason === "OutOfMemory") return "OutOfMemory"
  // restic has no code for a full destination; these are messages of the storage systems.
  if (result.reason === "DestinationFull" || full.test(result.message)) return "DestinationFull"
  return signals.has(ending.exitCode) ? "Terminated" : "ResticFailed"
}

/** SIGINT, SIGKILL and SIGTERM, as shells report them. */
const signals: ReadonlySet<number> = new Set([130, 137, exitCodes.Terminated])

const full =
  /no space left on device|disk quota exceeded|quota ?exceeded|insufficient storage|\((413|507)\)|request entity too large/i

/** A message as a sentence before another one. */
const sentence = (text: string): string => (text === "" ? "" : `${text.replace(/(?<![.\s])[.\s]+$/, "")}. `)
