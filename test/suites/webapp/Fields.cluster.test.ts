/** Tests of the optional fields of a WebApp: the pods get them, in every spelling that the API server accepts. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
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
      const { namespace } = scene
      yield* Client.create(Secret, { metadata: { namespace, name: "shop" }, data: { token: "YQ==" } })
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

  const restarted = (scene: Scene.Scene) =>
    Effect.gen(function* () {
      const before = yield* Scene.settled(scene, "shop")
      yield* Scene.during(scene.manage(), Scene.settled(scene, "shop"))
      expect(yield* Scene.settled(scene, "shop")).toEqual(before)
    })

  Scene.managed("All fields reach the pods, and a restarted manager writes nothing", (scene) =>
    Effect.gen(function* () {
      const env = [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }]
      yield* Scene.launch(scene, "shop", {
        image,
        command: ["/bin/shop"],
        args: ["-v"],
        env,
        probes: {
          readiness: { http: { path: "/ready" } },
          liveness: { command: ["true"], initialDelaySeconds: 3 },
          startup: { tcp: { port: 9 }, failureThreshold: 30 }
        },
        termination: { drainSeconds: 3, gracePeriodSeconds: 20 },
        security: "Restricted",
        imagePullSecrets: [{ name: "registry" }],
        volumes: [{ name: "tmp", emptyDir: { sizeLimit: "1024Mi" }, mountPath: "/tmp" }],
        podTemplate: {
          metadata: { annotations: { "example.test/note": "a" } },
          spec: {
            tolerations: [{ key: "spot", operator: "Exists" }],
            containers: [
              { name: "app", tty: true },
              { name: "proxy", image: "registry.test/proxy:1" }
            ]
          }
        }
      })
      const [pod] = yield* Scene.pods(scene, "shop")
      expect(pod?.metadata.annotations).toMatchObject({ "example.test/note": "a" })
      expect(pod?.spec).toMatchObject({
        terminationGracePeriodSeconds: 20,
        imagePullSecrets: [{ name: "registry" }],
        securityContext: { runAsNonRoot: true },
        tolerations: expect.arrayContaining([expect.objectContaining({ key: "spot" })])
      })
      expect(pod?.spec?.containers).toMatchObject([
        {
          name: "app",
          command: ["/bin/shop"],
          args: ["-v"],
          tty: true,
          readinessProbe: { httpGet: { path: "/ready", port: 8080 } },
          livenessProbe: { exec: { command: ["true"] } },
          startupProbe: { tcpSocket: { port: 9 } },
          lifecycle: { preStop: { sleep: { seconds: 3 } } }
        },
        { name: "proxy" }
      ])
      yield* restarted(scene)
    })
  )

  Scene.managed("The ServiceAccount leaves the pods when it leaves the spec or the podTemplate", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, serviceAccountName: "default" })
      const account = Effect.map(Scene.deployment(scene, "shop"), ({ spec }) => spec?.template.spec?.serviceAccountName)
      const change = (spec: object) =>
        Effect.andThen(
          Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec })),
          Effect.andThen(Scene.settled(scene, "shop"), account)
        )
      expect(yield* account).toBe("default")
      expect(yield* change({ serviceAccountName: null })).toBeUndefined()
      expect(yield* change({ podTemplate: { spec: { serviceAccount: "default" } } })).toBe("default")
      expect(yield* change({ podTemplate: null })).toBeUndefined()
      yield* restarted(scene)
    })
  )

  Scene.managed("A probe can change its kind, go, and come back", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image })
      const probe = Effect.map(Scene.deployment(scene, "shop"), (deployment) => {
        const { exec, httpGet, tcpSocket } = Scene.containerOf(deployment)?.readinessProbe ?? {}
        return { exec, httpGet, tcpSocket }
      })
      const change = (readiness: object | null) =>
        Effect.andThen(
          Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { probes: { readiness } } })),
          Effect.andThen(Scene.settled(scene, "shop"), probe)
        )
      const none = { exec: undefined, httpGet: undefined, tcpSocket: undefined }
      const standard = { ...none, tcpSocket: { port: 8080 } }
      expect(yield* probe).toEqual(standard)
      const http = yield* change({ http: { path: "/ready" } })
      expect(http).toMatchObject({ ...none, httpGet: { path: "/ready", port: 8080 } })
      expect(yield* change({ http: null, none: {} })).toEqual(none)
      expect(yield* change({ none: null, command: ["ready"] })).toEqual({ ...none, exec: { command: ["ready"] } })
      expect(yield* change(null)).toEqual(standard)
      yield* restarted(scene)
    })
  )

  Scene.managed("The controller replaces a probe that was added by hand", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, probes: { readiness: { none: {} } } })
      const readinessProbe = { httpGet: { path: "/", port: 8080 }, initialDelaySeconds: 2 }
      const byHand = Patch.strategic({
        spec: { template: { spec: { containers: [{ name: "app", readinessProbe }] } } }
      })
      yield* Client.patch(Deployment, scene.key("shop"), byHand, { fieldManager: "kubectl-edit" })
      yield* Scene.settled(scene, "shop")
      expect(Scene.containerOf(yield* Scene.deployment(scene, "shop"))?.readinessProbe?.httpGet?.path).toBe("/")

      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { probes: null } }))
      yield* Scene.settled(scene, "shop")
      const found = Scene.containerOf(yield* Scene.deployment(scene, "shop"))?.readinessProbe
      expect([found?.httpGet, found?.tcpSocket, found?.initialDelaySeconds]).toEqual([
        undefined,
        { port: 8080 },
        undefined
      ])
    })
  )

  Scene.managed("The strategy can change to Recreate and back", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image })
      const strategy = Effect.map(Scene.deployment(scene, "shop"), ({ spec }) => spec?.strategy)
      const rolling = { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 } }
      expect(yield* strategy).toEqual(rolling)
      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { strategy: "Recreate" } }))
      yield* Scene.settled(scene, "shop")
      expect(yield* strategy).toEqual({ type: "Recreate" })
      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { strategy: null } }))
      yield* Scene.settled(scene, "shop")
      expect(yield* strategy).toEqual(rolling)
    })
  )

  Scene.managed("0 replicas stop the pods, and another number starts them again", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image })
      yield* ByHand.scale(scene, WebApp, 0)
      const app = yield* Managed.eventually("it is stopped", Scene.app(scene, "shop"), Scene.isAt("Stopped"))
      expect(Scene.condition(app, "Ready")).toMatchObject({ status: "True", reason: "ScaledToZero" })
      expect(Scene.condition(app, "DeploymentReady")?.reason).toBe("ScaledToZero")
      expect(app.status?.replicas).toBe(0)
      yield* ByHand.scale(scene, WebApp, 2)
      yield* Scene.running(scene, "shop")
    })
  )
})
