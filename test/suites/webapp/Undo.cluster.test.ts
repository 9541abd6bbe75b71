/** Tests of `kubectl rollout undo` on the Deployment of a WebApp: the controller keeps the old template until the spec changes. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const change = (scene: Scene.Scene, spec: object) =>
  Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec }), { fieldManager: "kubectl-patch" })

const container = (scene: Scene.Scene) => Effect.map(Scene.deployment(scene, "shop"), Scene.containerOf)
const image = (scene: Scene.Scene) => Effect.map(container(scene), (container) => container?.image)

/** A template with fields that the next one lacks. */
const first = {
  image: "registry.test/web:1",
  env: [{ name: "FIRST", value: "1" }],
  resources: { requests: { cpu: "10m" } },
  podTemplate: {
    metadata: { annotations: { "example.test/first": "1" } },
    spec: { nodeSelector: { "kubernetes.io/os": "linux" }, containers: [{ name: "app", workingDir: "/tmp" }] }
  }
}
const second = { image: "registry.test/web:2", env: null, resources: null, podTemplate: null }

const launchTwice = (scene: Scene.Scene, more: object = {}) =>
  Effect.gen(function* () {
    yield* Scene.launch(scene, "shop", { ...first, ...more })
    yield* change(scene, second)
    yield* Scene.settled(scene, "shop")
  })

const isUndone = (scene: Scene.Scene) =>
  Managed.eventually(
    "the status reports the undo",
    Scene.app(scene, "shop"),
    (app) => Scene.condition(app, "RolledBack")?.status === "True" && app.status?.updatedReplicas === app.spec.replicas
  )

const message =
  "kubectl rollout undo replaced the pod template of the spec: the Deployment runs registry.test/web:1 (change the pod template in spec, or undo again)"

/** Expects that the third template has no field of the first. */
const isWhole = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    yield* change(scene, { image: "registry.test/web:3" })
    yield* Scene.settled(scene, "shop")
    const { metadata, spec } = yield* Scene.deployment(scene, "shop")
    const pod = spec?.template.spec
    const app = yield* container(scene)
    expect(app).toMatchObject({ image: "registry.test/web:3", resources: {} })
    expect([app?.env, app?.workingDir, pod?.nodeSelector]).toEqual([undefined, undefined, undefined])
    expect(spec?.template.metadata?.annotations?.["example.test/first"]).toBeUndefined()
    expect(metadata.labels?.["apps.kubedojo.io/template-hash"]?.slice(0, 16)).toBe(
      metadata.annotations?.["apps.kubedojo.io/template-hash"] ?? ""
    )
    expect(Scene.condition(yield* Scene.app(scene, "shop"), "RolledBack")?.status).not.toBe("True")
  })

describe.concurrent("kubectl rollout undo", () => {
  Scene.managed("stays until the pod template of the spec changes, and the replicas still follow", (scene) =>
    Effect.gen(function* () {
      yield* launchTwice(scene)
      yield* ByHand.undo(scene)
      const app = yield* isUndone(scene)
      expect(app.status?.phase).toBe("Failed")
      expect(Scene.condition(app, "RolledBack")).toMatchObject({ reason: "RolloutUndone", message })
      expect(Scene.condition(app, "Ready")).toMatchObject({ status: "False", reason: "RolledBack" })
      yield* Scene.quiet(scene, "shop")
      expect(yield* container(scene)).toMatchObject({
        image: "registry.test/web:1",
        env: first.env,
        workingDir: "/tmp"
      })

      yield* ByHand.scale(scene, WebApp, 3)
      yield* Managed.eventually(
        "three pods",
        Scene.app(scene, "shop"),
        ({ status }) => status?.readyReplicas === 3 && status.observedGeneration === 3
      )
      yield* ByHand.scale(scene, Deployment, 5)
      yield* Managed.eventually(
        "the replicas of the spec",
        Scene.deployment(scene, "shop"),
        ({ spec }) => spec?.replicas === 3
      )
      yield* Scene.quiet(scene, "shop")
      expect(yield* image(scene)).toBe("registry.test/web:1")
      expect((yield* Scene.events(scene, "shop")).filter(({ reason }) => reason === "RolloutUndone")).toEqual([
        { type: "Normal", reason: "RolloutUndone", note: message, count: 1 }
      ])
      yield* isWhole(scene)
    })
  )

  Scene.managed("keeps what other managers added to the template, also after the next change", (scene) =>
    Effect.gen(function* () {
      yield* launchTwice(scene)
      yield* ByHand.patch(
        scene,
        Deployment,
        Patch.strategic({
          spec: { template: { spec: { containers: [{ name: "proxy", image: "registry.test/proxy" }] } } }
        })
      )
      yield* change(scene, { image: "registry.test/web:2b" })
      yield* Scene.settled(scene, "shop")
      yield* ByHand.undo(scene)
      yield* Managed.eventually("it is undone", image(scene), (image) => image === "registry.test/web:2")
      yield* Managed.eventually(
        "the status reports the undo",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "RolledBack")?.status === "True"
      )
      yield* isWhole(scene)
      const { spec } = yield* Scene.deployment(scene, "shop")
      expect(spec?.template.spec?.containers.map(({ name }) => name).sort()).toEqual(["app", "proxy"])
    })
  )

  Scene.managed("a second time returns to the spec", (scene) =>
    Effect.gen(function* () {
      yield* launchTwice(scene)
      yield* ByHand.undo(scene)
      yield* isUndone(scene)
      yield* Scene.quiet(scene, "shop")
      yield* ByHand.undo(scene)
      const app = yield* Scene.running(scene, "shop")
      expect(Scene.condition(app, "RolledBack")).toMatchObject({ status: "False" })
      expect(yield* container(scene)).toMatchObject({ image: "registry.test/web:2" })
      expect((yield* container(scene))?.env).toBeUndefined()
    })
  )

  Scene.empty("ends with a change of the spec, even if no manager was running in between", (scene) =>
    Effect.gen(function* () {
      yield* Scene.during(scene.manage(), launchTwice(scene))
      yield* ByHand.undo(scene)
      yield* change(scene, { image: "registry.test/web:2b" })
      yield* scene.manage()
      yield* Scene.settled(scene, "shop")
      yield* isWhole(scene)
    })
  )

  Scene.empty("to a revision from before the adoption keeps the name of the container", (scene) =>
    Effect.gen(function* () {
      const labels = { run: "shop" }
      yield* Client.create(Deployment, {
        metadata: { namespace: scene.namespace, name: "shop", annotations: { "apps.kubedojo.io/adopt": "true" } },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { containers: [{ name: "web", image: "registry.test/web:0" }] }
          }
        }
      })
      yield* Managed.eventually("it runs", Scene.deployment(scene, "shop"), Scene.isRolledOut)
      yield* scene.manage()
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1" })
      yield* Scene.settled(scene, "shop")
      yield* ByHand.undo(scene)
      yield* Managed.eventually(
        "the status reports the undo",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "RolledBack")?.status === "True"
      )
      yield* Scene.quiet(scene, "shop")
      const shown = (scene: Scene.Scene) =>
        Effect.map(Scene.deployment(scene, "shop"), ({ spec }) =>
          spec?.template.spec?.containers.map(({ image, name }) => [name, image])
        )
      expect(yield* shown(scene)).toEqual([["web", "registry.test/web:0"]])
      yield* change(scene, { image: "registry.test/web:2" })
      yield* Scene.settled(scene, "shop")
      expect(yield* shown(scene)).toEqual([["web", "registry.test/web:2"]])
    })
  )
})
