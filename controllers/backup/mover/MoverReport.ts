/**
 * The result that the mover reports: one JSON object in its termination message, `{"reason", "protocol", "message", "operation", "repository",
 * "kept", "removed", "held", "pruned", "checked", "unlocked", "restored": {"snapshot", "bytes", "files", "ownership"}, "cut", "snapshots": [{"pvc",
 * "id", "bytes", "added", "files", "before"} | {"pvc", "empty": true, "before"}]}`, without fields that do not apply. `before` is
 * `{"id", "bytes", "files"}`. Pure.
 *
 * Kubernetes cuts the text at 4096 bytes. Without a message of the mover it has the last lines of the log (FallbackToLogsOnError),
 * and after some failures nothing. So parsing never fails: unreadable fields are absent.
 */
import * as Secrecy from "@homeostat/runtime/telemetry/Secrecy"

/** A volume in a run. */
export interface Snapshot {
  /** The PersistentVolumeClaim. */
  readonly pvc: string
  /** restic's ID; undefined if nothing was saved, because the volume is empty. */
  readonly id: string | undefined
  /** Size of all files, in bytes. */
  readonly bytes: number
  /** The growth of the repository, in bytes, after deduplication and compression. */
  readonly added: number
  readonly files: number
  /** The newest snapshot of the volume before this run; absent for the first one. */
  readonly before?: Before
}

/** The size of an earlier snapshot. */
export interface Before {
  /** restic's ID. */
  readonly id: string
  /** Size of all files, in bytes. */
  readonly bytes: number
  readonly files: number
}

/**
 * Whether a volume has fewer than half of the earlier files and of the earlier bytes, or less than a tenth of either. A failed dump is
 * one empty file. Small volumes vary.
 */
export const isMuchSmaller = (
  now: { readonly bytes: number; readonly files: number },
  before: { readonly bytes: number; readonly files: number }
): boolean =>
  (before.files >= 10 && 2 * now.files < before.files && 2 * now.bytes < before.bytes) ||
  (before.files >= 100 && 10 * now.files < before.files) ||
  (before.bytes >= 10 * 2 ** 20 && 10 * now.bytes < before.bytes)

/** Why `forget` deleted nothing, although it could have. */
export const holds = ["Paused", "VolumeShrunk", "ExistingSnapshots", "TooMany", "ClockSetBack"] as const

/** Why `forget` deleted nothing. */
export type Hold = (typeof holds)[number]

/** The restored files. */
export interface Restored {
  /** restic's ID. */
  readonly snapshot: string
  /** The size of the written files, in bytes. */
  readonly bytes: number
  /** Files, folders and links, as restic counts them. */
  readonly files: number
  /** Whether the files have the owners of the snapshot. Undefined from an older mover. */
  readonly ownership?: Ownership
}

const ownerships = ["Preserved", "AsMover"] as const

/** The owners of restored files: those of the snapshot, or the user of the mover. */
export type Ownership = (typeof ownerships)[number]

/** A parsed result. */
export interface MoverReport {
  /** The mover's reason; undefined if it is absent. */
  readonly reason: string | undefined
  /** The mover's protocol: see `Protocol`. A mover of 0.1.0 reports none, and has 1. */
  readonly protocol: number
  /** The mover's message, or the end of another text; in one line, empty without any text. */
  readonly message: string
  /** The operation that failed: `preflight`, `backup`, `forget`, `prune`, `check`, `restore` or `delete`. */
  readonly operation: string | undefined
  /** restic's ID of the repository, which reveals a replaced repository. */
  readonly repository: string | undefined
  readonly snapshots: ReadonlyArray<Snapshot>
  /** The termination message was too short for all volumes: `snapshots` has only the first ones. */
  readonly cut: boolean
  /** The remaining snapshots of this Backup; undefined if they were not counted. */
  readonly kept: number | undefined
  /** The snapshots that `forget` removed; undefined if it did not run or did not finish. */
  readonly removed: number | undefined
  /** `forget` deleted nothing for this reason: `kept` and `removed` are what it would do. */
  readonly held: Hold | undefined
  readonly pruned: boolean
  readonly checked: boolean
  /** All locks were removed, including those of other owners. */
  readonly unlocked: boolean
  readonly restored: Restored | undefined
  /** The mover's object was complete. */
  readonly complete: boolean
}

/** The longest message, in characters, for a status, an event (1024 bytes) and a log line. */
const longest = 900

const nothing: MoverReport = {
  reason: undefined,
  protocol: 1,
  message: "",
  operation: undefined,
  repository: undefined,
  snapshots: [],
  cut: false,
  kept: undefined,
  removed: undefined,
  held: undefined,
  pruned: false,
  checked: false,
  unlocked: false,
  restored: undefined,
  complete: false
}

/** Parses a termination message. */
export const parse = (text: string | undefined): MoverReport => {
  if (text === undefined || text.trim() === "") return nothing
  // Log lines may precede it. The last object counts, because restic's own objects come first.
  for (
    let start = text.lastIndexOf('{"reason"');
    start >= 0;
    start = start === 0 ? -1 : text.lastIndexOf('{"reason"', start - 1)
  ) {
    const object = json(text.slice(start).trim()) ?? json(lineOf(text, start))
    if (object !== undefined) return read(object)
  }
  const whole = json(text.trim())
  if (whole !== undefined && "reason" in whole) return read(whole)
  return salvage(text)
}

const lineOf = (text: string, start: number): string => text.slice(start).split("\n", 1)[0]?.trim() ?? ""

/** An object, or undefined. */
const json = (text: string): { readonly [field: string]: unknown } | undefined => {
  try {
    return asObject(JSON.parse(text))
  } catch {
    // A SyntaxError is expected for other or cut text.
    return undefined
  }
}

const asObject = (value: unknown): { readonly [field: string]: unknown } | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined

const read = (object: { readonly [field: string]: unknown }): MoverReport => ({
  reason: typeof object.reason === "string" ? object.reason : undefined,
  protocol: counted(object.protocol) ?? 1,
  message: typeof object.message === "string" ? clean(object.message) : "",
  operation: operation(object.operation),
  repository: id(object.repository),
  snapshots: Array.isArray(object.snapshots) ? object.snapshots.flatMap(snapshot) : [],
  cut: object.cut === true,
  kept: counted(object.kept),
  removed: counted(object.removed),
  held: holds.find((hold) => hold === object.held),
  pruned: object.pruned === true,
  checked: object.checked === true,
  unlocked: object.unlocked === true,
  restored: restored(object.restored),
  complete: true
})

const restored = (value: unknown): Restored | undefined => {
  const object = asObject(value)
  const snapshot = id(object?.snapshot)
  if (object === undefined || snapshot === undefined) return undefined
  const ownership = ownerships.find((ownership) => ownership === object.ownership)
  return { snapshot, bytes: amount(object.bytes), files: amount(object.files), ...(ownership && { ownership }) }
}

const snapshot = (value: unknown): ReadonlyArray<Snapshot> => {
  const object = asObject(value)
  const pvc = object?.pvc
  if (object === undefined || typeof pvc !== "string" || !claims.test(pvc)) return []
  return [
    {
      pvc,
      id: id(object.id),
      bytes: amount(object.bytes),
      added: amount(object.added),
      files: amount(object.files),
      ...before(object.before)
    }
  ]
}

/** The names of claims. */
const claims = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

const before = (value: unknown): { readonly before?: Before } => {
  const object = asObject(value)
  const found = id(object?.id)
  return found === undefined
    ? {}
    : { before: { id: found, bytes: amount(object?.bytes), files: amount(object?.files) } }
}

const id = (value: unknown): string | undefined =>
  typeof value === "string" && /^[0-9a-f]{8,64}$/.test(value) ? value : undefined

const operation = (value: unknown): string | undefined =>
  typeof value === "string" && /^[a-z-]{1,20}$/.test(value) ? value : undefined

const counted = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.floor(value) : undefined

const amount = (value: unknown): number => counted(value) ?? 0

/** The complete fields of a cut object; or the end of another text, which has the cause. */
const salvage = (text: string): MoverReport => {
  const start = text.lastIndexOf('{"reason"')
  if (start < 0) return { ...nothing, message: clean(text) }
  const cut = text.slice(start)
  const string = (field: string): string | undefined => {
    const before = new RegExp(`"${field}"\\s*:\\s*"`).exec(cut)
    if (before === null) return undefined
    const from = before.index + before[0].length
    let end = from
    // The closing quote may be missing, or an escape sequence may be cut.
    while (end < cut.length && cut[end] !== '"') end += cut[end] === "\\" ? 2 : 1
    const found = cut.slice(from, end > cut.length ? -1 : end)
    const value: unknown = json(`{"value":"${found}"}`)?.value
    return typeof value === "string" ? value : found
  }
  return {
    ...nothing,
    reason: string("reason"),
    protocol: Number(/"protocol"\s*:\s*([0-9]{1,6})/.exec(cut)?.[1] ?? 1),
    message: clean(string("message") ?? ""),
    operation: operation(string("operation")),
    repository: id(string("repository")),
    snapshots: Array.from(cut.matchAll(/\{"pvc"[^{}]*\}/g), ([found]) => json(found)).flatMap(snapshot)
  }
}

/**
 * A text for people: in one line, without control characters and secrets (see `Secrecy`). Only the end of a long text, because
 * programs print the cause last.
 */
export const clean = (text: string): string => {
  // The cause is at the end.
  const line = Secrecy.masked(text.slice(-4096).toWellFormed())
    // Control and formatting characters could reorder or hide text.
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/ {2,}/g, " ")
    .trim()
  const characters = Array.from(line)
  return characters.length <= longest ? line : `…${characters.slice(1 - longest).join("")}`
}
