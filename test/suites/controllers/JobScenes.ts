/** The scenes of Jobs: failures of their pods, deadlines and deletion. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { at, objects, text } from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { SceneFailed } from "./Cluster.ts"
import { number, type Scene } from "./Scene.ts"
import { conditionIs, holds, isGone, job, noPods, pods, scripts } from "./Script.ts"

const isDeleted = (object: JsonObject) => at(object, "metadata", "deletionTimestamp") !== undefined

const ends = (scene: Scene, type: string, reason: string) =>
  scene.until("its end", Effect.andThen(scene.kubelet, holds(scene, "jobs/j", conditionIs(type, reason))))

const complete = (scene: Scene) => ends(scene, "Complete", "CompletionsReached")

/** Waits until `count` pods run and no other pod is unfinished. */
const running = (scene: Scene, count: number) =>
  scene.until(
    `${count} running pods`,
    Effect.andThen(
      scene.kubelet,
      holds(scene, "pods", ({ items }) => {
        const all = objects(items).filter(
          (pod) => !["Failed", "Succeeded"].includes(text(at(pod, "status", "phase")) ?? "")
        )
        return all.length === count && all.every((pod) => at(pod, "status", "phase") === "Running")
      })
    )
  )

/** Creates the Job `j`, and waits until its pod runs. */
const started = (scene: Scene, spec: JsonObject) =>
  Effect.andThen(scene.create("jobs", job("j", spec)), running(scene, 1))

const isDeleting = (scene: Scene) =>
  scene.until(
    "the pod to have a deletionTimestamp",
    holds(scene, "pods", ({ items }) => objects(items).every(isDeleted))
  )

/** Deletes the pod of the Job. */
const removePod = (scene: Scene, query = "") =>
  Effect.flatMap(scene.get("pods"), ({ items }) => {
    const name = text(at(objects(items)[0], "metadata", "name"))
    return scene.send("DELETE", `/api/v1/namespaces/${scene.namespace}/pods/${name}${query}`)
  })

const statusIs = (scene: Scene, field: string, value: number) =>
  scene.until(
    `${field} to be ${value}`,
    holds(scene, "jobs/j", (found) => number(at(found, "status", field)) === value)
  )

/** The seconds between the creations of consecutive pods, oldest first. */
const gaps = (scene: Scene) =>
  Effect.map(scene.get("pods"), ({ items }) => {
    const times = objects(items)
      .map((pod) => Date.parse(text(at(pod, "metadata", "creationTimestamp")) ?? "") / 1000)
      .toSorted((one, other) => one - other)
    return times.slice(1).map((time, place) => time - (times[place] ?? 0))
  })

const policy = {
  podFailurePolicy: {
    rules: [
      { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
      { action: "FailJob", onExitCodes: { containerName: "c", operator: "In", values: [40, 42] } },
      { action: "Count", onExitCodes: { operator: "In", values: [41] } }
    ]
  }
}

export const scenes = scripts({
  *"a Job replaces an evicted pod and does not count it"(scene) {
    yield* started(scene, { backoffLimit: 0, ...policy })
    yield* scene.evict("j")
    yield* statusIs(scene, "terminating", 1)
    yield* pods(scene, 1)
    yield* running(scene, 1)
    yield* scene.exit("j", 0)
    yield* complete(scene)
  },

  *"a Job without a policy counts an evicted pod"(scene) {
    yield* started(scene, { backoffLimit: 0 })
    yield* scene.evict("j")
    yield* ends(scene, "Failed", "BackoffLimitExceeded")
  },

  *"a Job fails at once by an exit code of its policy"(scene) {
    yield* started(scene, { backoffLimit: 2, ...policy })
    yield* scene.exit("j", 40)
    yield* ends(scene, "Failed", "PodFailurePolicy")
  },

  *"a Job counts an exit code that its policy counts"(scene) {
    yield* started(scene, { backoffLimit: 0, ...policy })
    yield* scene.exit("j", 41)
    yield* ends(scene, "Failed", "BackoffLimitExceeded")
  },

  *"a Job waits longer after each failure"(scene) {
    yield* scene.create("jobs", job("j", { backoffLimit: 2, ...policy }))
    for (const count of [1, 2, 3]) {
      yield* pods(scene, count)
      yield* scene.kubelet
      yield* scene.exit("j", 44)
    }
    yield* ends(scene, "Failed", "BackoffLimitExceeded")
    const waits = yield* gaps(scene)
    const isSo = waits.every((wait, place) => wait >= 10 * 2 ** place && wait < 10 * 2 ** place + 5)
    if (waits.length !== 2 || !isSo) return yield* new SceneFailed({ message: `the Job waited ${waits.join(", ")} s` })
  },

  *"a Job exceeds its deadline, and its pod ends later"(scene) {
    yield* started(scene, { activeDeadlineSeconds: 2, ...policy })
    yield* scene.until(
      "the FailureTarget condition",
      holds(scene, "jobs/j", conditionIs("FailureTarget", "DeadlineExceeded"))
    )
    yield* isDeleting(scene)
    for (let count = 0; count < 10; count++) yield* scene.wait
    if (conditionIs("Failed", "DeadlineExceeded")(yield* scene.get("jobs/j"))) {
      return yield* new SceneFailed({ message: "the Job failed while its pod runs" })
    }
    yield* ends(scene, "Failed", "DeadlineExceeded")
    yield* noPods(scene)
  },

  *"a Job exceeds its deadline while its pod is pending"(scene) {
    const spec = { restartPolicy: "Never", nodeSelector: { is: "nowhere" }, containers: [{ name: "c", image: "i" }] }
    yield* scene.create("jobs", job("j", { activeDeadlineSeconds: 2, template: { spec }, ...policy }))
    yield* pods(scene, 1)
    yield* ends(scene, "Failed", "DeadlineExceeded")
    yield* noPods(scene)
  },

  *"a Job waits for the end of a deleted pod"(scene) {
    yield* started(scene, { backoffLimit: 2, ...policy })
    yield* removePod(scene)
    yield* statusIs(scene, "terminating", 1)
    for (let count = 0; count < 10; count++) yield* scene.wait
    yield* pods(scene, 1)
    yield* scene.kubelet
    yield* statusIs(scene, "failed", 1)
    yield* scene.until(
      "another pod",
      holds(scene, "pods", ({ items }) => objects(items).length === 1 && !objects(items).some(isDeleted))
    )
    yield* running(scene, 1)
    yield* scene.exit("j", 0)
    yield* complete(scene)
  },

  *"a Job replaces a deleted pod at once"(scene) {
    yield* started(scene, { backoffLimit: 2, podReplacementPolicy: "TerminatingOrFailed" })
    yield* removePod(scene)
    yield* statusIs(scene, "failed", 1)
    yield* pods(scene, 2)
    yield* running(scene, 1)
    yield* scene.exit("j", 0)
    yield* complete(scene)
  },

  *"a Job whose pod a client deletes with no grace period"(scene) {
    yield* started(scene, { backoffLimit: 0, ...policy })
    yield* removePod(scene, "?gracePeriodSeconds=0")
    yield* ends(scene, "Failed", "BackoffLimitExceeded")
  },

  *"a Job is deleted in the foreground"(scene) {
    yield* started(scene, policy)
    yield* scene.remove("jobs/j", "Foreground")
    yield* isDeleting(scene)
    for (let count = 0; count < 10; count++) yield* scene.wait
    yield* pods(scene, 1)
    yield* scene.get("jobs/j")
    yield* scene.until("the end", Effect.andThen(scene.kubelet, isGone(scene, "jobs/j")))
    yield* pods(scene, 0)
  },

  *"a Job is deleted in the background"(scene) {
    yield* started(scene, policy)
    yield* scene.remove("jobs/j", "Background")
    yield* scene.until("the end", isGone(scene, "jobs/j"))
    yield* isDeleting(scene)
    yield* pods(scene, 1)
    yield* noPods(scene)
  },

  *"a Job is deleted and orphans its pods"(scene) {
    yield* started(scene, policy)
    yield* scene.remove("jobs/j", "Orphan")
    yield* scene.until("the end", isGone(scene, "jobs/j"))
    yield* scene.until(
      "the pod to be free",
      holds(scene, "pods", ({ items }) =>
        objects(items).every((pod) => at(pod, "metadata", "finalizers") === undefined)
      )
    )
  },

  *"a Job is deleted with the default propagation policy"(scene) {
    yield* started(scene, policy)
    yield* scene.remove("jobs/j")
    yield* scene.until("the end", isGone(scene, "jobs/j"))
    for (let count = 0; count < 10; count++) yield* scene.wait
  },

  *"a Job that begins suspended"(scene) {
    yield* scene.create("jobs", job("j", { suspend: true, ...policy }))
    yield* scene.until("the suspension", holds(scene, "jobs/j", conditionIs("Suspended", "JobSuspended")))
    yield* pods(scene, 0)
    yield* scene.change("jobs/j", { spec: { suspend: false } })
    yield* running(scene, 1)
    yield* scene.exit("j", 0)
    yield* complete(scene)
  },

  *"a Job whose pods are refused"(scene) {
    const spec = { restartPolicy: "Never", priorityClassName: "none", containers: [{ name: "c", image: "i" }] }
    yield* scene.create("jobs", job("j", { activeDeadlineSeconds: 3, template: { spec } }))
    yield* ends(scene, "Failed", "DeadlineExceeded")
    const refused = objects((yield* scene.get("events")).items).find(({ reason }) => reason === "FailedCreate")
    const attempts = number(refused?.count)
    // The controller waits one second after the first attempt, and two seconds after the second one.
    if (attempts < 2 || attempts > 3) return yield* new SceneFailed({ message: `attempts in 3 s: ${attempts}` })
  },

  *"a Job with labels on its pods"(scene) {
    const metadata = { labels: { app: "mover" }, annotations: { note: "here" } }
    const spec = { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] }
    yield* scene.create(
      "jobs",
      job("a-name-as-long-as-can-be-since-it-is-the-value-of-a-label-too-1", { template: { metadata, spec } })
    )
    yield* running(scene, 1)
  }
})
