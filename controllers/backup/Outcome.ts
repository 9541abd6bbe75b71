/**
 * How a run ended: from the exit code and the words of the mover, or from what Kubernetes did to it, to a reason for the
 * condition LastRunSucceeded, a phase, and a message that says what to do. Pure.
 *
 * The mover's exit codes are its own, so that a Job's podFailurePolicy can tell them apart: restic's 1 is anything.
 */
import * as Result from "./Result.ts"

/** Reasons of LastRunSucceeded. */
export type Reason =
  | "Succeeded"
  | "PartiallyFailed"
  | "RepositoryMissing"
  | "RepositoryLocked"
  | "WrongPassword"
  | "DestinationUnreachable"
  | "DestinationFull"
  | "ResticFailed"
  | "Terminated"
  | "OutOfMemory"
  | "PodEvicted"
  | "ImagePullFailed"
  | "DeadlineExceeded"
  | "JobDeleted"
  | "ResultLost"

/** The mover's exit codes. 143 is what a shell ends with after SIGTERM. */
export const exitCodes = {
  Succeeded: 0,
  PartiallyFailed: 3,
  RepositoryMissing: 40,
  RepositoryLocked: 41,
  WrongPassword: 42,
  DestinationUnreachable: 43,
  ResticFailed: 44,
  Terminated: 143
} as const

/** Codes after which another try of the same Job ends in the same way: FailJob in its podFailurePolicy. */
export const futile: ReadonlyArray<number> = [exitCodes.RepositoryMissing, exitCodes.WrongPassword]

/**
 * The reason for an exit code of restic (0.17.1 or later, cmd/restic/main.go). A code that is not known is a failure: older
 * versions say 1 for all. 124 and 143 are those of `timeout`, which ends a restic that goes on trying for 15 minutes.
 */
export const ofRestic = (code: number): Reason => {
  switch (code) {
    case 0:
      return "Succeeded"
    case 3:
      return "PartiallyFailed"
    case 10:
      return "RepositoryMissing"
    case 11:
      return "RepositoryLocked"
    case 12:
      return "WrongPassword"
    case 124:
    case 143:
      return "DestinationUnreachable"
    case 130:
      return "Terminated"
    default:
      return "ResticFailed"
  }
}

/** What is known of a run that is over. */
export type Ending =
  | {
      readonly _tag: "Exited"
      readonly exitCode: number
      /** The container's termination message. */
      readonly text: string | undefined
      /** The container's reason by the kubelet, such as OOMKilled. */
      readonly reason?: string | undefined
    }
  /** The Job has ended and its pods are gone: its condition is all there is. */
  | { readonly _tag: "Lost"; readonly succeeded: boolean }
  | { readonly _tag: "Evicted"; readonly message: string }
  | { readonly _tag: "ImagePullFailed"; readonly image: string; readonly message: string }
  /** After `activeDeadlineSeconds`. */
  | { readonly _tag: "DeadlineExceeded"; readonly seconds: number }
  | { readonly _tag: "JobDeleted"; readonly job: string }

/** How a run ended. */
export interface Outcome {
  readonly reason: Reason
  readonly phase: "Completed" | "Failed"
  /** One line, at most some 1200 characters. */
  readonly message: string
  /** Worth a Warning event: each failure, and a success of which somebody should know. */
  readonly warning: boolean
  readonly snapshots: ReadonlyArray<Result.Snapshot>
  readonly pruned: boolean
  readonly checked: boolean
  /** When to try again, in milliseconds, without waiting for the next tick. Undefined: at the next tick. */
  readonly retryAfter: number | undefined
}

/** After this, restic takes a lock whose owner is gone for stale, whoever asks. */
export const staleLock = 30 * 60_000

/**
 * Judges a run.
 *
 * @param options.allowPartial `spec.allowPartial`: files that could not be read are a warning
 */
export const judge = (ending: Ending, options: { readonly allowPartial?: boolean } = {}): Outcome => {
  switch (ending._tag) {
    case "Exited":
      return exited(ending, options.allowPartial === true)
    case "Lost":
      return {
        ...ended("ResultLost"),
        phase: ending.succeeded ? "Completed" : "Failed",
        message: ending.succeeded
          ? "The run succeeded, but its pod was gone before the result could be read: snapshots and sizes are not known"
          : "The run failed, and its pod was gone before the result could be read: look into the logs of the node or the cluster for the cause"
      }
    case "Evicted":
      return {
        ...ended("PodEvicted"),
        message: `The pod was evicted, and no further try is left. ${said(Result.clean(ending.message))}Give it requests in spec.resources if the node was short of something`
      }
    case "ImagePullFailed":
      return {
        ...ended("ImagePullFailed"),
        message: `The image ${ending.image} could not be pulled. ${said(Result.clean(ending.message))}Correct spec.image, or give the service account the registry's credentials`
      }
    case "DeadlineExceeded":
      return {
        ...ended("DeadlineExceeded"),
        message: `The run was ended after ${ending.seconds} seconds. If it needs longer, raise spec.activeDeadlineSeconds`
      }
    case "JobDeleted":
      return {
        ...ended("JobDeleted"),
        message: `Somebody deleted Job ${ending.job} before it ended. It is not made again; the next run comes by its schedule`
      }
  }
}

const ended = (reason: Reason): Outcome => ({
  reason,
  phase: reason === "Succeeded" ? "Completed" : "Failed",
  message: "",
  warning: reason !== "Succeeded",
  snapshots: [],
  pruned: false,
  checked: false,
  retryAfter: undefined
})

const exited = (ending: Extract<Ending, { readonly _tag: "Exited" }>, allowPartial: boolean): Outcome => {
  const result = Result.parse(ending.text)
  const { snapshots, pruned, checked } = result
  const told = { snapshots, pruned, checked }
  const reason = reasonOf(ending, result)
  if (reason === "Succeeded" && !result.complete) {
    return {
      ...ended("ResultLost"),
      ...told,
      phase: "Completed",
      message: `The run succeeded, but its result could not be read in full. ${said(result.message)}Sizes in the status may be incomplete`
    }
  }
  if (reason === "Succeeded") {
    const empty = snapshots.filter(({ id }) => id === undefined).map(({ pvc }) => pvc)
    const saved = snapshots.length - empty.length
    return {
      ...ended(reason),
      ...told,
      warning: empty.length > 0,
      message:
        empty.length === 0
          ? `${counted(saved, "volume")} saved`
          : `${counted(saved, "volume")} saved; nothing in ${empty.join(", ")}: look whether ${empty.length === 1 ? "it is" : "they are"} the right ${empty.length === 1 ? "one" : "ones"}`
    }
  }
  const cause = said(result.message)
  if (reason === "PartiallyFailed" && allowPartial) {
    return {
      ...ended(reason),
      ...told,
      phase: "Completed",
      message: `Saved, without the files that could not be read, as spec.allowPartial has it. ${cause}`.trim()
    }
  }
  return {
    ...ended(reason),
    ...told,
    message: `${happened[reason]} ${cause}${advice[reason]}`,
    retryAfter: reason === "RepositoryLocked" ? staleLock : undefined
  }
}

/** The code decides, since it cannot be cut; the mover's words only tell apart what has no code of its own. */
const reasonOf = (
  ending: Extract<Ending, { readonly _tag: "Exited" }>,
  result: Result.Result
): Failing | "Succeeded" => {
  switch (ending.exitCode) {
    case exitCodes.Succeeded:
      return "Succeeded"
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
  }
  if (ending.reason === "OOMKilled") return "OutOfMemory"
  // restic has no code for a full destination; these are the words of the systems below it.
  if (full.test(result.message)) return "DestinationFull"
  return signals.has(ending.exitCode) ? "Terminated" : "ResticFailed"
}

/** SIGINT, SIGKILL and SIGTERM, as shells report them. */
const signals: ReadonlySet<number> = new Set([130, 137, exitCodes.Terminated])

const full =
  /no space left on device|disk quota exceeded|quota ?exceeded|insufficient storage|\b(413|507)\b|request entity too large/i

/** Reasons that a mover's exit leads to. */
type Failing = Exclude<
  Reason,
  "Succeeded" | "PodEvicted" | "ImagePullFailed" | "DeadlineExceeded" | "JobDeleted" | "ResultLost"
>

const happened: { readonly [reason in Failing]: string } = {
  PartiallyFailed: "Some files could not be read; the others were saved, and no old snapshot was deleted.",
  RepositoryMissing: "There is no repository at the destination any more.",
  RepositoryLocked: "Another restic has locked the repository.",
  WrongPassword: "RESTIC_PASSWORD does not open the repository.",
  DestinationUnreachable: "The destination did not answer as it should.",
  DestinationFull: "The destination is full.",
  ResticFailed: "restic failed.",
  Terminated: "The mover was ended from outside.",
  OutOfMemory: "The mover needed more memory than it may have."
}

const advice: { readonly [reason in Failing]: string } = {
  PartiallyFailed:
    "Let spec.podSecurityContext run as a user who may read them, exclude them with spec.excludes, or set spec.allowPartial",
  RepositoryMissing:
    "It is not made anew, since that would hide the loss: bring it back, or correct spec.destination; to begin a new one, delete and create the Backup",
  RepositoryLocked:
    "It is tried again in 30 minutes, when a lock that was left behind counts as stale; if no restic uses the repository, annotate the Backup with backup.example.com/unlock to remove it now",
  WrongPassword:
    "Put the password with which the repository was made into the Secret, then run it with the annotation backup.example.com/run",
  DestinationUnreachable: "Check the address, the bucket and the credentials; it is tried again at the next run",
  DestinationFull: "Make room there, or keep less with spec.retentionPolicy; pruning goes on at its own time",
  ResticFailed: "It is tried again at the next run",
  Terminated: "It is tried again at the next run",
  OutOfMemory: "Raise limits.memory in spec.resources"
}

/** What was said, as a sentence before another. */
const said = (text: string): string => (text === "" ? "" : `${text.replace(/[.\s]+$/, "")}. `)

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`
