/** The scenes of all controllers. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { at, objects } from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { type Cluster, request, type SceneFailed } from "./Cluster.ts"
import * as CronJobScenes from "./CronJobScenes.ts"
import * as DaemonSetScenes from "./DaemonSetScenes.ts"
import * as JobScenes from "./JobScenes.ts"
import { number, type Scene } from "./Scene.ts"
import * as SchedulingScenes from "./SchedulingScenes.ts"
import { conditionIs, holds, isGone, job, noPods, pods, type Script, scripts } from "./Script.ts"
import * as StatefulSetScenes from "./StatefulSetScenes.ts"

const template = (image: string, labels: JsonObject = { app: "d" }): JsonObject => ({
  metadata: { labels },
  spec: { containers: [{ name: "c", image }] }
})

const deployment = (spec: JsonObject = {}): JsonObject => ({
  metadata: { name: "d" },
  spec: { replicas: 2, selector: { matchLabels: { app: "d" } }, template: template("i:1"), ...spec }
})

/** Runs pods until a rollout has completed. */
const rollsOut = (scene: Scene, replicas: number) =>
  scene.until(
    "the rollout",
    Effect.andThen(
      scene.kubelet,
      holds(scene, "deployments/d", (found) => {
        const status = (field: string) => number(at(found, "status", field))
        return (
          status("observedGeneration") === at(found, "metadata", "generation") &&
          ["replicas", "updatedReplicas", "availableReplicas"].every((field) => status(field) === replicas) &&
          status("terminatingReplicas") === 0 &&
          conditionIs("Progressing", "NewReplicaSetAvailable")(found)
        )
      })
    )
  )

const started = (scene: Scene, spec?: JsonObject) =>
  Effect.gen(function* () {
    const made = deployment(spec)
    yield* scene.create("deployments", made)
    yield* rollsOut(scene, number(at(made, "spec", "replicas")))
  })

export const scenes: { readonly [name: string]: Script } = {
  ...JobScenes.scenes,
  ...CronJobScenes.scenes,
  ...StatefulSetScenes.scenes,
  ...DaemonSetScenes.scenes,
  ...SchedulingScenes.scenes,
  ...scripts({
    *"a Deployment becomes available"(scene) {
      yield* started(scene)
    },

    *"a Deployment rolls out another image"(scene) {
      yield* started(scene, { replicas: 3 })
      yield* scene.change("deployments/d", { spec: { template: template("i:2") } })
      yield* rollsOut(scene, 3)
    },

    *"a Deployment rolls back to its first image"(scene) {
      yield* started(scene, { replicas: 1 })
      for (const image of ["i:2", "i:1"]) {
        yield* scene.change("deployments/d", { spec: { template: template(image) } })
        yield* rollsOut(scene, 1)
      }
    },

    *"a Deployment that recreates its pods"(scene) {
      yield* started(scene, { strategy: { type: "Recreate" } })
      yield* scene.change("deployments/d", { spec: { template: template("i:2") } })
      yield* rollsOut(scene, 2)
    },

    *"a Deployment is scaled up and down"(scene) {
      yield* started(scene)
      for (const replicas of [4, 1, 0]) {
        yield* scene.change("deployments/d", { spec: { replicas } })
        yield* rollsOut(scene, replicas)
      }
    },

    *"a Deployment is paused and resumed"(scene) {
      yield* started(scene)
      yield* scene.change("deployments/d", { spec: { paused: true, template: template("i:2") } })
      yield* scene.until("the pause", holds(scene, "deployments/d", conditionIs("Progressing", "DeploymentPaused")))
      yield* scene.change("deployments/d", { spec: { paused: false } })
      yield* rollsOut(scene, 2)
    },

    *"a Deployment makes no progress"(scene) {
      yield* scene.create("deployments", deployment({ progressDeadlineSeconds: 2 }))
      yield* scene.until(
        "the deadline",
        holds(scene, "deployments/d", conditionIs("Progressing", "ProgressDeadlineExceeded"))
      )
      yield* rollsOut(scene, 2)
    },

    *"a Deployment keeps old ReplicaSets up to its limit"(scene) {
      yield* started(scene, { replicas: 1, revisionHistoryLimit: 1 })
      for (const image of ["i:2", "i:3"]) {
        yield* scene.change("deployments/d", { spec: { template: template(image) } })
        yield* rollsOut(scene, 1)
      }
      yield* scene.until(
        "the clean-up",
        holds(scene, "replicasets", ({ items }) => objects(items).length === 2)
      )
    },

    *"a Deployment waits for minReadySeconds"(scene) {
      yield* started(scene, { minReadySeconds: 2 })
    },

    *"a Deployment is deleted in the background"(scene) {
      yield* started(scene)
      yield* scene.remove("deployments/d", "Background")
      yield* noPods(scene)
      yield* scene.until(
        "the ReplicaSet's end",
        holds(scene, "replicasets", ({ items }) => objects(items).length === 0)
      )
    },

    *"a Deployment is deleted in the foreground"(scene) {
      yield* started(scene)
      yield* scene.remove("deployments/d", "Foreground")
      yield* scene.until(
        "the pods to end",
        holds(scene, "pods", ({ items }) =>
          objects(items).every((pod) => at(pod, "metadata", "deletionTimestamp") !== undefined)
        )
      )
      yield* scene.get("deployments/d")
      yield* scene.until("the end", Effect.andThen(scene.kubelet, isGone(scene, "deployments/d")))
    },

    *"a Deployment is deleted and orphans its pods"(scene) {
      yield* started(scene)
      yield* scene.remove("deployments/d", "Orphan")
      yield* scene.until("the end", isGone(scene, "deployments/d"))
      yield* pods(scene, 2)
    },

    *"a Deployment is scaled in the middle of a rollout"(scene) {
      const rollingUpdate = { maxSurge: 3, maxUnavailable: 2 }
      yield* started(scene, { replicas: 10, strategy: { type: "RollingUpdate", rollingUpdate } })
      yield* scene.change("deployments/d", { spec: { template: template("i:2") } })
      const has = (replicas: number) =>
        holds(scene, "deployments/d", (found) => at(found, "status", "replicas") === replicas)
      yield* scene.until("the new pods", has(13))
      yield* scene.change("deployments/d", { spec: { replicas: 15 } })
      yield* scene.until("more pods", has(18))
      yield* scene.change("deployments/d", { spec: { replicas: 6 } })
      yield* scene.until("fewer pods", has(9))
    },

    *"a Deployment whose pods are refused"(scene) {
      const spec = { priorityClassName: "none", containers: [{ name: "c", image: "i" }] }
      yield* scene.create("deployments", deployment({ template: { metadata: { labels: { app: "d" } }, spec } }))
      yield* scene.until("the failure", holds(scene, "deployments/d", conditionIs("ReplicaFailure", "FailedCreate")))
      // After ten attempts, the next one is seconds away.
      const often = (event: JsonObject) => event.reason === "FailedCreate" && number(event.count) >= 10
      yield* scene.until(
        "ten attempts",
        holds(scene, "events", ({ items }) => objects(items).some(often))
      )
      yield* scene.change("deployments/d", { spec: { template: { spec: { priorityClassName: null } } } })
      yield* rollsOut(scene, 2)
    },

    *"a ReplicaSet adopts a pod and releases it"(scene) {
      const labels = { app: "d" }
      yield* scene.create("pods", { ...template("i"), metadata: { name: "lone", labels } })
      const spec = { replicas: 2, selector: { matchLabels: labels }, template: template("i") }
      yield* scene.create("replicasets", { metadata: { name: "r" }, spec })
      const owned = (count: number) =>
        holds(
          scene,
          "pods",
          ({ items }) =>
            objects(items).filter((pod) => at(pod, "metadata", "ownerReferences") !== undefined).length === count
        )
      yield* scene.until("the adoption", owned(2))
      yield* scene.change("pods/lone", { metadata: { labels: { app: "other" } } })
      yield* pods(scene, 3)
      yield* scene.until("the release", owned(2))
    },

    *"a Service and a budget follow their pods"(scene) {
      const selector = { app: "d" }
      yield* scene.create("services", {
        metadata: { name: "s", labels: { is: "served" } },
        spec: { selector, ports: [{ name: "http", port: 80, targetPort: 8080 }] }
      })
      yield* scene.create("poddisruptionbudgets", {
        metadata: { name: "b" },
        spec: { minAvailable: "50%", selector: { matchLabels: selector } }
      })
      yield* started(scene, { replicas: 1 })
      const allowed = (budget: JsonObject) => at(budget, "status", "currentHealthy") === 1
      yield* scene.until("the budget", holds(scene, "poddisruptionbudgets/b", allowed))
      yield* scene.until(
        "the endpoints",
        holds(scene, "endpoints/s", ({ subsets }) => objects(subsets).length === 1)
      )
    },

    *"a Job succeeds"(scene) {
      yield* scene.create("jobs", job("j", { completions: 2, parallelism: 2 }))
      yield* pods(scene, 2)
      yield* scene.kubelet
      yield* scene.until(
        "ready pods",
        holds(scene, "jobs/j", (found) => at(found, "status", "ready") === 2)
      )
      yield* scene.exit("j", 0)
      yield* scene.until("its end", holds(scene, "jobs/j", conditionIs("Complete", "CompletionsReached")))
    },

    *"a Job succeeds index by index"(scene) {
      yield* scene.create("jobs", job("j", { completionMode: "Indexed", completions: 3, parallelism: 2 }))
      yield* pods(scene, 2)
      yield* scene.exit("j", 0)
      yield* pods(scene, 3)
      yield* scene.exit("j", 0)
      yield* scene.until("its end", holds(scene, "jobs/j", conditionIs("Complete", "CompletionsReached")))
    },

    *"a Job fails too often"(scene) {
      yield* scene.create("jobs", job("j", { backoffLimit: 1 }))
      yield* pods(scene, 1)
      yield* scene.exit("j", 1)
      yield* pods(scene, 2)
      yield* scene.exit("j", 1)
      yield* scene.until("its end", holds(scene, "jobs/j", conditionIs("Failed", "BackoffLimitExceeded")))
    },

    *"a Job fails by its policy"(scene) {
      const rules = [{ action: "FailJob", onExitCodes: { operator: "In", values: [42] } }]
      yield* scene.create("jobs", job("j", { podFailurePolicy: { rules } }))
      yield* pods(scene, 1)
      yield* scene.exit("j", 42)
      yield* scene.until("its end", holds(scene, "jobs/j", conditionIs("Failed", "PodFailurePolicy")))
    },

    *"a Job ignores a failure"(scene) {
      const rules = [{ action: "Ignore", onExitCodes: { operator: "In", values: [3] } }]
      yield* scene.create("jobs", job("j", { backoffLimit: 0, podFailurePolicy: { rules } }))
      yield* pods(scene, 1)
      yield* scene.exit("j", 3)
      yield* pods(scene, 2)
      yield* scene.exit("j", 0)
      yield* scene.until("its end", holds(scene, "jobs/j", conditionIs("Complete", "CompletionsReached")))
    },

    *"a Job exceeds its deadline"(scene) {
      yield* scene.create("jobs", job("j", { activeDeadlineSeconds: 2 }))
      yield* pods(scene, 1)
      yield* scene.kubelet
      yield* scene.until(
        "its end",
        Effect.andThen(scene.kubelet, holds(scene, "jobs/j", conditionIs("Failed", "DeadlineExceeded")))
      )
    },

    *"a Job is suspended and resumed"(scene) {
      yield* scene.create("jobs", job("j"))
      yield* pods(scene, 1)
      yield* scene.kubelet
      yield* scene.change("jobs/j", { spec: { suspend: true } })
      yield* scene.until("the suspension", holds(scene, "jobs/j", conditionIs("Suspended", "JobSuspended")))
      yield* noPods(scene)
      yield* scene.change("jobs/j", { spec: { suspend: false } })
      yield* pods(scene, 1)
      yield* scene.exit("j", 0)
      yield* scene.until("its end", holds(scene, "jobs/j", conditionIs("Complete", "CompletionsReached")))
    },

    *"a Job expires after its end"(scene) {
      yield* scene.create("jobs", job("j", { ttlSecondsAfterFinished: 1 }))
      yield* pods(scene, 1)
      yield* scene.exit("j", 0)
      yield* scene.until("its end", isGone(scene, "jobs/j"))
      yield* pods(scene, 0)
    },

    *"a pod fits on no node"(scene) {
      const spec = { nodeSelector: { is: "nowhere" }, containers: [{ name: "c", image: "i" }] }
      yield* scene.create("pods", { metadata: { name: "p" }, spec })
      yield* scene.until("the refusal", holds(scene, "pods/p", conditionIs("PodScheduled", "Unschedulable")))
    }
  })
}

/** Creates the node of all pods, unless it exists. */
export const withNode = (cluster: Cluster): Effect.Effect<Cluster, SceneFailed> =>
  Effect.gen(function* () {
    const { status } = yield* cluster.send("POST", "/api/v1/nodes", { metadata: { name: "node" } })
    if (status === 409) return cluster
    const capacity = { cpu: "100", memory: "100Gi", pods: "1000" }
    const ready = { conditions: [{ type: "Ready", status: "True" }], capacity, allocatable: capacity }
    yield* request(cluster, "PATCH", "/api/v1/nodes/node/status", { status: ready })
    return cluster
  })
