/** What scripts of scenes have in common: objects to begin with, and what they wait for. */
import type { JsonObject } from "@homeostat/testkit/server/Json"
import { at, objects } from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import type { SceneFailed } from "./Cluster.ts"
import type { Scene } from "./Scene.ts"

/** What happens in a scene. */
export type Script = (scene: Scene) => Effect.Effect<void, SceneFailed>

/** A Job of one pod. */
export const job = (name: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } }, ...spec }
})

/** Whether an object is so. */
export const holds = (scene: Scene, path: string, test: (found: JsonObject) => boolean) =>
  Effect.map(scene.get(path), test)

/** Whether a condition has that reason. */
export const conditionIs = (type: string, reason: string) => (found: JsonObject) =>
  objects(at(found, "status", "conditions")).some((one) => one.type === type && one.reason === reason)

/** Whether there is nothing there. */
export const isGone = (scene: Scene, path: string) =>
  Effect.map(Effect.either(scene.get(path)), (answer) => answer._tag === "Left")

/** Waits until there are so many pods. */
export const pods = (scene: Scene, count: number) =>
  scene.until(
    `${count} pods`,
    holds(scene, "pods", ({ items }) => objects(items).length === count)
  )
