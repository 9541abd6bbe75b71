/** The reasons to hold the deletion of old snapshots until a user allows it. Pure. */
import * as MoverReport from "./MoverReport.ts"
import type { Parameters } from "./Parameters.ts"
import * as Snapshots from "./Snapshots.ts"

/** The parameters that decide. */
export type Options = Pick<Parameters, "createdAt" | "hold" | "isAllowed">

/** Why the deletion of the removed snapshots is held; undefined if it may go on. */
export const of = (
  { createdAt, hold, isAllowed }: Options,
  { kept, removed }: Snapshots.Forgotten,
  /** Epoch milliseconds. */
  now: number
): MoverReport.Hold | undefined => {
  if (isAllowed || removed.length === 0) return undefined
  if (hold !== undefined) return hold
  // restic sorts by time, and would delete the newest data. Clocks of two machines differ a little.
  if ([...kept, ...removed].some(({ moment }) => moment.seconds > now / 1000 + 300)) return "ClockSetBack"
  if (createdAt !== undefined && removed.some(({ moment }) => Snapshots.compare(moment, createdAt) < 0)) {
    return "ExistingSnapshots"
  }
  const old = removed.filter(hasFiles)
  const keptOf = Map.groupBy(kept.filter(hasFiles), ({ host }) => host)
  // For each volume, because one node may have a wrong clock.
  const oldOf = Map.groupBy(old, ({ host }) => host)
  if (Array.from(oldOf).some(([host, { length }]) => length > (keptOf.get(host)?.length ?? 0))) return "TooMany"
  // A status can be lost, and the repository cannot: no kept snapshot has half of what a removed one has.
  const isLast = (one: Snapshots.Snapshot): boolean =>
    keptOf.get(one.host)?.every((left) => MoverReport.isMuchSmaller(sizeOf(left), sizeOf(one))) ?? true
  return old.some(isLast) ? "VolumeShrunk" : undefined
}

/** A snapshot without files saves nothing: an emptied volume whose other files are excluded leaves one. */
const hasFiles = ({ files }: Snapshots.Snapshot): boolean => files !== 0

/** Without a size, a snapshot of an old restic counts as small. */
const sizeOf = ({ bytes = 0, files = 0 }: Snapshots.Snapshot) => ({ bytes, files })
