/**
 * The mover: the program in the pod of a backup or restore. It runs operations of restic in their order, and leaves one line of JSON
 * as its result. It needs restic 0.17.1 or newer, for its exit codes 10, 11 and 12.
 *
 *     homeostat mover protocol-2 preflight [unlock-all] [backup] [check] [forget] [prune]
 *     homeostat mover protocol-2 preflight restore
 *     homeostat mover protocol-2 preflight delete
 *
 * `Parameters.ts` lists the environment variables, and `Outcome.exitCodes` the exit codes.
 */
import { chmodSync, lstatSync, mkdirSync, opendirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { exitCodes } from "../run/Outcome.ts"
import * as Hold from "./Hold.ts"
import * as Protocol from "./Protocol.ts"
import * as Report from "./Report.ts"
import * as Restic from "./Restic.ts"
import * as Snapshots from "./Snapshots.ts"
import { count, entriesOf, fail, finish, lock, type Mover, notSaved, type Step, snapshots, user } from "./Step.ts"

const { Finished } = Report

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
    // An interruption between the key and the config leaves a repository that does not open.
    const ended = yield* mover.restic(["init", "--json"], { seconds: 5 * mover.parameters.preflightSeconds })
    if (ended.code === Restic.timedOut) return yield* fail(ended)
    if (ended.code === 0) log("created the repository")
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
    const groups = [...new Set([process.getgid?.(), ...(process.getgroups?.() ?? [])])].join(" ")
    return finish(
      "ResticFailed",
      `${user()} with the groups ${groups} lacks a permission for the files of the repository: ${Restic.causeOf(denied)} (set spec.podSecurityContext to their user, or to their group as fsGroup)`
    )
  }
  if (opened.code === 10 && created !== undefined) {
    const cause = Restic.causeOf(created)
    if (cause.includes("already contains keys")) return finish("RepositoryHalfMade", cause)
    const [, path = ""] = /^rest:[a-z]+:\/\/[^/]*\/(.*)$/.exec(mover.parameters.repository) ?? []
    const isDeep = cause.includes("404") && path.split("/").filter((folder) => folder !== "").length > 2
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

/** Saves all volumes. Returns why some files were not saved. */
const backup = (mover: Mover): Step<string | undefined> =>
  Effect.gen(function* () {
    const { data } = mover.parameters
    const volumes = folders(data)
    if (volumes.length === 0) return yield* finish("ResticFailed", `no volume found: ${data}`)
    // Reading the list needs no lock.
    const before = yield* snapshots(mover, "--no-lock")
    const unsaved: Array<string> = []
    for (const pvc of volumes) {
      const unread = yield* save(mover, pvc, before).pipe(
        // The unreadable files of earlier volumes are part of the message.
        Effect.mapError((finished) => withMessage(finished, [...unsaved, finished.message].join("; ")))
      )
      if (unread !== undefined) unsaved.push(`volume ${pvc}: ${unread}`)
    }
    return unsaved.length === 0 ? undefined : unsaved.join("; ")
  })

const withMessage = ({ exitCode, reason }: Report.Finished, message: string): Report.Finished =>
  new Finished({ exitCode, reason, message })

/** Fails if a volume lost all its files, or if nothing was saved at all. */
const notEmpty = ({ parameters, report: { volumes } }: Mover): Step => {
  const empty = volumes.filter((volume) => "empty" in volume)
  const isLost = empty.some(({ before }) => (before?.files ?? 0) > 0)
  const isNothing = !parameters.isPart && empty.length === volumes.length
  if (parameters.allowEmpty || !(isLost || isNothing)) return Effect.void
  return finish("VolumeEmpty", `no files found: ${empty.map(({ pvc }) => pvc).join(", ")}`)
}

/** The folders in a folder, in the order of their names; empty if it does not exist. */
const folders = (path: string): ReadonlyArray<string> => {
  try {
    return readdirSync(path)
      .filter((name) => statSync(join(path, name)).isDirectory())
      .sort()
  } catch {
    return []
  }
}

/** Saves a volume. Returns which of its files could not be read. */
const save = (
  { parameters, report, restic, work }: Mover,
  pvc: string,
  snapshots: ReadonlyArray<Snapshots.Snapshot>
): Step<string | undefined> =>
  Effect.gen(function* () {
    const { runTag } = parameters
    const folder = join(parameters.data, pvc)
    const host = `${parameters.host}/${pvc}`
    const ofVolume = snapshots.filter((snapshot) => snapshot.host === host)
    // A retry of the Job: the previous attempt has saved this volume.
    const own = ofVolume.find(({ tags }) => runTag !== undefined && tags.includes(runTag))
    // A snapshot of folders alone does not show what the volume had.
    const newest = ofVolume.findLast((snapshot) => snapshot !== own && (parameters.allowEmpty || snapshot.files !== 0))
    const isLost = (files: number): boolean => !parameters.allowEmpty && files === 0 && (newest?.files ?? 0) > 0
    const before = newest && { before: { id: newest.id, bytes: newest.bytes ?? 0, files: newest.files ?? 0 } }
    const isEmpty = (): undefined => void report.volumes.push({ pvc, empty: true, ...before })
    if (
      own === undefined &&
      ((yield* entriesOf(folder)).length === 0 || (!parameters.allowEmpty && isHollow(folder)))
    ) {
      return isEmpty()
    }
    const excludes = join(work, "excludes")
    writeFileSync(excludes, excludesOf(folder, parameters.excludes))
    const ended = yield* restic(
      [
        ...["backup", "--quiet", "--json", "--no-scan", ...lock(parameters)],
        // Finds the files that cannot be read: a snapshot does not list the files that it lacks.
        ...(own === undefined ? [] : ["--dry-run"]),
        ...["--host", host, "--tag", parameters.tag, ...(runTag === undefined ? [] : ["--tag", runTag])],
        // By its host and not by its path, because the volume may be mounted elsewhere than before.
        ...["--group-by", "host", "--exclude-file", excludes, "."]
      ],
      { folder }
    )
    if (ended.code === 3 && Restic.isDamaged(ended)) {
      return yield* finish("RepositoryDamaged", `volume ${pvc}: ${Restic.unreadableOf(ended)}`)
    }
    const unread = ended.unreadable === 0 ? undefined : Restic.unreadableOf(ended)
    if (ended.code !== 0 && ended.code !== 3) {
      if (!ended.stderr.some((line) => line.includes("snapshot is empty"))) return yield* fail(ended)
      if (own === undefined) {
        if (unread === undefined) return isEmpty()
        return yield* finish("ResticFailed", `volume ${pvc}: no file could be read by ${user()}: ${unread}`)
      }
    }
    if (own !== undefined) {
      const { added = 0, bytes = 0, files = 0, id } = own
      if (unread === undefined && isLost(files)) return isEmpty()
      report.volumes.push({ pvc, id, bytes, added, files, ...before })
      return unread
    }
    const summary = Restic.objectOf(ended, "summary") ?? {}
    const id = summary.snapshot_id
    if (typeof id !== "string") return yield* finish("ResticFailed", `restic reported no snapshot of volume ${pvc}`)
    const files = count(summary.total_files_processed)
    // The excludes may leave only folders.
    if (unread === undefined && isLost(files)) return isEmpty()
    report.volumes.push({
      pvc,
      id,
      bytes: count(summary.total_bytes_processed),
      added: count(summary.data_added_packed),
      files,
      ...before
    })
    return ended.code === 3 ? Restic.unreadableOf(ended) : undefined
  })

/** Whether a volume has folders, and nothing else. A folder that cannot be read may have files: restic reports it. */
const isHollow = (path: string): boolean => {
  try {
    const folder = opendirSync(path)
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        if (!notSaved.includes(entry.name) && !(entry.isDirectory() && isHollow(join(path, entry.name)))) return false
      }
      return true
    } finally {
      folder.closeSync()
    }
  } catch {
    return false
  }
}

/** The exclude patterns for restic, which reads # as a comment, ! as a negation and $ as a variable. */
const excludesOf = (folder: string, patterns: ReadonlyArray<string>): string =>
  [
    ...notSaved.map((name) => `${folder}/${name}`),
    ...patterns.map((pattern) => {
      if (pattern.startsWith("/")) return `${folder}${pattern}`
      if (pattern.startsWith("!/")) return `!${folder}${pattern.slice(1)}`
      return pattern.startsWith("#") ? `[#]${pattern.slice(1)}` : pattern
    })
  ]
    .map((line) => `${line.replaceAll("$", "$$$$")}\n`)
    .join("")

/** `restic forget` for this Backup. */
const forgetting = ({ parameters, restic }: Mover, ...args: ReadonlyArray<string>): Effect.Effect<Restic.Ended> =>
  restic([...["forget", "--json", ...lock(parameters), "--tag", parameters.tag, "--group-by", "host"], ...args])

/**
 * Deletes old snapshots. It first asks restic which ones, and deletes nothing if that has to wait for a user. Returns why the server
 * does not allow deletions.
 */
const forget = (mover: Mover): Step<string | undefined> =>
  Effect.gen(function* () {
    const { parameters, report } = mover
    if (parameters.keep.length === 0) return undefined
    const tried = yield* forgetting(mover, "--dry-run", ...parameters.keep)
    if (tried.code !== 0) return yield* fail(tried)
    const planned = Snapshots.forgotten(tried.stdout)
    if (planned === undefined) return yield* finish("ResticFailed", "restic printed no list of snapshots to delete")
    const hold = Hold.of(parameters, planned, yield* Clock.currentTimeMillis)
    if (hold === undefined) {
      const ended = yield* forgetting(mover, ...parameters.keep)
      // A server that forbids deletions does so for each snapshot, and restic ends with 3.
      if (ended.code === 3) return Restic.causeOf(ended)
      if (ended.code !== 0) return yield* fail(ended)
    }
    report.held = hold
    report.kept = planned.kept.length
    report.removed = planned.removed.length
    return undefined
  })

/** Frees the space of deleted snapshots. */
const prune = ({ parameters, report, restic }: Mover): Step =>
  Effect.gen(function* () {
    const ended = yield* restic(["prune", "--quiet", ...lock(parameters)])
    if (ended.code !== 0) return yield* fail(ended)
    report.pruned = true
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
    const { parameters, report } = mover
    const found = yield* snapshots(mover, ...lock(parameters))
    if (found.length > 0) {
      const ended = yield* forgetting(mover, "--unsafe-allow-remove-all")
      if (ended.code === 3) return yield* finish("RetentionFailed", Restic.causeOf(ended))
      if (ended.code !== 0) return yield* fail(ended)
      const removed = Snapshots.forgotten(ended.stdout)?.removed.length ?? 0
      if (removed < found.length) {
        return yield* finish("RetentionFailed", `restic deleted ${removed} of ${found.length} snapshots`)
      }
    }
    report.removed = found.length
    report.kept = 0
    yield* prune(mover)
  })

/** Runs the operations in their order, and ends with the reason of the run. The first argument may name the protocol. */
export const run = (mover: Mover, args: ReadonlyArray<string>): Effect.Effect<never, Report.Finished> =>
  Effect.gen(function* () {
    const { parameters, report } = mover
    const asked = Protocol.of(args)
    if (asked > Protocol.number) {
      return yield* finish("MoverTooOld", `unknown protocol: ${asked} (must be at most ${Protocol.number})`)
    }
    const names = args[0]?.startsWith("protocol-") === true ? args.slice(1) : args
    const accepted = `must be one of ${operations.join(", ")}`
    const unknown = names.find((name) => !operations.some((operation) => operation === name))
    if (unknown !== undefined) return yield* finish("ResticFailed", `unknown operation: "${unknown}" (${accepted})`)
    if (names.length === 0) return yield* finish("ResticFailed", `operation required (${accepted})`)
    let unread: string | undefined
    let refused: string | undefined
    for (const operation of names as ReadonlyArray<Operation>) {
      log(operation)
      report.operation = operation
      switch (operation) {
        case "preflight":
          yield* preflight(mover)
          break
        case "unlock-all":
          yield* unlockAll(mover)
          break
        case "backup":
          unread = yield* backup(mover)
          yield* notEmpty(mover)
          // Older snapshots may be all that is left of a file that could not be read, so nothing follows.
          if (unread !== undefined && !parameters.allowPartial) return yield* finish("PartiallyFailed", unread)
          break
        case "forget":
          refused = yield* forget(mover)
          break
        case "prune":
          if (refused === undefined) yield* prune(mover)
          break
        case "check":
          yield* check(mover)
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
    report.operation = "forget"
    if (refused !== undefined) return yield* finish("RetentionFailed", refused)
    // Not a failure of the Job, because the spec allows it.
    if (unread !== undefined) {
      return yield* new Finished({ reason: "PartiallyFailed", exitCode: exitCodes.Succeeded, message: unread })
    }
    return yield* finish("Succeeded", "")
  })

/** Writes a line to the log of the pod. */
const log = (text: string): void => void process.stdout.write(`mover: ${text}\n`)

/** Removes the temporary files of a run. */
export const clear = ({ work }: Pick<Mover, "work">): void => rmSync(work, { recursive: true, force: true })
