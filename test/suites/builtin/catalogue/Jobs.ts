/** Jobs and CronJobs. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { type Entries, job, later, now, of, selector, template } from "./Entry.ts"

const finished = (type: string, reason: string): ReadonlyArray<JsonObject> =>
  [type === "Failed" ? "FailureTarget" : "SuccessCriteriaMet", type].map((each) => ({
    type: each,
    status: "True",
    reason,
    lastProbeTime: now,
    lastTransitionTime: now
  }))

const cronJob = (spec: JsonObject): JsonObject =>
  of("batch/v1", "CronJob", "c", {
    spec: { jobTemplate: { spec: { template: template({ restartPolicy: "Never" }, {}) } }, ...spec }
  })

export const jobs: Entries = {
  "a job": job(),
  "a job with labels on its template": job({ template: template({ restartPolicy: "OnFailure" }) }),
  "a job with labels of its own": job({ template: template({ restartPolicy: "OnFailure" }) }, { labels: { b: "c" } }),
  "a job with a pod failure policy": job({
    backoffLimit: 2,
    activeDeadlineSeconds: 60,
    ttlSecondsAfterFinished: 0,
    podFailurePolicy: {
      rules: [
        { action: "FailJob", onExitCodes: { containerName: "app", operator: "In", values: [42] } },
        { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }
      ]
    }
  }),
  "a job in parallel": job({ parallelism: 3 }),
  "an indexed job": job({ completionMode: "Indexed", completions: 2, parallelism: 2, backoffLimitPerIndex: 1 }),
  "an indexed job without completions": job({ completionMode: "Indexed", parallelism: 2 }),
  "a job that always restarts": job({ template: template() }),
  "a job with an unknown restart policy": job({ template: template({ restartPolicy: "Foo" }) }),
  "a job with negative numbers": job({
    parallelism: -1,
    completions: -2,
    backoffLimit: -3,
    activeDeadlineSeconds: -4,
    ttlSecondsAfterFinished: -5
  }),
  "a job with a manual selector": job({
    manualSelector: true,
    selector,
    template: template({ restartPolicy: "Never" })
  }),
  "a job without its manual selector": job({ manualSelector: true }),
  "a job with a wrong selector": job({ selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "x" } } }),
  "a job with a wrong label": job({ template: template({ restartPolicy: "Never" }, { labels: { "job-name": "x" } }) }),
  "a job with a name that is not a label": job({}, { name: "a.b" }),
  "a job without a template": of("batch/v1", "Job", "j", { spec: {} }),
  "a job with a bad pod failure policy": job({
    podReplacementPolicy: "TerminatingOrFailed",
    podFailurePolicy: {
      rules: [
        { action: "Explode", onExitCodes: { containerName: "x", operator: "In", values: [0, 3, 2, 2] } },
        { action: "FailJob" },
        {
          action: "FailIndex",
          onExitCodes: { operator: "Is", values: [] },
          onPodConditions: [{ type: "a b", status: "Maybe" }]
        }
      ]
    },
    template: template({ restartPolicy: "OnFailure" }, {})
  }),
  "changes of a job": [
    job(),
    { change: { spec: { parallelism: 2 } } },
    { change: { spec: { completions: 2 } } },
    { change: { spec: { backoffLimit: 1, suspend: true } } },
    { change: { spec: { template: { spec: { nodeSelector: { a: "b" } } } } } },
    { change: { spec: { suspend: false } } },
    { change: { spec: { selector: { matchLabels: { a: "b" } } } } },
    { change: { spec: { completionMode: "Indexed" } } },
    { to: "status", change: { spec: { parallelism: 9 }, status: { active: 1, startTime: now, ready: 0 } } },
    { to: "status", change: { status: { ready: 2 } } },
    { to: "status", change: { status: { startTime: later } } },
    { to: "status", change: { status: { failed: 1 } } },
    { to: "status", change: { status: { failed: 0 } } },
    { to: "status", change: { status: { completionTime: later } } },
    { to: "status", change: { status: { conditions: finished("Complete", "x") } } },
    { to: "status", change: { status: { conditions: finished("Failed", "x").slice(1) } } },
    { to: "status", change: { status: { active: 0, uncountedTerminatedPods: { succeeded: ["u"] } } } },
    {
      to: "status",
      change: {
        status: {
          active: 0,
          uncountedTerminatedPods: null,
          succeeded: 1,
          completionTime: later,
          conditions: finished("Complete", "CompletionsReached")
        }
      }
    },
    { to: "status", change: { status: { conditions: [] } } }
  ],
  "a cron job": [
    cronJob({ schedule: "*/5 * * * *" }),
    { change: { spec: { suspend: true } } },
    { change: { spec: { timeZone: "Europe/Berlin" } } },
    { change: { spec: { timeZone: "Mars/Phobos" } } }
  ],
  ...Object.fromEntries(
    ["", "* * * *", "60 * * * *", "x * * * *", "@never", "TZ=UTC * * * * *", "*/0 * * * *", "5-1 * * * *"].map(
      (schedule) => [`a cron job of schedule "${schedule}"`, cronJob({ schedule })]
    )
  ),
  "a cron job whose pods always restart": cronJob({
    schedule: "@daily",
    concurrencyPolicy: "x",
    jobTemplate: { spec: { template: template() } }
  })
}
