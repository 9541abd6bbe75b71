/** The state that the operations of a mover share: its parameters, restic, its report, and the ways to end a run. */
import { readdirSync } from "node:fs"
import * as Effect from "effect/Effect"
import { exitCodes } from "../run/Outcome.ts"
import type { Parameters } from "./Parameters.ts"
import * as Report from "./Report.ts"
import * as Restic from "./Restic.ts"
import * as Snapshots from "./Snapshots.ts"

const { Finished } = Report

/** A step of a mover. It fails with the end of the run. */
export type Step<A = void> = Effect.Effect<A, Report.Finished>

/** The parts that the operations of one run share. */
export interface Mover {
  readonly parameters: Parameters
  readonly restic: Restic.Restic
  readonly report: Report.Report
  /** A folder for temporary files of this run. */
  readonly work: string
}

/** The user of this process, for messages. */
export const user = (): string => `user ${process.getuid?.() ?? "?"}`

/** Ends the run with this reason. */
export const finish = (reason: keyof typeof exitCodes, message: string): Effect.Effect<never, Report.Finished> =>
  Effect.fail(new Finished({ reason, exitCode: exitCodes[reason], message }))

/** Ends the run after a failure of restic, by its exit code and messages. */
export const fail = (
  ended: Restic.Ended,
  message: string = Restic.causeOf(ended)
): Effect.Effect<never, Report.Finished> => {
  switch (ended.code) {
    case 10:
      return finish("RepositoryMissing", message)
    case 11:
      return finish("RepositoryLocked", message)
    case 12:
      return finish("WrongPassword", message)
    case Restic.timedOut:
      return finish("DestinationUnreachable", message)
    case Restic.killed:
      // Only the kernel kills restic alone. The kubelet reports that of the first process of a container.
      return Effect.fail(new Finished({ reason: "OutOfMemory", exitCode: exitCodes.ResticFailed, message }))
  }
  if (Restic.isDamaged(ended)) return finish("RepositoryDamaged", message)
  return Restic.isFull(ended)
    ? Effect.fail(new Finished({ reason: "DestinationFull", exitCode: exitCodes.ResticFailed, message }))
    : finish("ResticFailed", message)
}

/** The snapshots of this Backup, the oldest first. */
export const snapshots = (
  { parameters, restic }: Mover,
  ...args: ReadonlyArray<string>
): Step<ReadonlyArray<Snapshots.Snapshot>> =>
  Effect.gen(function* () {
    const ended = yield* restic(["snapshots", "--json", "--tag", parameters.tag, ...args])
    if (ended.code !== 0) return yield* fail(ended)
    const found = Snapshots.list(ended.stdout)
    return found ?? (yield* finish("ResticFailed", "restic printed no list of snapshots"))
  })

/** The arguments that make restic wait for a lock. */
export const lock = ({ retryLock }: Parameters): ReadonlyArray<string> => ["--retry-lock", retryLock]

/** In the root of a volume while a restore writes there: a link or file with the ID of the restore. */
export const marker = ".homeostat-restore"

/** Names in the root of a volume that no snapshot has: a file system creates one, and a restore the other. */
export const notSaved: ReadonlyArray<string> = ["lost+found", marker]

/** The names in the root of a volume, without what a file system creates itself. */
export const entriesOf = (folder: string): Step<ReadonlyArray<string>> =>
  Effect.try({
    try: () => readdirSync(folder).filter((name) => name !== "lost+found"),
    catch: (error) =>
      new Finished({
        reason: "ResticFailed",
        exitCode: exitCodes.ResticFailed,
        message: `${folder} cannot be read by ${user()}: ${error instanceof Error ? error.message : error}`
      })
  })

/** A number of a summary. */
export const count = (value: unknown): number => (typeof value === "number" && value >= 0 ? value : 0)
