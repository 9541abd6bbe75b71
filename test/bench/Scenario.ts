/** The driver's scenarios, the number of runs of each, and the numbers in the table. */

/** A number of a scenario. `field` is its name in the driver's result. */
export interface Measure {
  readonly field: string
  readonly label: string
  /** True for throughput, where a ratio above 1 is better. Everywhere else, less is better. */
  readonly moreIsBetter?: boolean
  /** The limit for Homeostat, regardless of the other managers. */
  readonly limit?: number
}

/** The amount of work in the scenarios. */
export interface Size {
  /** The number of converged WebApps. */
  readonly objects: number
  /** The number of WebApps that a scenario creates. */
  readonly create: number
  /** The updates of WebApps per second, and the number of seconds. */
  readonly updates: { readonly perSecond: number; readonly seconds: number }
  /** Makes each scenario shorter, so that a campaign of all managers takes half an hour. */
  readonly short: boolean
  /** Makes each scenario minimal. A quick run shows that everything works, and its numbers are not compared with the limits. */
  readonly quick: boolean
}

/** A scenario that runs alternately for the managers. */
export interface Scenario {
  readonly name: string
  readonly title: string
  /** The arguments for the driver. */
  readonly args: (size: Size) => ReadonlyArray<string>
  readonly repeats: number
  /** The number of runs in a short campaign. Default: none, and the scenario is not a part of it. */
  readonly shortRepeats?: number
  /** The scenario needs the converged objects. */
  readonly seeded?: boolean
  /** A write shows that the managers disagree about an object, so the run fails. */
  readonly writesNothing?: boolean
  /** The scenario leaves objects that are converged only for its manager. */
  readonly unsettles?: boolean
  /** The scenario runs only managers that elect a leader. */
  readonly elects?: boolean
  /** The scenario runs no manager: it measures the limits of the API server. */
  readonly driverAlone?: boolean
  readonly measures: ReadonlyArray<Measure>
}

/** One of three numbers as an argument. */
const sized = ({ quick, short }: Size, least: string, less: string, all: string): string =>
  quick ? least : short ? less : all

const created = ({ create }: Size): ReadonlyArray<string> => ["-m", String(create)]

const creation: ReadonlyArray<Measure> = [
  { field: "per_s", label: "WebApps/s to Running", moreIsBetter: true },
  { field: "cpu_ms_per_webapp", label: "CPU per WebApp, ms" },
  { field: "first_cpu_ms", label: "CPU per WebApp of the first 500, ms" },
  { field: "last_cpu_ms", label: "CPU per WebApp of the last 500, ms" },
  { field: "apiserver_cpu_s", label: "kube-apiserver CPU meanwhile, s" },
  { field: "peak_rss_mib", label: "peak RSS, MiB" },
  { field: "writes_per_webapp", label: "writes per WebApp" },
  { field: "reads_per_webapp", label: "reads per WebApp" },
  { field: "reconciles_per_webapp", label: "reconciles per WebApp" },
  { field: "conflicts", label: "conflicts" },
  { field: "reconcile_errors", label: "failed reconciles" }
]

/** The scenarios in the order in which they run. Those that need an empty cluster come first. */
export const all: ReadonlyArray<Scenario> = [
  {
    name: "startup",
    title: "start on an empty cluster",
    args: (size) => ["-scenario", "startup", "-runs", sized(size, "2", "10", "10")],
    repeats: 3,
    shortRepeats: 3,
    measures: [
      { field: "healthz_median_ms", label: "to `/healthz` 200, ms" },
      { field: "readyz_median_ms", label: "to `/readyz` 200, ms" },
      { field: "cpu_at_ready_median_ms", label: "CPU until ready, ms" },
      { field: "rss_mib", label: "RSS after 0.3 s, MiB" },
      { field: "stop_median_ms", label: "SIGTERM to exit, ms" }
    ]
  },
  {
    name: "create",
    title: "create, cluster IPs",
    args: (size) => ["-scenario", "create", ...created(size)],
    repeats: 3,
    measures: creation
  },
  {
    name: "raw",
    title: "the API server's limit, Services adopted",
    args: (size) => ["-scenario", "raw", "-headless", ...created(size)],
    repeats: 3,
    driverAlone: true,
    measures: [
      { field: "create_only_per_s", label: "creates only, WebApps/s", moreIsBetter: true },
      { field: "controller_5_writes_per_s", label: "five writes of a controller, WebApps/s", moreIsBetter: true },
      { field: "all_7_writes_per_s", label: "with create and pump, WebApps/s", moreIsBetter: true }
    ]
  },
  {
    name: "create-headless",
    title: "create, Services adopted",
    args: (size) => ["-scenario", "create", "-headless", ...created(size)],
    repeats: 3,
    shortRepeats: 2,
    seeded: true,
    measures: creation
  },
  {
    name: "cold",
    title: "cold start, all converged",
    args: () => ["-scenario", "cold"],
    repeats: 7,
    shortRepeats: 3,
    seeded: true,
    writesNothing: true,
    measures: [
      { field: "ready_s", label: "to `/readyz` 200, s" },
      { field: "reconciled_s", label: "to all reconciled, s" },
      { field: "cpu_s", label: "CPU until then, s" },
      { field: "apiserver_cpu_s", label: "kube-apiserver CPU meanwhile, s" },
      { field: "peak_rss_mib", label: "peak RSS, MiB" },
      { field: "rss_5s_mib", label: "RSS after 5 s, MiB" },
      { field: "manager_writes", label: "writes (must be 0)" }
    ]
  },
  {
    name: "idle",
    title: "nothing happens",
    args: (size) => ["-scenario", "idle", "-idle", sized(size, "3s", "60s", "60s")],
    repeats: 3,
    shortRepeats: 1,
    seeded: true,
    measures: [
      { field: "cpu_s", label: "CPU of a minute, s" },
      { field: "rss_mib", label: "RSS, MiB" },
      { field: "manager_reads", label: "reads" },
      { field: "manager_writes", label: "writes" }
    ]
  },
  {
    name: "latency",
    title: "one change at a time",
    args: (size) => ["-scenario", "latency", "-probes", sized(size, "20", "200", "300")],
    repeats: 3,
    shortRepeats: 1,
    seeded: true,
    unsettles: true,
    measures: [
      { field: "drift_to_repair_p50_ms", label: "drift sent to repair seen, p50 ms" },
      { field: "drift_to_repair_p90_ms", label: "drift sent to repair seen, p90 ms" },
      { field: "drift_to_repair_p99_ms", label: "drift sent to repair seen, p99 ms" },
      { field: "drift_seen_to_repair_p50_ms", label: "drift seen to repair seen, p50 ms" },
      { field: "drift_seen_to_repair_p99_ms", label: "drift seen to repair seen, p99 ms" },
      { field: "spec_to_deployment_p50_ms", label: "spec sent to Deployment seen, p50 ms" },
      { field: "spec_to_deployment_p99_ms", label: "spec sent to Deployment seen, p99 ms" },
      { field: "cpu_s", label: "CPU, s" },
      { field: "peak_rss_mib", label: "peak RSS, MiB" }
    ]
  },
  {
    name: "failover",
    title: "the leader goes",
    args: (size) => [
      ...["-scenario", "failover"],
      ...["-terms", sized(size, "2", "6", "10"), "-kills", sized(size, "0", "0", "3")]
    ],
    repeats: 2,
    shortRepeats: 1,
    seeded: true,
    unsettles: true,
    elects: true,
    measures: [
      { field: "sigterm_repair_median_ms", label: "SIGTERM to drift repaired by the other, median ms", limit: 500 },
      { field: "sigterm_repair_max_ms", label: "SIGTERM to drift repaired by the other, max ms" },
      { field: "sigterm_lease_median_ms", label: "SIGTERM to Lease taken, median ms" },
      { field: "sigterm_exit_median_ms", label: "SIGTERM to exit, median ms" },
      { field: "sigkill_repair_median_ms", label: "SIGKILL to repaired, median ms" }
    ]
  },
  {
    name: "churn",
    title: "updates at a steady rate",
    args: ({ updates }) => [
      ...["-scenario", "churn", "-rate", String(updates.perSecond)],
      ...["-churn", `${updates.seconds}s`]
    ],
    repeats: 3,
    seeded: true,
    unsettles: true,
    measures: [
      { field: "updates_per_s", label: "updates/s reached", moreIsBetter: true },
      { field: "cpu_ms_per_update", label: "CPU per update, ms" },
      { field: "lag_p50_ms", label: "update sent to Deployment seen, p50 ms" },
      { field: "lag_p99_ms", label: "update sent to Deployment seen, p99 ms" },
      { field: "update_answered_p99_ms", label: "update sent to answer of the API server, p99 ms" },
      { field: "superseded", label: "updates seen only within a later one" },
      { field: "peak_rss_mib", label: "peak RSS, MiB" },
      { field: "apiserver_cpu_s", label: "kube-apiserver CPU meanwhile, s" },
      { field: "writes_per_update", label: "writes per update" },
      { field: "reconciles_per_update", label: "reconciles per update" },
      { field: "conflicts", label: "conflicts" },
      { field: "reconcile_errors", label: "failed reconciles" }
    ]
  }
]
