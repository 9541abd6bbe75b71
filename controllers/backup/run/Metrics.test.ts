import { describe, expect, test } from "bun:test"
import { keyString } from "@homeostat/runtime/resource/KubernetesObject"
import type { Labels, Metric } from "@homeostat/runtime/telemetry/Metric"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import type { Backup, BackupStatus } from "../kinds/Backup.ts"
import * as Maintenance from "./Maintenance.ts"
import * as BackupMetrics from "./Metrics.ts"
import * as Outcome from "./Outcome.ts"
import * as Status from "./RunStatus.ts"

const begin = Date.parse("2026-11-20T02:00:00Z")
const hour = 3_600_000

const never: Backup = {
  metadata: {
    namespace: "shop",
    name: "db",
    uid: "1",
    resourceVersion: "1",
    creationTimestamp: "2026-11-19T12:00:00Z"
  },
  // The defaults of the schema do not matter here.
  spec: { source: "db", destination: "s3://bucket", suspend: false } as Backup["spec"]
}

const own: Labels<"namespace" | "name"> = { namespace: "shop", name: "db" }

/** A registry and its values by metric; `undefined` without a series. */
const watched = () => {
  const registry = Metrics.make()
  /** The cached Backups. */
  const cached = new Map<string, Backup>()
  const metrics = BackupMetrics.make(registry, (key) => cached.get(key))
  const of = <L extends string>(metric: Metric<L>, labels: { readonly [label: string]: string } = own) => {
    const family = registry.read().find((family) => family.metric.name === metric.name)
    const series = family?.series.find((each) =>
      metric.labels.every((label, at) => (labels[label] ?? own[label as "name"]) === each.labels[at])
    )
    if (series === undefined) return undefined
    return "value" in series ? series.value : { runs: series.counts.reduce((sum, n) => sum + n, 0), sum: series.sum }
  }
  return {
    registry,
    metrics,
    cached,
    of,
    results: () =>
      Object.fromEntries(BackupMetrics.results.map((result) => [result, of(BackupMetrics.runs, { result })])),
    /** A reconcile with these steps; returns the resulting Backup. */
    reconciled: (
      backup: Backup,
      step: (draft: Status.Draft) => Status.Draft = (draft) => draft,
      interval: number | undefined = 86_400,
      waiting?: { readonly isWaiting: boolean; readonly now: number }
    ): Backup => {
      const draft = step(Status.draft(backup))
      metrics.observe(backup, draft, { interval, isWaiting: false, now: begin, ...waiting })
      const written = { ...backup, status: draft.status }
      cached.set(keyString(backup.metadata), written)
      return written
    }
  }
}

const saved = (added: number, bytes: number): Outcome.Ending => ({
  _tag: "Exited",
  exitCode: 0,
  text: JSON.stringify({
    reason: "Succeeded",
    message: "",
    snapshots: [
      { pvc: "data", id: "a".repeat(64), bytes, added, files: 1 },
      { pvc: "logs", id: "b".repeat(64), bytes: 1, added: 1, files: 1 }
    ]
  })
})

/** A maintenance that deleted one snapshot, and leaves this number. */
const deleted = (kept: number): Outcome.Ending => ({
  _tag: "Exited",
  exitCode: 0,
  text: JSON.stringify({ reason: "Succeeded", message: "", kept, removed: 1 })
})

const failed = (exitCode: number): Outcome.Ending => ({ _tag: "Exited", exitCode, text: undefined })

const started =
  (at: number, job = `job-${at}`) =>
  (draft: Status.Draft): Status.Draft =>
    Status.started(draft, { job, trigger: "schedule", startTime: new Date(at).toISOString() }, at)

const ended =
  (ending: Outcome.Ending, at: number) =>
  (draft: Status.Draft): Status.Draft => {
    const { active } = draft.status
    if (active === undefined) throw new Error("no run goes on")
    return Status.ended(draft, active, Outcome.judge(ending), at)
  }

const maintained =
  (ending: Outcome.Ending, at: number) =>
  (draft: Status.Draft): Status.Draft =>
    Maintenance.ended(never, draft, undefined, Outcome.judge(ending), at)

/** A Backup that has run once, from 02:00 to 03:00, before any report. */
const afterwards = (ending: Outcome.Ending, maintenance?: Outcome.Ending): Backup => {
  const running = { ...never, status: started(begin)(Status.draft(never)).status }
  const over = { ...running, status: ended(ending, begin + hour)(Status.draft(running)).status }
  if (maintenance === undefined) return over
  return { ...over, status: maintained(maintenance, begin + 2 * hour)(Status.draft(over)).status }
}

describe("the metrics of a Backup that has never run", () => {
  test("have counters at 0 and a creation time, and no series about successes", () => {
    const { of, reconciled, results } = watched()
    reconciled(never)
    expect(results()).toEqual({ success: 0, partial: 0, failure: 0, replaced: 0 })
    expect(of(BackupMetrics.runDuration)).toEqual({ runs: 0, sum: 0 })
    const others = [BackupMetrics.bytesAdded, BackupMetrics.bytesProcessed, BackupMetrics.missedSchedules]
    expect(others.map((metric) => of(metric))).toEqual([0, 0, 0])
    expect(of(BackupMetrics.created)).toBe(Date.parse("2026-11-19T12:00:00Z") / 1000)
    expect(of(BackupMetrics.repositoryLocked)).toBe(0)
    const unknown = [BackupMetrics.lastSuccess, BackupMetrics.lastRunSuccess, BackupMetrics.snapshots]
    expect(unknown.map((metric) => of(metric))).toEqual([undefined, undefined, undefined])
  })
})

describe("the metrics of a completed run", () => {
  test("count its result, duration and bytes once", () => {
    const { of, reconciled, results } = watched()
    let backup = reconciled(never)
    backup = reconciled(backup, started(begin))
    expect(results()).toMatchObject({ success: 0 })
    backup = reconciled(backup, ended(saved(10, 100), begin + hour))
    for (let again = 0; again < 3; again++) backup = reconciled(backup)
    expect(results()).toEqual({ success: 1, partial: 0, failure: 0, replaced: 0 })
    expect(of(BackupMetrics.runDuration)).toEqual({ runs: 1, sum: 3600 })
    expect([of(BackupMetrics.bytesAdded), of(BackupMetrics.bytesProcessed)]).toEqual([11, 101])
    expect(of(BackupMetrics.lastSuccess)).toBe((begin + hour) / 1000)
    expect(of(BackupMetrics.lastRunSuccess)).toBe(1)
  })

  test("are added to those of earlier runs", () => {
    const { of, reconciled, results } = watched()
    let backup = reconciled(never)
    for (const day of [0, 24, 48]) {
      backup = reconciled(backup, started(begin + day * hour))
      backup = reconciled(backup, ended(saved(10, 100), begin + (day + 1) * hour))
    }
    expect(results()).toMatchObject({ success: 3 })
    expect([of(BackupMetrics.bytesAdded), of(BackupMetrics.bytesProcessed)]).toEqual([33, 303])
  })

  const counted = { success: 0, partial: 0, failure: 0, replaced: 0 }
  const others: ReadonlyArray<
    readonly [
      string,
      Outcome.Ending,
      { readonly results: typeof counted; readonly success: number | undefined; readonly locked: number }
    ]
  > = [
    ["fails", failed(42), { results: { ...counted, failure: 1 }, success: 0, locked: 0 }],
    ["fails partially", failed(3), { results: { ...counted, partial: 1 }, success: 0, locked: 0 }],
    ["finds a locked repository", failed(41), { results: { ...counted, failure: 1 }, success: 0, locked: 1 }],
    [
      "is replaced by the next run",
      { _tag: "Replaced" },
      { results: { ...counted, replaced: 1 }, success: undefined, locked: 0 }
    ]
  ]
  for (const [what, ending, expected] of others) {
    test(`have a result for a run that ${what}`, () => {
      const { of, reconciled, results } = watched()
      reconciled(reconciled(reconciled(never), started(begin)), ended(ending, begin + hour))
      expect<unknown>({
        results: results(),
        success: of(BackupMetrics.lastRunSuccess),
        locked: of(BackupMetrics.repositoryLocked)
      }).toEqual(expected)
    })
  }

  test("reset the lock after a success, and keep the last success after a failure", () => {
    const { of, reconciled } = watched()
    let backup = reconciled(afterwards(saved(1, 1)))
    const first = of(BackupMetrics.lastSuccess)
    backup = reconciled(backup, started(begin + 24 * hour))
    backup = reconciled(backup, ended(failed(41), begin + 25 * hour))
    expect(
      [BackupMetrics.lastSuccess, BackupMetrics.lastRunSuccess, BackupMetrics.repositoryLocked].map((metric) =>
        of(metric)
      )
    ).toEqual([first, 0, 1])
    backup = reconciled(backup, started(begin + 48 * hour))
    backup = reconciled(backup, ended(saved(1, 1), begin + 49 * hour))
    expect(
      [BackupMetrics.lastSuccess, BackupMetrics.lastRunSuccess, BackupMetrics.repositoryLocked].map((metric) =>
        of(metric)
      )
    ).toEqual([(begin + 49 * hour) / 1000, 1, 0])
  })
})

describe("the metrics of a new leader", () => {
  test("show the status, and count no run again", () => {
    const { of, reconciled, results } = watched()
    reconciled(afterwards(saved(10, 100), deleted(7)))
    expect(results()).toEqual({ success: 0, partial: 0, failure: 0, replaced: 0 })
    expect([of(BackupMetrics.runDuration), of(BackupMetrics.bytesAdded)]).toEqual([{ runs: 0, sum: 0 }, 0])
    expect([of(BackupMetrics.lastSuccess), of(BackupMetrics.lastRunSuccess)]).toEqual([(begin + hour) / 1000, 1])
    expect(of(BackupMetrics.snapshots)).toBe(7)
  })

  test("count a run that ended while there was no leader", () => {
    const { reconciled, results } = watched()
    const running = { ...never, status: started(begin)(Status.draft(never)).status }
    reconciled(running, ended(saved(10, 100), begin + hour))
    expect(results()).toMatchObject({ success: 1 })
  })

  test("count a run whose reconcile was interrupted after the status write", () => {
    const { reconciled, results } = watched()
    reconciled(never)
    reconciled(afterwards(saved(10, 100)))
    expect(results()).toMatchObject({ success: 1 })
  })
})

describe("the metrics of a schedule", () => {
  const next = (draft: Status.Draft): Status.Draft => ({
    ...draft,
    status: { ...draft.status, nextBackupTime: "2026-11-21T02:00:00Z" }
  })

  test("show the next run and the expected interval", () => {
    const { of, reconciled } = watched()
    reconciled(never, next, 3600)
    expect(of(BackupMetrics.nextRun)).toBe(Date.parse("2026-11-21T02:00:00Z") / 1000)
    expect(of(BackupMetrics.expectedInterval)).toBe(3600)
  })

  test("are absent if the schedule is suspended, invalid or removed", () => {
    for (const [spec, interval] of [
      [{ suspend: true }, 3600],
      [{}, undefined]
    ] as const) {
      const { metrics, of, reconciled } = watched()
      reconciled(never, next, 3600)
      const backup = { ...never, spec: { ...never.spec, ...spec } }
      metrics.observe(backup, Status.draft(backup), { interval, isWaiting: false, now: begin })
      expect([of(BackupMetrics.nextRun), of(BackupMetrics.expectedInterval)]).toEqual([undefined, undefined])
    }
  })

  test("count the missed and skipped runs", () => {
    const { of, reconciled } = watched()
    let backup = reconciled(never, started(begin))
    backup = reconciled(backup, (draft) => Status.skipped(draft, begin + hour, "job"))
    backup = reconciled(backup, (draft) => Status.missed(draft, begin + 2 * hour, 600))
    reconciled(backup)
    expect(of(BackupMetrics.missedSchedules)).toBe(2)
  })
})

test("the waiting time of a run is reset when it starts", () => {
  const { of, reconciled } = watched()
  const at = (seconds: number, isWaiting: boolean) => {
    reconciled(never, undefined, undefined, { isWaiting, now: begin + seconds * 1000 })
    return of(BackupMetrics.waiting)
  }
  expect([at(0, true), at(30, true), at(90, true), at(100, false), at(110, true), at(120, true)]).toEqual([
    0, 30, 90, 0, 0, 10
  ])
})

test("the metric of readiness follows the condition Ready, whichever manager wrote it", () => {
  const { cached, of, reconciled } = watched()
  const condition = { type: "Ready", reason: "R", message: "", lastTransitionTime: "2026-11-20T02:00:00Z" }
  const ready = (status: "True" | "False") => ({ conditions: [{ ...condition, status }] }) satisfies BackupStatus
  reconciled(never, (draft) => ({ ...draft, status: { ...draft.status, ...ready("True") } }))
  expect(of(BackupMetrics.ready)).toBe(1)
  cached.set("shop/db", { ...never, status: ready("False") })
  expect(of(BackupMetrics.ready)).toBe(0)
})

describe("the metric of the retention", () => {
  test("is 1 after a success, and 0 while the repository rejects the deletion", () => {
    const { of, reconciled, results } = watched()
    const values: Array<unknown> = []
    const steps = [
      maintained(deleted(7), begin),
      maintained(failed(47), begin + hour),
      maintained(failed(47), begin + 2 * hour),
      maintained(deleted(6), begin + 3 * hour)
    ]
    steps.reduce((backup, step) => {
      const next = reconciled(backup, step)
      values.push([of(BackupMetrics.retention), of(BackupMetrics.snapshots)])
      return next
    }, reconciled(never))
    expect(values).toEqual([
      [1, 7],
      [0, 7],
      [0, 7],
      [1, 6]
    ])
    expect(results()).toEqual({ success: 0, partial: 0, failure: 0, replaced: 0 })
  })

  test("does not change when runs fail or succeed", () => {
    const { of, reconciled } = watched()
    let backup = reconciled(afterwards(saved(1, 1)))
    expect(of(BackupMetrics.retention)).toBeUndefined()
    backup = reconciled(backup, maintained(failed(47), begin + 2 * hour))
    for (const [day, ending] of [failed(42), saved(1, 1)].entries()) {
      const at = begin + (day + 1) * 24 * hour
      backup = reconciled(reconciled(backup, started(at)), ended(ending, at + hour))
      expect([of(BackupMetrics.retention), of(BackupMetrics.lastRunSuccess)]).toEqual([0, day])
    }
  })

  test("is absent if every snapshot is kept, or before the first deletion", () => {
    const { of, reconciled } = watched()
    const is = (status: "True" | "Unknown", reason: string) => (draft: Status.Draft) => {
      const condition = {
        type: "RetentionApplied",
        status,
        reason,
        message: "",
        lastTransitionTime: "2026-11-20T02:00:00Z"
      }
      return { ...draft, status: { ...draft.status, conditions: [condition] } satisfies BackupStatus }
    }
    reconciled(never, is("True", "Applied"))
    expect(of(BackupMetrics.retention)).toBe(1)
    for (const [status, reason] of [
      ["True", "KeepsEverything"],
      ["Unknown", "NotYetApplied"]
    ] as const) {
      reconciled(never, is(status, reason))
      expect([reason, of(BackupMetrics.retention)]).toEqual([reason, undefined])
    }
  })
})

describe("the metrics of a deleted Backup", () => {
  const others = (registry: Metrics.Registry) =>
    registry.read().flatMap(({ metric, series }) => series.map(({ labels }) => [metric.name, labels[1]]))

  test("are removed by forget, without the series of other Backups", () => {
    const { metrics, reconciled, registry } = watched()
    const cache = { ...never, metadata: { ...never.metadata, name: "cache" } }
    reconciled(cache)
    const before = others(registry)
    reconciled(afterwards(saved(1, 1), deleted(1)), undefined)
    expect(others(registry).length).toBeGreaterThan(before.length + 10)
    metrics.forget({ namespace: "shop", name: "db" })
    expect(others(registry)).toEqual(before)
  })

  test("are also removed when the cache no longer has the Backup", () => {
    const { cached, reconciled, registry } = watched()
    reconciled(never)
    reconciled({ ...never, metadata: { ...never.metadata, name: "cache" } })
    expect(new Set(others(registry).map(([, name]) => name))).toEqual(new Set(["db", "cache"]))
    cached.delete("shop/db")
    expect(new Set(others(registry).map(([, name]) => name))).toEqual(new Set(["cache"]))
  })

  test("start at 0 for a new Backup with the same name", () => {
    const { of, reconciled, results } = watched()
    reconciled(reconciled(reconciled(never), started(begin)), ended(saved(10, 100), begin + hour))
    expect(results()).toMatchObject({ success: 1 })
    reconciled({ ...never, metadata: { ...never.metadata, uid: "2" } })
    expect(results()).toMatchObject({ success: 0 })
    expect([of(BackupMetrics.bytesAdded), of(BackupMetrics.snapshots)]).toEqual([0, undefined])
  })
})

test("perBackup is the number of series of a Backup with a complete status", () => {
  const { reconciled, registry } = watched()
  const everything = afterwards(saved(1, 1), deleted(1))
  reconciled({ ...everything, status: { ...everything.status, nextBackupTime: "2026-11-21T02:00:00Z" } })
  const count = registry
    .read()
    .flatMap(({ series }) => series)
    .reduce((sum, each) => sum + ("counts" in each ? each.counts.length + 2 : 1), 0)
  expect(count).toBe(BackupMetrics.perBackup)
})
