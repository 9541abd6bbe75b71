/** What a manager's page says of a Backup that has just run: the program at work of {@link Live} has none, for want of a kubelet. */
import type { Backup } from "@homeostat/backup/Backup"
import * as BackupMetrics from "@homeostat/backup/Metrics"
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
    {
      type: "RetentionApplied",
      status: "True",
      reason: "Applied",
      message: "1 snapshot deleted, 30 kept",
      lastTransitionTime: "2026-11-20T02:05:00Z"
    }
  ]
}

/** The Backups' part of the page, before the run and after it. */
export const pages = (): readonly [before: string, after: string] => {
  const registry = Metrics.make()
  // What the schema fills in says nothing here.
  const backup = { metadata, spec: { source: "db", destination: "s3://bucket", suspend: false } } as Backup
  const { told } = BackupMetrics.make(registry, () => backup)
  const page = () => MetricsText.render(registry.read()).body
  told(backup, { status: {}, told: [] }, 86_400)
  const before = page()
  told(backup, { status: ran, told: [] }, 86_400)
  return [before, page()]
}
