/** Tests of two controller versions that run one after the other with the same WebApps. */
import { describe, expect } from "bun:test"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { desiredDeployment, desiredService, manager } from "@homeostat/webapp/children"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

/** An older version, which sets more fields of the children than the current one. */
const older = Controller.make("webapp", {
  for: WebApp,
  fieldManager: manager,
  owns: [Deployment, Service],
  reconcile: (app) =>
    Effect.gen(function* () {
      const { metadata, spec } = desiredDeployment(app)
      const containers = spec?.template.spec?.containers.map((container) => ({
        ...container,
        imagePullPolicy: "Always",
        env: [{ name: "LEGACY", value: "1" }]
      }))
      yield* Owned.apply(app, Deployment, {
        metadata: {
          ...metadata,
          labels: { ...metadata.labels, "example.test/legacy": "1" },
          annotations: { "example.test/legacy": "1" }
        },
        spec: {
          selector: spec?.selector ?? {},
          replicas: app.spec.replicas,
          minReadySeconds: 1,
          template: { ...spec?.template, spec: { containers: containers ?? [], hostname: "legacy" } }
        }
      })
      yield* Owned.apply(app, Service, desiredService(app))
      return Result.done
    })
})

describe.concurrent("a newer version", () => {
  Scene.empty("removes the fields and children that it no longer wants, and leaves those of others", (scene) =>
    Effect.gen(function* () {
      yield* Scene.create(scene, "shop")
      const before = yield* Scene.during(
        scene.manage([older]),
        Managed.eventually(
          "its Deployment",
          Scene.deployment(scene, "shop"),
          ({ status }) => status?.readyReplicas === 2
        )
      )
      expect(before.metadata.annotations?.["example.test/legacy"]).toBe("1")
      yield* ByHand.annotate(scene, Deployment, { "example.test/note": "kept" })

      yield* scene.manage()
      yield* Scene.settled(scene, "shop")
      const { metadata, spec } = yield* Scene.deployment(scene, "shop")
      expect(metadata.labels).toEqual({
        app: "shop",
        "app.kubernetes.io/managed-by": manager,
        "apps.kubedojo.io/template-hash": expect.any(String)
      })
      expect(metadata.annotations?.["example.test/legacy"]).toBeUndefined()
      expect(metadata.annotations?.["example.test/note"]).toBe("kept")
      expect(spec?.minReadySeconds).toBeUndefined()
      expect(spec?.template.spec?.hostname).toBeUndefined()
      expect(spec?.template.spec?.containers).toMatchObject([{ name: "app", imagePullPolicy: "IfNotPresent" }])
      expect(spec?.template.spec?.containers[0]?.env).toBeUndefined()
    })
  )

  Scene.managed("that wants the same writes nothing", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", env: [{ name: "MODE", value: "shop" }] })
      const before = yield* Scene.settled(scene, "shop")
      yield* scene.manage()
      expect(yield* Scene.settled(scene, "shop")).toEqual(before)
    })
  )
})
