/** Series for which each alert fires, in promtool's notation with a value each minute. */

/**
 * A problem: series by name, in promtool's notation. `0+1x60` is 0, 1, 2, … for an hour. `_x10` is ten minutes without a value.
 */
export interface Trouble {
  readonly series: { readonly [series: string]: string }
  /** The time at which the alert fires, in minutes. */
  readonly at: number
}

const target = 'job="homeostat",namespace="homeostat-system",pod="homeostat-0"'
const series = (name: string, labels = ""): string => `${name}{${target}${labels === "" ? "" : `,${labels}`}}`
const widgets = 'controller="widgets"'
const lease = 'name="homeostat"'
const kind = 'kind="widgets.example.com"'

const reconciles = series("controller_runtime_reconcile_total", `${widgets},result="success"`)

/** A series of a Backup with the Backup's namespace and name, because the ServiceMonitor honors labels. */
const backup = (name: string, of = "db"): string =>
  `homeostat_backup_${name}{job="homeostat",namespace="shop",pod="homeostat-0",name="${of}"}`

/** A histogram that gets six values between `below` and `bound` each minute. */
const beyond = (name: string, labels: string, below: string, bound: string): Trouble["series"] => {
  const bucket = (le: string): string => series(`${name}_bucket`, `${labels === "" ? "" : `${labels},`}le="${le}"`)
  return { [bucket(below)]: "0x60", [bucket(bound)]: "0+6x60", [bucket("+Inf")]: "0+6x60" }
}

/** The problems for which each alert fires, by the name of the alert. */
export const troubles: { readonly [alert: string]: Trouble | ReadonlyArray<Trouble> } = {
  HomeostatAbsent: { series: { [series("up")]: "1x5 0x20" }, at: 15 },
  HomeostatNoLeader: {
    series: {
      [series("leader_election_master_status", lease)]: "1x5 0x20",
      [series("leader_election_master_status", lease).replace("homeostat-0", "homeostat-1")]: "0x25"
    },
    at: 10
  },
  HomeostatSeveralLeaders: {
    series: {
      [series("leader_election_master_status", lease)]: "1x20",
      [series("leader_election_master_status", lease).replace("homeostat-0", "homeostat-1")]: "0x5 1x15"
    },
    at: 10
  },
  HomeostatWritesStopped: { series: { [series("homeostat_writes_stopped", lease)]: "0x5 1x20" }, at: 10 },
  HomeostatCrdNarrowed: {
    series: { [series("homeostat_crd_lost_fields", `${kind},part="spec"`)]: "0x5 3x20" },
    at: 10
  },
  HomeostatManagersOverlap: { series: { [series("homeostat_overlapping_managers", lease)]: "0x5 1x20" }, at: 10 },
  HomeostatLeaseRenewSlow: {
    series: beyond("homeostat_lease_renew_duration_seconds", lease, "5", "10"),
    at: 25
  },
  HomeostatReplicaDown: {
    series: {
      [series("up")]: "1x30",
      [series("up").replace("homeostat-0", "homeostat-1")]: "1x30",
      [series("up").replace("homeostat-0", "homeostat-2")]: "1x5 0x25"
    },
    at: 20
  },
  HomeostatRestarts: { series: { [series("process_start_time_seconds")]: "0x5 0+60x20" }, at: 15 },
  HomeostatObjectsFailed: {
    // It has failed once, and never again: the object stays in this state.
    series: { [series("homeostat_objects", `${widgets},state="Failed"`)]: "0x5 10x90" },
    at: 90
  },
  HomeostatObjectsNotReady: [
    { series: { [series("homeostat_objects", `${widgets},state="Progressing"`)]: "0x5 1x80" }, at: 70 },
    { series: { [series("homeostat_objects", `${widgets},state="Deleting"`)]: "0x5 1x80" }, at: 70 },
    { series: { [series("homeostat_objects", `${widgets},state="Unknown"`)]: "0x5 1x80" }, at: 70 }
  ],
  HomeostatThrottled: {
    series: {
      [series("rest_client_requests_total", 'code="200",method="PATCH",host="h"')]: "0+60x60",
      [series("rest_client_requests_total", 'code="429",method="PATCH",host="h"')]: "0+600x60"
    },
    at: 30
  },
  HomeostatReconcileErrors: {
    series: {
      [reconciles]: "0+8x60",
      [series("controller_runtime_reconcile_total", `${widgets},result="error"`)]: "0+2x60",
      [series("controller_runtime_reconcile_errors_total", widgets)]: "0+2x60"
    },
    at: 30
  },
  HomeostatTerminalErrors: {
    series: { [series("controller_runtime_terminal_reconcile_errors_total", widgets)]: "0x5 1x20" },
    at: 10
  },
  HomeostatReconcilePanics: {
    series: { [series("controller_runtime_reconcile_panics_total", widgets)]: "0x5 1x20" },
    at: 10
  },
  HomeostatReconcileTimeouts: {
    series: { [series("controller_runtime_reconcile_timeouts_total", widgets)]: "0x5 1x20" },
    at: 10
  },
  HomeostatReconcileStuck: {
    series: { [series("workqueue_longest_running_processor_seconds", `name="widgets",${widgets}`)]: "0+60x30" },
    at: 20
  },
  HomeostatBackoff: { series: { [series("homeostat_backoff_delay_seconds", widgets)]: "327.68x30" }, at: 15 },
  HomeostatHotLoop: {
    series: { [series("homeostat_hot_loops_total", `${widgets},reason="fight"`)]: "0x5 1x20" },
    at: 10
  },
  HomeostatNotFresh: { series: beyond("homeostat_freshness_finished_seconds", widgets, "30", "60"), at: 30 },
  HomeostatQueueBacklog: {
    series: {
      [series("workqueue_depth", `name="widgets",${widgets},priority="0"`)]: "80x40",
      [series("workqueue_depth", `name="widgets",${widgets},priority="-100"`)]: "80x40",
      [series("controller_runtime_active_workers", widgets)]: "16x40",
      [series("controller_runtime_max_concurrent_reconciles", widgets)]: "16x40"
    },
    at: 30
  },
  HomeostatWebhookCertificateExpires: {
    series: {
      [series("homeostat_webhook_certificate_start_timestamp_seconds")]: "-7000000x30",
      [series("homeostat_webhook_certificate_expiration_timestamp_seconds")]: "500000x30"
    },
    at: 15
  },
  HomeostatWatchSilent: { series: { [series("homeostat_watch_idle_seconds", kind)]: "0+60x30" }, at: 15 },
  HomeostatRelists: {
    series: { [series("homeostat_watch_relists_total", `${kind},reason="expired"`)]: "0+1x60" },
    at: 40
  },
  HomeostatApiErrors: {
    series: {
      [series("rest_client_requests_total", 'code="200",method="GET",host="h"')]: "0+10x60",
      [series("rest_client_requests_total", 'code="<error>",method="GET",host="h"')]: "0+1x60"
    },
    at: 30
  },
  HomeostatForbidden: {
    series: { [series("rest_client_requests_total", 'code="403",method="PATCH",host="h"')]: "0x5 1x30" },
    at: 15
  },
  HomeostatEventsDropped: { series: { [series("homeostat_events_dropped_total")]: "0x5 3x20" }, at: 10 },
  HomeostatSpansDropped: {
    series: { [series("homeostat_spans_dropped_total", 'reason="export_failed"')]: "0+5x60" },
    at: 30
  },
  HomeostatEventLoopBlocked: { series: beyond("homeostat_event_loop_lag_seconds", "", "1", "2.5"), at: 20 },
  HomeostatFileDescriptors: {
    series: { [series("process_open_fds")]: "900x30", [series("process_max_fds")]: "1024x30" },
    at: 15
  },
  HomeostatBackupMissed: [
    {
      // This Backup runs every ten minutes, and only one run has succeeded.
      series: {
        [backup("expected_interval_seconds")]: "600x60",
        [backup("created_timestamp_seconds")]: "0x60",
        [backup("last_success_timestamp_seconds")]: "_x5 300x55"
      },
      at: 40
    },
    {
      // No run of this Backup has succeeded.
      series: { [backup("expected_interval_seconds")]: "600x60", [backup("created_timestamp_seconds")]: "0x60" },
      at: 35
    }
  ],
  HomeostatBackupSuspended: [
    { series: { [backup("suspended")]: "1x30", [backup("last_success_timestamp_seconds")]: "-700000x30" }, at: 15 },
    { series: { [backup("suspended")]: "1x30", [backup("created_timestamp_seconds")]: "-700000x30" }, at: 15 }
  ],
  HomeostatBackupFailing: { series: { [backup("last_run_success")]: "1x5 0x60" }, at: 55 },
  HomeostatBackupNotReady: { series: { [backup("ready")]: "1x5 0x30" }, at: 25 },
  HomeostatBackupRetentionFailing: { series: { [backup("retention_applied")]: "_x5 1x5 0x80" }, at: 75 },
  HomeostatBackupVolumeLost: { series: { [backup("volumes_intact")]: "_x5 1x5 0x20" }, at: 20 },
  HomeostatBackupRepositoryDamaged: { series: { [backup("repository_healthy")]: "_x5 1x5 0x80" }, at: 75 },
  HomeostatBackupWaiting: [
    {
      series: { [backup("waiting_seconds")]: "0x5 0+60x60", [backup("expected_interval_seconds")]: "600x66" },
      at: 25
    },
    { series: { [backup("waiting_seconds")]: "90000x30" }, at: 10 }
  ],
  HomeostatBackupRepositoryLocked: { series: { [backup("repository_locked")]: "0x5 1x80" }, at: 70 }
}

/** A healthy manager, some of whose reconciles fail. */
export const health: Trouble = {
  series: {
    [series("up")]: "1x60",
    [series("leader_election_master_status", lease)]: "1x60",
    [series("leader_election_master_status", lease).replace("homeostat-0", "homeostat-1")]: "0x60",
    [series("process_start_time_seconds")]: "0x60",
    [series("homeostat_objects", `${widgets},state="Ready"`)]: "0x5 500x55",
    // A failure that a retry overcomes, and rollouts.
    [series("homeostat_objects", `${widgets},state="Failed"`)]: "0x20 3x5 0x35",
    [series("homeostat_objects", `${widgets},state="Progressing"`)]: "20x20 0x5 5x35",
    [series("homeostat_objects", `${widgets},state="Paused"`)]: "1x60",
    [series("rest_client_requests_total", 'code="429",method="GET",host="h"')]: "0+1x60",
    [reconciles]: "0+99x60",
    [series("controller_runtime_reconcile_errors_total", widgets)]: "0+1x60",
    [series("controller_runtime_terminal_reconcile_errors_total", widgets)]: "3x60",
    [series("controller_runtime_reconcile_panics_total", widgets)]: "0x60",
    [series("controller_runtime_reconcile_timeouts_total", widgets)]: "0x60",
    [series("workqueue_depth", `name="widgets",${widgets},priority="0"`)]: "500x10 5x50",
    [series("controller_runtime_active_workers", widgets)]: "16x10 3x50",
    [series("controller_runtime_max_concurrent_reconciles", widgets)]: "16x60",
    [series("workqueue_longest_running_processor_seconds", `name="widgets",${widgets}`)]: "2x60",
    [series("homeostat_backoff_delay_seconds", widgets)]: "20x60",
    [series("homeostat_hot_loops_total", `${widgets},reason="fight"`)]: "1x60",
    [series("homeostat_watch_idle_seconds", kind)]: "60x60",
    [series("homeostat_watch_relists_total", `${kind},reason="refused"`)]: "0+1x60",
    [series("homeostat_watch_relists_total", `${kind},reason="expired"`)]: "2x60",
    [series("rest_client_requests_total", 'code="200",method="GET",host="h"')]: "0+100x60",
    [series("rest_client_requests_total", 'code="503",method="GET",host="h"')]: "0+1x60",
    [series("homeostat_events_dropped_total")]: "0x60",
    [series("homeostat_spans_dropped_total", 'reason="export_failed"')]: "7x60",
    [series("homeostat_spans_dropped_total", 'reason="trace_too_long"')]: "0+5x60",
    [series("process_open_fds")]: "30x60",
    [series("process_max_fds")]: "1024x60",
    // This Backup runs every 20 minutes. One run finds a lock, which the next run removes.
    [backup("created_timestamp_seconds")]: "0x60",
    [backup("expected_interval_seconds")]: "1200x60",
    [backup("last_success_timestamp_seconds")]: "_x15 900x32 2700x13",
    [backup("last_run_success")]: "_x15 1x5 0x25 1x15",
    [backup("ready")]: "0x10 1x50",
    [backup("repository_locked")]: "0x20 1x25 0x15",
    [backup("waiting_seconds")]: "0x20 0+60x15 0x25",
    [backup("retention_applied")]: "_x15 1x5 0x25 1x15",
    // This Backup is suspended.
    [backup("created_timestamp_seconds", "old")]: "-9999999x60",
    [backup("last_success_timestamp_seconds", "old")]: "-8888888x60",
    [backup("last_run_success", "old")]: "1x60",
    [backup("ready", "old")]: "1x60",
    ...beyond("homeostat_freshness_finished_seconds", widgets, "0.01", "0.025"),
    ...beyond("homeostat_lease_renew_duration_seconds", lease, "0.01", "0.025"),
    ...beyond("homeostat_event_loop_lag_seconds", "", "0.01", "0.025")
  },
  at: 59
}
