/** Combinations of the features that choose the pod template of a WebApp, on the embedded cluster, in virtual time. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import {
  ConfigMap,
  Deployment,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  ResourceQuota
} from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { controller } from "@homeostat/webapp"
import { adoptAnnotation, containerOf } from "@homeostat/webapp/children"
import { jobLabel } from "@homeostat/webapp/JobTemplate"
import { WebApp } from "@homeostat/webapp/WebApp"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as ByHand from "./ByHand.ts"

const key = { namespace: "default", name: "shop" }
const scene = { namespace: key.namespace, key: () => key }

/** The image that cannot be pulled. */
const broken = "registry.test/web:broken"

/** The seconds that the program of a job takes. */
let seconds = 1
const test = Harness.make({
  crds: [Crd.of(WebApp)],
  manager: Manager.launch([controller]),
  kubelet: {
    pods: ({ metadata, spec }) =>
      metadata.labels?.[jobLabel] !== undefined
        ? { ends: { after: `${seconds} seconds`, exitCode: 0 } }
        : spec?.containers[0]?.image === broken
          ? { waits: { reason: "ImagePullBackOff", message: "not found" } }
          : undefined
  }
})

type Spec = Parameters<typeof WebApp.Desired>[0]["spec"]

const launch = (spec: Omit<Spec, "image">) =>
  Effect.gen(function* () {
    seconds = 1
    yield* Client.create(ConfigMap, { metadata: key, data: { theme: "dark" } })
    yield* Client.create(WebApp, {
      metadata: key,
      spec: { image: "registry.test/web:1", replicas: 2, progressDeadlineSeconds: 60, ...spec }
    })
    yield* runs
  })

const app = Client.get(WebApp, key)
const runs = eventually("it runs", app, ({ status }) => status?.phase === "Running")
const change = (spec: object) => Client.patch(WebApp, key, Patch.merge({ spec }))
const condition = (type: string) => Effect.map(app, ({ status }) => Condition.find(status?.conditions, type))
const image = Effect.map(Client.get(Deployment, key), (deployment) => {
  const name = containerOf(deployment)
  return deployment.spec?.template.spec?.containers.find((each) => each.name === name)?.image
})
const jobs = Effect.map(Client.list(Job, { namespace: key.namespace }), ({ items }) =>
  items.map(({ metadata }) => metadata.uid)
)
const rest = TestClock.adjust("30 seconds")

const config = [{ configMap: key.name, env: {} }]
const migrate = { name: "migrate", command: ["migrate"] }

/** The second image cannot be pulled, and the first one comes back. */
const failed = Effect.gen(function* () {
  yield* change({ image: broken })
  yield* TestClock.adjust("3 minutes")
  expect(yield* image).toBe("registry.test/web:1")
  expect(yield* condition("RolledBack")).toMatchObject({ status: "True", reason: "ProgressDeadlineExceeded" })
})

describe("A WebApp that came back after a failed rollout", () => {
  test("stays there while its ConfigMap is missing, and after that", () =>
    Effect.gen(function* () {
      yield* launch({ config, rollback: "Auto" })
      yield* failed
      yield* Client.delete(ConfigMap, key)
      yield* rest
      expect(yield* condition("ConfigReady")).toMatchObject({ status: "False" })
      expect(yield* condition("RolledBack")).toMatchObject({ status: "True" })
      yield* Client.create(ConfigMap, { metadata: key, data: { theme: "dark" } })
      yield* rest
      expect(yield* image).toBe("registry.test/web:1")
      expect(yield* condition("RolledBack")).toMatchObject({ status: "True" })
    }))

  test("stays there while its first ConfigMap is missing", () =>
    Effect.gen(function* () {
      yield* launch({ rollback: "Auto" })
      yield* failed
      yield* change({ config: [{ configMap: "missing", env: {} }] })
      yield* rest
      expect(yield* condition("RolledBack")).toMatchObject({ status: "True", reason: "ProgressDeadlineExceeded" })
      expect(yield* image).toBe("registry.test/web:1")
      yield* change({ config: null })
      yield* rest
      expect(yield* image).toBe("registry.test/web:1")
      expect(yield* condition("RolledBack")).toMatchObject({ status: "True" })
    }))

  test("stays there after a new job, and runs no job of the failed template again", () =>
    Effect.gen(function* () {
      yield* launch({ jobs: [migrate], rollback: "Auto" })
      yield* failed
      const before = yield* jobs
      yield* rest
      expect(yield* jobs).toEqual(before)
      seconds = 20
      yield* change({ jobs: [migrate, { name: "seed", command: ["seed"] }] })
      yield* TestClock.adjust("10 seconds")
      expect((yield* condition("RolledBack"))?.message).not.toContain("has the pod template of the spec")
      yield* TestClock.adjust("1 minute")
      expect(yield* image).toBe("registry.test/web:1")
      expect(yield* condition("RolledBack")).toMatchObject({ status: "True" })
    }))

  test("does not claim to run the spec while a job of the next template runs", () =>
    Effect.gen(function* () {
      yield* launch({ jobs: [migrate], rollback: "Auto" })
      yield* failed
      seconds = 20
      yield* change({ image: "registry.test/web:3" })
      yield* TestClock.adjust("10 seconds")
      expect(yield* image).toBe("registry.test/web:1")
      const found = yield* condition("RolledBack")
      expect(found?.message).not.toContain("has the pod template of the spec")
      expect(yield* condition("Stalled")).toBeUndefined()
      yield* runs
      expect(yield* image).toBe("registry.test/web:3")
      expect(yield* condition("RolledBack")).toMatchObject({ status: "False", reason: "SpecApplied" })
    }))
})

describe("A WebApp after kubectl rollout undo", () => {
  test("keeps the older template although the Job of the newer one was deleted", () =>
    Effect.gen(function* () {
      yield* launch({ jobs: [migrate] })
      yield* change({ image: "registry.test/web:2" })
      yield* rest
      yield* runs
      yield* Client.deleteAll(Job, { namespace: key.namespace })
      yield* rest
      expect(yield* jobs).toEqual([])
      yield* ByHand.undo(scene)
      yield* rest
      expect(yield* image).toBe("registry.test/web:1")
      expect(yield* jobs).toEqual([])
      expect(yield* condition("RolledBack")).toMatchObject({ status: "True", reason: "RolloutUndone" })
      yield* ByHand.undo(scene)
      yield* rest
      yield* runs
      expect(yield* image).toBe("registry.test/web:2")
      expect(yield* jobs).toEqual([])
    }))

  test("keeps the older template while its ConfigMap is missing, and after that", () =>
    Effect.gen(function* () {
      yield* launch({ config })
      yield* change({ image: "registry.test/web:2" })
      yield* rest
      yield* ByHand.undo(scene)
      yield* rest
      expect(yield* image).toBe("registry.test/web:1")
      yield* Client.delete(ConfigMap, key)
      yield* rest
      expect(yield* condition("RolledBack")).toMatchObject({ status: "True" })
      yield* Client.create(ConfigMap, { metadata: key, data: { theme: "dark" } })
      yield* rest
      expect(yield* image).toBe("registry.test/web:1")
      expect(yield* condition("RolledBack")).toMatchObject({ status: "True", reason: "RolloutUndone" })
    }))
})

test("A job whose container runs goes on when the jobs of a WebApp without a Deployment are removed", () =>
  Effect.gen(function* () {
    seconds = 60
    yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", jobs: [migrate] } })
    yield* TestClock.adjust("10 seconds")
    const before = yield* jobs
    expect(before).toHaveLength(1)
    yield* change({ jobs: null })
    yield* TestClock.adjust("10 seconds")
    expect(yield* jobs).toEqual(before)
    yield* TestClock.adjust("2 minutes")
    expect(yield* jobs).toEqual([])
  }))

describe("A Deployment that a WebApp does not own", () => {
  const labels = { app: "other" }
  const containers = [{ name: "web", image: "registry.test/other:1" }]
  const foreign = (annotations: { readonly [key: string]: string }, ownerReferences: ReadonlyArray<object>) =>
    Client.create(Deployment, {
      metadata: { ...key, annotations, ...(ownerReferences.length === 0 ? {} : { ownerReferences }) } as never,
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [...containers, { name: "proxy", image: "registry.test/proxy:1" }] }
        }
      }
    })
  const spec = { image: "registry.test/web:1", networkPolicy: { allowFrom: [] } }
  const nothing = Effect.gen(function* () {
    expect((yield* Client.list(NetworkPolicy, { namespace: key.namespace })).items).toEqual([])
    expect((yield* Client.list(PodDisruptionBudget, { namespace: key.namespace })).items).toEqual([])
    expect((yield* app).status?.readyReplicas).toBe(0)
    expect(yield* condition("DeploymentReady")).toMatchObject({ reason: "NotOwned" })
  })

  test("gets no policy and no budget if it cannot be adopted, also while a ConfigMap is missing", () =>
    Effect.gen(function* () {
      yield* foreign({ [adoptAnnotation]: "true" }, [])
      yield* rest
      yield* Client.create(WebApp, { metadata: key, spec })
      yield* rest
      yield* nothing
      yield* change({ config })
      yield* rest
      yield* nothing
    }))

  test("gets no policy and no budget if it has the annotation and another owner", () =>
    Effect.gen(function* () {
      const { metadata } = yield* Client.create(ConfigMap, { metadata: { ...key, name: "owner" } })
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: metadata.uid, controller: true }
      yield* foreign({ [adoptAnnotation]: "true" }, [owner])
      yield* rest
      yield* Client.create(WebApp, { metadata: key, spec: { ...spec, config } })
      yield* rest
      yield* nothing
    }))
})

test("A WebApp that takes over the Deployment of its predecessor starts no rollout while its ConfigMap is missing", () =>
  Effect.gen(function* () {
    yield* launch({ config })
    yield* Client.delete(WebApp, key, { propagation: "Orphan" })
    yield* eventually(
      "it is gone",
      Client.list(WebApp, { namespace: key.namespace }),
      ({ items }) => items.length === 0
    )
    yield* Client.delete(ConfigMap, key)
    yield* rest
    yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:2", config } })
    yield* rest
    expect(yield* image).toBe("registry.test/web:1")
    expect(yield* condition("ConfigReady")).toMatchObject({ status: "False" })
  }))

describe("A WebApp whose child a quota forbids:", () => {
  const forbid = (kind: string) =>
    Effect.andThen(
      Client.create(ResourceQuota, { metadata: key, spec: { hard: { [`count/${kind}`]: "0" } } }),
      TestClock.adjust("30 seconds")
    )
  const create = (spec: Omit<Spec, "image">) =>
    Effect.andThen(
      Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", ...spec } }),
      TestClock.adjust("1 minute")
    )
  const refused = { status: "False", reason: "Forbidden", message: expect.stringContaining("exceeded quota: shop") }

  for (const [type, kind, spec] of [
    ["DisruptionBudgetReady", "poddisruptionbudgets.policy", {}],
    ["Autoscaled", "horizontalpodautoscalers.autoscaling", { autoscaling: { max: 5 } }]
  ] as const) {
    test(`${kind} runs and is Ready, and the condition ${type} has the reason`, () =>
      Effect.gen(function* () {
        yield* forbid(kind)
        yield* create(spec)
        expect((yield* app).status).toMatchObject({ phase: "Running", readyReplicas: 2, selector: expect.any(String) })
        expect(yield* condition("Ready")).toMatchObject({ status: "True", reason: "AllReplicasReady" })
        expect(yield* condition(type)).toMatchObject(refused)
        yield* Client.delete(ResourceQuota, key)
        yield* TestClock.adjust("20 minutes")
        expect((yield* condition(type))?.reason).not.toBe("Forbidden")
      }))
  }

  for (const [type, kind, spec, readyReplicas] of [
    ["NetworkPolicyReady", "networkpolicies.networking.k8s.io", { networkPolicy: { allowFrom: [] } }, 2],
    ["ServiceReady", "services", {}, 2],
    ["JobsComplete", "jobs.batch", { jobs: [migrate] }, 0],
    ["DeploymentReady", "deployments.apps", {}, 0]
  ] as const) {
    test(`${kind} is Failed, and the condition ${type} has the reason`, () =>
      Effect.gen(function* () {
        yield* forbid(kind)
        yield* create(spec)
        expect((yield* app).status).toMatchObject({ phase: "Failed", readyReplicas })
        for (const each of ["Ready", type]) expect(yield* condition(each)).toMatchObject(refused)
        expect(yield* condition("Stalled")).toMatchObject({ status: "True", reason: "Forbidden" })
        yield* Client.delete(ResourceQuota, key)
        yield* TestClock.adjust("20 minutes")
        expect((yield* app).status?.phase).toBe("Running")
      }))
  }
})
