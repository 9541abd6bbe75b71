/**
 * All metrics of the runtime: name, help, type, labels, buckets. A controller defines its own metrics with {@link counter}, {@link gauge}
 * and {@link histogram}. Metrics of controller-runtime and client-go have the same names, labels and buckets here, so that existing
 * dashboards and alerts work; ours begin with `homeostat_`. Metrics of a client-side rate limiter, of DNS lookups and of Go's runtime are
 * missing.
 */
import { type Counter, counter, type Gauge, gauge, type Histogram, histogram } from "./MetricDefinition.ts"

export type { Labels, Metric } from "./MetricDefinition.ts"
export { type Counter, counter, type Gauge, gauge, type Histogram, histogram }

/** From 10 ns to 1000 s, each ten times the last. */
export const decades: ReadonlyArray<number> = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000]

/** From the latency of a local cluster to the longest time that a person would wait. */
const freshnessSeconds: ReadonlyArray<number> = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300
]

/** Finished reconciles by result; one of {@link reconcileResults}. */
export const reconcileTotal = counter(
  "controller_runtime_reconcile_total",
  "Total number of reconciliations per controller",
  ["controller", "result"]
)

/** The results of {@link reconcileTotal}. */
export const reconcileResults = ["success", "error", "requeue", "requeue_after"] as const

/** Failed reconciles. */
export const reconcileErrors = counter(
  "controller_runtime_reconcile_errors_total",
  "Total number of reconciliation errors per controller",
  ["controller"]
)

/** Failed reconciles with a permanent error. */
export const terminalReconcileErrors = counter(
  "controller_runtime_terminal_reconcile_errors_total",
  "Total number of terminal reconciliation errors per controller",
  ["controller"]
)

/** Failed reconciles with a defect: a mistake in the program. */
export const reconcilePanics = counter(
  "controller_runtime_reconcile_panics_total",
  "Total number of reconciliation panics per controller",
  ["controller"]
)

/** Failed reconciles that exceeded the timeout of the controller. */
export const reconcileTimeouts = counter(
  "controller_runtime_reconcile_timeouts_total",
  "Total number of reconciliation timeouts per controller",
  ["controller"]
)

/** The duration of reconciles. */
export const reconcileTime = histogram(
  "controller_runtime_reconcile_time_seconds",
  "Length of time per reconciliation per controller",
  [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75,
    2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60
  ],
  ["controller"]
)

/**
 * The age of an event at the start of its reconcile: from the arrival of the oldest change among the triggers. The initial list, own
 * writes of the object's reconciles, and requested runs (retries, resyncs) do not count.
 */
export const freshnessStarted = histogram(
  "homeostat_freshness_started_seconds",
  "From the arrival of a watch event to the start of the reconcile that answers to it; not of own writes of the object's reconciles",
  freshnessSeconds,
  ["controller"]
)

/** The age of an event at the end of its reconcile, with any outcome. */
export const freshnessFinished = histogram(
  "homeostat_freshness_finished_seconds",
  "From the arrival of a watch event to the end of the reconcile that answers to it; not of own writes of the object's reconciles",
  freshnessSeconds,
  ["controller"]
)

/**
 * The age of an event when the response to a write of its reconcile and the watch event of that write have arrived: then other
 * clients see the effect. The next reconcile with this watch event reports it. Events that a predicate ignores do not count.
 */
export const freshnessSeen = histogram(
  "homeostat_freshness_seen_seconds",
  "From the arrival of a watch event until a write of the reconcile that answers to it is seen in the watch",
  freshnessSeconds,
  ["controller"]
)

/**
 * The objects that a controller reconciles, by state: `Ready`, `Progressing`, `Failed`, `Paused`, `Deleting` or `Unknown`. The state is that
 * of the cached object's conditions, counted at each scrape. 0 on a standby.
 */
export const objects = gauge(
  "homeostat_objects",
  "Objects that a controller reconciles, by the state that their conditions report: 0 on a standby",
  ["controller", "state"]
)

/** Objects whose last reconcile failed or requested a requeue, without a success since then. */
export const backoffObjects = gauge(
  "homeostat_backoff_objects",
  "Objects that wait in back-off or are tried again after it, by controller",
  ["controller"]
)

/** 1 while a user stops all writes, else 0, by the name of the Lease. */
export const writesStopped = gauge(
  "homeostat_writes_stopped",
  "1 while a user stops all writes of the manager with an annotation of its Lease, else 0, by the name of the Lease",
  ["name"]
)

/** The fields of the program's schema that the CRD of the cluster lacks, by kind and part of the object. */
export const crdLostFields = gauge(
  "homeostat_crd_lost_fields",
  "Fields of the program's schema that the CRD of the cluster lacks, by kind and part: spec (no object of the kind is reconciled) or status. No series while the schema is unknown",
  ["kind", "part"]
)

/** Managers with another Lease that share objects with this leader, by the name of its Lease. */
export const overlappingManagers = gauge(
  "homeostat_overlapping_managers",
  "Managers with another Lease in the same namespace that share objects with this leader, by the name of its own Lease",
  ["name"]
)

/** The most attempts in a row of an object in back-off. */
export const backoffAttempts = gauge(
  "homeostat_backoff_attempts",
  "Attempts in a row of the object in back-off that has the most",
  ["controller"]
)

/** The longest current delay of the retry schedule of an object in back-off. */
export const backoffDelay = gauge(
  "homeostat_backoff_delay_seconds",
  "Longest delay that an object in back-off was given after its last attempt",
  ["controller"]
)

/** Workers of a controller. */
export const maxConcurrentReconciles = gauge(
  "controller_runtime_max_concurrent_reconciles",
  "Maximum number of concurrent reconciles per controller",
  ["controller"]
)

/** Workers of a controller that process a key. */
export const activeWorkers = gauge(
  "controller_runtime_active_workers",
  "Number of currently used workers per controller",
  ["controller"]
)

/** Keys that are ready, by priority. */
export const queueDepth = gauge("workqueue_depth", "Current depth of workqueue by workqueue and priority", [
  "name",
  "controller",
  "priority"
])

/** Keys that became ready. */
export const queueAdds = counter("workqueue_adds_total", "Total number of adds handled by workqueue", [
  "name",
  "controller"
])

/** Runs that were requested with a delay. */
export const queueRetries = counter("workqueue_retries_total", "Total number of retries handled by workqueue", [
  "name",
  "controller"
])

/** The time from ready to running. */
export const queueDuration = histogram(
  "workqueue_queue_duration_seconds",
  "How long in seconds an item stays in workqueue before being requested",
  decades,
  ["name", "controller"]
)

/** The time from running to done. */
export const workDuration = histogram(
  "workqueue_work_duration_seconds",
  "How long in seconds processing an item from workqueue takes.",
  decades,
  ["name", "controller"]
)

/** The sum of the durations of runs in progress. */
export const unfinishedWork = gauge(
  "workqueue_unfinished_work_seconds",
  "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
  ["name", "controller"]
)

/** The duration of the longest run in progress. */
export const longestRun = gauge(
  "workqueue_longest_running_processor_seconds",
  "How many seconds has the longest running processor for workqueue been running.",
  ["name", "controller"]
)

/** 1 while this process holds the Lease, else 0. */
export const leaderElectionMasterStatus = gauge(
  "leader_election_master_status",
  "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
  ["name"]
)

/** Renewals that found another version of the Lease than the leader had written, and had to read it first. */
export const leaderElectionSlowpath = counter(
  "leader_election_slowpath_total",
  "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
  ["name"]
)

/** Reads of the certificate of `--metrics-cert-dir`. */
export const certificateReads = counter("certwatcher_read_certificate_total", "Total number of certificate reads", [])

/** Reads without a usable certificate. The previous one is served until there is a new one. */
export const certificateReadErrors = counter(
  "certwatcher_read_certificate_errors_total",
  "Total number of certificate read errors",
  []
)

/** Collectors that threw during a read of `/metrics`. Their metrics are missing or have old values. */
export const collectErrors = counter(
  "homeostat_metrics_collect_errors_total",
  "How often a collector of metrics threw when the page was read",
  []
)

/** The duration of Lease renewals: near the renew deadline, the leader is about to lose the Lease. */
export const leaseRenewDuration = histogram(
  "homeostat_lease_renew_duration_seconds",
  "How long successful renewals of the leader's Lease took",
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ["name"]
)

/** Resumed watches, by the reason why the last one ended. Kinds have the names of RBAC rules: `deployments.apps`. */
export const watchRestarts = counter(
  "homeostat_watch_restarts_total",
  "Watches resumed from where the last one ended, by kind and by why it ended",
  ["kind", "reason"]
)

/** Lists after the first one, by the reason why the watch could not resume. */
export const watchRelists = counter(
  "homeostat_watch_relists_total",
  "Times the whole state of a kind was asked for again, by kind and reason",
  ["kind", "reason"]
)

/**
 * The time since the API server sent an event, a bookmark or a list of a kind, or ended a watch regularly. Bookmarks arrive every
 * minute, and the manager ends a silent watch after two and a half minutes. With several watches of a kind, the longest time.
 */
export const watchIdle = gauge(
  "homeostat_watch_idle_seconds",
  "Seconds since the API server last sent anything about a kind, bookmarks included",
  ["kind"]
)

/** Cached objects. */
export const cacheObjects = gauge("homeostat_cache_objects", "Objects in the cache, by kind", ["kind"])

/**
 * The approximate size of the cached objects as JSON, without managedFields: their number times the mean size of a sample, one in
 * 64 arriving objects. In memory they take several times as much.
 */
export const cacheBytes = gauge(
  "homeostat_cache_bytes",
  "Approximate size of the objects in the cache as JSON, by kind: their number times the mean of a sample",
  ["kind"]
)

/** The approximate memory of the cached objects of all kinds: see `--cache-memory`. */
export const cacheMemory = gauge("homeostat_cache_memory_bytes", "Approximate memory of the objects in the cache", [])

/** The most memory of the cached objects of all kinds. Beyond it the cache keeps only name and version of some objects. */
export const cacheMemoryLimit = gauge(
  "homeostat_cache_memory_limit_bytes",
  "The most memory of the objects in the cache: beyond it, large objects of the namespace with most are kept as name and version",
  []
)

/** Objects of which the cache keeps only name and version, because they are larger than its budget for one object, or did not fit. */
export const cacheTooLarge = gauge(
  "homeostat_cache_objects_too_large",
  "Objects of which the cache keeps only name and version, because they are too large or do not fit, by kind",
  ["kind"]
)

/** Whether the API server serves an optional kind: 1, or 0 while the controllers run without the kind. Other kinds have no series. */
export const kindServed = gauge(
  "homeostat_optional_kind_served",
  "1 if the API server serves a kind that is optional for the controllers, and 0 while they run without the kind",
  ["kind"]
)

/** Suspected hot loops, counted each time the manager reports one: see docs/troubleshooting.md. */
export const hotLoops = counter(
  "homeostat_hot_loops_total",
  "Reported suspected hot loops, by controller and reason: fields that others change back (fight), that are stored otherwise than sent (altered), or that are rewritten without a cause (rewrite)",
  ["controller", "reason"]
)

/** The reasons of {@link hotLoops}. */
export const hotLoopReasons = ["fight", "altered", "rewrite"] as const

/** Kubernetes Events that could not be written. */
export const eventsDropped = counter(
  "homeostat_events_dropped_total",
  "Kubernetes Events lost, because too many waited or the API server refused them"
)

/**
 * Traces of reconciles and of requests to webhooks by the reason for their export (`event`: an Event links to the trace; `parent`: the
 * API server samples it), or `quiet` if there was no reason, or `dropped` if the buffer was full.
 */
export const traces = counter(
  "homeostat_traces_total",
  "Traces of reconciles and webhooks by decision: exported (parent, wrote, failed, denied, event, slow, first, sampled) or not (quiet, dropped)",
  ["decision"]
)

/** Spans that arrived, per exporter. */
export const spansExported = counter("homeostat_spans_exported_total", "Spans that an exporter has delivered")

/** Spans that were lost during the export, by one of {@link spanLosses}. */
export const spansDropped = counter(
  "homeostat_spans_dropped_total",
  "Spans lost, by reason: buffer_full (slow receiver), export_failed (refused or no answer), trace_too_long (limit of one trace), shutdown (end of the process)",
  ["reason"]
)

/** The reasons of {@link spansDropped}. */
export const spanLosses = ["buffer_full", "export_failed", "trace_too_long", "shutdown"] as const

/** Seconds of CPU. */
export const processCpu = counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.")

/** The start time of the process, in seconds since 1970. */
export const processStart = gauge(
  "process_start_time_seconds",
  "Start time of the process since unix epoch in seconds."
)

/** How late a timer of this process ran, measured every second of work, and ten times a second while it is late. */
export const eventLoopLag = histogram(
  "homeostat_event_loop_lag_seconds",
  "How late a timer of this process ran, measured every second of work, and ten times a second while it is late. Probes, watches and Lease renewals are as late.",
  [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
)

/** Resident memory. */
export const processResident = gauge("process_resident_memory_bytes", "Resident memory size in bytes.")

/** Virtual memory. */
export const processVirtual = gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.")

/** Open file descriptors. */
export const processOpenFds = gauge("process_open_fds", "Number of open file descriptors.")

/** The limit of open file descriptors. */
export const processMaxFds = gauge("process_max_fds", "Maximum number of open file descriptors.")
