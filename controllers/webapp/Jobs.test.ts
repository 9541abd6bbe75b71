/** The jobs of a WebApp on the embedded cluster, in virtual time. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { Deployment, Job, Namespace, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import type * as SimulatedPods from "@homeostat/testkit/kubelet/SimulatedPods"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { desiredDeployment } from "./children.ts"
import { controller } from "./controller.ts"
import type { Entry } from "./Jobs.ts"
import * as JobTemplate from "./JobTemplate.ts"
import { WebApp } from "./WebApp.ts"

const manager = Manager.launch([controller])
const crds = [Crd.of(WebApp)]
const key = { namespace: "default", name: "shop" }
const migrate: Entry = { name: "migrate", command: ["migrate"] }
const image = (version: number) => `registry.test/web:${version}`

const create = (jobs: ReadonlyArray<Entry>) =>
  Client.create(WebApp, { metadata: key, spec: { image: image(1), replicas: 1, jobs } })

const change = (spec: object) => Client.patch(WebApp, key, Patch.merge({ spec }))

const app = Client.get(WebApp, key)
const isRunning = ({ metadata, status }: WebApp) =>
  status?.phase === "Running" && status.observedGeneration === metadata.generation
const running = eventually("it runs", app, isRunning)

/** The Jobs, as `image: ready`. */
const jobs = Effect.map(Client.list(Job, { namespace: key.namespace }), ({ items }) =>
  items.map(({ spec, status }) => `${spec?.template.spec?.containers[0]?.image}: ${status?.ready === 1}`).toSorted()
)

const deployed = Effect.map(Client.get(Deployment, key), ({ spec }) => spec?.template.spec?.containers[0]?.image)

/** Whether a pod is that of a job of this image. */
const isJob = (pod: Pod, version: number) =>
  pod.metadata.labels?.[JobTemplate.jobLabel] !== undefined && pod.spec?.containers[0]?.image === image(version)

/** A cluster whose pods follow this plan. */
const test = (pods: SimulatedPods.Pods) => Harness.make({ crds, manager, kubelet: { pods } })

describe("a job whose program fails", () => {
  let exitCode = 1
  const failing = test((pod) => (isJob(pod, 1) ? { ends: { after: "1 second", exitCode } } : undefined))

  failing("is tried three times, then the WebApp is Failed, and runs once its Job was deleted", () =>
    Effect.gen(function* () {
      exitCode = 1
      yield* create([migrate])
      const { status } = yield* eventually("it is Failed", app, ({ status }) => status?.phase === "Failed")
      const [job] = (yield* Client.list(Job, { namespace: key.namespace })).items
      expect(job?.status?.failed).toBe(3)
      expect(Condition.find(status?.conditions, "JobsComplete")).toMatchObject({
        status: "False",
        reason: "JobFailed",
        message: `Job ${job?.metadata.name} failed: Job has reached the specified backoff limit (see kubectl logs job/${job?.metadata.name}; change the spec, or delete the Job to run it again)`
      })
      expect(Condition.find(status?.conditions, "DeploymentReady")).toMatchObject({
        status: "False",
        reason: "Waiting",
        message: `the Deployment is created when Job ${job?.metadata.name} is complete`
      })
      expect(Condition.isTrue(status?.conditions, "ServiceReady")).toBe(true)
      exitCode = 0
      yield* Client.delete(Job, { ...key, name: job?.metadata.name ?? "" })
      yield* running
    })
  )
})

describe("a newer revision during a job", () => {
  test((pod) => (isJob(pod, 2) ? { ends: { after: "5 minutes", exitCode: 0 } } : undefined))(
    "waits until the job ends, so that two jobs never work at the same time",
    () =>
      Effect.gen(function* () {
        yield* create([migrate])
        yield* running
        yield* change({ image: image(2) })
        yield* TestClock.adjust("10 seconds")
        yield* change({ image: image(3) })
        yield* TestClock.adjust("1 minute")
        expect(yield* jobs).toEqual([`${image(2)}: true`])
        expect(Condition.find((yield* app).status?.conditions, "JobsComplete")).toMatchObject({
          reason: "WaitingForJob"
        })
        expect(yield* deployed).toBe(image(1))
        yield* TestClock.adjust("5 minutes")
        expect(yield* Effect.map(app, isRunning)).toBe(true)
        expect([yield* jobs, yield* deployed]).toEqual([[`${image(3)}: false`], image(3)])
      })
  )

  const waits = { reason: "ImagePullBackOff", message: "Back-off pulling image" }
  test((pod) => (isJob(pod, 2) ? { waits } : undefined))("takes the place of a job that cannot start", () =>
    Effect.gen(function* () {
      yield* create([migrate])
      yield* running
      yield* change({ image: image(2) })
      yield* TestClock.adjust("10 seconds")
      expect(Condition.find((yield* app).status?.conditions, "JobsComplete")).toMatchObject({
        reason: "ImagePullFailed"
      })
      yield* change({ image: image(3) })
      yield* TestClock.adjust("10 seconds")
      expect([yield* jobs, yield* deployed]).toEqual([[`${image(3)}: false`], image(3)])
    })
  )
})

describe("a job", () => {
  let isLate = false
  let writes: Array<string> = []
  const late = Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, (next) => ({
      ...next,
      send: (request: Request) => {
        if (request.method !== "GET" && request.path.includes("/jobs/")) writes.push(request.path)
        return next.send(request)
      },
      open: (request: Request) =>
        Effect.map(next.open(request), (stream) => ({
          ...stream,
          next: Effect.flatMap(stream.next, (part) =>
            Effect.delay(Effect.succeed(part), isLate && request.path.includes("/webapps") ? 20_000 : 0)
          )
        }))
    }))
  )
  Harness.make({ crds, manager: Effect.provide(manager, late) })(
    "does not run for a spec that the API server no longer has",
    () =>
      Effect.gen(function* () {
        isLate = true
        writes = []
        yield* create([migrate])
        yield* TestClock.adjust("5 seconds")
        yield* change({ image: image(2) })
        yield* TestClock.adjust("1 minute")
        expect(writes).toHaveLength(1)
        expect(yield* jobs).toEqual([`${image(2)}: false`])
      })
  )

  Harness.make({ crds, manager })("runs within a minute after the foreign Job with its name was deleted", () =>
    Effect.gen(function* () {
      const made = yield* Client.create(WebApp, { metadata: key, spec: { image: image(1), replicas: 0 } })
      const wanted = { ...made, spec: { ...made.spec, jobs: [migrate] } }
      const foreign = { ...key, name: JobTemplate.nameOf(wanted, migrate, desiredDeployment(wanted)) }
      const container = { name: "theirs", image: "registry.test/theirs:1" }
      yield* Client.create(Job, {
        metadata: foreign,
        spec: { suspend: true, template: { spec: { restartPolicy: "Never", containers: [container] } } }
      })
      yield* change({ jobs: [migrate] })
      yield* TestClock.adjust("10 seconds")
      expect(Condition.find((yield* app).status?.conditions, "Stalled")).toMatchObject({ reason: "NotOwned" })
      yield* Client.delete(Job, foreign)
      yield* TestClock.adjust("65 seconds")
      expect((yield* app).status?.phase).toBe("Stopped")
      expect(yield* jobs).toEqual([`${image(1)}: false`])
    })
  )

  Harness.make({ crds, manager })("that ends after the rollout keeps the WebApp from Ready until then", () =>
    Effect.gen(function* () {
      yield* create([{ ...migrate, name: "smoke", when: "After" }])
      const rolledOut = yield* eventually("the pods are ready", app, ({ status }) =>
        Condition.isTrue(status?.conditions, "DeploymentReady")
      )
      expect(Condition.find(rolledOut.status?.conditions, "Ready")).toMatchObject({
        status: "False",
        reason: expect.stringMatching(/^JobRunning|RolloutInProgress$/)
      })
      yield* running
      const { items } = yield* Client.list(Pod, {
        namespace: key.namespace,
        labelSelector: `${JobTemplate.jobLabel}=smoke`
      })
      expect(items).toHaveLength(1)
    })
  )
})

Harness.make({ crds, manager })("a Job without a pod says why, until a pod exists", () =>
  Effect.gen(function* () {
    const enforce = (level: string) =>
      Client.patch(
        Namespace,
        { name: key.namespace },
        Patch.merge({ metadata: { labels: { "pod-security.kubernetes.io/enforce": level } } })
      )
    yield* enforce("restricted")
    yield* create([migrate])
    const { status } = yield* eventually(
      "the cause is known",
      app,
      ({ status }) => Condition.find(status?.conditions, "JobsComplete")?.reason === "FailedCreate"
    )
    const [job] = (yield* Client.list(Job, { namespace: key.namespace })).items
    const message = Condition.find(status?.conditions, "JobsComplete")?.message
    expect(message).toStartWith(`Job ${job?.metadata.name} has no pod yet: Error creating: `)
    expect(message).toContain("violates PodSecurity")
    yield* enforce("privileged")
    yield* eventually("it runs", app, isRunning, "10 minutes")
  })
)
