/** The snapshots of a Backup in its repository, as `restic snapshots --json` and `restic forget --json` list them. */
/** A point in time: seconds since 1970, and nanoseconds. */
export interface Moment {
  readonly seconds: number
  readonly nanos: number
}

/** An RFC 3339 time in any zone; undefined for another text. restic writes nanoseconds. */
export const momentOf = (text: string): Moment | undefined => {
  const [, base, fraction = "", zone = ""] =
    /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/.exec(text) ?? []
  const millis = Date.parse(`${base}${zone}`.toUpperCase())
  if (base === undefined || Number.isNaN(millis)) return undefined
  return { seconds: millis / 1000, nanos: Number(fraction.slice(0, 9).padEnd(9, "0")) }
}

/** Negative if the first moment is earlier. */
export const compare = (one: Moment, other: Moment): number => one.seconds - other.seconds || one.nanos - other.nanos

/** A snapshot. */
export interface Snapshot {
  readonly id: string
  /** RFC 3339, as restic wrote it. */
  readonly time: string
  readonly moment: Moment
  /** `<namespace>/<claim>`. */
  readonly host: string
  readonly tags: ReadonlyArray<string>
  /** The size of all files, in bytes; undefined for a snapshot of a restic older than 0.17. */
  readonly bytes: number | undefined
  readonly files: number | undefined
  readonly added: number | undefined
}

type Fields = { readonly [field: string]: unknown }

const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? { ...value } : {})

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const amount = (value: unknown): number | undefined => (typeof value === "number" && value >= 0 ? value : undefined)

const snapshot = (value: unknown): ReadonlyArray<Snapshot> => {
  const { hostname, id, summary, tags, time } = fields(value)
  const moment = momentOf(text(time))
  if (typeof id !== "string" || !/^[0-9a-f]{8,64}$/.test(id) || moment === undefined) return []
  const counts = fields(summary)
  return [
    {
      id,
      time: text(time),
      moment,
      host: text(hostname),
      tags: Array.isArray(tags) ? tags.map(text) : [],
      bytes: amount(counts.total_bytes_processed),
      files: amount(counts.total_files_processed),
      added: amount(counts.data_added_packed)
    }
  ]
}

/** The list that restic prints, the oldest snapshot first; undefined if the text is not a list. */
export const list = (stdout: string): ReadonlyArray<Snapshot> | undefined => {
  const values = parsed(stdout)
  return Array.isArray(values)
    ? values.flatMap(snapshot).sort((one, other) => compare(one.moment, other.moment))
    : undefined
}

/** The snapshots that `restic forget` keeps and removes, of all volumes. */
export interface Forgotten {
  readonly kept: ReadonlyArray<Snapshot>
  readonly removed: ReadonlyArray<Snapshot>
}

/** The groups that `restic forget --json` prints; undefined if the text is not a list. */
export const forgotten = (stdout: string): Forgotten | undefined => {
  const groups = parsed(stdout)
  if (!Array.isArray(groups)) return undefined
  const all = (field: "keep" | "remove") =>
    groups.flatMap((group) => {
      const values = fields(group)[field]
      return Array.isArray(values) ? values.flatMap(snapshot) : []
    })
  return { kept: all("keep"), removed: all("remove") }
}

/** restic prints `null` for an empty list, and nothing if there is no group. */
const parsed = (stdout: string): unknown => {
  const line = stdout.split("\n").findLast((line) => line.startsWith("[") || line === "null")
  try {
    return line === undefined ? [] : (JSON.parse(line) ?? [])
  } catch {
    // Another program may write to standard output.
    return undefined
  }
}
