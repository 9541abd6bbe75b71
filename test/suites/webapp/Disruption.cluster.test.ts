/** Tests of the PodDisruptionBudget of a WebApp. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { ControllerRevision, Deployment, PodDisruptionBudget } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Result } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const image = "registry.test/web:1"

const budget = ({ key }: Scene.Scene) => Client.get(PodDisruptionBudget, key("shop"))

const made = (scene: Scene.Scene) =>
  Effect.andThen(
    Managed.eventually("the budget exists", Effect.result(budget(scene)), Result.isSuccess),
    Effect.suspend(() => budget(scene))
  )

const gone = (scene: Scene.Scene) =>
  Managed.eventually("the budget is gone", Effect.result(budget(scene)), Result.isFailure)

const change = ({ key }: Scene.Scene, spec: object) => Client.patch(WebApp, key("shop"), Patch.merge({ spec }))

/** Creates another budget. */
const foreign = ({ namespace }: Scene.Scene, matchLabels: { readonly [label: string]: string }) =>
  Client.create(PodDisruptionBudget, {
    metadata: { namespace, name: "drain" },
    spec: { minAvailable: 1, selector: { matchLabels } }
  })

/** Evicts a pod, and returns the status of the response. */
const evict = ({ cluster, namespace }: Scene.Scene, pod: string) =>
  Effect.map(
    cluster.request("POST", `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`, {
      body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod } }
    }),
    ({ status }) => status
  )

const conditionOf = (scene: Scene.Scene) =>
  Effect.map(Scene.app(scene, "shop"), (app) => Scene.condition(app, "DisruptionBudgetReady"))

describe.concurrent("the budget of a WebApp", () => {
  Scene.managed("lets one pod of two be evicted at a time", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image })
      const { metadata, spec } = yield* made(scene)
      expect(metadata.ownerReferences).toMatchObject([{ kind: "WebApp", name: "shop", controller: true }])
      expect(spec).toEqual({
        maxUnavailable: 1,
        selector: { matchLabels: { app: "shop", "app.kubernetes.io/managed-by": "webapp-controller" } },
        unhealthyPodEvictionPolicy: "AlwaysAllow"
      })
      const { status } = yield* Managed.eventually(
        "an eviction is allowed",
        budget(scene),
        (each) => each.status?.disruptionsAllowed === 1
      )
      expect(status).toMatchObject({ desiredHealthy: 1, currentHealthy: 2, expectedPods: 2 })
      const [pod] = yield* Scene.pods(scene, "shop")
      expect(yield* evict(scene, pod?.metadata.name ?? "")).toBe(201)
    })
  )

  Scene.managed("follows the replicas, and the field", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, replicas: 1 })
      yield* Scene.settled(scene, "shop")
      expect(Result.isFailure(yield* Effect.result(budget(scene)))).toBe(true)
      yield* ByHand.scale(scene, WebApp, 3)
      yield* made(scene)
      expect(yield* conditionOf(scene)).toBeUndefined()

      yield* change(scene, { disruptionBudget: { maxUnavailable: "50%" } })
      yield* Managed.eventually("the percentage", budget(scene), ({ spec }) => spec?.maxUnavailable === "50%")
      yield* Managed.eventually("the condition", conditionOf(scene), (condition) => condition?.status === "True")
      yield* change(scene, { disruptionBudget: { maxUnavailable: null, none: {} } })
      yield* gone(scene)
      yield* Managed.eventually("no condition", conditionOf(scene), (condition) => condition === undefined)
      yield* change(scene, { disruptionBudget: null })
      yield* made(scene)
      yield* change(scene, { autoscaling: { min: 1, max: 5 } })
      yield* gone(scene)
      yield* change(scene, { autoscaling: { min: 2 } })
      yield* made(scene)
      yield* ByHand.scale(scene, WebApp, 0)
      yield* gone(scene)
    })
  )

  Scene.managed("gives way to another budget of the pods, and the WebApp stays Ready", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image })
      yield* made(scene)
      yield* foreign(scene, { app: "shop" })
      yield* gone(scene)
      const condition = yield* Managed.eventually("the condition", conditionOf(scene), (each) => each !== undefined)
      expect(condition).toMatchObject({
        status: "False",
        reason: "OtherBudget",
        message: "PodDisruptionBudget drain already selects the pods (delete it, or set spec.disruptionBudget.none)"
      })
      const app = yield* Scene.running(scene, "shop")
      expect(Scene.condition(app, "Ready")?.status).toBe("True")

      // It selects other pods from now on.
      const selector = { matchLabels: { app: "cart" } }
      yield* Client.patch(PodDisruptionBudget, scene.key("drain"), Patch.merge({ spec: { selector } }))
      yield* made(scene)
      yield* Managed.eventually("no condition", conditionOf(scene), (each) => each === undefined)
    })
  )

  Scene.managed("does not come where another budget selects the pods already", (scene) =>
    Effect.gen(function* () {
      yield* foreign(scene, { team: "a" })
      const seen = yield* Scene.record(scene, PodDisruptionBudget)
      yield* Scene.launch(scene, "shop", { image, podTemplate: { metadata: { labels: { team: "a" } } } })
      yield* Scene.settled(scene, "shop")
      expect((yield* conditionOf(scene))?.reason).toBe("OtherBudget")
      expect(seen().filter(({ object }) => object.metadata.name === "shop")).toEqual([])
      yield* Client.delete(PodDisruptionBudget, scene.key("drain"))
      yield* made(scene)
    })
  )

  Scene.managed("that was changed or deleted by hand returns, and its status triggers nothing", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image })
      yield* made(scene)
      const narrower = Patch.merge({ spec: { maxUnavailable: 2, selector: { matchLabels: { team: "a" } } } })
      yield* ByHand.patch(scene, PodDisruptionBudget, narrower)
      yield* Managed.eventually(
        "the budget is as before",
        budget(scene),
        ({ spec }) => spec?.maxUnavailable === 1 && spec.selector?.matchLabels?.team === undefined
      )
      yield* ByHand.remove(scene, PodDisruptionBudget)
      yield* made(scene)
      yield* Scene.settled(scene, "shop")
      const before = scene.manager.attempts().length
      const disruptedPods = { other: "2026-11-28T09:00:00Z" }
      yield* Client.status.patch(PodDisruptionBudget, scene.key("shop"), Patch.merge({ status: { disruptedPods } }))
      yield* Scene.rest(scene)
      expect(scene.manager.attempts()).toHaveLength(before)
    })
  )

  Scene.managed("has the selector of an adopted Deployment", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      const labels = { tier: "legacy" }
      const selector = { matchExpressions: [{ key: "tier", operator: "In", values: ["legacy"] }] }
      yield* Client.create(Deployment, {
        metadata: { namespace, name: "shop", annotations: { "apps.kubedojo.io/adopt": "true" } },
        spec: { selector, template: { metadata: { labels }, spec: { containers: [{ name: "app", image }] } } }
      })
      yield* Scene.launch(scene, "shop", { image })
      expect((yield* made(scene)).spec?.selector).toEqual(selector)
    })
  )

  Scene.managed("is removed while the API server rejects the Deployment, and so is the last good template", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, rollback: "Auto" })
      yield* made(scene)
      const revisions = Effect.map(Client.list(ControllerRevision, scene), ({ items }) => items.length)
      yield* Managed.eventually("the last good template is stored", revisions, (count) => count === 1)
      yield* change(scene, {
        rollback: null,
        disruptionBudget: { none: {} },
        podTemplate: { spec: { containers: [{ name: "app", terminationMessagePolicy: "Never" }] } }
      })
      yield* gone(scene)
      yield* Managed.eventually("the last good template is gone", revisions, (count) => count === 0)
      yield* Managed.eventually(
        "the status reports the Deployment",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "DeploymentReady")?.reason === "Invalid"
      )
    })
  )
})
