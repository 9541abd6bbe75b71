/** Tests of a WebApp's status, from its creation through changes of its spec. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const order = ["Pending", "Deploying", "Running"]

/** Returns the recorded states of one WebApp. */
const historyOf = (seen: ReadonlyArray<Scene.Seen<WebApp>>, name: string) =>
  seen.filter(({ object }) => object.metadata.name === name)

describe.concurrent("the life of a WebApp", () => {
  Scene.managed(
    "a new one goes by Pending and Deploying to Running, never back, and is not Ready before it is",
    (scene) =>
      Effect.gen(function* () {
        const seen = yield* Scene.record(scene, WebApp)
        yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", replicas: 5 })
        const all = yield* Managed.eventually("an event of the watch", Effect.sync(seen), (seen) =>
          seen.some(({ object }) => Scene.isAt("Running")(object))
        )
        const history = historyOf(all, "shop").filter(({ object }) => object.status?.phase !== undefined)

        const phases = Scene.steps(history.map(({ object }) => order.indexOf(object.status?.phase ?? "")))
        expect(phases).toEqual([...phases].sort())
        expect(phases[0]).toBe(0)
        expect(phases.at(-1)).toBe(2)

        expect(history.map(({ object }) => object.status?.observedGeneration)).toEqual(history.map(() => 1))
        const ready = Scene.steps(history.map(({ object }) => Scene.condition(object, "Ready")?.status))
        expect(["Unknown", "False"]).toContain(ready[0] ?? "none")
        expect(ready.filter((status) => status === "True")).toHaveLength(1)
        expect(ready.at(-1)).toBe("True")
      })
  )

  Scene.managed("its Deployment and its Service are its own, and one Event announces both", (scene) =>
    Effect.gen(function* () {
      const app = yield* Scene.launch(scene, "shop", { image: "registry.test/web:1" })
      const children = [yield* Scene.deployment(scene, "shop"), yield* Scene.service(scene, "shop")]
      for (const { metadata } of children) {
        expect(metadata.ownerReferences).toEqual([
          {
            apiVersion: "apps.kubedojo.io/v1beta1",
            kind: "WebApp",
            name: "shop",
            uid: app.metadata.uid,
            controller: true,
            blockOwnerDeletion: true
          }
        ])
      }
      const recorded = yield* Managed.eventually("the Event", Scene.events(scene, "shop"), ({ length }) => length > 0)
      expect(recorded).toEqual([
        {
          type: "Normal",
          reason: "ChildrenCreated",
          note: "Created Deployment shop, Service shop, PodDisruptionBudget shop",
          count: 1
        }
      ])
    })
  )

  Scene.managed("with a new image, it does not run before the last pod of the old one has gone", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", replicas: 4 })
      const apps = yield* Scene.record(scene, WebApp)
      const pods = yield* Scene.record(scene, Pod)
      const before = yield* Scene.pods(scene, "shop")

      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { image: "registry.test/web:2" } }))
      const { metadata } = yield* Scene.running(scene, "shop")
      expect(metadata.generation).toBe(2)
      yield* Scene.settled(scene, "shop")

      // Resource versions are shared by all kinds, so the test can compute which pods ran at a time.
      const servingOldAt = (at: bigint) => {
        const living = new Map(before.map((pod) => [pod.metadata.name, pod]))
        for (const pod of pods().filter((seen) => seen.at <= at)) {
          if (pod.deleted || pod.object.metadata.deletionTimestamp !== undefined)
            living.delete(pod.object.metadata.name)
          else living.set(pod.object.metadata.name, pod.object)
        }
        return [...living.values()].filter(({ spec }) => spec?.containers[0]?.image === "registry.test/web:1").length
      }
      const history = historyOf(apps(), "shop").filter(({ object }) => object.status?.observedGeneration === 2)
      const running = history.filter(({ object }) => object.status?.phase === "Running")
      expect(running.length).toBeGreaterThan(0)
      expect(running.map(({ at }) => servingOldAt(at))).toEqual(running.map(() => 0))
      expect(history.filter(({ at }) => servingOldAt(at) > 0).length).toBeGreaterThan(0)

      const ready = Scene.steps(history.map(({ object }) => Scene.condition(object, "Ready")?.status))
      expect(ready[0]).not.toBe("True")
      expect(ready.filter((status) => status === "True")).toHaveLength(1)
      expect(ready.at(-1)).toBe("True")
      expect((yield* Scene.events(scene, "shop")).filter(({ reason }) => reason === "DeploymentUpdated")).toEqual([
        {
          type: "Normal",
          reason: "DeploymentUpdated",
          note: "Updated Deployment shop (spec.template.spec.containers[app].image)",
          count: 1
        }
      ])
      expect(scene.manager.recorded().filter(({ reason }) => reason === "DeploymentUpdated")).toHaveLength(1)
    })
  )

  Scene.managed("with a new port, container and Service move to it, and nothing of the old one is left", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", port: 8080 })
      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { port: 9090 } }))
      yield* Scene.settled(scene, "shop")
      expect(Scene.containerOf(yield* Scene.deployment(scene, "shop"))?.ports).toEqual([
        { containerPort: 9090, protocol: "TCP" }
      ])
      expect((yield* Scene.service(scene, "shop")).spec?.ports).toEqual([
        { port: 9090, protocol: "TCP", targetPort: 9090 }
      ])
    })
  )

  Scene.managed("a condition of another manager in its status is not changed", (scene) =>
    Effect.gen(function* () {
      const { status } = yield* Scene.launch(scene, "shop")
      const foreign = {
        type: "example.test/Audited",
        status: "True" as const,
        reason: "Seen",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z"
      }
      const conditions = [foreign, ...(status?.conditions ?? [])]
      yield* Client.status.patch(WebApp, scene.key("shop"), Patch.merge({ status: { conditions } }))
      yield* ByHand.scale(scene, WebApp, 3)
      yield* Scene.settled(scene, "shop")
      const app = yield* Scene.app(scene, "shop")
      expect(Scene.condition(app, foreign.type)).toEqual(foreign)
      expect(Scene.condition(app, "Ready")).toMatchObject({ status: "True", observedGeneration: 2 })
    })
  )
})
