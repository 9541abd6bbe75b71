/** The metrics page of a manager. */
import { describe, expect } from "bun:test"
import * as TcpProxy from "@homeostat/testkit/TcpProxy"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Chore from "../runtime/Chore.ts"
import { controller, lead, start } from "./Obedient.ts"
import * as Served from "./Served.ts"

interface Shown {
  readonly type: string
  readonly labels: ReadonlyArray<string>
  readonly buckets?: string
}

const labelsOf = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(/(\w+)="/g), ([, name]) => name ?? "")

/** The metrics of a page. All series of a metric must have equal labels and equal buckets. */
const shown = (page: string): { readonly [name: string]: Shown } =>
  Object.fromEntries(
    page
      .split(/^# HELP /m)
      .slice(1)
      .map((block) => {
        const [, name = "", type = ""] = /^# TYPE (\S+) (\S+)$/m.exec(block) ?? []
        const lines = block
          .split("\n")
          .slice(2)
          .filter((line) => line !== "")
        const series = new Set(
          lines.map((line) =>
            labelsOf(line)
              .filter((label) => label !== "le")
              .join(" ")
          )
        )
        expect([name, series.size]).toEqual([name, 1])
        const labels = [...series]
          .join()
          .split(" ")
          .filter((label) => label !== "")
        const bounds = Map.groupBy(block.matchAll(/_bucket\{(.*?),?le="([^"]+)"\}/g), ([, others = ""]) => others)
        const buckets = new Set(Array.from(bounds.values(), (all) => all.map(([, , bound]) => bound).join(" ")))
        expect(buckets.size).toBe(type === "histogram" ? 1 : 0)
        return [name, { type, labels, ...(type === "histogram" && { buckets: [...buckets].join() }) }]
      })
  )

const amount = (page: string, series: string): number => {
  const line = page.split("\n").find((line) => line.startsWith(`${series} `))
  return line === undefined ? Number.NaN : Number(line.slice(series.length + 1))
}

const counter = (...labels: ReadonlyArray<string>): Shown => ({ type: "counter", labels })
const gauge = (...labels: ReadonlyArray<string>): Shown => ({ type: "gauge", labels })
const histogram = (buckets: string, ...labels: ReadonlyArray<string>): Shown => ({
  type: "histogram",
  labels,
  buckets: `${buckets} +Inf`
})

const reconcileSeconds =
  "0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 1.75 2 2.5 3 3.5 4 4.5 5 6 7 8 9 10 15 20 25 30 40 50 60"
const decades = "1e-08 1e-07 1e-06 1e-05 0.0001 0.001 0.01 0.1 1 10 100 1000"
const freshness = "0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60 300"
const requestSeconds = "0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60"
const requestBytes = "64 256 512 1024 4096 16384 65536 262144 1.048576e+06 4.194304e+06 1.6777216e+07"

/** The metrics that have the names of controller-runtime and client-go. */
const theirs: { readonly [name: string]: Shown } = {
  controller_runtime_reconcile_total: counter("controller", "result"),
  controller_runtime_reconcile_errors_total: counter("controller"),
  controller_runtime_terminal_reconcile_errors_total: counter("controller"),
  controller_runtime_reconcile_panics_total: counter("controller"),
  controller_runtime_reconcile_timeouts_total: counter("controller"),
  controller_runtime_reconcile_time_seconds: histogram(reconcileSeconds, "controller"),
  controller_runtime_max_concurrent_reconciles: gauge("controller"),
  controller_runtime_active_workers: gauge("controller"),
  workqueue_depth: gauge("name", "controller", "priority"),
  workqueue_adds_total: counter("name", "controller"),
  workqueue_retries_total: counter("name", "controller"),
  workqueue_queue_duration_seconds: histogram(decades, "name", "controller"),
  workqueue_work_duration_seconds: histogram(decades, "name", "controller"),
  workqueue_unfinished_work_seconds: gauge("name", "controller"),
  workqueue_longest_running_processor_seconds: gauge("name", "controller"),
  rest_client_requests_total: counter("code", "method", "host"),
  rest_client_request_duration_seconds: histogram(requestSeconds, "verb", "host"),
  rest_client_request_size_bytes: histogram(requestBytes, "verb", "host"),
  rest_client_response_size_bytes: histogram(requestBytes, "verb", "host"),
  leader_election_master_status: gauge("name"),
  homeostat_writes_stopped: gauge("name"),
  process_cpu_seconds_total: counter(),
  process_start_time_seconds: gauge(),
  process_resident_memory_bytes: gauge(),
  process_virtual_memory_bytes: gauge(),
  process_open_fds: gauge(),
  process_max_fds: gauge()
}

const ours: { readonly [name: string]: Shown } = {
  homeostat_watch_restarts_total: counter("kind", "reason"),
  homeostat_watch_relists_total: counter("kind", "reason"),
  homeostat_cache_objects: gauge("kind"),
  homeostat_cache_bytes: gauge("kind"),
  homeostat_watch_idle_seconds: gauge("kind"),
  homeostat_backoff_objects: gauge("controller"),
  homeostat_backoff_attempts: gauge("controller"),
  homeostat_backoff_delay_seconds: gauge("controller"),
  homeostat_freshness_started_seconds: histogram(freshness, "controller"),
  homeostat_freshness_finished_seconds: histogram(freshness, "controller"),
  homeostat_freshness_seen_seconds: histogram(freshness, "controller"),
  homeostat_events_dropped_total: counter()
}

describe.concurrent("The page of metrics", () => {
  Chore.placed(
    "has every metric of controller-runtime that applies, with its type, labels and buckets, and those of Homeostat",
    (place) =>
      Effect.gen(function* () {
        const served = yield* Served.open
        yield* lead(place, served)
        const page = yield* served.metrics
        const all = shown(page)
        for (const [name, expected] of Object.entries({ ...theirs, ...ours })) {
          expect({ [name]: all[name] }).toEqual({ [name]: expected })
        }
        const others = Object.keys(all).filter((name) => !name.startsWith("homeostat_") && !(name in theirs))
        expect(others).toEqual(["leader_election_slowpath_total"])
      })
  )

  Chore.placed("counts the results of reconciles and the requests to the API server", (place) =>
    Effect.gen(function* () {
      const served = yield* Served.open
      yield* served.start(place.cluster.admin, [controller], { namespaces: [place.namespace] })
      for (const what of ["fail", "never", "die", "hang", "later", "update"]) yield* Chore.create(place, what, { what })
      const own = (name: string) => `controller_runtime_${name}{controller="chores"}`
      const total = (result: string) => `controller_runtime_reconcile_total{controller="chores",result="${result}"}`
      const host = new URL(place.cluster.url).host
      const requests = (code: number, method: string) =>
        `rest_client_requests_total{code="${code}",method="${method}",host="${host}"}`
      const expected: { readonly [series: string]: number } = {
        [total("error")]: 4,
        [total("requeue_after")]: 1,
        [total("requeue")]: 0,
        [own("reconcile_errors_total")]: 4,
        [own("terminal_reconcile_errors_total")]: 1,
        [own("reconcile_panics_total")]: 1,
        [own("reconcile_timeouts_total")]: 1,
        [own("max_concurrent_reconciles")]: 3,
        [own("active_workers")]: 0,
        'workqueue_depth{name="chores",controller="chores",priority="0"}': 0,
        'homeostat_cache_objects{kind="chores.suites.homeostat.dev"}': 6,
        // One Event for each failure, because no retry follows and a Chore has no conditions.
        [requests(201, "POST")]: 4
      }
      const seen = Effect.map(served.metrics, (page) =>
        Object.fromEntries(Object.keys(expected).map((series) => [series, amount(page, series)]))
      )
      yield* Managed.eventually("all counts", seen, (seen) => Bun.deepEquals(seen, expected))
      const page = yield* served.metrics
      expect(amount(page, requests(200, "GET"))).toBeGreaterThan(0)
      expect(amount(page, requests(200, "PATCH"))).toBeGreaterThan(0)
      expect(amount(page, total("success"))).toBeGreaterThan(0)
      expect(page).toMatch(/rest_client_request_size_bytes_sum\{verb="PATCH".*\} \d{2,}/)
    })
  )

  Chore.placed("shows the leader, and all series at 0 on the standby", (place) =>
    Effect.gen(function* () {
      yield* Chore.create(place, "one")
      const [first, second] = [yield* Served.open, yield* Served.open]
      yield* lead(place, first)
      yield* start(place, second)
      yield* Served.until(second, "/readyz", "a ready standby", ({ status }) => status === 200)
      const master = 'leader_election_master_status{name="chores"}'
      const success = 'controller_runtime_reconcile_total{controller="chores",result="success"}'
      yield* Managed.eventually(
        "the metrics of the leader",
        first.metrics,
        (page) => amount(page, master) === 1 && amount(page, success) > 0
      )
      const standby = yield* second.metrics
      expect(amount(standby, master)).toBe(0)
      expect(amount(standby, success)).toBe(0)
      expect(amount(standby, 'workqueue_adds_total{name="chores",controller="chores"}')).toBe(0)
      expect(amount(standby, 'homeostat_cache_objects{kind="chores.suites.homeostat.dev"}')).toBe(1)
    })
  )

  Chore.placed("counts resumed watches", (place) =>
    Effect.gen(function* () {
      const served = yield* Served.open
      const { admin, url } = place.cluster
      const proxy = yield* TcpProxy.make({ port: Number(new URL(url).port) })
      const behind = { ...admin, server: proxy.instead(admin.server) }
      const [runner] = yield* served.start(behind, [controller], { namespaces: [place.namespace] })
      yield* runner?.started ?? Effect.void
      const restarts = (reason: string) =>
        `homeostat_watch_restarts_total{kind="chores.suites.homeostat.dev",reason="${reason}"}`
      expect(amount(yield* served.metrics, restarts("broken"))).toBe(0)
      // The watch follows the first list. A reconcile of a new object shows that the watch is open.
      yield* Chore.create(place, "one")
      yield* Managed.eventually(
        "a reconcile",
        served.metrics,
        (page) => amount(page, 'controller_runtime_reconcile_total{controller="chores",result="success"}') > 0
      )
      yield* proxy.cut
      const page = yield* Managed.eventually(
        "the count of the cut",
        served.metrics,
        (page) => amount(page, restarts("broken")) > 0
      )
      expect(page).toContain('homeostat_watch_relists_total{kind="chores.suites.homeostat.dev",reason="expired"} 0\n')
    })
  )
})
