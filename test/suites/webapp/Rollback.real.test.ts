/** WebApps with `rollback: Auto`, real programs and a real load: a bad version goes without a person. */
import { expect } from "bun:test"
import type { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Load from "./Load.ts"
import * as Scene from "./Scene.ts"
import * as Served from "./Served.ts"

/** A slow machine starts a good server before this deadline. */
const spec = { image: Served.image("v1"), rollback: "Auto", progressDeadlineSeconds: 15 } as const

const patience = "90 seconds"

/** Starts the WebApp, and waits until its template is stored as good. */
const launch = (scene: Served.Served, strategy: "RollingUpdate" | "Recreate") =>
  Effect.gen(function* () {
    yield* Scene.create(scene, "shop", { ...spec, port: scene.port, strategy })
    yield* isGood(scene, "v1")
  })

const isGood = (scene: Served.Served, version: string) =>
  Managed.eventually(
    `${version} is good`,
    Scene.app(scene, "shop"),
    ({ status }) => status?.lastGood?.image === Served.image(version),
    patience
  )

const isRolledBack = (app: WebApp) => Scene.condition(app, "RolledBack")?.status === "True"

/** Waits until all pods run the last good version again. */
const restored = (scene: Served.Served) =>
  Effect.gen(function* () {
    const app = yield* Managed.eventually(
      "the last good pods are ready",
      Scene.app(scene, "shop"),
      (app) => isRolledBack(app) && Scene.condition(app, "Stalled")?.message.startsWith("2/2 ready: ") === true,
      patience
    )
    const pods = yield* Managed.eventually(
      "the pods of the bad version are gone",
      Scene.pods(scene, "shop"),
      (pods) => pods.length === 2,
      patience
    )
    const images = pods.map(({ spec }) => spec?.containers[0]?.image)
    expect(images).toEqual([Served.image("v1"), Served.image("v1")])
    return app
  })

const expectFailure = (app: WebApp, version: string) => {
  expect(app.status).toMatchObject({
    phase: "Failed",
    observedGeneration: 2,
    lastGood: { generation: 1, image: Served.image("v1") }
  })
  const rolledBack = Scene.condition(app, "RolledBack")
  expect(rolledBack?.reason).toBe("ProgressDeadlineExceeded")
  expect(rolledBack?.message).toStartWith(`generation 2 (${Served.image(version)}) missed its progress deadline: `)
  expect(rolledBack?.message).toContain(`; the controller restored generation 1 (${Served.image("v1")})`)
  expect(Scene.condition(app, "Ready")).toMatchObject({ status: "False", reason: "RolledBack" })
}

Served.real(
  "A version that crashes loses no request of 200 a second: the last good version serves, and the next one rolls out",
  (scene) =>
    Effect.gen(function* () {
      yield* launch(scene, "RollingUpdate")
      const load = yield* Load.start(scene, "shop")
      yield* Served.setImage(scene, "shop", "crashing")
      expectFailure(yield* restored(scene), "crashing")
      expect(load.lost()).toEqual([])
      expect([...load.answers().keys()]).toEqual(["v1"])

      yield* Served.setImage(scene, "shop", "v2")
      const app = yield* isGood(scene, "v2")
      expect(Scene.condition(app, "RolledBack")).toMatchObject({ status: "False", reason: "SpecApplied" })
      yield* load.stop
      expect(load.lost()).toEqual([])
      expect([...load.answers().keys()]).toEqual(["v1", "v2"])
    })
)

Served.real("A service that a bad version took down with Recreate comes back without a person", (scene) =>
  Effect.gen(function* () {
    yield* launch(scene, "Recreate")
    const load = yield* Load.start(scene, "shop")
    yield* Served.setImage(scene, "shop", "elsewhere")
    expectFailure(yield* restored(scene), "elsewhere")
    yield* load.stop
    expect(load.lost().some((error) => error.endsWith("no endpoints available"))).toBe(true)

    const later = yield* Load.start(scene, "shop")
    yield* Effect.sleep("3 seconds")
    yield* later.stop
    expect(later.lost()).toEqual([])
    expect([...later.answers().keys()]).toEqual(["v1"])
  })
)
