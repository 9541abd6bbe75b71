/** The writes of the runs of one key. The queue compares an event with them to detect an echo. */

/** A version of an object. A version without a UID matches no write. */
export interface Version {
  readonly uid?: string | undefined
  readonly resourceVersion: string
}

/** The versions that a run wrote: the UID by resourceVersion. No two writes in a cluster have the same resourceVersion. */
export type WrittenVersions = ReadonlyMap<string, string>

/** The latest runs that wrote something, oldest first, and when each ended in monotonic milliseconds. */
export type Runs = ReadonlyArray<{ readonly endedAt: number; readonly versions: WrittenVersions }>

/** How long the writes of a run are kept, in ms. A watch is rarely further behind. */
const keptMillis = 60_000

/** The number of runs that are kept. */
const most = 64

/** The runs, with the writes of another run. */
export const after = (runs: Runs | undefined, versions: WrittenVersions, endedAt: number): Runs => [
  ...(runs ?? []).filter((run) => endedAt - run.endedAt < keptMillis).slice(1 - most),
  { endedAt, versions }
]

/** Whether one of the runs wrote this version. */
export const has = (runs: Runs | undefined, { resourceVersion, uid }: Version): boolean =>
  runs?.some(({ versions }) => uid !== undefined && versions.get(resourceVersion) === uid) ?? false
