/** Restores a snapshot into a folder. */
import {
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Restic from "./Restic.ts"
import * as Snapshots from "./Snapshots.ts"
import {
  count,
  entriesOf,
  fail,
  finish,
  lock,
  type Mover,
  marker,
  notSaved,
  type Step,
  snapshots,
  user
} from "./Step.ts"

/** Restores the chosen snapshot. */
export const restore = (mover: Mover): Step =>
  Effect.gen(function* () {
    const { parameters, report, restic } = mover
    const { id, mode, paths, target, volume } = parameters.restore
    const isIntoEmpty = mode === "IntoEmpty"
    if (volume === undefined) return yield* finish("ResticFailed", "RESTORE_VOLUME required")
    if (target === undefined || !isFolder(target)) {
      return yield* finish("ResticFailed", `invalid RESTORE_TARGET: "${target ?? ""}" (must be a folder)`)
    }
    const begun = join(target, marker)
    const continues = isIntoEmpty && id !== undefined && read(begun) === id
    const isFirst = isIntoEmpty && !continues
    if (isFirst) {
      const [entry] = yield* entriesOf(target)
      if (entry !== undefined) return yield* finish("TargetNotEmpty", `the volume contains ${entry}`)
      if (id !== undefined) yield* mark(begun, id, target)
    }
    const { includes, snapshot } = yield* selection(mover, volume, paths).pipe(
      // Nothing was written, so the volume stays empty.
      Effect.tapError(() => Effect.sync(() => isFirst && rmSync(begun, { force: true })))
    )
    const write = (overwrite: "never" | "always") =>
      restic([
        // Without the messages about the progress, which would fill the memory in hours.
        ...["restore", snapshot, "--json", "--quiet", "--sparse", ...lock(parameters)],
        // restic would replace a link with a folder.
        ...["--target", realpathSync(target)],
        ...["--overwrite", overwrite],
        ...(mode === "Mirror" ? ["--delete"] : []),
        // restic neither deletes nor writes them. It does not delete files outside of included paths.
        ...(includes.length === 0 ? notSaved.flatMap((name) => ["--exclude", `/${name}`]) : []),
        ...includes
      ])
    // `never` also protects files that appeared since the check.
    const first = yield* write(isFirst ? "never" : "always")
    // The marker may have the last place of a volume that is as full as the saved one was.
    const isLast = Restic.fullTargetOf(first) !== undefined && makesRoom(target, begun)
    const ended = isLast ? yield* write("always") : first
    const noRoom = Restic.fullTargetOf(ended)
    if (noRoom !== undefined) return yield* finish("TargetFull", noRoom)
    if (ended.code !== 0) return yield* fail(ended)
    const summary = Restic.objectOf(ended, "summary") ?? {}
    report.restored = {
      snapshot,
      bytes: count(summary.bytes_restored),
      files: count(summary.files_restored),
      ownership: yield* ownership(mover, snapshot)
    }
    // Last, because a retry after an interruption would find a volume with files.
    rmSync(begun, { force: true })
  })

/** The snapshot, and the arguments for restic that select the paths. */
const selection = (mover: Mover, volume: string, paths: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { parameters, restic } = mover
    const snapshot = yield* choose(mover, volume)
    const includes: Array<string> = []
    for (const path of paths.map(absolute).filter((path) => path !== "")) {
      const listed = yield* restic(["ls", ...lock(parameters), snapshot, path])
      if (listed.code !== 0) return yield* fail(listed)
      // The first line describes the snapshot.
      if (!listed.stdout.split("\n").some((line) => line.startsWith("/"))) {
        return yield* finish("SnapshotNotFound", `snapshot ${short(snapshot)} of volume ${volume} has no ${path}`)
      }
      // A wildcard in a path is an ordinary character.
      includes.push("--include", path.replaceAll(/[[\]*?\\]/g, "\\$&"))
    }
    return { includes, snapshot }
  })

/**
 * Whether the restored files have the owners of the snapshot. restic ignores a refused change of the owner, unless it runs as root. So
 * for another user, the snapshot must contain only files of that user and its groups.
 */
const ownership = ({ parameters, restic }: Mover, snapshot: string) =>
  Effect.gen(function* () {
    const user = process.geteuid?.() ?? 0
    if (user === 0) return "Preserved"
    const groups = new Set([process.getegid?.(), ...(process.getgroups?.() ?? [])])
    let isOwn = true
    const listed = yield* restic(["ls", "--json", ...lock(parameters), snapshot], {
      line: (text) => {
        const node = Restic.json(text)
        if (node?.struct_type === "node" || node?.message_type === "node") {
          isOwn &&= node.uid === user && groups.has(Number(node.gid))
        }
        return isOwn
      }
    })
    return isOwn && listed.code === 0 ? "Preserved" : "AsMover"
  })

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** The ID in a marker: the target of a link, or the content of a file. */
const read = (path: string): string | undefined =>
  attempt(() => readlinkSync(path)).value ?? attempt(() => readFileSync(path, "utf8")).value

const attempt = <A>(run: () => A): { readonly value?: A; readonly code?: unknown } => {
  try {
    return { value: run() }
  } catch (error) {
    return { code: error instanceof Error && "code" in error ? error.code : "unknown" }
  }
}

/**
 * Two restores may find the volume empty at the same time: the marker is created by one of them. It is a link, because a link to a short
 * text needs no block of the volume, which the restored files may need. A file system without links gets a file.
 */
const mark = (path: string, id: string, target: string): Step => {
  const link = attempt(() => symlinkSync(id, path))
  if (link.code === undefined) return Effect.void
  const { code } = link.code === "EEXIST" ? link : attempt(() => writeFileSync(path, id, { flag: "wx" }))
  if (code === undefined) return Effect.void
  return code === "EEXIST"
    ? finish("TargetNotEmpty", `the volume contains ${marker}`)
    : finish("ResticFailed", `${target} cannot be written by ${user()}`)
}

/** Removes the marker. Returns whether a full volume has room after that. */
const makesRoom = (target: string, begun: string): boolean => {
  const room = () => {
    const { bavail, ffree } = statfsSync(target)
    return { blocks: bavail, inodes: ffree }
  }
  const before = room()
  rmSync(begun, { force: true })
  const after = room()
  return (before.blocks === 0 && after.blocks > 0) || (before.inodes === 0 && after.inodes > 0)
}

/** A path from the root of the volume, without a slash at its end; empty for the root itself. */
const absolute = (path: string): string => {
  const plain = path.replace(/^\//, "").replace(/\/$/, "")
  return plain === "" ? "" : `/${plain}`
}

/**
 * The ID of the snapshot to restore. Only snapshots of this Backup and volume count, because others in the repository may belong to
 * another tenant.
 */
const choose = (mover: Mover, volume: string): Step<string> =>
  Effect.gen(function* () {
    const { parameters } = mover
    const { asOf, snapshot } = parameters.restore
    const whose = `of volume ${volume} in Backup ${parameters.tag}`
    const found = yield* snapshots(mover, ...lock(parameters), "--host", `${parameters.host}/${volume}`)
    const [oldest] = found
    const newest = found.at(-1)
    if (oldest === undefined || newest === undefined) {
      return yield* finish("SnapshotNotFound", `there is no snapshot ${whose}`)
    }
    if (snapshot !== "latest") {
      const named = /^[0-9a-f]{8,64}$/.test(snapshot) ? found.filter(({ id }) => id.startsWith(snapshot)) : []
      const [only] = named
      if (only !== undefined && named.length === 1) return only.id
      return yield* finish(
        "SnapshotNotFound",
        `there is no snapshot ${snapshot} ${whose}; the newest is ${short(newest.id)} of ${newest.time}`
      )
    }
    if (asOf === undefined) return latest(mover, found)?.id ?? newest.id
    const limit = Snapshots.momentOf(asOf)
    if (limit === undefined) {
      return yield* finish(
        "SnapshotNotFound",
        `invalid time: "${asOf}" (must be RFC 3339, such as 2026-01-31T08:00:00Z)`
      )
    }
    const last = latest(
      mover,
      found.filter(({ moment }) => Snapshots.compare(moment, limit) <= 0)
    )
    return (
      last?.id ??
      (yield* finish(
        "SnapshotNotFound",
        `there is no snapshot ${whose} from ${asOf} or before; the oldest is of ${oldest.time}`
      ))
    )
  })

/**
 * The newest snapshot. One without files is of a volume that had lost them, except for excluded ones: its run has failed, so an earlier
 * one with files comes first.
 */
const latest = ({ parameters }: Mover, found: ReadonlyArray<Snapshots.Snapshot>): Snapshots.Snapshot | undefined =>
  (parameters.allowEmpty ? undefined : found.findLast(({ files }) => files !== 0)) ?? found.at(-1)

const short = (id: string): string => id.slice(0, 8)
