/** The writes of the runs of one key: by these the queue decides whether an event is an echo for that key. */

/** A version of an object. A version without a UID matches no write. */
export interface Version {
  readonly uid?: string | undefined
  readonly resourceVersion: string
}

/** The versions that a run wrote: the UID by resourceVersion, which a cluster gives to one write only. */
export type WrittenVersions = ReadonlyMap<string, string>

/** The latest runs that wrote something, oldest first, and when each ended in monotonic milliseconds. */
export type Runs = ReadonlyArray<{ readonly endedAt: number; readonly versions: WrittenVersions }>

/** How long an earlier run is kept. A watch is rarely further behind. */
const keptMillis = 60_000

/** How many runs are kept. */
const most = 64

/** The runs with one more. */
export const after = (runs: Runs | undefined, versions: WrittenVersions, endedAt: number): Runs => [
  ...(runs ?? []).filter((run) => endedAt - run.endedAt < keptMillis).slice(1 - most),
  { endedAt, versions }
]

/** Whether one of the runs wrote this version. */
export const has = (runs: Runs | undefined, { resourceVersion, uid }: Version): boolean =>
  runs?.some(({ versions }) => uid !== undefined && versions.get(resourceVersion) === uid) ?? false
