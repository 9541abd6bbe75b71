/**
 * The metrics of a Backup that has run. The program of {@link Live} cannot run one, because its cluster has no kubelet.
 */
import type { Backup } from "@homeostat/backup/kinds/Backup"
import * as BackupMetrics from "@homeostat/backup/run/Metrics"
import { MetricsText } from "@homeostat/observability"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"

const metadata = {
  namespace: "shop",
  name: "db",
  uid: "1",
  resourceVersion: "1",
  creationTimestamp: "2026-11-19T12:00:00Z"
}

const snapshot = { pvc: "data", id: "0123456789abcdef", bytes: 1000, added: 10, files: 3 }

const condition = (type: string, reason: string) =>
  ({ type, status: "True", reason, message: "", lastTransitionTime: "2026-11-20T02:05:00Z" }) as const

const ran: Backup["status"] = {
  lastBackupTime: "2026-11-20T02:05:00Z",
  nextBackupTime: "2026-11-21T02:00:00Z",
  lastRun: {
    job: "db-1",
    trigger: "schedule",
    startTime: "2026-11-20T02:00:00Z",
    completionTime: "2026-11-20T02:05:00Z",
    reason: "Succeeded",
    snapshots: [snapshot]
  },
  snapshots: 30,
  conditions: [
    condition("RetentionApplied", "Applied"),
    condition("VolumesIntact", "Intact"),
    condition("RepositoryHealthy", "Opened")
  ]
}

/** The metrics pages before and after the run of the Backup. */
export const pages = (): readonly [before: string, after: string] => {
  const registry = Metrics.make()
  // The test builds the Backup itself, so it has no defaults of the schema.
  const backup = { metadata, spec: { source: "db", destination: "s3://bucket", suspend: false } } as Backup
  const { observe } = BackupMetrics.make(registry, () => backup)
  const page = () => MetricsText.render(registry.read()).body
  const facts = { interval: 86_400, isWaiting: false, now: 0 }
  observe(backup, { status: {}, events: [] }, facts)
  const before = page()
  observe(backup, { status: ran, events: [] }, facts)
  return [before, page()]
}
