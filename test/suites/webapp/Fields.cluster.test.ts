/** The optional fields of a WebApp: what becomes of them in its pods, however the API server likes to spell them. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Scene from "./Scene.ts"

const image = "registry.test/web:1"

describe.concurrent("a WebApp's optional fields", () => {
  Scene.managed("variables and resources reach the pods, and leave them when they leave the spec", (scene) =>
    Effect.gen(function* () {
      const env = [
        { name: "MODE", value: "shop" },
        { name: "TOKEN", valueFrom: { secretKeyRef: { name: "shop", key: "token" } } },
        { name: "THEME", valueFrom: { configMapKeyRef: { name: "shop", key: "theme", optional: true } } }
      ]
      const resources = { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } }
      yield* Scene.launch(scene, "shop", { image, env, resources })
      const [pod] = yield* Scene.pods(scene, "shop")
      expect(pod?.spec?.containers[0]).toMatchObject({ env, resources })

      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { env: null, resources: null } }))
      yield* Scene.settled(scene, "shop")
      const container = Scene.containerOf(yield* Scene.deployment(scene, "shop"))
      expect([container?.env, container?.resources]).toEqual([undefined, {}])
    })
  )

  Scene.managed(
    "quantities that the API server writes in its own way are not taken for a change, nor after a restart",
    (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop", { image, resources: { requests: { cpu: "0.5", memory: "1024Mi" } } })
        const before = yield* Scene.settled(scene, "shop")
        expect(Scene.containerOf(yield* Scene.deployment(scene, "shop"))?.resources?.requests).toEqual({
          cpu: "500m",
          memory: "1Gi"
        })
        yield* Scene.during(scene.manage(), Scene.settled(scene, "shop"))
        expect(yield* Scene.settled(scene, "shop")).toEqual(before)
        expect((yield* Scene.events(scene, "shop")).map(({ reason }) => reason)).toEqual(["ChildrenCreated"])
      })
  )

  Scene.managed("a variable with an empty value stays, and nothing moves because of it", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", {
        image,
        env: [
          { name: "EMPTY", value: "" },
          { name: "MODE", value: "shop" }
        ]
      })
      yield* Scene.settled(scene, "shop")
      expect(Scene.containerOf(yield* Scene.deployment(scene, "shop"))?.env).toEqual([
        { name: "EMPTY" },
        { name: "MODE", value: "shop" }
      ])
      expect((yield* Scene.events(scene, "shop")).map(({ reason }) => reason)).toEqual(["ChildrenCreated"])
    })
  )
})
