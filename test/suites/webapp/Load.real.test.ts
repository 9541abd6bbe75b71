/** WebApps with real programs, real probes and a real load. */
import { expect } from "bun:test"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Load from "./Load.ts"
import * as Scene from "./Scene.ts"
import * as Served from "./Served.ts"

const setImage = (scene: Served.Served, version: string) => Served.setImage(scene, "shop", version)

/** Waits until the rollout is over, and the old pods are gone. */
const rolledOut = (scene: Served.Served) =>
  Effect.andThen(
    Scene.running(scene, "shop"),
    Managed.eventually("the old pods are gone", Scene.pods(scene, "shop"), (pods) => pods.length === 2)
  )

/** Waits until the status names the wrong port. */
const named = (scene: Served.Served, message: string) =>
  Managed.eventually(
    "the status names the port",
    Scene.app(scene, "shop"),
    (app) => {
      const condition = Scene.condition(app, "DeploymentReady")
      return condition?.reason === "ContainerNotReady" && condition.message === message
    },
    "10 seconds"
  )

const nothingListens = (port: number) =>
  `the container runs, but nothing accepts connections on port ${port} (check spec.port and spec.probes.readiness)`

Served.real(
  "Rollouts under a load of 200 requests a second lose no request, and a server on a wrong port is named within ten seconds",
  (scene) =>
    Effect.gen(function* () {
      const { port } = scene
      yield* Scene.launch(scene, "shop", { image: Served.image("v1"), port })
      const load = yield* Load.start(scene, "shop")
      for (const version of ["v2", "v3"]) {
        yield* setImage(scene, version)
        yield* Scene.running(scene, "shop")
      }
      yield* rolledOut(scene)
      expect(load.lost()).toEqual([])
      yield* setImage(scene, "elsewhere")
      const stuck = yield* named(scene, `2/2 ready: ${nothingListens(port)}`)
      expect(stuck.status?.phase).toBe("Deploying")
      yield* setImage(scene, "v3")
      yield* rolledOut(scene)
      yield* load.stop
      expect(load.lost()).toEqual([])
      expect([...load.answers().keys()]).toEqual(["v1", "v2", "v3"])
    })
)

Served.real("A WebApp with a wrong port names it within ten seconds", (scene) =>
  Effect.gen(function* () {
    const { wrongPort } = scene
    yield* Scene.create(scene, "shop", { image: Served.image("v1"), port: wrongPort })
    const app = yield* named(scene, `0/2 ready: ${nothingListens(wrongPort)}`)
    expect([app.status?.phase, Scene.condition(app, "Ready")?.status]).toEqual(["Pending", "False"])
  })
)

// The load finds the errors of a rollout that is not graceful.
for (const [what, spec] of [
  ["time to drain", { termination: { drainSeconds: 0 } }],
  ["a readiness probe", { probes: { readiness: { none: {} } } }]
] as const) {
  Served.real(`A rollout without ${what} loses requests`, (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: Served.image("v1"), port: scene.port, ...spec })
      const load = yield* Load.start(scene, "shop")
      yield* setImage(scene, "v2")
      yield* rolledOut(scene)
      yield* load.stop
      expect(load.lost().length).toBeGreaterThan(0)
    })
  )
}
