/** The state of a queue, for metrics and `why`. */

/** The state of a key. Times are milliseconds of the Clock. */
export type Position =
  /** No run is due or in progress. */
  | { readonly _tag: "Absent" }
  /** `index` keys run first. */
  | { readonly _tag: "Ready"; readonly index: number; readonly priority: number; readonly since: number }
  | { readonly _tag: "Delayed"; readonly until: number; readonly priority: number }
  /** `again`: another run follows, not before `until` if that is given. */
  | {
      readonly _tag: "Processing"
      readonly since: number
      readonly again: boolean
      readonly until: number | undefined
    }

/** The queue in numbers, for metrics. */
export interface Snapshot {
  /** Ready keys, including those whose run is in progress and that need another run. */
  readonly ready: number
  /** Delayed keys. */
  readonly delayed: number
  /** Keys whose run is in progress. */
  readonly processing: number
  /** `ready` by priority. */
  readonly depth: ReadonlyMap<number, number>
  /** The number of times a key became ready. */
  readonly adds: number
  /** The number of delayed adds. */
  readonly retries: number
  /** The longest wait of a ready key, in ms; 0 without ready keys. */
  readonly oldestMillis: number
  /** The duration of the longest run in progress, in ms; 0 without runs. */
  readonly longestRunMillis: number
  /** The sum of the durations of all runs in progress, in ms. */
  readonly unfinishedMillis: number
}
