/** The scenes of CronJobs. Their schedules have seconds, so that a real CronJob does not wait for the next minute. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { at, objects, text } from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import type { Scene } from "./Scene.ts"
import { holds, job, noPods, pods, scripts } from "./Script.ts"

const cronJob = (spec: JsonObject = {}): JsonObject => ({
  metadata: { name: "c" },
  spec: {
    schedule: "@every 5s",
    jobTemplate: {
      metadata: { labels: { of: "c" }, annotations: { note: "a" } },
      spec: object(job("j").spec)
    },
    ...spec
  }
})

const object = (value: JsonObject[string]): JsonObject => value as JsonObject

const has = (scene: Scene, what: string, test: (found: JsonObject) => boolean) =>
  scene.until(what, holds(scene, "cronjobs/c", test))

const active = (found: JsonObject): ReadonlyArray<JsonObject> => objects(at(found, "status", "active"))

/** Suspends the CronJob after it has made a Job, and returns the Job's name. */
const runOnce = (scene: Scene, spec: JsonObject = {}) =>
  Effect.gen(function* () {
    yield* scene.create("cronjobs", cronJob(spec))
    yield* has(scene, "a Job", (found) => active(found).length === 1)
    yield* scene.change("cronjobs/c", { spec: { suspend: true } })
    const [made] = objects((yield* scene.get("jobs")).items)
    yield* pods(scene, 1)
    return text(at(made, "metadata", "name")) ?? ""
  })

const hasEvent = (scene: Scene, reason: string) =>
  scene.until(
    `the Event ${reason}`,
    holds(scene, "events", ({ items }) => objects(items).some((one) => one.reason === reason))
  )

/** A suspended CronJob with an active Job that its controller did not make. */
const withJob = (scene: Scene, concurrencyPolicy: string) =>
  Effect.gen(function* () {
    const made = yield* scene.create("cronjobs", cronJob({ suspend: true, schedule: "@every 2s", concurrencyPolicy }))
    const uid = text(at(made, "metadata", "uid")) ?? ""
    const owner = { apiVersion: "batch/v1", kind: "CronJob", name: "c", uid, controller: true }
    const other = job("other")
    const stored = yield* scene.create("jobs", { ...other, metadata: { name: "other", ownerReferences: [owner] } })
    yield* hasEvent(scene, "UnexpectedJob")
    yield* pods(scene, 1)
    const ref = {
      apiVersion: "batch/v1",
      kind: "Job",
      name: "other",
      namespace: scene.namespace,
      uid: at(stored, "metadata", "uid")
    }
    yield* scene.change("cronjobs/c/status", { status: { active: [ref] } })
    yield* scene.change("cronjobs/c", { spec: { suspend: false } })
  })

export const scenes = scripts({
  *"a CronJob makes a Job, which completes"(scene) {
    const name = yield* runOnce(scene)
    yield* scene.exit(name, 0)
    yield* has(scene, "the last success", (found) => at(found, "status", "lastSuccessfulTime") !== undefined)
  },

  *"a CronJob makes a Job, which fails"(scene) {
    const jobTemplate = { spec: { ...object(job("j").spec), backoffLimit: 0 } }
    const name = yield* runOnce(scene, { jobTemplate })
    yield* scene.exit(name, 1)
    yield* hasEvent(scene, "SawCompletedJob")
  },

  *"a CronJob keeps no completed Job"(scene) {
    const name = yield* runOnce(scene)
    yield* scene.exit(name, 0)
    yield* has(scene, "the last success", (found) => at(found, "status", "lastSuccessfulTime") !== undefined)
    yield* scene.change("cronjobs/c", { spec: { successfulJobsHistoryLimit: 0 } })
    yield* scene.until(
      "the end of the Job",
      holds(scene, "jobs", ({ items }) => objects(items).length === 0)
    )
    yield* noPods(scene)
  },

  *"a CronJob forgets an active Job that is deleted"(scene) {
    const name = yield* runOnce(scene)
    yield* scene.remove(`jobs/${name}`, "Background")
    yield* noPods(scene)
    yield* has(scene, "no active Job", (found) => active(found).length === 0)
  },

  *"a suspended CronJob makes no Job"(scene) {
    yield* scene.create("cronjobs", cronJob({ suspend: true, schedule: "@every 1s" }))
    for (let count = 0; count < 30; count++) yield* scene.wait
  },

  *"a CronJob that forbids concurrent Jobs waits for the active one"(scene) {
    yield* withJob(scene, "Forbid")
    yield* hasEvent(scene, "JobAlreadyActive")
    yield* scene.change("cronjobs/c", { spec: { suspend: true } })
  },

  *"a CronJob replaces the active Job"(scene) {
    yield* withJob(scene, "Replace")
    yield* has(
      scene,
      "another Job",
      (found) => active(found).length === 1 && !active(found).some(({ name }) => name === "other")
    )
    yield* scene.change("cronjobs/c", { spec: { suspend: true } })
    yield* scene.until(
      "the end of the first pod",
      Effect.andThen(
        scene.kubelet,
        holds(
          scene,
          "pods",
          ({ items }) =>
            objects(items).length === 1 &&
            objects(items).every(
              (pod) => at(pod, "status", "phase") === "Running" && at(pod, "metadata", "labels", "job-name") !== "other"
            )
        )
      )
    )
  },

  *"a CronJob is deleted with its Jobs"(scene) {
    yield* runOnce(scene)
    yield* scene.remove("cronjobs/c", "Background")
    yield* noPods(scene)
    yield* scene.until(
      "the end of the Job",
      holds(scene, "jobs", ({ items }) => objects(items).length === 0)
    )
  }
})
