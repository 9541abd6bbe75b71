/** Tests of `spec.autoscaling`: the autoscaler of a WebApp, and the replicas that it sets. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, HorizontalPodAutoscaler } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Result } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const image = "registry.test/web:1"
const autoscaling = { min: 3, max: 8 }

const autoscaler = ({ key }: Scene.Scene) => Client.get(HorizontalPodAutoscaler, key("shop"))
const replicas = (scene: Scene.Scene) => Effect.map(Scene.deployment(scene, "shop"), ({ spec }) => spec?.replicas)

const made = (scene: Scene.Scene) =>
  Managed.eventually("the autoscaler exists", Effect.result(autoscaler(scene)), Result.isSuccess)

const gone = (scene: Scene.Scene) =>
  Managed.eventually("the autoscaler is gone", Effect.result(autoscaler(scene)), Result.isFailure)

/** Waits until a condition has this reason, and returns the condition. */
const reported = (scene: Scene.Scene, type: string, reason: string) =>
  Effect.map(
    Managed.eventually(
      `${type} has the reason ${reason}`,
      Scene.app(scene, "shop"),
      (app) => Scene.condition(app, type)?.reason === reason
    ),
    (app) => Scene.condition(app, type)
  )

const change = ({ key }: Scene.Scene, spec: object) => Client.patch(WebApp, key("shop"), Patch.merge({ spec }))

/** Waits until the controller no longer manages the replicas of the Deployment. */
const handedOver = (scene: Scene.Scene) =>
  Managed.eventually("the replicas are handed over", Scene.deployment(scene, "shop"), ({ metadata }) =>
    (metadata.managedFields ?? []).every(
      ({ fieldsV1, manager, operation }) =>
        manager !== "webapp-controller" || operation !== "Apply" || !JSON.stringify(fieldsV1).includes('"f:replicas"')
    )
  )

/** Waits until that many pods are ready. */
const runs = (scene: Scene.Scene, count: number) =>
  Managed.eventually(
    `${count} pods are ready`,
    Scene.app(scene, "shop"),
    (app) => Scene.isAt("Running")(app) && app.status?.readyReplicas === count
  )

/** Another autoscaler. */
const foreign = ({ namespace }: Scene.Scene, kind: "Deployment" | "WebApp") =>
  Client.create(HorizontalPodAutoscaler, {
    metadata: { namespace, name: "other" },
    spec: {
      scaleTargetRef: { apiVersion: kind === "WebApp" ? "apps.kubedojo.io/v1beta1" : "apps/v1", kind, name: "shop" },
      maxReplicas: 10
    }
  })

describe.concurrent("spec.autoscaling", () => {
  Scene.managed("starts within its range, and its autoscaler sets the replicas without a dip", (scene) =>
    Effect.gen(function* () {
      const seen = yield* Scene.record(scene, Deployment)
      yield* Scene.launch(scene, "shop", { image, replicas: 2, autoscaling })
      yield* made(scene)
      yield* handedOver(scene)
      const { metadata, spec } = yield* autoscaler(scene)
      expect(metadata.ownerReferences).toMatchObject([{ kind: "WebApp", name: "shop", controller: true }])
      expect(spec).toMatchObject({
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "shop" },
        minReplicas: 3,
        maxReplicas: 8,
        metrics: [{ resource: { name: "cpu", target: { averageUtilization: 80 } } }]
      })

      yield* ByHand.scale(scene, Deployment, 6)
      yield* runs(scene, 6)
      yield* change(scene, { image: "registry.test/web:2", autoscaling: { min: 4, cpu: 50, memory: 70 } })
      const before = yield* Scene.settled(scene, "shop")
      yield* Scene.during(scene.manage(), Scene.settled(scene, "shop"))
      expect(yield* Scene.settled(scene, "shop")).toEqual(before)
      expect(yield* replicas(scene)).toBe(6)
      expect(Scene.steps(seen().map(({ object }) => object.spec?.replicas))).toEqual([3, 6])
      expect((yield* autoscaler(scene)).spec).toMatchObject({
        minReplicas: 4,
        metrics: [{ resource: { name: "cpu" } }, { resource: { name: "memory" } }]
      })
    })
  )

  Scene.managed("takes over a running WebApp, and its removal restores the replicas of the spec", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, replicas: 5 })
      const seen = yield* Scene.record(scene, Deployment)
      yield* change(scene, { autoscaling })
      yield* made(scene)
      yield* handedOver(scene)
      yield* ByHand.scale(scene, Deployment, 7)
      yield* runs(scene, 7)

      yield* change(scene, { autoscaling: null })
      yield* gone(scene)
      yield* runs(scene, 5)
      yield* Scene.settled(scene, "shop")
      expect(Scene.steps(seen().map(({ object }) => object.spec?.replicas))).toEqual([5, 7, 5])
      expect(Scene.condition(yield* Scene.app(scene, "shop"), "Autoscaled")).toBeUndefined()
    })
  )

  Scene.managed("stops with 0 replicas, and starts again with those of the spec", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, replicas: 4, autoscaling })
      yield* made(scene)
      yield* handedOver(scene)
      yield* ByHand.scale(scene, Deployment, 6)
      yield* runs(scene, 6)
      yield* ByHand.scale(scene, WebApp, 0)
      yield* Managed.eventually("it is stopped", Scene.app(scene, "shop"), Scene.isAt("Stopped"))
      expect(yield* reported(scene, "Autoscaled", "ScaledToZero")).toMatchObject({ status: "False" })
      yield* made(scene)
      yield* ByHand.scale(scene, WebApp, 5)
      yield* runs(scene, 5)
      yield* handedOver(scene)
      // The autoscaler does not scale to 0, so another client did.
      yield* ByHand.scale(scene, Deployment, 0)
      yield* runs(scene, 5)
    })
  )

  Scene.managed("brings a deleted Deployment back with the replicas that the autoscaler wants", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, autoscaling })
      yield* made(scene)
      yield* handedOver(scene)
      yield* ByHand.scale(scene, Deployment, 6)
      yield* runs(scene, 6)
      const status = { desiredReplicas: 6, currentMetrics: [], conditions: [] }
      yield* Client.status.patch(HorizontalPodAutoscaler, scene.key("shop"), Patch.merge({ status }))
      yield* Scene.settled(scene, "shop")
      const { metadata } = yield* Scene.deployment(scene, "shop")
      const seen = yield* Scene.record(scene, Deployment)
      yield* ByHand.remove(scene, Deployment)
      yield* Managed.eventually(
        "the Deployment is back",
        Effect.result(Scene.deployment(scene, "shop")),
        (found) => Result.isSuccess(found) && found.success.metadata.uid !== metadata.uid
      )
      yield* runs(scene, 6)
      expect(new Set(seen().map(({ object }) => object.spec?.replicas))).toEqual(new Set([6]))
    })
  )

  for (const kind of ["Deployment", "WebApp"] as const) {
    Scene.managed(`gives way to another autoscaler of the ${kind}, and returns when that is gone`, (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop", { image, replicas: 4, autoscaling })
        yield* made(scene)
        yield* foreign(scene, kind)
        yield* gone(scene)
        expect(yield* reported(scene, "Autoscaled", "OtherAutoscaler")).toMatchObject({
          status: "False",
          message: `HorizontalPodAutoscaler other already scales ${kind} shop (delete it, or remove spec.autoscaling)`
        })
        yield* Scene.settled(scene, "shop")
        expect(yield* replicas(scene)).toBe(4)

        yield* Client.delete(HorizontalPodAutoscaler, scene.key("other"))
        yield* made(scene)
        yield* handedOver(scene)
        expect(yield* replicas(scene)).toBe(4)
      })
    )
  }

  Scene.managed("reports why the autoscaler does not scale, and the WebApp stays Ready", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, autoscaling })
      yield* made(scene)
      yield* runs(scene, 3)
      const active = (status: string, reason: string, message: string, metrics: ReadonlyArray<object> = []) =>
        Client.status.patch(
          HorizontalPodAutoscaler,
          scene.key("shop"),
          Patch.merge({
            status: {
              desiredReplicas: 3,
              currentMetrics: metrics,
              conditions: [
                { type: "ScalingActive", status, reason, message, lastTransitionTime: "2026-11-28T09:00:00Z" }
              ]
            }
          })
        )
      yield* active(
        "False",
        "FailedGetResourceMetric",
        "failed: missing request for cpu in container app of Pod shop-1"
      )
      expect(yield* reported(scene, "Autoscaled", "FailedGetResourceMetric")).toMatchObject({
        status: "False",
        message: "container app has no request for cpu (set spec.resources.requests.cpu)"
      })
      expect(Scene.condition(yield* Scene.app(scene, "shop"), "Ready")?.status).toBe("True")

      yield* active("True", "ValidMetricFound", "able")
      expect(yield* reported(scene, "Autoscaled", "ScalingActive")).toMatchObject({ status: "True" })
      yield* Scene.settled(scene, "shop")
      // The metrics change every few seconds.
      const before = scene.manager.attempts().length
      yield* active("True", "ValidMetricFound", "able", [
        { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 60 } } }
      ])
      yield* Scene.rest(scene)
      expect(scene.manager.attempts()).toHaveLength(before)
    })
  )

  Scene.managed("keeps its metrics and range, and the behavior that was added by hand", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, autoscaling })
      yield* made(scene)
      const memory = {
        type: "Resource",
        resource: { name: "memory", target: { type: "Utilization", averageUtilization: 9 } }
      }
      const { spec } = yield* autoscaler(scene)
      const metrics = [...(spec?.metrics ?? []), memory]
      const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } }
      yield* ByHand.patch(scene, HorizontalPodAutoscaler, Patch.merge({ spec: { maxReplicas: 20, metrics, behavior } }))
      yield* Managed.eventually("the range is back", autoscaler(scene), (each) => each.spec?.maxReplicas === 8)
      yield* Scene.settled(scene, "shop")
      const after = (yield* autoscaler(scene)).spec
      expect(after?.metrics?.map(({ resource }) => resource?.name)).toEqual(["cpu"])
      expect(after?.behavior?.scaleDown?.stabilizationWindowSeconds).toBe(60)

      const { metadata } = yield* autoscaler(scene)
      yield* ByHand.remove(scene, HorizontalPodAutoscaler)
      yield* Managed.eventually(
        "a new autoscaler",
        Effect.result(autoscaler(scene)),
        (each) => Result.isSuccess(each) && each.success.metadata.uid !== metadata.uid
      )
      expect(yield* replicas(scene)).toBe(3)
    })
  )

  Scene.managed("leaves the Deployment and the autoscaler of another owner alone", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      yield* Client.create(HorizontalPodAutoscaler, {
        metadata: { namespace, name: "shop" },
        spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "cart" }, maxReplicas: 10 }
      })
      yield* Scene.launch(scene, "shop", { image, autoscaling })
      expect(yield* reported(scene, "Autoscaled", "NotOwned")).toMatchObject({ status: "False" })
      expect((yield* autoscaler(scene)).spec?.scaleTargetRef.name).toBe("cart")
      yield* runs(scene, 3)

      const labels = { app: "legacy" }
      yield* Client.create(Deployment, {
        metadata: { namespace, name: "cart" },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "app", image }] } }
        }
      })
      yield* Scene.create(scene, "cart", { image, autoscaling })
      yield* Managed.eventually("WebApp cart fails", Scene.app(scene, "cart"), Scene.isAt("Failed"))
      yield* Scene.rest(scene)
      const left = yield* Effect.result(Client.get(HorizontalPodAutoscaler, scene.key("cart")))
      expect(Result.isFailure(left)).toBe(true)
    })
  )
})
