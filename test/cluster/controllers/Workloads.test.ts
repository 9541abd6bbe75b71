import { describe, expect } from "bun:test"
import { at, type JsonObject, list, object, objects, text } from "@homeostat/apiserver/model/Json"
import { isDeleting, labelsOf, nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { effect } from "../Test.ts"
import { now, type Running, start } from "./Running.fixture.ts"

/** The shortcuts of a test, which replace the kubelet. */
interface Scene extends Running {
  readonly pods: () => ReadonlyArray<JsonObject>
  /** Writes a status to all pods, or to the selected ones. */
  readonly setPodStatus: (status: JsonObject, which?: (pod: JsonObject) => boolean) => Effect.Effect<void>
}

const scene = (name: string, body: (scene: Scene) => Effect.Effect<unknown>) =>
  effect(name, () =>
    Effect.flatMap(start(), (running) => {
      running.make({ apiVersion: "v1", kind: "Node", metadata: { name: "node" } })
      const status = { conditions: [{ type: "Ready", status: "True" }], capacity: { cpu: "4", pods: "110" } }
      running.merge("v1", "Node", "node", { status }, "status")
      const pods = () => running.store.list("/pods", "default")
      return body({
        ...running,
        pods,
        setPodStatus: (status, which = () => true) =>
          Effect.suspend(() => {
            for (const pod of pods().filter(which)) running.merge("v1", "Pod", nameOf(pod), { status }, "status")
            return running.idle
          })
      })
    })
  )

const ready: JsonObject = {
  phase: "Running",
  podIP: "10.0.0.1",
  podIPs: [{ ip: "10.0.0.1" }],
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-11-21T10:00:00Z" }]
}

const unready: JsonObject = { ...ready, conditions: [{ type: "Ready", status: "False" }] }

const template = (image: string): JsonObject => ({
  metadata: { labels: { app: "d" } },
  spec: { containers: [{ name: "c", image }] }
})

const deployment = (spec: JsonObject = {}): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d" },
  spec: { replicas: 2, selector: { matchLabels: { app: "d" } }, template: template("i:1"), ...spec }
})

const job = (spec: JsonObject = {}): JsonObject => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "j" },
  spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } }, ...spec }
})

const reasons = (of: JsonObject | undefined) =>
  Object.fromEntries(objects(at(of, "status", "conditions")).map(({ reason, type }) => [text(type), reason]))

const end = (running: Running, pod: JsonObject) =>
  Effect.suspend(() => {
    running.remove("v1", "Pod", nameOf(pod), { gracePeriodSeconds: 0 })
    return running.idle
  })

describe("A Deployment", () => {
  scene("with the strategy Recreate creates new pods after the last old pod has ended", (running) =>
    Effect.gen(function* () {
      running.make(deployment({ strategy: { type: "Recreate" } }))
      yield* running.idle
      yield* running.setPodStatus(ready)
      running.merge("apps/v1", "Deployment", "d", { spec: { template: template("i:2") } })
      yield* running.idle
      const [one, other] = running.pods()
      expect(running.pods().map(isDeleting)).toEqual([true, true])
      yield* end(running, one ?? {})
      expect(running.pods().length).toBe(1)
      yield* end(running, other ?? {})
      expect(running.pods().map((pod) => at(objects(at(pod, "spec", "containers"))[0], "image"))).toEqual([
        "i:2",
        "i:2"
      ])
    })
  )

  scene("stays rolled out when its pods change later", (running) =>
    Effect.gen(function* () {
      running.make(deployment())
      yield* running.idle
      yield* running.setPodStatus(ready)
      yield* running.setPodStatus(unready)
      yield* TestClock.adjust("1 hour")
      const [first] = running.pods()
      yield* running.setPodStatus(ready, (pod) => nameOf(pod) === nameOf(first ?? {}))
      expect(reasons(running.find("apps/v1", "Deployment", "d"))).toEqual({
        Available: "MinimumReplicasUnavailable",
        Progressing: "NewReplicaSetAvailable"
      })
    })
  )

  scene("whose ReplicaSet's name is taken counts the collision, and uses another name", (running) =>
    Effect.gen(function* () {
      running.make(deployment())
      yield* running.idle
      const [made] = running.store.list("apps/replicasets", "default")
      running.remove("apps/v1", "Deployment", "d")
      yield* running.idle
      running.make({
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        metadata: { name: nameOf(made ?? {}) },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: "x" } },
          template: { ...template("i:1"), metadata: { labels: { app: "x" } } }
        }
      })
      running.make(deployment())
      yield* running.idle
      expect(at(running.find("apps/v1", "Deployment", "d"), "status", "collisionCount")).toBe(1)
      expect(running.pods().filter((pod) => !isDeleting(pod)).length).toBe(2)
    })
  )
})

scene("A ReplicaSet adopts a matching pod instead of creating one", (running) =>
  Effect.gen(function* () {
    running.make({ ...template("i"), apiVersion: "v1", kind: "Pod", metadata: { name: "lone", labels: { app: "d" } } })
    running.make({
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "r" },
      spec: { replicas: 1, selector: { matchLabels: { app: "d" } }, template: template("i") }
    })
    yield* running.idle
    expect(running.pods().map(nameOf)).toEqual(["lone"])
    running.merge("v1", "Pod", "lone", { metadata: { labels: { app: "other" } } })
    yield* running.idle
    expect(
      running.pods().map((pod) => [labelsOf(pod).app, list(at(pod, "metadata", "ownerReferences")).length])
    ).toEqual([
      ["other", 0],
      ["d", 1]
    ])
  })
)

describe("A Job", () => {
  scene("fails only after its last pod has ended", (running) =>
    Effect.gen(function* () {
      running.make(job({ activeDeadlineSeconds: 60, podReplacementPolicy: "Failed" }))
      yield* running.idle
      yield* running.setPodStatus(ready)
      yield* TestClock.adjust("1 minute")
      yield* running.idle
      const reasonsNow = () => Object.keys(reasons(running.find("batch/v1", "Job", "j")))
      expect(running.pods().map(isDeleting)).toEqual([true])
      expect(reasonsNow()).toEqual(["FailureTarget"])
      const [pod] = running.pods()
      yield* end(running, pod ?? {})
      expect(reasonsNow()).toEqual(["FailureTarget", "Failed"])
    })
  )

  for (const [policy, count, failed] of [
    ["TerminatingOrFailed", 2, 1],
    ["Failed", 1, undefined]
  ] as const) {
    scene(`with podReplacementPolicy ${policy} has ${count} pods while a deleted one terminates`, (running) =>
      Effect.gen(function* () {
        running.make(job({ podReplacementPolicy: policy }))
        yield* running.idle
        yield* running.setPodStatus(ready)
        const [pod] = running.pods()
        running.remove("v1", "Pod", nameOf(pod ?? {}))
        yield* running.idle
        yield* TestClock.adjust("15 seconds")
        yield* running.idle
        expect(running.pods().length).toBe(count)
        expect(at(running.find("batch/v1", "Job", "j"), "status", "failed")).toBe(failed)
      })
    )
  }

  scene("records an Event when more of its pods succeed than it wants", (running) =>
    Effect.gen(function* () {
      running.make(job())
      yield* running.idle
      const [pod = {}] = running.pods()
      const { finalizers, labels, ownerReferences } = object(pod.metadata)
      running.make({ ...pod, metadata: { name: "other", finalizers, labels, ownerReferences } })
      yield* running.setPodStatus({ phase: "Succeeded" })
      expect(at(running.find("batch/v1", "Job", "j"), "status", "succeeded")).toBe(2)
      expect(running.store.list("/events", "default").map(({ reason }) => reason)).toContain("TooManySucceededPods")
    })
  )

  scene("is kept for ttlSecondsAfterFinished", (running) =>
    Effect.gen(function* () {
      running.make(job({ ttlSecondsAfterFinished: 60 }))
      yield* running.idle
      yield* running.setPodStatus({ phase: "Succeeded" })
      const isThere = () => running.find("batch/v1", "Job", "j") !== undefined
      yield* TestClock.adjust("59 seconds")
      yield* running.idle
      expect(isThere()).toBe(true)
      yield* TestClock.adjust("1 second")
      yield* running.idle
      expect([isThere(), running.pods().length]).toEqual([false, 0])
    })
  )
})

scene("A terminating namespace deletes its pods first", (running) =>
  Effect.gen(function* () {
    running.make({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } })
    running.make({ ...template("i"), apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }, "team")
    running.make({ apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }, "team")
    yield* running.idle
    running.remove("v1", "Namespace", "team")
    yield* running.idle
    expect(at(running.find("v1", "Pod", "p", "team"), "metadata", "deletionTimestamp")).toBeDefined()
    expect(running.find("v1", "Secret", "s", "team")).toBeDefined()
    const kind = running.registry.named("v1", "Pod")
    if (kind !== undefined) running.verbs.delete(kind, "team", "p", { gracePeriodSeconds: 0 }, { now })
    yield* running.idle
    expect(running.find("v1", "Namespace", "team")).toBeUndefined()
  })
)

scene("Endpoints, slices and budgets follow the pods", (running) =>
  Effect.gen(function* () {
    const selector = { app: "d" }
    const ports = [{ port: 80, targetPort: 8080 }]
    running.make({ apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { selector, ports } })
    const budget = { minAvailable: 1, selector: { matchLabels: selector } }
    running.make({ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "b" }, spec: budget })
    running.make(deployment())
    yield* running.idle
    const [first] = running.pods()
    yield* running.setPodStatus(ready)
    yield* running.setPodStatus(unready, (pod) => nameOf(pod) === nameOf(first ?? {}))
    const [subset] = objects(running.find("v1", "Endpoints", "s")?.subsets)
    expect([list(subset?.addresses).length, list(subset?.notReadyAddresses).length]).toEqual([1, 1])
    const [slice] = running.store
      .list("discovery.k8s.io/endpointslices", "default")
      .filter((one) => nameOf(one) !== "kubernetes")
    expect(objects(slice?.endpoints).map((endpoint) => at(endpoint, "conditions", "ready"))).toEqual([false, true])
    const status = object(running.find("policy/v1", "PodDisruptionBudget", "b")?.status)
    expect(status).toMatchObject({ currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 2 })
    yield* running.setPodStatus(ready)
    expect(running.find("policy/v1", "PodDisruptionBudget", "b")?.status).toMatchObject({ disruptionsAllowed: 1 })
  })
)

describe("A claim", () => {
  const claim = (spec: JsonObject = {}): JsonObject => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "c" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec }
  })
  const phase = (running: Running) => at(running.find("v1", "PersistentVolumeClaim", "c"), "status", "phase")
  const user: JsonObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: {
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }]
    }
  }

  scene("gets a volume of its own, which is deleted with the claim after its last pod", (running) =>
    Effect.gen(function* () {
      running.make(claim())
      running.make(user)
      yield* running.idle
      expect(phase(running)).toBe("Bound")
      expect(at(running.find("v1", "Pod", "p"), "spec", "nodeName")).toBe("node")
      running.remove("v1", "PersistentVolumeClaim", "c")
      yield* running.idle
      expect(phase(running)).toBe("Bound")
      running.remove("v1", "Pod", "p", { gracePeriodSeconds: 0 })
      yield* running.idle
      expect(phase(running)).toBeUndefined()
      expect(running.store.list("/persistentvolumes")).toEqual([])
    })
  )

  scene("is bound to the smallest matching volume", (running) =>
    Effect.gen(function* () {
      for (const [name, storage] of [
        ["large", "5Gi"],
        ["fitting", "2Gi"],
        ["small", "500Mi"]
      ]) {
        running.make({
          apiVersion: "v1",
          kind: "PersistentVolume",
          metadata: { name },
          spec: {
            capacity: { storage },
            accessModes: ["ReadWriteOnce"],
            storageClassName: "s",
            hostPath: { path: "/" }
          }
        })
      }
      running.make(claim({ storageClassName: "s" }))
      yield* running.idle
      expect(at(running.find("v1", "PersistentVolumeClaim", "c"), "spec", "volumeName")).toBe("fitting")
      const annotations = at(running.find("v1", "PersistentVolume", "fitting"), "metadata", "annotations")
      expect(annotations).toEqual({ "pv.kubernetes.io/bound-by-controller": "yes" })
      expect(at(running.find("v1", "PersistentVolume", "large"), "status", "phase")).toBe("Available")
    })
  )

  scene("of a class with WaitForFirstConsumer waits for a pod", (running) =>
    Effect.gen(function* () {
      running.make({
        apiVersion: "storage.k8s.io/v1",
        kind: "StorageClass",
        metadata: { name: "late" },
        provisioner: "homeostat.dev/folder",
        volumeBindingMode: "WaitForFirstConsumer"
      })
      running.make(claim({ storageClassName: "late" }))
      yield* running.idle
      expect(phase(running)).toBe("Pending")
      running.make(user)
      yield* running.idle
      expect(phase(running)).toBe("Bound")
    })
  )
})
