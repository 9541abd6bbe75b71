/** Workloads, autoscalers and disruption budgets in the states that their columns distinguish. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { ago, expressions, labels, of, type Sample, selector, spec, template } from "./Sample.ts"

const deployment = of("apps/v1", "deployments")
const replicaSet = of("apps/v1", "replicasets")
const job = of("batch/v1", "jobs")
const condition = (type: string) => ({ type, status: "True", lastProbeTime: ago(5), lastTransitionTime: ago(5) })
const jobSpec = { template: { spec: { ...spec, restartPolicy: "Never" } } }
const cronJob = of("batch/v1", "cronjobs")
const jobTemplate = { spec: jobSpec }
const budget = of("policy/v1", "poddisruptionbudgets")
const autoscaler = of("autoscaling/v2", "horizontalpodautoscalers")
const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" }
const cpu = (type: string, amount: JsonObject) => ({
  type: "Resource",
  resource: { name: "cpu", target: { type, ...amount } }
})

export const workloads: ReadonlyArray<Sample> = [
  deployment(
    "web",
    { spec: { replicas: 3, selector, template } },
    {
      replicas: 3,
      updatedReplicas: 2,
      readyReplicas: 1,
      availableReplicas: 1,
      unavailableReplicas: 2
    }
  ),
  deployment("expressions", {
    spec: {
      selector: expressions,
      template: { metadata: { labels: { ...labels, new: "1" } }, spec }
    }
  }),
  replicaSet("web", { spec: { replicas: 2, selector, template } }, { replicas: 2, readyReplicas: 1 }),
  of("v1", "replicationcontrollers")("web", { spec: { replicas: 2, selector: labels, template } }, { replicas: 1 }),
  of("apps/v1", "statefulsets")(
    "db",
    { spec: { replicas: 2, serviceName: "db", selector, template } },
    {
      replicas: 2,
      readyReplicas: 1
    }
  ),
  of("apps/v1", "daemonsets")(
    "agent",
    {
      spec: { selector, template: { ...template, spec: { ...spec, nodeSelector: { os: "linux", arch: "arm" } } } }
    },
    {
      desiredNumberScheduled: 5,
      currentNumberScheduled: 4,
      numberReady: 3,
      updatedNumberScheduled: 2,
      numberAvailable: 1,
      numberMisscheduled: 0
    }
  ),
  of("v1", "podtemplates")("template", { template }),
  of("v1", "podtemplates")("unlabelled", { template: { spec } }),
  of("apps/v1", "controllerrevisions")("free", { revision: 3, data: { a: 1 } }),
  of("apps/v1", "controllerrevisions")("owned", {
    metadata: {
      ownerReferences: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid: "u", controller: true }]
    },
    revision: 1,
    data: {}
  }),
  job("new", { spec: jobSpec }),
  job("running", { spec: { ...jobSpec, completions: 3 } }, { startTime: ago(3700), active: 1, succeeded: 1 }),
  job("queue", { spec: { ...jobSpec, parallelism: 2 } }),
  job(
    "complete",
    { spec: jobSpec },
    {
      startTime: ago(700),
      completionTime: ago(200),
      succeeded: 1,
      conditions: [condition("SuccessCriteriaMet"), condition("Complete")]
    }
  ),
  job(
    "failed",
    { spec: jobSpec },
    {
      startTime: ago(100_000),
      failed: 1,
      conditions: [condition("FailureTarget"), condition("Failed")]
    }
  ),
  job("suspended", { spec: { ...jobSpec, suspend: true } }, { conditions: [condition("Suspended")] }),
  job("failing", { spec: jobSpec }, { startTime: ago(10), conditions: [condition("FailureTarget")] }),
  cronJob("plain", { spec: { schedule: "*/5 * * * *", jobTemplate } }),
  cronJob(
    "zone",
    { spec: { schedule: "@hourly", timeZone: "Europe/Berlin", suspend: true, jobTemplate } },
    {
      lastScheduleTime: ago(400),
      active: [{ kind: "Job", name: "one" }]
    }
  ),
  budget(
    "least",
    { spec: { minAvailable: "50%", selector } },
    {
      disruptionsAllowed: 2,
      currentHealthy: 3,
      desiredHealthy: 1,
      expectedPods: 3
    }
  ),
  budget("most", { spec: { maxUnavailable: 1, selector } }),
  autoscaler("bare", { spec: { scaleTargetRef, maxReplicas: 3 } }),
  autoscaler(
    "many",
    {
      spec: {
        scaleTargetRef,
        minReplicas: 2,
        maxReplicas: 5,
        metrics: [
          cpu("AverageValue", { averageValue: "500m" }),
          {
            type: "External",
            external: { metric: { name: "queue" }, target: { type: "AverageValue", averageValue: "30" } }
          },
          { type: "Pods", pods: { metric: { name: "hits" }, target: { type: "AverageValue", averageValue: "1k" } } }
        ]
      }
    },
    {
      currentReplicas: 3,
      desiredReplicas: 3,
      currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageValue: "300m" } } }]
    }
  ),
  autoscaler(
    "two",
    {
      spec: {
        scaleTargetRef,
        maxReplicas: 5,
        metrics: [
          { type: "External", external: { metric: { name: "queue" }, target: { type: "Value", value: "30" } } },
          {
            type: "Object",
            object: {
              describedObject: { kind: "Service", name: "web", apiVersion: "v1" },
              metric: { name: "hits" },
              target: { type: "Value", value: "2k" }
            }
          }
        ]
      }
    },
    {
      desiredReplicas: 0,
      currentMetrics: [
        { type: "External", external: { metric: { name: "queue" }, current: { value: "12" } } },
        {
          type: "Object",
          object: {
            describedObject: { kind: "Service", name: "web", apiVersion: "v1" },
            metric: { name: "hits" },
            current: { value: "1500" }
          }
        }
      ]
    }
  ),
  autoscaler(
    "percent",
    {
      spec: {
        scaleTargetRef,
        maxReplicas: 5,
        metrics: [
          cpu("Utilization", { averageUtilization: 80 }),
          {
            type: "ContainerResource",
            containerResource: {
              name: "memory",
              container: "main",
              target: { type: "Utilization", averageUtilization: 60 }
            }
          }
        ]
      }
    },
    {
      desiredReplicas: 1,
      currentMetrics: [
        { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 20, averageValue: "1" } } }
      ]
    }
  )
]
