/** Tests of a WebApp that another controller delivers step by step: Argo Rollouts or Flagger. These send the requests of both. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const annotation = "apps.kubedojo.io/replicas-managed-by"

const deliver = ({ namespace }: Scene.Scene, name: string) =>
  Client.create(WebApp, {
    metadata: { namespace, name: "shop", annotations: { [annotation]: name } },
    spec: { image: "registry.test/web:1", replicas: 3 }
  })

/** A read and an update of the Deployment, as both controllers scale it. */
const scale = (scene: Scene.Scene, replicas: number, fieldManager: string) =>
  Effect.gen(function* () {
    const deployment = yield* Scene.deployment(scene, "shop")
    const { selector, template } = deployment.spec ?? {}
    if (selector === undefined || template === undefined) return yield* Effect.die(new Error("no spec"))
    yield* Client.replace(
      Deployment,
      { ...deployment, spec: { ...deployment.spec, selector, template, replicas } },
      { fieldManager }
    )
  })

const replicas = (scene: Scene.Scene) => Effect.map(Scene.deployment(scene, "shop"), ({ spec }) => spec?.replicas)

describe.concurrent("a WebApp with a controller for its delivery", () => {
  Scene.managed("starts with the replicas of its spec, and Argo Rollouts scales its Deployment to 0", (scene) =>
    Effect.gen(function* () {
      yield* deliver(scene, "argo-rollouts")
      yield* Scene.settled(scene, "shop")
      expect(yield* replicas(scene)).toBe(3)
      yield* scale(scene, 0, "rollouts-controller")
      const app = yield* Managed.eventually(
        "the status reports it",
        Scene.app(scene, "shop"),
        (app) =>
          Scene.condition(app, "Ready")?.message ===
          `0/0 ready: argo-rollouts sets the replicas (annotation ${annotation})`
      )
      expect([app.status?.phase, Scene.condition(app, "Ready")?.status]).toEqual(["Stopped", "True"])
      yield* ByHand.patch(scene, WebApp, Patch.merge({ spec: { image: "registry.test/web:2", replicas: 4 } }))
      yield* Managed.eventually(
        "the new image",
        Scene.deployment(scene, "shop"),
        (deployment) => Scene.containerOf(deployment)?.image === "registry.test/web:2"
      )
      yield* Scene.rest(scene)
      expect(yield* replicas(scene)).toBe(0)

      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ metadata: { annotations: { [annotation]: null } } }))
      yield* Managed.eventually("the replicas of the spec", replicas(scene), (count) => count === 4)
      yield* Scene.settled(scene, "shop")
      expect((yield* Scene.app(scene, "shop")).status?.phase).toBe("Running")
    })
  )

  Scene.managed("keeps the selector and the ports that Flagger sets in its Service", (scene) =>
    Effect.gen(function* () {
      yield* deliver(scene, "flagger")
      yield* Scene.settled(scene, "shop")
      const spec = {
        selector: { app: "shop-primary", "app.kubernetes.io/managed-by": null },
        ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }]
      }
      yield* Client.patch(Service, scene.key("shop"), Patch.merge({ spec }), { fieldManager: "flagger" })
      yield* scale(scene, 0, "flagger")
      yield* Managed.eventually("the status reports it", Scene.app(scene, "shop"), Scene.isAt("Stopped"))
      yield* ByHand.patch(scene, WebApp, Patch.merge({ spec: { image: "registry.test/web:2" } }))
      yield* Managed.eventually(
        "generation 2",
        Scene.app(scene, "shop"),
        ({ status }) => status?.observedGeneration === 2
      )
      yield* Scene.rest(scene)
      const service = yield* Scene.service(scene, "shop")
      expect(service.spec).toMatchObject({ selector: { app: "shop-primary" }, ports: [{ name: "http", port: 80 }] })
      expect(Object.keys(service.spec?.selector ?? {})).toEqual(["app"])

      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ metadata: { annotations: { [annotation]: null } } }))
      yield* Managed.eventually("the Service of the spec", Scene.service(scene, "shop"), ({ spec }) =>
        Bun.deepEquals(spec?.selector, { app: "shop", "app.kubernetes.io/managed-by": "webapp-controller" })
      )
      yield* Scene.settled(scene, "shop")
      expect((yield* Scene.service(scene, "shop")).spec?.ports?.map(({ port }) => port)).toEqual([8080])
    })
  )
})
