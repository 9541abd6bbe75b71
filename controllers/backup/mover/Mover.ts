/**
 * The mover: the program in the pod of a backup or restore. It runs operations of restic in their order, and leaves one line of JSON
 * as its result. It needs restic 0.17.1 or newer, for its exit codes 10, 11 and 12.
 *
 *     homeostat mover preflight [unlock-all] [backup] [check] [forget] [prune]
 *     homeostat mover preflight restore
 *     homeostat mover preflight delete
 *
 * {@link Parameters} lists the environment variables, and `Outcome.exitCodes` the exit codes.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Effect from "effect/Effect"
import { exitCodes } from "../Outcome.ts"
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

/** The names of operations. */
export const operations = [
  "preflight",
  "unlock-all",
  "backup",
  "forget",
  "prune",
  "check",
  "restore",
  "delete"
] as const

/** An operation. */
export type Operation = (typeof operations)[number]

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
  }
  if (Restic.isDamaged(ended)) return finish("RepositoryDamaged", message)
  return Restic.isFull(ended)
    ? Effect.fail(new Finished({ reason: "DestinationFull", exitCode: exitCodes.ResticFailed, message }))
    : finish("ResticFailed", message)
}

/** Runs restic within the preflight timeout. */
const briefly = ({ parameters, restic }: Mover, ...args: ReadonlyArray<string>): Effect.Effect<Restic.Ended> =>
  restic(args, { seconds: parameters.preflightSeconds })

/** Whether the repository is a folder of this machine. */
const isFolder = ({ parameters }: Mover): boolean => parameters.repository.startsWith("/")

/** Removes all locks: the controller knows that no other mover works on the repository. */
export const unlockAll = (mover: Mover): Step =>
  Effect.gen(function* () {
    const ended = yield* briefly(mover, "unlock", "--remove-all")
    if (ended.code !== 0) return yield* fail(ended)
    mover.report.unlocked = true
  })

/** Opens the repository, or creates it if the mover may. Removes stale locks. */
export const preflight = (mover: Mover): Step =>
  Effect.gen(function* () {
    const { parameters, report } = mover
    const created = parameters.init ? yield* create(mover) : undefined
    // Without a lock, because a remaining lock would prevent the preflight that removes it.
    const opened = created?.code === 0 ? created : yield* briefly(mover, "cat", "config", "--no-lock")
    if (opened.code !== 0) return yield* unopened(mover, opened, created)
    const id = /"id": *"([0-9a-f]+)"/.exec(opened.stdout)?.[1]
    report.repository = id
    const expected = parameters.repositoryID
    if (expected !== undefined && id !== expected) {
      return yield* finish("RepositoryExchanged", `the repository has the ID ${id}, and had ${expected} before`)
    }
    if (parameters.init && isFolder(mover)) share(parameters.repository)
    // Only stale locks: their process is gone, or they are older than 30 minutes. A failure shows in the next operation.
    yield* briefly(mover, "unlock")
  })

/** Creates the repository. restic refuses to do so if it exists. */
const create = (mover: Mover): Step<Restic.Ended> =>
  Effect.gen(function* () {
    if (isFolder(mover)) mkdirShared(dirname(mover.parameters.repository))
    const ended = yield* briefly(mover, "init", "--json")
    if (ended.code === Restic.timedOut) return yield* fail(ended)
    if (ended.code === 0) console.log("mover: created the repository")
    return ended
  })

/** The folders above a repository are for the group, because other Backups may use them. */
const mkdirShared = (folder: string): void => {
  const before = process.umask(0o007)
  try {
    mkdirSync(folder, { recursive: true })
  } catch {
    // restic reports the error.
  } finally {
    process.umask(before)
  }
}

/** Ends the run, because the repository did not open. */
const unopened = (
  mover: Mover,
  opened: Restic.Ended,
  created: Restic.Ended | undefined
): Effect.Effect<never, Report.Finished> => {
  const denied = [created, opened].find((ended) => ended !== undefined && Restic.isDenied(ended))
  if (isFolder(mover) && denied !== undefined) {
    const groups = process.getgroups?.().join(" ") ?? ""
    return finish(
      "ResticFailed",
      `${user()} with the groups ${groups} lacks a permission for the files of the repository: ${Restic.causeOf(denied)} (set spec.podSecurityContext to their user, or to their group as fsGroup)`
    )
  }
  if (opened.code === 10 && created !== undefined) {
    const cause = Restic.causeOf(created)
    const isDeep = mover.parameters.repository.startsWith("rest:") && cause.includes("404")
    const hint = isDeep ? " (rest-server accepts at most two folders: shorten the path)" : ""
    return finish("DestinationUnreachable", `${cause}${hint}`)
  }
  // restic has no exit code for a refusal: an unknown user, a forbidden folder. A damaged repository was reached.
  if (opened.code === 1 && !Restic.isDamaged(opened)) return finish("DestinationUnreachable", Restic.causeOf(opened))
  return fail(opened)
}

/**
 * Gives the files to the group of the volume (its fsGroup), because the next mover may run as another user. restic copies these
 * modes to new files. Files of other owners are theirs to share.
 */
const share = (path: string): void => {
  try {
    const stat = lstatSync(path)
    if (stat.isSymbolicLink()) return
    const execute = stat.isDirectory() || (stat.mode & 0o111) !== 0 ? 0o010 : 0
    chmodSync(path, (stat.mode & 0o7777) | 0o060 | execute)
    if (stat.isDirectory()) for (const name of readdirSync(path)) share(join(path, name))
  } catch {
    // Files of another owner.
  }
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

/** The state of a run between its operations. */
interface State {
  /** Why some files were not saved. */
  partial: string | undefined
  /** Why the backup ended early: the destination is full. */
  full: string | undefined
  /** Why old snapshots could not be deleted. */
  refused: string | undefined
}

/** Saves all volumes. Ends early if the destination is full, because `forget` and `prune` may make room. */
const backup = (mover: Mover, state: State): Step =>
  Effect.gen(function* () {
    const { data } = mover.parameters
    const volumes = folders(data)
    if (volumes.length === 0) return yield* finish("ResticFailed", `no volume found: ${data}`)
    // Reading the list needs no lock.
    const before = yield* snapshots(mover, "--no-lock")
    for (const pvc of volumes) {
      const failed = yield* save(mover, state, pvc, before)
      if (failed === undefined) continue
      if (!Restic.isFull(failed)) return yield* fail(failed, withPartial(state, Restic.causeOf(failed)))
      state.full = Restic.causeOf(failed)
      return
    }
  })

const withPartial = ({ partial }: State, message: string): string =>
  partial === undefined ? message : `${partial}; ${message}`

/** The folders in a folder, in the order of their names; empty if it does not exist. */
const folders = (path: string): ReadonlyArray<string> => {
  try {
    return readdirSync(path)
      .filter((name) => lstatSync(join(path, name)).isDirectory())
      .sort()
  } catch {
    return []
  }
}

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

/** Saves a volume. Returns the failed restic, if it failed in a way that may have to do with the destination. */
const save = (
  mover: Mover,
  state: State,
  pvc: string,
  snapshots: ReadonlyArray<Snapshots.Snapshot>
): Step<Restic.Ended | undefined> =>
  Effect.gen(function* () {
    const { parameters, report, restic, work } = mover
    const folder = join(parameters.data, pvc)
    const host = `${parameters.host}/${pvc}`
    const { runTag } = parameters
    const ofVolume = snapshots.filter((snapshot) => snapshot.host === host)
    // A retry of the Job: the previous attempt has saved this volume.
    const own = ofVolume.find(({ tags }) => runTag !== undefined && tags.includes(runTag))
    const newest = ofVolume.findLast((snapshot) => snapshot !== own)
    const before = newest && {
      before: { id: newest.id, bytes: newest.bytes ?? 0, files: newest.files ?? 0 }
    }
    if (own !== undefined) {
      const { added = 0, bytes = 0, files = 0, id } = own
      report.volumes.push({ pvc, id, bytes, added, files, ...before })
      return undefined
    }
    if ((yield* entriesOf(folder)).length === 0) {
      report.volumes.push({ pvc, empty: true, ...before })
      return undefined
    }
    const excludes = join(work, "excludes")
    writeFileSync(excludes, excludesOf(folder, parameters.excludes))
    const ended = yield* restic(
      [
        ...["backup", "--quiet", "--json", "--no-scan", ...lock(parameters)],
        ...["--host", host, "--tag", parameters.tag, ...(runTag === undefined ? [] : ["--tag", runTag])],
        // By its host and not by its path, because the volume may be mounted elsewhere than before.
        ...["--group-by", "host", "--exclude-file", excludes, "."]
      ],
      { folder }
    )
    if (ended.code === 3 && Restic.isDamaged(ended)) {
      return yield* finish("RepositoryDamaged", `volume ${pvc}: ${Restic.unreadableOf(ended)}`)
    }
    if (ended.code === 3) state.partial = withPartial(state, `volume ${pvc}: ${Restic.unreadableOf(ended)}`)
    else if (ended.code !== 0) {
      if (!ended.stderr.some((line) => line.includes("snapshot is empty"))) return ended
      if (ended.unreadable > 0) {
        const files = Restic.unreadableOf(ended)
        return yield* finish("ResticFailed", `volume ${pvc}: no file could be read by ${user()}: ${files}`)
      }
      report.volumes.push({ pvc, empty: true, ...before })
      return undefined
    }
    const summary = Restic.objectOf(ended, "summary") ?? {}
    const id = summary.snapshot_id
    if (typeof id !== "string") {
      return yield* finish("ResticFailed", `restic reported no snapshot of volume ${pvc}`)
    }
    report.volumes.push({
      pvc,
      id,
      bytes: count(summary.total_bytes_processed),
      added: count(summary.data_added_packed),
      files: count(summary.total_files_processed),
      ...before
    })
    return undefined
  })

/** A number of a summary. */
export const count = (value: unknown): number => (typeof value === "number" && value >= 0 ? value : 0)

/** The exclude patterns for restic, which reads # as a comment, ! as a negation and $ as a variable. */
const excludesOf = (folder: string, patterns: ReadonlyArray<string>): string =>
  [
    `${folder}/lost+found`,
    ...patterns.map((pattern) => {
      if (pattern.startsWith("/")) return `${folder}${pattern}`
      if (pattern.startsWith("!/")) return `!${folder}${pattern.slice(1)}`
      return pattern.startsWith("#") ? `[#]${pattern.slice(1)}` : pattern
    })
  ]
    .map((line) => `${line.replaceAll("$", "$$$$")}\n`)
    .join("")

/** Deletes old snapshots. */
const forget = (mover: Mover, state: State): Step =>
  Effect.gen(function* () {
    const { parameters, report, restic } = mover
    // Older snapshots may be all that is left of a file that could not be read.
    if (state.partial !== undefined && !parameters.allowPartial) return
    if (parameters.keep.length === 0) return
    const ended = yield* restic([
      ...["forget", "--json", ...lock(parameters), "--tag", parameters.tag, "--group-by", "host"],
      ...parameters.keep
    ])
    if (ended.code === 0) {
      const found = Snapshots.forgotten(ended.stdout)
      report.kept = found?.kept.length
      report.removed = found?.removed.length
    } else if (state.full === undefined) {
      // A server that forbids deletions does so for each snapshot, and restic ends with 3.
      if (ended.code !== 3) return yield* fail(ended)
      state.refused = Restic.causeOf(ended)
    }
  })

/** Frees the space of deleted snapshots. */
const prune = (mover: Mover, { full, refused }: Pick<State, "full" | "refused">): Step =>
  Effect.gen(function* () {
    if (refused !== undefined) return
    const { parameters, report, restic } = mover
    const ended = yield* restic(["prune", "--quiet", ...lock(parameters)])
    if (ended.code === 0) report.pruned = true
    else if (full === undefined) return yield* fail(ended)
  })

/** Checks the repository for damage. */
const check = ({ parameters, report, restic }: Mover): Step =>
  Effect.gen(function* () {
    const ended = yield* restic(["check", "--quiet", ...lock(parameters)])
    if (ended.code !== 0) return yield* fail(ended)
    report.checked = true
  })

/** Deletes all snapshots of this Backup. */
const deleteAll = (mover: Mover): Step =>
  Effect.gen(function* () {
    const { parameters, report, restic } = mover
    const found = yield* snapshots(mover, ...lock(parameters))
    if (found.length > 0) {
      const ended = yield* restic([
        ...["forget", "--json", ...lock(parameters), "--tag", parameters.tag, "--group-by", "host"],
        "--unsafe-allow-remove-all"
      ])
      if (ended.code === 3) return yield* finish("RetentionFailed", Restic.causeOf(ended))
      if (ended.code !== 0) return yield* fail(ended)
      const removed = Snapshots.forgotten(ended.stdout)?.removed.length ?? 0
      if (removed < found.length) {
        return yield* finish("RetentionFailed", `restic deleted ${removed} of ${found.length} snapshots`)
      }
    }
    report.removed = found.length
    report.kept = 0
    yield* prune(mover, { full: undefined, refused: undefined })
  })

/** Runs the operations in their order, and ends with the reason of the run. */
export const run = (mover: Mover, names: ReadonlyArray<string>): Effect.Effect<never, Report.Finished> =>
  Effect.gen(function* () {
    const { parameters, report } = mover
    const state: State = { partial: undefined, full: undefined, refused: undefined }
    const unknown = names.find((name) => !operations.some((operation) => operation === name))
    if (unknown !== undefined || names.length === 0) {
      const accepted = `must be one of ${operations.join(", ")}`
      const what = unknown === undefined ? `operation required (${accepted})` : `unknown operation: "${unknown}" (${accepted})`
      return yield* finish("ResticFailed", what)
    }
    for (const operation of names as ReadonlyArray<Operation>) {
      // Only `prune` makes room for the next run.
      if (state.full !== undefined && !names.includes("prune")) break
      console.log(`mover: ${operation}`)
      report.operation = operation
      switch (operation) {
        case "preflight":
          yield* preflight(mover)
          break
        case "unlock-all":
          yield* unlockAll(mover)
          break
        case "backup":
          yield* backup(mover, state)
          break
        case "forget":
          yield* forget(mover, state)
          break
        case "prune":
          yield* prune(mover, state)
          break
        case "check":
          if (state.full === undefined) yield* check(mover)
          break
        case "restore":
          yield* Effect.flatMap(
            Effect.promise(() => import("./Restoration.ts")),
            ({ restore }) => restore(mover)
          )
          break
        case "delete":
          yield* deleteAll(mover)
          break
      }
    }
    const { full, partial, refused } = state
    report.operation = "backup"
    if (full !== undefined) {
      return yield* new Finished({ reason: "DestinationFull", exitCode: exitCodes.ResticFailed, message: full })
    }
    if (partial !== undefined && !parameters.allowPartial) return yield* finish("PartiallyFailed", partial)
    if (partial !== undefined && refused === undefined) {
      // Not a failure of the Job, because the spec allows it.
      return yield* new Finished({ reason: "PartiallyFailed", exitCode: exitCodes.Succeeded, message: partial })
    }
    report.operation = "forget"
    if (refused !== undefined) return yield* finish("RetentionFailed", refused)
    return yield* finish("Succeeded", "")
  })

/** Removes the temporary files of a run. */
export const clear = ({ work }: Pick<Mover, "work">): void => rmSync(work, { recursive: true, force: true })
