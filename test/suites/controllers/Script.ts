/** Objects and conditions that scripts of scenes share. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { at, objects } from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import type { SceneFailed } from "./Cluster.ts"
import type { Scene } from "./Scene.ts"

export type Script = (scene: Scene) => Effect.Effect<void, SceneFailed>

/** The steps of a scene. */
export type Body = (scene: Scene) => Generator<Effect.Effect<unknown, SceneFailed>, void, never>

/** Scripts by the names of their tests. */
export const scripts = (bodies: { readonly [name: string]: Body }): { readonly [name: string]: Script } =>
  Object.fromEntries(
    Object.entries(bodies).map(([name, body]) => [name, (scene: Scene) => Effect.gen(() => body(scene))])
  )

export const job = (name: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } }, ...spec }
})

export const holds = (scene: Scene, path: string, test: (found: JsonObject) => boolean) =>
  Effect.map(scene.get(path), test)

export const conditionIs = (type: string, reason: string) => (found: JsonObject) =>
  objects(at(found, "status", "conditions")).some((one) => one.type === type && one.reason === reason)

export const isGone = (scene: Scene, path: string) =>
  Effect.map(Effect.result(scene.get(path)), (answer) => answer._tag === "Failure")

export const pods = (scene: Scene, count: number) =>
  scene.until(
    `${count} pods`,
    holds(scene, "pods", ({ items }) => objects(items).length === count)
  )

/** Waits until the kubelet has ended all pods. */
export const noPods = (scene: Scene) =>
  scene.until(
    "the end of the pods",
    Effect.andThen(
      scene.kubelet,
      holds(scene, "pods", ({ items }) => objects(items).length === 0)
    )
  )
