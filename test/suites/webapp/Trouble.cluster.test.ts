/** Tests of problems that prevent a WebApp from running: its status reports them, and the WebApp recovers. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

/** Annotates the pods. The kubelet of the tests cannot pull the images of pods with this annotation. */
const annotatePods = (scene: Scene.Scene, value: string | null) =>
  Client.patch(
    Deployment,
    scene.key("shop"),
    Patch.merge({ spec: { template: { metadata: { annotations: { "envtest/image-pull-error": value } } } } })
  )

const deploymentReady = (app: WebApp) => Scene.condition(app, "DeploymentReady")

describe.concurrent("a WebApp", () => {
  Scene.managed("reports an image that cannot be pulled while the old pods serve, and recovers", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", replicas: 2 })
      const seen = yield* Scene.record(scene, WebApp)
      yield* annotatePods(scene, "")
      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { image: "registry.test/gone:1" } }))
      const failing = yield* Managed.eventually(
        "the status has the kubelet's words",
        Scene.app(scene, "shop"),
        (app) => deploymentReady(app)?.message.includes("gone:1") === true
      )
      expect(deploymentReady(failing)).toMatchObject({
        status: "False",
        reason: "ImagePullFailed",
        message: '2/2 ready: Back-off pulling image "registry.test/gone:1"'
      })
      expect(Scene.condition(failing, "Ready")).toMatchObject({ status: "False", observedGeneration: 2 })
      expect(Scene.condition(failing, "Reconciling")?.status).toBe("True")
      expect(failing.status?.phase).toBe("Deploying")
      const phases = seen()
        .filter(({ object }) => object.status?.observedGeneration === 2)
        .map(({ object }) => object.status?.phase)
      expect(phases).not.toContain("Running")

      yield* annotatePods(scene, null)
      const app = yield* Scene.running(scene, "shop")
      expect(deploymentReady(app)).toMatchObject({ status: "True", reason: "AllReplicasReady" })
      expect(Scene.condition(app, "Reconciling")).toBeUndefined()
    })
  )

  Scene.empty("is Pending while its first pods cannot start, and reports the reason", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      const app = yield* Scene.create(scene, "shop", { image: "registry.test/gone:1" })
      const labels = { app: "shop", "app.kubernetes.io/managed-by": "webapp-controller" }
      yield* Client.create(Deployment, {
        metadata: {
          namespace,
          name: "shop",
          ownerReferences: [
            {
              apiVersion: "apps.kubedojo.io/v1beta1",
              kind: "WebApp",
              name: "shop",
              uid: app.metadata.uid,
              controller: true
            }
          ]
        },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels, annotations: { "envtest/image-pull-error": "" } },
            spec: { containers: [{ name: "app", image: "registry.test/gone:1" }] }
          }
        }
      })
      yield* scene.manage()
      const failing = yield* Managed.eventually(
        "the status has the kubelet's words",
        Scene.app(scene, "shop"),
        (app) => deploymentReady(app)?.reason === "ImagePullFailed"
      )
      expect(deploymentReady(failing)?.message).toBe('0/2 ready: Back-off pulling image "registry.test/gone:1"')
      expect(failing.status?.phase).toBe("Pending")

      yield* annotatePods(scene, null)
      yield* Scene.running(scene, "shop")
    })
  )

  Scene.managed("one of whose pods is no longer ready is Degraded until it is", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", replicas: 3 })
      const [pod] = yield* Scene.pods(scene, "shop")
      const setReady = (status: "True" | "False") =>
        Client.status.patch(
          Pod,
          scene.key(pod?.metadata.name ?? ""),
          Patch.strategic({ status: { conditions: [{ type: "Ready", status }] } })
        )
      yield* setReady("False")
      const degraded = yield* Managed.eventually("it is Degraded", Scene.app(scene, "shop"), Scene.isAt("Degraded"))
      expect(degraded.status?.readyReplicas).toBe(2)
      expect(Scene.condition(degraded, "Ready")).toMatchObject({ status: "False", message: "2/3 ready" })
      yield* setReady("True")
      yield* Scene.running(scene, "shop")
    })
  )

  Scene.managed("reports a pod that begins to crash, though nothing else changes", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop")
      const [pod] = yield* Scene.pods(scene, "shop")
      const setStatus = (status: object) =>
        Client.status.patch(Pod, scene.key(pod?.metadata.name ?? ""), Patch.strategic({ status }))
      yield* setStatus({ conditions: [{ type: "Ready", status: "False" }] })
      yield* Managed.eventually("it is Degraded", Scene.app(scene, "shop"), Scene.isAt("Degraded"))
      yield* Scene.quiet(scene, "shop")

      const waiting = { reason: "CrashLoopBackOff", message: "back-off 10s restarting failed container" }
      const terminated = { exitCode: 137, reason: "OOMKilled" }
      yield* setStatus({
        containerStatuses: [
          {
            name: "app",
            image: "registry.test/web:1",
            imageID: "",
            ready: false,
            restartCount: 1,
            state: { waiting, running: null },
            lastState: { terminated }
          }
        ]
      })
      const app = yield* Managed.eventually(
        "the status reports the crash",
        Scene.app(scene, "shop"),
        (app) => deploymentReady(app)?.reason === "CrashLoopBackOff"
      )
      expect(deploymentReady(app)?.message).toBe(
        "1/2 ready: back-off 10s restarting failed container (exit code 137, OOMKilled)"
      )
    })
  )

  Scene.managed("reports a failed rollout with strategy Recreate, also if kube-controller-manager does not", (scene) =>
    Effect.gen(function* () {
      const change = (spec: object) => Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec }))
      const spec = { replicas: 1, strategy: "Recreate", progressDeadlineSeconds: 2 } as const
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", ...spec })
      yield* change({ image: "registry.test/web:2" })
      yield* Scene.settled(scene, "shop")
      yield* ByHand.forbidPods(scene)
      yield* change({ image: "registry.test/web:1" })
      const app = yield* Managed.eventually("it failed by the quota", Scene.app(scene, "shop"), (app) =>
        (Scene.condition(app, "Stalled")?.message ?? "").includes("exceeded quota")
      )
      expect(app.status?.phase).toBe("Failed")
      expect(Scene.condition(app, "Stalled")?.reason).toBe("ProgressDeadlineExceeded")
      const { status } = yield* Scene.deployment(scene, "shop")
      expect(status?.conditions?.find(({ type }) => type === "Progressing")?.status).toBe("True")
      yield* ByHand.allowPods(scene)
      yield* Scene.running(scene, "shop")
    })
  )

  Scene.managed("reports a paused Deployment, and continues when the Deployment is resumed", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1" })
      yield* ByHand.rollout(scene, { paused: true })
      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { image: "registry.test/web:2" } }))
      const app = yield* Managed.eventually(
        "the status reports the pause",
        Scene.app(scene, "shop"),
        (app) => deploymentReady(app)?.reason === "Paused"
      )
      expect(app.status?.phase).toBe("Deploying")
      yield* ByHand.rollout(scene, { paused: null })
      yield* Scene.running(scene, "shop")
    })
  )
})
