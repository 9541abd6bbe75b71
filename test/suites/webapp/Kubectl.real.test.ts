/** Tests of kubectl commands on a WebApp that the controller reconciles. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Drift from "./Drift.ts"
import * as Kubectl from "./Kubectl.ts"
import * as Scene from "./Scene.ts"

describe.concurrent("kubectl", () => {
  Scene.real.managed("get wa has columns for the condition Ready, image, replicas, ready pods, URL and age", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "nginx:1.27", replicas: 3, port: 80 })
      const [header, row] = (yield* Kubectl.run(scene, ["get", "wa"])).split("\n")
      expect(header?.split(/\s{2,}/)).toEqual(
        ["NAME", "READY", "REASON", "SINCE", "PAUSED", "IMAGE", "REPLICAS", "READY PODS", "URL", "AGE"].map((name) =>
          expect.stringMatching(new RegExp(`^${name} *$`))
        )
      )
      const age = expect.stringMatching(/^\d+s$/)
      expect(row?.split(/\s+/)).toEqual(["shop", "True", "AllReplicasReady", age, "nginx:1.27", "3", "3", age])
      expect(yield* Kubectl.run(scene, ["get", "all"])).toContain("webapp.apps.kubedojo.io/shop")
    })
  )

  Scene.real.managed("scale sets the spec, and Deployment, pods and the scale's own status follow", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop")
      expect(yield* Kubectl.run(scene, ["scale", "wa/shop", "--replicas=4"])).toBe(
        "webapp.apps.kubedojo.io/shop scaled"
      )
      const app = yield* Scene.running(scene, "shop")
      expect([app.spec.replicas, app.status?.readyReplicas]).toEqual([4, 4])
      expect((yield* Scene.deployment(scene, "shop")).spec?.replicas).toBe(4)

      const scale = yield* Client.scale.get(WebApp, scene.key("shop"))
      expect([scale.spec?.replicas, scale.status?.replicas]).toEqual([4, 4])
      const labelSelector = scale.status?.selector ?? "none"
      const selected = yield* Kubectl.run(scene, ["get", "pods", `--selector=${labelSelector}`, "--output=name"])
      expect(selected.split("\n")).toHaveLength(4)
    })
  )

  Scene.real.managed(
    "wait --for=condition=Ready ends when the WebApp runs, and after a change only when that runs",
    (scene) =>
      Effect.gen(function* () {
        yield* Scene.create(scene, "shop")
        const wait = Kubectl.run(scene, ["wait", "wa/shop", "--for=condition=Ready", "--timeout=60s"])
        expect(yield* wait).toBe("webapp.apps.kubedojo.io/shop condition met")
        expect((yield* Scene.app(scene, "shop")).status).toMatchObject({ phase: "Running", observedGeneration: 1 })

        yield* Kubectl.run(scene, [
          "patch",
          "wa/shop",
          "--type=merge",
          '--patch={"spec":{"image":"registry.test/web:2"}}'
        ])
        expect(yield* wait).toBe("webapp.apps.kubedojo.io/shop condition met")
        expect((yield* Scene.app(scene, "shop")).status).toMatchObject({ phase: "Running", observedGeneration: 2 })
        const images = (yield* Scene.pods(scene, "shop"))
          .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
          .map(({ spec }) => spec?.containers[0]?.image)
        expect(images).toEqual(["registry.test/web:2", "registry.test/web:2"])
      })
  )

  Scene.real.managed("describe shows the conditions and the events", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop")
      const described = yield* Managed.eventually(
        "the events are written",
        Kubectl.run(scene, ["describe", "wa/shop"]),
        (text) => text.includes("ChildrenCreated")
      )
      expect(described).toMatch(
        /Normal\s+ChildrenCreated\s+\S+\s+webapp-controller\s+Created Deployment shop, Service shop/
      )
      expect(described).toContain("AllReplicasReady")
      const deployment = yield* Kubectl.run(scene, ["describe", "deployment/shop"])
      expect(deployment).toContain("Labels:")
      expect((yield* Kubectl.run(scene, ["describe", "replicaset"])).length).toBeGreaterThan(0)
    })
  )

  for (const [does, command, names] of [
    ["adds", "DEBUG=1", "env[DEBUG]"],
    ["removes", "MODE-", "env"]
  ] as const) {
    Scene.real.managed(`set env, which ${does} a variable of the Deployment, is put right`, (scene) =>
      Drift.isRepaired(scene, {
        by: (scene) => Kubectl.run(scene, ["set", "env", "deployment/shop", command]),
        reason: "DeploymentUpdated",
        names: `spec.template.spec.containers[app].${names}`
      })
    )
  }

  Scene.real.managed("rollout restart of the Deployment is left alone", (scene) =>
    Drift.isLeft(scene, {
      by: (scene) => Kubectl.run(scene, ["rollout", "restart", "deployment/shop"]),
      shows: (scene) =>
        Effect.map(
          Scene.pods(scene, "shop"),
          (pods) => pods.filter(({ metadata }) => metadata.annotations?.["kubectl.kubernetes.io/restartedAt"]).length
        ),
      as: 2
    })
  )

  Scene.real.managed("rollout undo of the Deployment stays until the pod template of the spec changes", (scene) =>
    Effect.gen(function* () {
      const image = Effect.map(Scene.deployment(scene, "shop"), (deployment) => Scene.containerOf(deployment)?.image)
      const set = (spec: object) =>
        Kubectl.run(scene, ["patch", "wa/shop", "--type=merge", `--patch=${JSON.stringify({ spec })}`])
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", command: ["/first"] })
      yield* set({ image: "registry.test/web:2", command: null })
      yield* Scene.settled(scene, "shop")
      expect(yield* Kubectl.run(scene, ["rollout", "undo", "deployment/shop"])).toBe("deployment.apps/shop rolled back")
      const undone = yield* Kubectl.run(scene, ["wait", "wa/shop", "--for=condition=RolledBack", "--timeout=60s"])
      expect(undone).toBe("webapp.apps.kubedojo.io/shop condition met")
      yield* Scene.quiet(scene, "shop")
      expect(yield* image).toBe("registry.test/web:1")
      expect(yield* Kubectl.run(scene, ["rollout", "status", "deployment/shop"])).toContain("successfully rolled out")

      yield* set({ image: "registry.test/web:3" })
      yield* Scene.settled(scene, "shop")
      const container = Scene.containerOf(yield* Scene.deployment(scene, "shop"))
      expect([container?.image, container?.command]).toEqual(["registry.test/web:3", undefined])
    })
  )

  Scene.real.managed("rollout pause of the Deployment holds a new image back until rollout resume", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1" })
      yield* Kubectl.run(scene, ["rollout", "pause", "deployment/shop"])
      yield* Kubectl.run(scene, [
        "patch",
        "wa/shop",
        "--type=merge",
        '--patch={"spec":{"image":"registry.test/web:2"}}'
      ])
      yield* Managed.eventually(
        "the status reports the pause",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "DeploymentReady")?.reason === "Paused"
      )
      const images = (yield* Scene.pods(scene, "shop")).map(({ spec }) => spec?.containers[0]?.image)
      expect(new Set(images)).toEqual(new Set(["registry.test/web:1"]))
      yield* Kubectl.run(scene, ["rollout", "resume", "deployment/shop"])
      yield* Scene.running(scene, "shop")
    })
  )
})
