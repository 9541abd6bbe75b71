import { expect, test } from "bun:test"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as EmbeddedCluster from "../EmbeddedCluster.ts"
import { effect } from "../Test.ts"
import * as BackOff from "./BackOff.ts"
import * as Volumes from "./PodVolumes.ts"
import * as PodWorker from "./PodWorker.ts"
import * as SimulatedPods from "./SimulatedPods.ts"

test.each([
  [0, 0],
  [1, 10],
  [2, 20],
  [5, 160],
  [6, 300],
  [2000, 300]
])("A container that was restarted %p times waits %p s", (restarts, seconds) => {
  expect(Duration.toSeconds(BackOff.delay(restarts))).toBe(seconds)
})

const node: PodWorker.Node = {
  name: "node",
  ip: "127.0.0.1",
  images: {},
  unpullable: [],
  times: SimulatedPods.defaults,
  pods: undefined,
  events: true,
  places: Volumes.places(""),
  environment: {},
  address: () => "10.244.0.1",
  host: () => "127.0.0.1"
}

effect("A kubelet keeps a condition of another writer that it has not yet observed", () =>
  Effect.gen(function* () {
    const { client } = yield* EmbeddedCluster.make({ controllers: [], kubelet: false })
    const key = { namespace: "default", name: "web" }
    yield* Effect.gen(function* () {
      const pod = yield* Client.create(Pod, {
        metadata: key,
        spec: { nodeName: node.name, containers: [{ name: "main", image: "web:1" }] }
      })
      const { run } = yield* PodWorker.make(node, pod, Effect.void)
      const disruption = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }
      yield* Client.status.patch(Pod, key, Patch.strategic({ status: { conditions: [disruption] } }))
      yield* Effect.forkChild(run)
      yield* TestClock.adjust("1 second")
      const { status } = yield* Client.get(Pod, key)
      expect(status?.conditions?.map(({ reason, status, type }) => [type, status, reason])).toEqual([
        ["PodReadyToStartContainers", "True", undefined],
        ["Initialized", "True", undefined],
        ["Ready", "True", undefined],
        ["ContainersReady", "True", undefined],
        ["DisruptionTarget", "True", "EvictionByEvictionAPI"]
      ])
    }).pipe(Effect.provide(Layer.mergeAll(client, NodeFileSystem.layer)))
  })
)

effect("A pod without a program becomes ready after the delays of its probes", () =>
  Effect.gen(function* () {
    const { client } = yield* EmbeddedCluster.make({ controllers: [], kubelet: false })
    const key = { namespace: "default", name: "web" }
    const httpGet = { port: 80 }
    yield* Effect.gen(function* () {
      const pod = yield* Client.create(Pod, {
        metadata: key,
        spec: {
          nodeName: node.name,
          containers: [
            {
              name: "main",
              image: "web:1",
              startupProbe: { httpGet, initialDelaySeconds: 5 },
              readinessProbe: { httpGet, initialDelaySeconds: 30, periodSeconds: 10, successThreshold: 2 }
            }
          ]
        }
      })
      const { run } = yield* PodWorker.make(node, pod, Effect.void)
      yield* Effect.forkChild(run)
      const after = (duration: Duration.Input) =>
        Effect.gen(function* () {
          yield* TestClock.adjust(duration)
          const { status } = yield* Client.get(Pod, key)
          return status?.containerStatuses?.map(({ ready, started }) => ({ ready, started }))[0]
        })
      expect(yield* after("2 seconds")).toEqual({ ready: false, started: false })
      expect(yield* after("5 seconds")).toEqual({ ready: false, started: true })
      expect(yield* after("32 seconds")).toEqual({ ready: false, started: true })
      expect(yield* after("3 seconds")).toEqual({ ready: true, started: true })
    }).pipe(Effect.provide(Layer.mergeAll(client, NodeFileSystem.layer)))
  })
)
