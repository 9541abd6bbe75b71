/**
 * The metrics of Backups, from their status.
 *
 * Gauges show the current status, and are set after each reconcile. `ready` is computed at each read, because other code sets that
 * condition too, for example for a missing permission. Counters and the histogram count an event once, when the status first reports
 * it. So a new leader counts nothing twice, and a run that ended without a leader is counted by the next one. If a process crashes
 * directly after the status write, the event is not counted.
 *
 * A Backup has its series while it exists and its controller leads. Each Backup has about {@link perBackup} series with its name.
 */
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Status from "@homeostat/runtime/controller/Status"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { type KubernetesObject, keyString, type ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import * as Metric from "@homeostat/runtime/telemetry/Metric"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { Backup, type BackupStatus } from "../kinds/Backup.ts"
import { canRun, type Draft, keepsEverything, repositoryHealthy, retentionApplied, volumesIntact } from "./RunStatus.ts"
import { millis } from "./Text.ts"

const backup = ["namespace", "name"] as const

/**
 * Finished runs by result: `success`, also with a warning; `partial`, if some files could not be read, allowed or not; `failure`;
 * `replaced` by the next run.
 */
export const runs = Metric.counter("homeostat_backup_run_total", "Runs of a Backup that ended, by result", [
  ...backup,
  "result"
])

/** The results of {@link runs}. */
export const results = ["success", "partial", "failure", "replaced"] as const

/** The duration of runs, from the first Job to the end of the last, including failed runs. */
export const runDuration = Metric.histogram(
  "homeostat_backup_run_duration_seconds",
  "How long runs of a Backup took, successful or not",
  [1, 10, 30, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400],
  backup
)

/** The growth of the repository, after deduplication and compression. */
export const bytesAdded = Metric.counter(
  "homeostat_backup_bytes_added_total",
  "Bytes that runs of a Backup have added to its repository",
  backup
)

/** The size of all saved files, in each run. */
export const bytesProcessed = Metric.counter(
  "homeostat_backup_bytes_processed_total",
  "Bytes of the files that runs of a Backup have saved, changed or not",
  backup
)

/** When the last successful run ended, in seconds since 1970. Absent before the first one. */
export const lastSuccess = Metric.gauge(
  "homeostat_backup_last_success_timestamp_seconds",
  "When the last successful run of a Backup ended, in seconds since unix epoch",
  backup
)

/** 1 if the last run succeeded, 0 if it failed. Replaced runs do not count. */
export const lastRunSuccess = Metric.gauge(
  "homeostat_backup_last_run_success",
  "Whether the last run of a Backup succeeded: 1, or 0",
  backup
)

/** 1 if runs can start, also after a run that failed. 0 if the spec is invalid or something is missing, so that no run can start. */
export const ready = Metric.gauge(
  "homeostat_backup_ready",
  "Whether runs of a Backup can start: 1, or 0 if its spec is invalid or a prerequisite is missing",
  backup
)

/** Snapshots in the repository, from the last run that deleted old ones. Absent before that. */
export const snapshots = Metric.gauge(
  "homeostat_backup_snapshots",
  "Snapshots of a Backup after the last deletion of old snapshots",
  backup
)

/**
 * 1 if the last run with a retention deleted old snapshots, 0 if that failed: the repository then grows, although runs succeed.
 * Absent before the first such run, and without a retention.
 */
export const retention = Metric.gauge(
  "homeostat_backup_retention_applied",
  "Whether the last due deletion of old snapshots of a Backup succeeded: 1, or 0",
  backup
)

/** 1 if no volume is empty or much smaller than before, else 0. Absent before the first run. */
export const intact = Metric.gauge(
  "homeostat_backup_volumes_intact",
  "Whether no volume of a Backup has lost its files or most of them: 1, or 0",
  backup
)

/** 1 if the repository opens and no damage is known, else 0. Absent before it was first opened. */
export const healthy = Metric.gauge(
  "homeostat_backup_repository_healthy",
  "Whether the last run opened the repository of a Backup and found no damage: 1, or 0",
  backup
)

/**
 * Scheduled times without a run: missed beyond `startingDeadlineSeconds`, or skipped because of another run. If several of them
 * pass without a manager, one run makes up for all, and they do not count.
 */
export const missedSchedules = Metric.counter(
  "homeostat_backup_missed_schedules_total",
  "Scheduled times of a Backup that were missed, or skipped because another run was active",
  backup
)

/** The next scheduled time, in seconds since 1970. Absent for a suspended Backup and without a schedule. */
export const nextRun = Metric.gauge(
  "homeostat_backup_next_run_timestamp_seconds",
  "When the next scheduled run of a Backup is due, in seconds since unix epoch",
  backup
)

/**
 * The longest time between two runs of the schedule: until then a new success is expected, so one alert rule fits all Backups. Absent
 * for a suspended Backup, and without a valid schedule.
 */
export const expectedInterval = Metric.gauge(
  "homeostat_backup_expected_interval_seconds",
  "Longest time between two runs by the schedule of a Backup",
  backup
)

/** 1 if `spec.suspend` is set, so that no scheduled run starts, else 0. */
export const suspended = Metric.gauge(
  "homeostat_backup_suspended",
  "Whether the scheduled runs of a Backup are suspended: 1, or 0",
  backup
)

/** 1 if the last run found the repository locked by another restic, else 0. */
export const repositoryLocked = Metric.gauge(
  "homeostat_backup_repository_locked",
  "Whether the last run of a Backup found its repository locked: 1, or 0",
  backup
)

/** How long a run that is due has waited for its turn, in seconds, as of the last reconcile; else 0. A new leader counts from 0. */
export const waiting = Metric.gauge(
  "homeostat_backup_waiting_seconds",
  "How long a due run of a Backup has waited for another mover or for a slot",
  backup
)

/** When the Backup was created, in seconds since 1970: for alerts on Backups without any success. */
export const created = Metric.gauge(
  "homeostat_backup_created_timestamp_seconds",
  "When a Backup was created, in seconds since unix epoch",
  backup
)

const all: ReadonlyArray<Metric.Metric> = [
  runs,
  runDuration,
  bytesAdded,
  bytesProcessed,
  lastSuccess,
  lastRunSuccess,
  ready,
  snapshots,
  retention,
  intact,
  healthy,
  missedSchedules,
  nextRun,
  expectedInterval,
  suspended,
  repositoryLocked,
  waiting,
  created
]

/** The maximum number of series per Backup, including the histogram's buckets, sum and count. */
export const perBackup = all.length + (results.length - 1) + (runDuration.buckets.length + 2)

/** The metrics of all Backups. Synchronous. */
export interface BackupMetrics {
  /**
   * Updates the metrics after a reconcile.
   *
   * @param backup the reconciled Backup, with its previous status
   * @param draft its new status, and its Events
   * @param facts.interval the longest time between runs in seconds; undefined without a valid schedule
   * @param facts.isWaiting whether a run that is due waits for its turn
   * @param facts.now epoch milliseconds
   */
  readonly observe: (
    backup: Backup,
    draft: Draft,
    facts: { readonly interval: number | undefined; readonly isWaiting: boolean; readonly now: number }
  ) => void
  /** Removes the series of a Backup that is gone or is being deleted. */
  readonly forget: (key: ObjectKey) => void
}

type Run = NonNullable<BackupStatus["lastRun"]>

/** The identity of a run. The names of Jobs contain their trigger. */
const identityOf = (run: Run | undefined): string | undefined =>
  run && `${run.job} ${run.startTime} ${run.completionTime}`

const resultOf = ({ reason }: Run, { consecutiveFailures = 0 }: BackupStatus): (typeof results)[number] => {
  if (reason === "PartiallyFailed") return "partial"
  if (reason === "Replaced") return "replaced"
  return consecutiveFailures === 0 ? "success" : "failure"
}

const succeeded = ({ consecutiveFailures = 0, lastBackupTime }: BackupStatus): number | undefined => {
  if (consecutiveFailures > 0) return 0
  return lastBackupTime === undefined ? undefined : 1
}

const retained = ({ conditions }: BackupStatus): number | undefined => {
  const applied = Condition.find(conditions, retentionApplied)
  if (applied === undefined || applied.status === "Unknown" || applied.reason === keepsEverything) return undefined
  return applied.status === "True" ? 1 : 0
}

const held = ({ conditions }: BackupStatus, type: string): number | undefined => {
  const condition = Condition.find(conditions, type)
  if (condition === undefined || condition.status === "Unknown") return undefined
  return condition.status === "True" ? 1 : 0
}

/** Events that each stand for a tick without a run. */
const missing: ReadonlySet<string> = new Set(["MissedSchedule", "RunSkipped"])

const seconds = (time: string | undefined): number | undefined => {
  const at = millis(time)
  return at === undefined ? undefined : at / 1000
}

const sum = (amounts: ReadonlyArray<number>): number => amounts.reduce((total, amount) => total + amount, 0)

/**
 * Metrics of Backups in a registry.
 *
 * @param find the current Backup with this key (`namespace/name`); called before each read, for each Backup with series
 */
export const make = (
  registry: Metrics.Registry,
  find: (key: string) => KubernetesObject | undefined
): BackupMetrics => {
  /** The Backups with series, each with its owner, the last counted run, and since when it waits. */
  const known = new Map<
    string,
    {
      readonly uid: string
      readonly labels: Labels
      readonly run: string | undefined
      readonly since: number | undefined
    }
  >()

  const drop = (key: string, labels: Labels): void => {
    for (const metric of all) registry.remove(metric, labels)
    known.delete(key)
  }

  registry.onCollect(() => {
    for (const [key, { labels }] of known) {
      const backup = find(key)
      if (backup === undefined) drop(key, labels)
      else registry.gauge(ready, labels).set(canRun(Status.conditions(backup)) ? 1 : 0)
    }
  })

  const set = (metric: Metric.Gauge<(typeof backup)[number]>, labels: Labels, value: number | undefined): void => {
    if (value === undefined) registry.remove(metric, labels)
    else registry.gauge(metric, labels).set(value)
  }

  /** All counters exist from the start, so that a rate includes the first event. */
  const counters = (labels: Labels) => ({
    runs: Object.fromEntries(results.map((result) => [result, registry.counter(runs, { ...labels, result })])),
    duration: registry.histogram(runDuration, labels),
    added: registry.counter(bytesAdded, labels),
    processed: registry.counter(bytesProcessed, labels),
    missed: registry.counter(missedSchedules, labels)
  })

  return {
    observe: ({ metadata, spec, status: before }, { events, status }, { interval, isWaiting, now }) => {
      const key = keyString(metadata)
      const labels = labelsOf(metadata)
      const last = known.get(key)
      // A new Backup with the same name does not inherit the counts.
      if (last !== undefined && last.uid !== metadata.uid) drop(key, labels)
      const counted = last?.uid === metadata.uid ? last.run : identityOf(before?.lastRun)

      const { added, duration, missed, processed, runs } = counters(labels)
      const run = status.lastRun
      if (run !== undefined && identityOf(run) !== counted) {
        runs[resultOf(run, status)]?.add()
        duration.observe(Math.max(0, (seconds(run.completionTime) ?? 0) - (seconds(run.startTime) ?? 0)))
        added.add(sum((run.snapshots ?? []).map(({ added }) => added)))
        processed.add(sum((run.snapshots ?? []).map(({ bytes }) => bytes)))
      }
      missed.add(events.filter(({ reason }) => missing.has(reason)).length)
      const since = isWaiting ? ((last?.uid === metadata.uid ? last.since : undefined) ?? now) : undefined
      known.set(key, { uid: metadata.uid, labels, run: identityOf(run), since })

      set(lastSuccess, labels, seconds(status.lastBackupTime))
      set(lastRunSuccess, labels, succeeded(status))
      set(snapshots, labels, status.snapshots)
      set(retention, labels, retained(status))
      set(intact, labels, held(status, volumesIntact))
      set(healthy, labels, held(status, repositoryHealthy))
      set(nextRun, labels, seconds(status.nextBackupTime))
      set(expectedInterval, labels, spec.suspend ? undefined : interval)
      set(suspended, labels, spec.suspend ? 1 : 0)
      set(repositoryLocked, labels, run?.reason === "RepositoryLocked" ? 1 : 0)
      set(waiting, labels, since === undefined ? 0 : Math.max(0, now - since) / 1000)
      set(created, labels, seconds(metadata.creationTimestamp))
    },
    forget: (key) => drop(keyString(key), labelsOf(key))
  }
}

type Labels = Metric.Labels<(typeof backup)[number]>

const labelsOf = ({ name, namespace = "" }: ObjectKey): Labels => ({ namespace, name })

/**
 * The metrics of the fiber's registry. Backups that are being deleted or are not cached have no series, so that no alert fires for
 * them.
 */
export const current: Effect.Effect<BackupMetrics, never, Cache.Cache> = Metrics.once(
  (registry, services: Context.Context<Cache.Cache>) => {
    const { informers } = Context.get(services, Cache.Cache)
    const isOurs = ({ group, kind }: Resource.Any): boolean => group === Backup.group && kind === Backup.kind
    return make(registry, (key) => {
      const backup = informers()
        .find(({ resource, store }) => isOurs(resource) && store.get(key) !== undefined)
        ?.store.get(key)
      return backup?.metadata.deletionTimestamp === undefined ? backup : undefined
    })
  }
)
