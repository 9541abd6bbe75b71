/** Tests of `rollback: Auto`: a failed rollout brings the last good template back. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { ControllerRevision, Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

/** The kubelet of the tests cannot pull the image of pods with this annotation. */
const unpullable = { metadata: { annotations: { "envtest/image-pull-error": "" } } }

const good = { image: "registry.test/web:1", rollback: "Auto", progressDeadlineSeconds: 2 } as const

const change = (scene: Scene.Scene, spec: object) =>
  Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec }), { fieldManager: "kubectl-patch" })

const fail = (scene: Scene.Scene) => change(scene, { image: "registry.test/gone:1", podTemplate: unpullable })

/** Waits until the rollout counts as good. */
const isGood = (scene: Scene.Scene, generation: number) =>
  Managed.eventually(
    `generation ${generation} is good`,
    Scene.app(scene, "shop"),
    ({ status }) => status?.lastGood?.generation === generation
  )

const launch = (scene: Scene.Scene, spec: object = {}) =>
  Effect.gen(function* () {
    yield* Scene.launch(scene, "shop", { ...good, ...spec })
    return yield* isGood(scene, 1)
  })

const rolledBack = (scene: Scene.Scene) =>
  Managed.eventually(
    "the last good template is back",
    Scene.app(scene, "shop"),
    (app) => Scene.condition(app, "RolledBack")?.status === "True" && app.status?.readyReplicas === app.spec.replicas
  )

const image = (scene: Scene.Scene) =>
  Effect.map(Scene.deployment(scene, "shop"), (deployment) => Scene.containerOf(deployment)?.image)

const revisions = ({ namespace }: Scene.Scene) =>
  Effect.map(Client.list(ControllerRevision, { namespace }), ({ items }) => items)

const message =
  'generation 2 (registry.test/gone:1) missed its progress deadline: Back-off pulling image "registry.test/gone:1"; the controller restored generation 1 (registry.test/web:1) (change the pod template in spec to try again)'

describe.concurrent("a WebApp with rollback: Auto", () => {
  Scene.managed("has a good template, and no warning, also with values that the API server drops", (scene) =>
    Effect.gen(function* () {
      const app = { name: "app", stdin: false, livenessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: 0 } }
      yield* launch(scene, { podTemplate: { spec: { hostNetwork: false, priority: null, containers: [app] } } })
      expect((yield* Scene.events(scene, "shop")).map(({ reason }) => reason)).not.toContain("FieldDropped")
    })
  )

  Scene.managed("gets its last good pods back after a failed rollout, and reports the failure", (scene) =>
    Effect.gen(function* () {
      yield* launch(scene)
      yield* fail(scene)
      const app = yield* rolledBack(scene)
      expect(app.status).toMatchObject({
        phase: "Failed",
        observedGeneration: 2,
        lastGood: { generation: 1, image: "registry.test/web:1" }
      })
      expect(Scene.condition(app, "RolledBack")).toMatchObject({ reason: "ProgressDeadlineExceeded", message })
      // Until the failed pods are gone, the reason of the conditions is theirs.
      const settled = yield* Managed.eventually(
        "all pods run the last good image",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "Stalled")?.message === `2/2 ready: ${message}`
      )
      for (const type of ["Ready", "DeploymentReady"]) {
        expect(Scene.condition(settled, type)).toMatchObject({ status: "False", reason: "RolledBack" })
      }
      expect(yield* image(scene)).toBe("registry.test/web:1")
      const events = yield* Managed.eventually("the Event", Scene.events(scene, "shop"), (events) =>
        events.some(({ reason }) => reason === "RolledBack")
      )
      expect(events.filter(({ reason }) => reason === "RolledBack")).toEqual([
        { type: "Warning", reason: "RolledBack", note: message, count: 1 }
      ])
    })
  )

  Scene.managed("follows the replicas of the spec, and tries the next pod template", (scene) =>
    Effect.gen(function* () {
      yield* launch(scene)
      yield* fail(scene)
      yield* rolledBack(scene)
      yield* ByHand.scale(scene, WebApp, 3)
      const scaled = yield* rolledBack(scene)
      expect([scaled.status?.readyReplicas, yield* image(scene)]).toEqual([3, "registry.test/web:1"])

      yield* change(scene, { image: "registry.test/web:2", podTemplate: null })
      const app = yield* Scene.running(scene, "shop")
      expect(Scene.condition(app, "RolledBack")).toMatchObject({ status: "False" })
      yield* isGood(scene, 4)
      yield* Scene.settled(scene, "shop")
      expect((yield* revisions(scene)).length).toBe(1)
      expect(yield* image(scene)).toBe("registry.test/web:2")
    })
  )

  Scene.managed("stays rolled back if the last good pods fail too", (scene) =>
    Effect.gen(function* () {
      yield* launch(scene, { strategy: "Recreate" })
      yield* fail(scene)
      const seen = yield* Scene.record(scene, Deployment)
      yield* Managed.eventually(
        "the last good image",
        Scene.deployment(scene, "shop"),
        (deployment) => Scene.containerOf(deployment)?.image === "registry.test/web:1"
      )
      yield* Client.patch(Deployment, scene.key("shop"), Patch.merge({ spec: { template: unpullable } }))
      const app = yield* Managed.eventually(
        "the status reports it",
        Scene.app(scene, "shop"),
        // The first failure has the same reason, until the status reports the rollback.
        (app) =>
          Scene.condition(app, "RolledBack")?.status === "True" &&
          Scene.condition(app, "Ready")?.reason === "ProgressDeadlineExceeded" &&
          app.status?.replicas !== 0
      )
      expect(app.status?.phase).toBe("Failed")
      yield* Effect.sleep("4 seconds")
      expect(Scene.steps(seen().map(({ object }) => Scene.containerOf(object)?.image)).slice(-2)).toEqual([
        "registry.test/gone:1",
        "registry.test/web:1"
      ])
    })
  )

  Scene.managed("is rolled back after a failure that kube-controller-manager does not report", (scene) =>
    Effect.gen(function* () {
      yield* launch(scene, { strategy: "Recreate", replicas: 1 })
      yield* change(scene, { image: "registry.test/web:2" })
      yield* isGood(scene, 2)
      yield* Scene.settled(scene, "shop")
      yield* ByHand.forbidPods(scene)
      // The ReplicaSet of this template exists, and its pods do not come.
      yield* change(scene, { image: "registry.test/web:1" })
      const app = yield* Managed.eventually(
        "it is rolled back",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "RolledBack")?.status === "True"
      )
      expect(Scene.condition(app, "RolledBack")?.message).toMatch(
        /^generation 3 \(registry.test\/web:1\) missed its progress deadline: .*exceeded quota.* restored generation 2 /
      )
      yield* ByHand.allowPods(scene)
      yield* rolledBack(scene)
      expect(yield* image(scene)).toBe("registry.test/web:2")
    })
  )

  Scene.managed("only reports the failure of its first rollout", (scene) =>
    Effect.gen(function* () {
      yield* Scene.create(scene, "shop", { ...good, image: "registry.test/gone:1", podTemplate: unpullable })
      const app = yield* Managed.eventually("it failed", Scene.app(scene, "shop"), Scene.isAt("Failed"))
      expect(Scene.condition(app, "Ready")?.reason).toBe("ProgressDeadlineExceeded")
      expect(Scene.condition(app, "RolledBack")).toBeUndefined()
      expect(app.status?.lastGood).toBeUndefined()
      expect(yield* revisions(scene)).toEqual([])
    })
  )

  Scene.managed("gets the failed template again when rollback is set to None", (scene) =>
    Effect.gen(function* () {
      yield* launch(scene)
      yield* fail(scene)
      yield* rolledBack(scene)
      yield* change(scene, { rollback: "None" })
      yield* Managed.eventually("the template of the spec", image(scene), (image) => image === "registry.test/gone:1")
      yield* Managed.eventually("the record is gone", revisions(scene), ({ length }) => length === 0)
      const app = yield* Managed.eventually(
        "the status follows",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "RolledBack")?.status === "False"
      )
      expect(app.status?.lastGood).toBeUndefined()
    })
  )

  Scene.empty("stays rolled back after a restart of the manager, without its status and its Deployment", (scene) =>
    Effect.gen(function* () {
      yield* Scene.during(
        scene.manage(),
        Effect.gen(function* () {
          yield* launch(scene)
          yield* fail(scene)
          yield* rolledBack(scene)
        })
      )
      yield* Client.status.patch(WebApp, scene.key("shop"), Patch.merge({ status: null }))
      yield* Client.delete(Deployment, scene.key("shop"), { propagation: "Foreground" })
      yield* Managed.eventually("it is gone", Effect.flip(Scene.deployment(scene, "shop")), () => true)
      const seen = yield* Scene.record(scene, Deployment)
      yield* scene.manage()
      const app = yield* rolledBack(scene)
      expect(Scene.condition(app, "RolledBack")).toMatchObject({ message })
      expect(new Set(seen().map(({ object }) => Scene.containerOf(object)?.image))).toEqual(
        new Set(["registry.test/web:1"])
      )
    })
  )

  Scene.managed("is not rolled back while its rollout is paused", (scene) =>
    Effect.gen(function* () {
      yield* launch(scene)
      yield* ByHand.rollout(scene, { paused: true })
      yield* fail(scene)
      yield* Managed.eventually(
        "the status reports the pause",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "DeploymentReady")?.reason === "Paused"
      )
      yield* Effect.sleep("4 seconds")
      expect(yield* image(scene)).toBe("registry.test/gone:1")
      yield* ByHand.rollout(scene, { paused: null })
      yield* rolledBack(scene)
    })
  )
})
