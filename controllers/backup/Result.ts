/**
 * What the mover tells of a run: one JSON object in its termination message, `{"reason", "message", "operation", "repository",
 * "kept", "removed", "pruned", "checked", "unlocked", "restored": {"snapshot", "bytes", "files"}, "cut", "snapshots": [{"pvc", "id",
 * "bytes", "added", "files"} | {"pvc", "empty": true}]}`, of which what does not apply is absent. Pure.
 *
 * Kubernetes cuts the text at 4096 bytes, gives the last lines of the log where the mover wrote nothing (FallbackToLogsOnError),
 * and nothing at all after some deaths. So reading never fails: what can be read is read, the rest is absent.
 */
import * as Secrecy from "@homeostat/runtime/telemetry/Secrecy"

/** A volume in a run. */
export interface Snapshot {
  /** The PersistentVolumeClaim. */
  readonly pvc: string
  /** restic's id; undefined where nothing was saved, because the volume is empty. */
  readonly id: string | undefined
  /** Size of all files, in bytes. */
  readonly bytes: number
  /** What the repository grew by, in bytes, after deduplication and compression. */
  readonly added: number
  readonly files: number
}

/** What a restore brought back. */
export interface Restored {
  /** restic's id. */
  readonly snapshot: string
  /** Size of the files that were written, in bytes. */
  readonly bytes: number
  /** Files, folders and links, as restic counts. */
  readonly files: number
}

/** What was read. */
export interface Result {
  /** The mover's word; undefined if it was not found. */
  readonly reason: string | undefined
  /** The mover's message, or what of a foreign text stands last; on one line, empty if there is none. */
  readonly message: string
  /** The operation that failed: `preflight`, `backup`, `forget`, `prune`, `check`, `restore` or `delete`. */
  readonly operation: string | undefined
  /** restic's id of the repository, by which one that was exchanged can be told. */
  readonly repository: string | undefined
  readonly snapshots: ReadonlyArray<Snapshot>
  /** There were more volumes than the termination message has room for: `snapshots` has only the first. */
  readonly cut: boolean
  /** Snapshots of this Backup that remain; undefined if they were not counted. */
  readonly kept: number | undefined
  /** Snapshots that `forget` removed; undefined if it was not run, or not to its end. */
  readonly removed: number | undefined
  readonly pruned: boolean
  readonly checked: boolean
  /** All locks were removed, whosever they were. */
  readonly unlocked: boolean
  readonly restored: Restored | undefined
  /** The mover's object was there, to its end. */
  readonly complete: boolean
}

/** Longer is no message for a person, and goes into a status, an event (1024 bytes) and a log line. */
const longest = 900

const nothing: Result = {
  reason: undefined,
  message: "",
  operation: undefined,
  repository: undefined,
  snapshots: [],
  cut: false,
  kept: undefined,
  removed: undefined,
  pruned: false,
  checked: false,
  unlocked: false,
  restored: undefined,
  complete: false
}

/** Reads a termination message. */
export const parse = (text: string | undefined): Result => {
  if (text === undefined || text.trim() === "") return nothing
  // Lines of the log may stand before it. The last object counts: restic's own come first.
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

/** An object, or nothing. */
const json = (text: string): { readonly [field: string]: unknown } | undefined => {
  try {
    return asObject(JSON.parse(text))
  } catch {
    // A SyntaxError: foreign or cut text is expected here.
    return undefined
  }
}

const asObject = (value: unknown): { readonly [field: string]: unknown } | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined

const read = (object: { readonly [field: string]: unknown }): Result => ({
  reason: typeof object.reason === "string" ? object.reason : undefined,
  message: typeof object.message === "string" ? clean(object.message) : "",
  operation: operation(object.operation),
  repository: id(object.repository),
  snapshots: Array.isArray(object.snapshots) ? object.snapshots.flatMap(snapshot) : [],
  cut: object.cut === true,
  kept: counted(object.kept),
  removed: counted(object.removed),
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
  return { snapshot, bytes: amount(object.bytes), files: amount(object.files) }
}

const snapshot = (value: unknown): ReadonlyArray<Snapshot> => {
  const object = asObject(value)
  const pvc = object?.pvc
  if (object === undefined || typeof pvc !== "string") return []
  return [
    {
      pvc,
      id: id(object.id),
      bytes: amount(object.bytes),
      added: amount(object.added),
      files: amount(object.files)
    }
  ]
}

const id = (value: unknown): string | undefined =>
  typeof value === "string" && /^[0-9a-f]{8,64}$/.test(value) ? value : undefined

const operation = (value: unknown): string | undefined =>
  typeof value === "string" && /^[a-z-]{1,20}$/.test(value) ? value : undefined

const counted = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.floor(value) : undefined

const amount = (value: unknown): number => counted(value) ?? 0

/** What is whole in an object that was cut off; or the end of a foreign text, where the cause stands. */
const salvage = (text: string): Result => {
  const start = text.lastIndexOf('{"reason"')
  if (start < 0) return { ...nothing, message: clean(text) }
  const cut = text.slice(start)
  const string = (field: string): string | undefined => {
    const before = new RegExp(`"${field}"\\s*:\\s*"`).exec(cut)
    if (before === null) return undefined
    const from = before.index + before[0].length
    let end = from
    // The closing quote may be missing, or half of what a backslash begins.
    while (end < cut.length && cut[end] !== '"') end += cut[end] === "\\" ? 2 : 1
    const found = cut.slice(from, end > cut.length ? -1 : end)
    const value: unknown = json(`{"value":"${found}"}`)?.value
    return typeof value === "string" ? value : found
  }
  return {
    ...nothing,
    reason: string("reason"),
    message: clean(string("message") ?? ""),
    operation: operation(string("operation")),
    repository: id(string("repository")),
    snapshots: Array.from(cut.matchAll(/\{"pvc"[^{}]*\}/g), ([found]) => json(found)).flatMap(snapshot)
  }
}

/**
 * A text for people: on one line, without control characters and secrets (see `Secrecy`), and only its end if it is long, since
 * programs say the cause last.
 */
export const clean = (text: string): string => {
  // The cause stands last.
  const line = Secrecy.masked(text.slice(-4096))
    // Control and formatting characters, which could reorder or hide what is read.
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/ {2,}/g, " ")
    .trim()
  const characters = Array.from(line)
  return characters.length <= longest ? line : `…${characters.slice(1 - longest).join("")}`
}
