/** Tests of the jobs of a WebApp: programs that must succeed before or after a rollout. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { desiredDeployment } from "@homeostat/webapp/children"
import type { Entry } from "@homeostat/webapp/Jobs"
import * as JobTemplate from "@homeostat/webapp/JobTemplate"
import { templateKey } from "@homeostat/webapp/Rollback"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const image = (version: number) => `registry.test/web:${version}`

const migrate: Entry = { name: "migrate", command: ["migrate"] }
const smoke: Entry = { name: "smoke", command: ["smoke"], when: "After" }

/** Lists the Jobs of the scene as `job of image`, the oldest first. */
const jobs = ({ namespace }: Scene.Scene) =>
  Effect.map(Client.list(Job, { namespace }), ({ items }) =>
    items
      .toSorted((a, b) => Number(BigInt(a.metadata.resourceVersion) - BigInt(b.metadata.resourceVersion)))
      .map(({ metadata, spec }) => ({
        name: metadata.name,
        uid: metadata.uid,
        job: metadata.labels?.[JobTemplate.jobLabel],
        image: spec?.template.spec?.containers[0]?.image
      }))
  )

const imageIn = (deployment: Deployment) => Scene.containerOf(deployment)?.image

const change = (scene: Scene.Scene, spec: object) => Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec }))

const uids = (scene: Scene.Scene) => Effect.map(jobs(scene), (found) => found.map(({ uid }) => uid))

/** A pod template whose pods cannot start, on the embedded server and under kwok. */
const broken = { metadata: { annotations: { "envtest/image-pull-error": "" } } }

/** Waits until the condition JobsComplete of the present generation has this reason. */
const until = (scene: Scene.Scene, reason: string) =>
  Managed.eventually(
    `JobsComplete has the reason ${reason}`,
    Scene.app(scene, "shop"),
    (app) =>
      app.status?.observedGeneration === app.metadata.generation &&
      Scene.condition(app, "JobsComplete")?.reason === reason
  )

describe.concurrent("the jobs of a WebApp", () => {
  Scene.managed("A job succeeds before the Deployment is created, and before each new template", (scene) =>
    Effect.gen(function* () {
      const seenJobs = yield* Scene.record(scene, Job)
      const seenDeployments = yield* Scene.record(scene, Deployment)
      yield* Scene.launch(scene, "shop", { image: image(1), jobs: [migrate] })
      yield* change(scene, { image: image(2) })
      yield* Scene.settled(scene, "shop")
      const completions = yield* Managed.eventually(
        "the watch has both complete Jobs",
        Effect.sync(() =>
          [image(1), image(2)].map(
            (image) =>
              seenJobs().find(
                ({ object: { spec, status } }) =>
                  spec?.template.spec?.containers[0]?.image === image && (status?.succeeded ?? 0) > 0
              )?.at
          )
        ),
        (all) => all.every((at) => at !== undefined)
      )
      const changes = [image(1), image(2)].map(
        (image) => seenDeployments().find(({ object }) => imageIn(object) === image)?.at
      )
      for (const [index, at] of completions.entries()) expect(at ?? 0n).toBeLessThan(changes[index] ?? 0n)
      const app = yield* Scene.app(scene, "shop")
      expect(Scene.condition(app, "JobsComplete")).toMatchObject({
        status: "True",
        reason: "AllJobsComplete",
        message: "1 of 1 jobs are complete"
      })
    })
  )

  Scene.managed("The Job of an older revision goes, and that of the present one stays with its log", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: image(1), jobs: [migrate] })
      yield* change(scene, { image: image(2) })
      yield* Scene.settled(scene, "shop")
      expect(yield* jobs(scene)).toMatchObject([{ job: "migrate", image: image(2) }])
      const job = yield* Client.get(Job, scene.key((yield* jobs(scene))[0]?.name ?? ""))
      expect(job.spec?.ttlSecondsAfterFinished).toBeUndefined()
      const { items } = yield* Client.list(Pod, {
        namespace: scene.namespace,
        labelSelector: `batch.kubernetes.io/job-name=${job.metadata.name}`
      })
      expect(items).toHaveLength(1)
    })
  )

  Scene.managed("No job runs again after a scale, a label, an edit by hand or a restart of the manager", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: image(1), jobs: [migrate, smoke] })
      yield* Scene.settled(scene, "shop")
      const before = yield* uids(scene)
      expect(before).toHaveLength(2)
      yield* ByHand.scale(scene, WebApp, 3)
      yield* ByHand.label(scene, WebApp, { team: "a" })
      yield* change(scene, { strategy: "Recreate" })
      // A Deployment that becomes Recreate between a scale and the end of its rollout is stuck: kube-controller-manager takes it for a
      // scaling, and scales several ReplicaSets of a RollingUpdate only.
      yield* Scene.settled(scene, "shop")
      yield* ByHand.set(scene, { image: image(9) })
      yield* Scene.settled(scene, "shop")
      yield* Scene.during(scene.manage(), Scene.settled(scene, "shop"))
      expect(imageIn(yield* Scene.deployment(scene, "shop"))).toBe(image(1))
      expect((yield* Scene.deployment(scene, "shop")).spec?.replicas).toBe(3)
      expect(yield* uids(scene)).toEqual(before)
    })
  )

  Scene.managed("A complete job does not run again after its Job or the Deployment is deleted", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: image(1), jobs: [migrate] })
      yield* Scene.settled(scene, "shop")
      const before = yield* uids(scene)
      yield* ByHand.remove(scene, Deployment)
      yield* Managed.eventually(
        "the Deployment is there again",
        Effect.option(Scene.deployment(scene, "shop")),
        (found) => found._tag === "Some" && found.value.metadata.deletionTimestamp === undefined
      )
      yield* Scene.settled(scene, "shop")
      expect(yield* uids(scene)).toEqual(before)
      const [job] = yield* jobs(scene)
      yield* Client.delete(Job, scene.key(job?.name ?? ""), { propagation: "Background" })
      yield* ByHand.label(scene, WebApp, { team: "a" })
      yield* Scene.settled(scene, "shop")
      expect(yield* jobs(scene)).toEqual([])
      expect(Scene.condition(yield* Scene.app(scene, "shop"), "JobsComplete")?.status).toBe("True")
    })
  )

  Scene.managed("A return to an older image runs the job again", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: image(1), jobs: [migrate] })
      const [first] = yield* jobs(scene)
      yield* change(scene, { image: image(2) })
      yield* Scene.settled(scene, "shop")
      yield* change(scene, { image: image(1) })
      yield* Scene.settled(scene, "shop")
      // The Job of the other image may need a while to go.
      const [again] = yield* Managed.eventually("one Job is left", jobs(scene), ({ length }) => length === 1)
      expect([again?.name, again?.image]).toEqual([first?.name, image(1)])
      expect(again?.uid).not.toBe(first?.uid)
      expect(imageIn(yield* Scene.deployment(scene, "shop"))).toBe(image(1))
    })
  )

  Scene.managed("A job after the rollout starts when all pods run the new template", (scene) =>
    Effect.gen(function* () {
      const seenJobs = yield* Scene.record(scene, Job)
      const seenDeployments = yield* Scene.record(scene, Deployment)
      yield* Scene.launch(scene, "shop", { image: image(1), jobs: [smoke] })
      yield* change(scene, { image: image(2) })
      yield* Scene.settled(scene, "shop")
      const started = seenJobs().find(({ object }) => object.spec?.template.spec?.containers[0]?.image === image(2))?.at
      const complete = seenDeployments().find(
        ({ object }) => imageIn(object) === image(2) && Scene.isRolledOut(object)
      )?.at
      expect(complete ?? 0n).toBeGreaterThan(0n)
      expect(started ?? 0n).toBeGreaterThan(complete ?? 0n)
    })
  )

  Scene.managed("Neither the Service nor the Deployment selects the pods of a job", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", {
        image: image(1),
        jobs: [migrate],
        podTemplate: { metadata: { labels: { tier: "web" } } }
      })
      const all = yield* Client.list(Pod, { namespace: scene.namespace })
      const ofJob = all.items.filter(({ metadata }) => metadata.labels?.[JobTemplate.jobLabel] !== undefined)
      expect(ofJob).toHaveLength(1)
      for (const selector of [
        (yield* Scene.service(scene, "shop")).spec?.selector,
        (yield* Scene.deployment(scene, "shop")).spec?.selector.matchLabels
      ]) {
        const labelSelector = Object.entries(selector ?? {})
          .map(([label, value]) => `${label}=${value}`)
          .join(",")
        const { items } = yield* Client.list(Pod, { namespace: scene.namespace, labelSelector })
        expect(items).toHaveLength(2)
        expect(items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === "Job")).toEqual([])
      }
    })
  )

  Scene.managed(
    "While a job cannot start, the status shows the reason, and the old pods follow spec.replicas",
    (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop", { image: image(1), jobs: [migrate] })
        yield* Scene.settled(scene, "shop")
        yield* change(scene, { image: image(2), replicas: 3, podTemplate: broken })
        const app = yield* until(scene, "ImagePullFailed")
        expect(app.status).toMatchObject({ phase: "Deploying", updatedReplicas: 0 })
        expect(Scene.condition(app, "Ready")).toMatchObject({ status: "False", reason: "ImagePullFailed" })
        expect(Scene.condition(app, "DeploymentReady")).toMatchObject({ status: "False", reason: "Waiting" })
        yield* Managed.eventually(
          "three old pods serve",
          Scene.deployment(scene, "shop"),
          ({ status }) => status?.readyReplicas === 3
        )
        expect(imageIn(yield* Scene.deployment(scene, "shop"))).toBe(image(1))

        yield* change(scene, { image: image(3), podTemplate: null })
        yield* Scene.settled(scene, "shop")
        expect(imageIn(yield* Scene.deployment(scene, "shop"))).toBe(image(3))
        expect(yield* jobs(scene)).toMatchObject([{ image: image(3) }])
      })
  )

  Scene.managed("The pods of a WebApp follow spec.replicas while its first job cannot start", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: image(1) })
      yield* Scene.settled(scene, "shop")
      const before = (yield* Scene.pods(scene, "shop")).map(({ metadata }) => metadata.uid)
      yield* change(scene, { image: image(2), replicas: 3, podTemplate: broken, jobs: [migrate] })
      yield* until(scene, "ImagePullFailed")
      const { spec } = yield* Managed.eventually(
        "three old pods serve",
        Scene.deployment(scene, "shop"),
        ({ status }) => status?.readyReplicas === 3
      )
      expect(spec?.template.spec?.containers[0]?.image).toBe(image(1))
      expect((yield* Scene.pods(scene, "shop")).map(({ metadata }) => metadata.uid)).toEqual(
        expect.arrayContaining(before)
      )
      yield* change(scene, { podTemplate: null })
      yield* Scene.settled(scene, "shop")
      expect(imageIn(yield* Scene.deployment(scene, "shop"))).toBe(image(2))
    })
  )

  Scene.managed("A failed job stops the rollout until its Job is deleted or the spec changes", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: image(1), jobs: [migrate] })
      yield* Scene.settled(scene, "shop")
      yield* change(scene, { podTemplate: broken, jobs: [{ ...migrate, timeoutSeconds: 1 }] })
      const app = yield* until(scene, "JobFailed")
      expect(app.status).toMatchObject({ phase: "Failed", readyReplicas: 2 })
      // The Job of the spec before may need a while to go.
      const [job] = yield* Managed.eventually("one Job is left", jobs(scene), ({ length }) => length === 1)
      expect(Scene.condition(app, "Stalled")).toMatchObject({ status: "True", reason: "JobFailed" })
      expect(Scene.condition(app, "JobsComplete")?.message).toBe(
        `Job ${job?.name} failed: Job was active longer than specified deadline (see kubectl logs job/${job?.name}; change the spec, or delete the Job to run it again)`
      )
      yield* Client.delete(Job, scene.key(job?.name ?? ""), { propagation: "Background" })
      const [again] = yield* Managed.eventually(
        "the job runs again",
        jobs(scene),
        ([found]) => found !== undefined && found.uid !== job?.uid
      )
      expect(again?.name).toBe(job?.name)
      yield* change(scene, { podTemplate: null, jobs: [migrate] })
      yield* Scene.settled(scene, "shop")
    })
  )

  Scene.managed("Without jobs in the spec, the Jobs go, and the pods do not roll", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: image(1), jobs: [migrate] })
      yield* Scene.settled(scene, "shop")
      const before = (yield* Scene.pods(scene, "shop")).map(({ metadata }) => metadata.uid).sort()
      yield* change(scene, { jobs: null })
      yield* Scene.settled(scene, "shop")
      yield* Managed.eventually("the Jobs go", jobs(scene), ({ length }) => length === 0)
      expect((yield* Scene.pods(scene, "shop")).map(({ metadata }) => metadata.uid).sort()).toEqual(before)
      const { annotations = {} } = (yield* Scene.deployment(scene, "shop")).metadata
      expect(Object.keys(annotations).filter((name) => name.startsWith("apps.kubedojo.io/"))).toEqual([templateKey])
      expect(Scene.condition(yield* Scene.app(scene, "shop"), "JobsComplete")).toBeUndefined()
    })
  )

  Scene.empty("A Job of another owner stays as it is, and the status reports it", (scene) =>
    Effect.gen(function* () {
      const app = yield* Scene.create(scene, "shop", { image: image(1), jobs: [migrate] })
      const name = JobTemplate.nameOf(app, migrate, desiredDeployment(app))
      const container = { name: "theirs", image: "registry.test/theirs:1" }
      const theirs = yield* Client.create(Job, {
        metadata: { namespace: scene.namespace, name },
        spec: { suspend: true, template: { spec: { restartPolicy: "Never", containers: [container] } } }
      })
      yield* scene.manage()
      const refused = yield* until(scene, "NotOwned")
      expect(refused.status?.phase).toBe("Failed")
      expect(Scene.condition(refused, "ServiceReady")?.status).toBe("True")
      expect(yield* uids(scene)).toEqual([theirs.metadata.uid])
    })
  )

  Scene.empty("A Deployment is adopted after the job has succeeded, and unchanged until then", (scene) =>
    Effect.gen(function* () {
      const labels = { tier: "web" }
      const container = { name: "app", image: image(0) }
      yield* Client.create(Deployment, {
        metadata: { namespace: scene.namespace, name: "shop", annotations: { "apps.kubedojo.io/adopt": "true" } },
        spec: {
          replicas: 1,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [container] } }
        }
      })
      yield* scene.manage()
      const jobs = [{ ...migrate, timeoutSeconds: 1 }]
      yield* Scene.create(scene, "shop", { image: image(1), jobs, podTemplate: broken })
      yield* until(scene, "JobFailed")
      const before = yield* Scene.deployment(scene, "shop")
      expect([imageIn(before), before.metadata.ownerReferences]).toEqual([image(0), undefined])
      yield* change(scene, { podTemplate: null, jobs: [migrate] })
      yield* Scene.settled(scene, "shop")
      const after = yield* Scene.deployment(scene, "shop")
      expect([imageIn(after), after.metadata.ownerReferences?.[0]?.kind]).toEqual([image(1), "WebApp"])
    })
  )
})
