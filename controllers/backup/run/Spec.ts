/**
 * Parses a Backup's spec. The API server has checked the schema and the CEL rules; this module finds schedules without times, unknown
 * time zones and invalid bucket names. Pure.
 */
import * as Bounded from "@homeostat/runtime/resource/Bounded"
import { keyOf, keyString } from "@homeostat/runtime/resource/KubernetesObject"
import * as Arr from "effect/Array"
import * as Result from "effect/Result"
import type { Backup } from "../kinds/Backup.ts"
import * as Destination from "../repository/Destination.ts"
import * as Repository from "../repository/Repository.ts"
import * as Retention from "../repository/Retention.ts"
import type { Values } from "../Settings.ts"
import * as Occurrence from "../schedule/Occurrence.ts"
import * as Schedule from "../schedule/Schedule.ts"

/** A parsed spec. */
export interface Understood {
  readonly repository: Repository.Repository
  readonly table: Schedule.Timetable | undefined
  /** Arguments of `restic forget`; empty: all snapshots are kept. */
  readonly keep: ReadonlyArray<string>
  /** Warnings about a retention that may be a mistake. */
  readonly warnings: ReadonlyArray<string>
  /** Milliseconds. */
  readonly pruneInterval: number
  readonly checkInterval: number
  /** A longer time between two successful runs holds the deletion of old snapshots, in ms; undefined without retentionPolicy. */
  readonly longestPause: number | undefined
  /** The longest time between two runs, in seconds: until then a new success is expected. */
  readonly expectedInterval: number | undefined
}

/** Why a spec is invalid: a reason of the condition Ready, and a fix. */
export interface Refusal {
  readonly reason: string
  readonly message: string
}

const hour = 3_600_000

/** The settings for Backups without a destination. */
export type Defaults = Pick<Values, "destination" | "endpoint">

/** The repository of a Backup. */
export const repository = (backup: Backup, defaults: Defaults): Result.Result<Repository.Repository, Refusal> => {
  const { destination } = backup.spec
  const refuse = (message: string): Refusal => ({ reason: "InvalidDestination", message })
  if (destination !== undefined) {
    return Result.mapBoth(Destination.parse(destination), {
      onFailure: refuse,
      onSuccess: (found) => Repository.of(backup, found)
    })
  }
  return defaults.destination === undefined
    ? Result.fail(refuse("spec.destination is required: the manager has no HOMEOSTAT_BACKUP_DESTINATION"))
    : Result.succeed(Repository.of(backup, defaults.destination, defaults.endpoint))
}

/** The gaps of schedules. The search takes a millisecond, and most Backups of a cluster have the same schedules. */
const known = new Map<string, Occurrence.Gaps | undefined>()

const gapsOf = ({ cron, effective }: Schedule.Timetable): Occurrence.Gaps | undefined => {
  if (!known.has(effective)) Bounded.put(known, effective, Occurrence.gaps(cron), 1000)
  return known.get(effective)
}

/** The parts of a spec, each with its own error. The order is that of their importance. */
const parts = (backup: Backup, defaults: Defaults) => {
  const { spec } = backup
  const table: Result.Result<Schedule.Timetable | undefined, Refusal> =
    spec.schedule === undefined
      ? Result.succeed(undefined)
      : Schedule.parse(spec.schedule, { of: keyString(keyOf(backup)), timeZone: spec.timeZone })
  return {
    repository: repository(backup, defaults),
    table,
    policy: Result.mapError(Retention.parse(spec.retentionPolicy ?? ""), refusal),
    pruneInterval: interval("pruneInterval", spec.pruneInterval),
    checkInterval: interval("checkInterval", spec.checkInterval)
  }
}

/** The error of each part of a spec, also of `deletionGracePeriod`, which only a deletion reads. Empty for a valid spec. */
export const refusals = (backup: Backup, defaults: Defaults): ReadonlyArray<Refusal> =>
  Arr.getFailures<ReadonlyArray<Result.Result<unknown, Refusal>>>([
    ...Object.values(parts(backup, defaults)),
    deletionTime(backup)
  ])

/** Parses a spec. Failure: its first error. */
export const parse = (backup: Backup, defaults: Defaults): Result.Result<Understood, Refusal> =>
  Result.map(Result.all(parts(backup, defaults)), ({ checkInterval, policy, pruneInterval, repository, table }) => {
    const between = table && gapsOf(table)
    const counts = backup.spec.retention
    return {
      repository,
      table,
      keep: Retention.keepArguments(policy, counts),
      warnings: Retention.warnings(policy, { gaps: between, counts }),
      pruneInterval,
      checkInterval,
      // A schedule may pause for longer than its policy keeps.
      longestPause: policy && Math.max(policy.hours * hour, 1.5 * (between?.longest ?? 0)),
      expectedInterval: between === undefined ? undefined : Math.round(between.longest / 1000)
    }
  })

/** The same for a spec that may be invalid, because a run can end meanwhile: a shorter pause then holds too. */
export const longestPause = (backup: Backup, parsed: Result.Result<Understood, Refusal>): number | undefined =>
  Result.match(parsed, {
    onFailure: () =>
      Result.match(Retention.parse(backup.spec.retentionPolicy ?? ""), {
        onFailure: () => 0,
        onSuccess: (policy) => policy && policy.hours * hour
      }),
    onSuccess: (understood) => understood.longestPause
  })

const refusal = (message: string): Refusal => ({ reason: "InvalidRetention", message })

/** When the snapshots of a deleted Backup may be deleted, in epoch milliseconds. */
export const deletionTime = ({ metadata, spec }: Backup): Result.Result<number, Refusal> => {
  const at = Date.parse(metadata.deletionTimestamp ?? metadata.creationTimestamp)
  return spec.deletionGracePeriod === undefined
    ? Result.succeed(at)
    : Result.map(interval("deletionGracePeriod", spec.deletionGracePeriod), (millis) => at + millis)
}

/** In the grammar of retentionPolicy, also rounded up to whole hours. Milliseconds. */
const interval = (field: string, text: string): Result.Result<number, Refusal> =>
  Result.mapBoth(Retention.parse(text), {
    onFailure: () => refusal(`invalid ${field}: ${JSON.stringify(text)} (must be 1h to 100y, such as 7d)`),
    onSuccess: (policy) => (policy?.hours ?? 0) * hour
  })
