/** Tests of a ResourceQuota that prevents a WebApp from running, on a real kube-apiserver. */
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Kubectl from "./Kubectl.ts"
import * as Scene from "./Scene.ts"

describe.concurrent("a WebApp", () => {
  Scene.real.managed("names the quota that forbids its pods, and recovers without the quota", (scene) =>
    Effect.gen(function* () {
      yield* Kubectl.run(scene, ["create", "quota", "none", "--hard=pods=0"])
      yield* Scene.create(scene, "shop")
      const app = yield* Managed.eventually(
        "the status reports the quota",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "DeploymentReady")?.reason === "ReplicaFailure"
      )
      const message = expect.stringContaining("exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0")
      expect(Scene.condition(app, "DeploymentReady")).toMatchObject({ status: "False", message })
      // A larger quota is enough, so the WebApp is not stalled.
      expect(Scene.condition(app, "Reconciling")).toMatchObject({ status: "True", reason: "ReplicaFailure", message })
      expect(Scene.condition(app, "Ready")).toMatchObject({ status: "False", reason: "ReplicasNotReady", message })
      expect(Scene.condition(app, "Stalled")).toBeUndefined()
      expect(app.status?.phase).toBe("Pending")

      yield* Kubectl.run(scene, ["delete", "resourcequota/none"])
      const running = yield* Scene.running(scene, "shop")
      expect(Scene.condition(running, "Reconciling")).toBeUndefined()
    })
  )
})
