/** Tests of the replicas of a WebApp, which its spec or an autoscaler sets. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, HorizontalPodAutoscaler } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

/** Creates an autoscaler. The HPA controller does not run here, so the tests scale in its place. */
const autoscale = ({ namespace }: Scene.Scene, target: { readonly apiVersion: string; readonly kind: string }) =>
  Client.create(HorizontalPodAutoscaler, {
    metadata: { namespace, name: "shop" },
    spec: { scaleTargetRef: { ...target, name: "shop" }, minReplicas: 1, maxReplicas: 10 }
  })

const ofDeployment = { apiVersion: "apps/v1", kind: "Deployment" }

const replicas = (scene: Scene.Scene) => Effect.map(Scene.deployment(scene, "shop"), ({ spec }) => spec?.replicas)

/** Waits until the controller no longer manages the replicas of the Deployment. */
const handedOver = (scene: Scene.Scene) =>
  Managed.eventually(
    "the replicas are handed over",
    Scene.deployment(scene, "shop"),
    ({ metadata }) =>
      metadata.managedFields?.some(
        ({ fieldsV1, manager, operation }) =>
          manager === "webapp-controller" && operation === "Apply" && !JSON.stringify(fieldsV1).includes('"f:replicas"')
      ) === true
  )

describe.concurrent("an autoscaler of the Deployment", () => {
  Scene.managed(
    "sets its replicas, which never drop at the change of hands and survive other changes of the spec",
    (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", replicas: 3 })
        const seen = yield* Scene.record(scene, Deployment)
        yield* autoscale(scene, ofDeployment)
        yield* handedOver(scene)

        yield* ByHand.scale(scene, Deployment, 6)
        yield* Scene.rest(scene)
        expect(yield* replicas(scene)).toBe(6)
        const app = yield* Managed.eventually(
          "six of them run",
          Scene.app(scene, "shop"),
          (app) => Scene.isAt("Running")(app) && app.status?.readyReplicas === 6
        )
        expect([yield* replicas(scene), app.spec.replicas]).toEqual([6, 3])

        yield* Client.patch(
          WebApp,
          scene.key("shop"),
          Patch.merge({ spec: { image: "registry.test/web:2", replicas: 4 } })
        )
        yield* Scene.settled(scene, "shop")
        expect(yield* replicas(scene)).toBe(6)
        expect(Scene.steps(seen().map(({ object }) => object.spec?.replicas))).toEqual([3, 6])
      })
  )

  Scene.managed("leaves its replicas when it is deleted, until the spec asks for another number", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", replicas: 3 })
      yield* autoscale(scene, ofDeployment)
      yield* handedOver(scene)
      yield* ByHand.scale(scene, Deployment, 5)
      yield* Scene.rest(scene)
      expect(yield* replicas(scene)).toBe(5)

      yield* ByHand.remove(scene, HorizontalPodAutoscaler)
      yield* Scene.rest(scene)
      expect(yield* replicas(scene)).toBe(5)
      yield* Managed.eventually(
        "all five are ready",
        Scene.app(scene, "shop"),
        (app) => Scene.isAt("Running")(app) && app.status?.readyReplicas === 5
      )

      yield* ByHand.scale(scene, WebApp, 4)
      yield* Managed.eventually("the Deployment has the replicas of the spec", replicas(scene), (count) => count === 4)
      yield* Scene.settled(scene, "shop")
      yield* ByHand.scale(scene, Deployment, 5)
      yield* Managed.eventually("the manager restores them", replicas(scene), (count) => count === 4)
    })
  )

  Scene.managed("adds pods, and the WebApp stays Running and Ready", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", replicas: 2 })
      yield* autoscale(scene, ofDeployment)
      yield* handedOver(scene)
      yield* Scene.settled(scene, "shop")
      const seen = yield* Scene.record(scene, WebApp)
      yield* ByHand.scale(scene, Deployment, 6)
      yield* Managed.eventually(
        "six are ready",
        Scene.app(scene, "shop"),
        ({ status }) => status?.readyReplicas === 6 && status.availableReplicas === 6
      )
      yield* Scene.settled(scene, "shop")
      const states = seen().map(({ object }) => [object.status?.phase, Scene.condition(object, "Ready")?.status])
      expect(new Set(states.map(String))).toEqual(new Set(["Running,True"]))
    })
  )
})

describe.concurrent("an autoscaler of the WebApp", () => {
  Scene.managed("sets its spec, and neither the Deployment nor ten more reconciles disagree", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop")
      yield* autoscale(scene, { apiVersion: "apps.kubedojo.io/v1beta1", kind: "WebApp" })
      // The HPA controller also scales through the scale subresource.
      yield* Client.scale.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { replicas: 5 } }))
      yield* Scene.settled(scene, "shop")
      expect((yield* Client.scale.get(WebApp, scene.key("shop"))).status?.replicas).toBe(5)

      for (let round = 1; round <= 10; round++) {
        const before = scene.manager.attempts().length
        yield* ByHand.annotate(scene, WebApp, { "example.test/round": String(round) })
        yield* Managed.eventually(
          "one more reconcile",
          Effect.sync(() => scene.manager.attempts().length),
          (count) => count > before
        )
      }
      yield* Scene.settled(scene, "shop")
      expect([(yield* Scene.app(scene, "shop")).spec.replicas, yield* replicas(scene)]).toEqual([5, 5])
    })
  )
})
