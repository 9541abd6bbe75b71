/** Entries of the catalogue: what makes Pods that end. */
import type { JsonObject } from "@homeostat/testkit/server/Json"
import { type Entry, job, later, now, selector, template } from "./Entry.ts"

const finished = (type: string, reason: string): ReadonlyArray<JsonObject> =>
  [type === "Failed" ? "FailureTarget" : "SuccessCriteriaMet", type].map((each) => ({
    type: each,
    status: "True",
    reason,
    lastProbeTime: now,
    lastTransitionTime: now
  }))

/** What makes Pods that end. */
export const jobs: ReadonlyArray<Entry> = [
  { name: "a job", object: job() },
  { name: "a job with labels on its template", object: job({ template: template({ restartPolicy: "OnFailure" }) }) },
  {
    name: "a job with labels of its own",
    object: job({ template: template({ restartPolicy: "OnFailure" }) }, { labels: { b: "c" } })
  },
  {
    name: "a job with a policy for failures",
    object: job({
      backoffLimit: 2,
      activeDeadlineSeconds: 60,
      ttlSecondsAfterFinished: 0,
      podFailurePolicy: {
        rules: [
          { action: "FailJob", onExitCodes: { containerName: "app", operator: "In", values: [42] } },
          { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }
        ]
      }
    })
  },
  { name: "a job in parallel", object: job({ parallelism: 3 }) },
  {
    name: "an indexed job",
    object: job({ completionMode: "Indexed", completions: 2, parallelism: 2, backoffLimitPerIndex: 1 })
  },
  { name: "an indexed job without completions", object: job({ completionMode: "Indexed", parallelism: 2 }) },
  { name: "a job that always restarts", object: job({ template: template() }) },
  { name: "a job of an unknown restart policy", object: job({ template: template({ restartPolicy: "Foo" }) }) },
  {
    name: "a job with negative numbers",
    object: job({
      parallelism: -1,
      completions: -2,
      backoffLimit: -3,
      activeDeadlineSeconds: -4,
      ttlSecondsAfterFinished: -5
    })
  },
  {
    name: "a job with a selector by hand",
    object: job({ manualSelector: true, selector, template: template({ restartPolicy: "Never" }) })
  },
  { name: "a job with a selector by hand that is missing", object: job({ manualSelector: true }) },
  {
    name: "a job with a wrong selector",
    object: job({ selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "x" } } })
  },
  {
    name: "a job with a wrong label",
    object: job({ template: template({ restartPolicy: "Never" }, { labels: { "job-name": "x" } }) })
  },
  { name: "a job with a name that is no label", object: job({}, { name: "a.b" }) },
  {
    name: "a job without a template",
    object: { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j" }, spec: {} }
  },
  {
    name: "a job with a bad policy for failures",
    object: job({
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
    })
  },
  {
    name: "changes of a job",
    object: job(),
    steps: [
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
    ]
  },
  {
    name: "a cron job",
    object: {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "c" },
      spec: { schedule: "*/5 * * * *", jobTemplate: { spec: { template: template({ restartPolicy: "Never" }, {}) } } }
    },
    steps: [
      { change: { spec: { suspend: true } } },
      { change: { spec: { timeZone: "Europe/Berlin" } } },
      { change: { spec: { timeZone: "Mars/Phobos" } } }
    ]
  },
  ...["", "* * * *", "60 * * * *", "x * * * *", "@never", "TZ=UTC * * * * *", "*/0 * * * *", "5-1 * * * *"].map(
    (schedule) => ({
      name: `a cron job of schedule "${schedule}"`,
      object: {
        apiVersion: "batch/v1",
        kind: "CronJob",
        metadata: { name: "c" },
        spec: { schedule, jobTemplate: { spec: { template: template({ restartPolicy: "Never" }, {}) } } }
      }
    })
  ),
  {
    name: "a cron job of always restarting pods",
    object: {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "c" },
      spec: { schedule: "@daily", concurrencyPolicy: "x", jobTemplate: { spec: { template: template() } } }
    }
  }
]
