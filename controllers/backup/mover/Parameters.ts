/** The parameters of a mover: the environment that its Job sets. Pure. */
import * as Result from "effect/Result"
import type { Mode } from "../kinds/Restore.ts"
import * as MoverReport from "./MoverReport.ts"
import * as Snapshots from "./Snapshots.ts"

/** The modes of a restore, as in the spec. */
const modes = ["IntoEmpty", "Overlay", "Mirror"] as const satisfies ReadonlyArray<Mode>

/** The parameters of a restore. */
export interface Restore {
  /** The claim whose snapshot is restored. */
  readonly volume: string | undefined
  /** The folder to restore into. */
  readonly target: string | undefined
  /** `latest`, or an ID with at least 8 digits of a snapshot of this Backup and volume. */
  readonly snapshot: string
  /** For `latest`: the newest snapshot that is not later than this RFC 3339 time. */
  readonly asOf: string | undefined
  /** Paths from the root of the volume; empty: all files. */
  readonly paths: ReadonlyArray<string>
  /** The same in all attempts of one restore: an attempt continues where the previous one ended. */
  readonly id: string | undefined
  /** The treatment of files in the target: see `Restore.Mode`. */
  readonly mode: Mode
}

/** The parameters. */
export interface Parameters {
  /** The namespace. restic gets the host `<namespace>/<claim>` for each volume. */
  readonly host: string
  /** `<namespace>/<name>` of the Backup: it identifies the Backup's snapshots in a repository. */
  readonly tag: string
  /** A tag for the snapshots of this run: a retry of the Job recognizes them and does not save the volume again. */
  readonly runTag: string | undefined
  /** The folder with one folder for each volume. */
  readonly data: string
  /** A writable folder. */
  readonly temporary: string
  /** The file for the result. */
  readonly result: string
  /** restic's repository. */
  readonly repository: string
  /** The expected ID of the repository; undefined before the first success. */
  readonly repositoryID: string | undefined
  /** The timeout of the repository's first response, in seconds. restic itself would retry for 15 minutes. */
  readonly preflightSeconds: number
  /** How long restic waits for a lock. */
  readonly retryLock: string
  /** The mover may create the repository. Two movers that create one at the same time destroy it: the controller prevents that. */
  readonly init: boolean
  /** Unreadable files do not fail the run. */
  readonly allowPartial: boolean
  /** Volumes without files do not fail the run, and a snapshot of one is as good as another. */
  readonly allowEmpty: boolean
  /** Another Job of the same run saves other volumes. */
  readonly isPart: boolean
  /** restic's `--keep-…` arguments; empty: `forget` does nothing. */
  readonly keep: ReadonlyArray<string>
  /** Old snapshots are not deleted for this reason: `forget` only reports which would be. */
  readonly hold: MoverReport.Hold | undefined
  /** A user has allowed the deletion: nothing holds it. */
  readonly isAllowed: boolean
  /** Snapshots from before this time hold the deletion: the Backup was created then. Undefined after its first deletion. */
  readonly createdAt: Snapshots.Moment | undefined
  /** restic's exclude patterns. A pattern that starts with `/` is relative to the root of the volume. */
  readonly excludes: ReadonlyArray<string>
  readonly restore: Restore
}

/** The environment of a process. */
export type Environment = { readonly [name: string]: string | undefined }

/** Reads the parameters. Failure: which one is missing or invalid. */
export const read = (environment: Environment): Result.Result<Parameters, string> => {
  const value = (name: string): string | undefined => environment[name] || undefined
  const host = value("BACKUP_HOST")
  const tag = value("BACKUP_TAG")
  // Without both, restic would select the snapshots of all Backups.
  if (host === undefined || host.includes(",")) return Result.fail(invalid("BACKUP_HOST", host))
  if (tag === undefined || tag.includes(",")) return Result.fail(invalid("BACKUP_TAG", tag))
  const seconds = Number(value("PREFLIGHT_TIMEOUT") ?? "60")
  if (!(seconds > 0)) return Result.fail(`invalid PREFLIGHT_TIMEOUT: "${value("PREFLIGHT_TIMEOUT")}" (seconds)`)
  return Result.succeed({
    host,
    tag,
    runTag: value("RUN_TAG"),
    data: value("DATA_DIR") ?? "/data",
    temporary: value("TMPDIR") ?? "/tmp",
    result: value("RESULT") ?? "/dev/termination-log",
    repository: value("RESTIC_REPOSITORY") ?? "",
    repositoryID: value("REPOSITORY_ID"),
    preflightSeconds: seconds,
    retryLock: value("RETRY_LOCK") ?? "5m",
    init: value("INIT") === "1",
    allowPartial: value("ALLOW_PARTIAL") === "1",
    allowEmpty: value("ALLOW_EMPTY") === "1",
    isPart: value("IS_PART") === "1",
    keep: words(value("FORGET_ARGS")),
    hold: MoverReport.holds.find((hold) => hold === value("HOLD")),
    isAllowed: value("ALLOW_FORGET") === "1",
    createdAt: Snapshots.momentOf(value("CREATED_AT") ?? ""),
    excludes: lines(value("EXCLUDES")),
    restore: {
      volume: value("RESTORE_VOLUME"),
      target: value("RESTORE_TARGET"),
      snapshot: value("SNAPSHOT") ?? "latest",
      asOf: value("AS_OF"),
      paths: lines(value("RESTORE_PATHS")),
      id: value("RESTORE_ID"),
      mode: modes.find((mode) => mode === value("RESTORE_MODE")) ?? "IntoEmpty"
    }
  })
}

const invalid = (name: string, value: string | undefined): string =>
  value === undefined ? `${name} required` : `invalid ${name}: "${value}" (must not contain a comma)`

const words = (text = ""): ReadonlyArray<string> => text.split(" ").filter((word) => word !== "")

const lines = (text = ""): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")
