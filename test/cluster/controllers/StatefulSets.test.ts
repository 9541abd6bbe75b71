import { describe, expect } from "bun:test"
import { at, type JsonObject, objects } from "@homeostat/apiserver/model/Json"
import { nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { effect } from "../Test.ts"
import * as Running from "./Running.fixture.ts"

const template = (image: string): JsonObject => ({
  metadata: { labels: { app: "s" } },
  spec: { containers: [{ name: "c", image }] }
})

const set = (spec: JsonObject): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "s", namespace: Running.namespace },
  spec: { serviceName: "web", selector: { matchLabels: { app: "s" } }, template: template("i:1"), ...spec }
})

const pods = (running: Running.Running) => running.store.list("/pods")

/** Sets the pods to ready. */
const kubelet = (running: Running.Running) =>
  Effect.suspend(() => {
    const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-11-21T10:00:00Z" }
    for (const pod of pods(running)) {
      running.merge("v1", "Pod", nameOf(pod), { status: { phase: "Running", conditions: [ready] } }, "status")
    }
    return running.idle
  })

describe("A StatefulSet", () => {
  effect("updates up to maxUnavailable pods at once", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      const rollingUpdate = { maxUnavailable: 2 }
      const updateStrategy = { type: "RollingUpdate", rollingUpdate }
      running.make(set({ replicas: 3, podManagementPolicy: "Parallel", updateStrategy }))
      yield* running.idle
      yield* kubelet(running)
      running.merge("apps/v1", "StatefulSet", "s", { spec: { template: template("i:2") } })
      yield* running.idle
      const images = pods(running).map((pod) => objects(at(pod, "spec", "containers")).map(({ image }) => image))
      expect(images.flat()).toEqual(["i:1", "i:2", "i:2"])
    })
  )

  effect("waits for the claim of the previous pod that is being deleted", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      const claim = {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
      }
      const persistentVolumeClaimRetentionPolicy = { whenScaled: "Delete", whenDeleted: "Retain" }
      running.make(set({ replicas: 1, volumeClaimTemplates: [claim], persistentVolumeClaimRetentionPolicy }))
      yield* running.idle
      yield* kubelet(running)
      const first = running.find("v1", "PersistentVolumeClaim", "data-s-0")
      expect(first).toBeDefined()
      running.merge("apps/v1", "StatefulSet", "s", { spec: { replicas: 0 } })
      yield* running.idle
      expect(pods(running)).toEqual([])
      running.merge("apps/v1", "StatefulSet", "s", { spec: { replicas: 1 } })
      yield* running.idle
      yield* TestClock.adjust("1 minute")
      yield* running.idle
      expect(pods(running).map(nameOf)).toEqual(["s-0"])
      const second = running.find("v1", "PersistentVolumeClaim", "data-s-0")
      expect(at(second, "metadata", "uid")).not.toBe(at(first, "metadata", "uid"))
    })
  )

  // The hash of a StatefulSet on kube-apiserver 1.37.1.
  effect("names its revision by the hash of its template", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      running.make(set({ replicas: 0 }))
      yield* running.idle
      expect(running.store.list("apps/controllerrevisions").map(nameOf)).toEqual(["s-5cc445fdfc"])
    })
  )
})
