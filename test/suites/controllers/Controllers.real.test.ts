/**
 * The controllers of the embedded server do what the real ones do: the same scene makes the same story on both.
 */
import { expect } from "bun:test"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Fiber, TestContext } from "effect"
import * as Cluster from "./Cluster.ts"
import * as Scene from "./Scene.ts"
import { scenes, withNode } from "./Scenes.ts"

for (const [name, script] of Object.entries(scenes)) {
  Shared.real(
    `${name}, as on a real cluster`,
    (plane) =>
      Effect.gen(function* () {
        const embedded = Effect.flatMap(Cluster.embedded, withNode).pipe(
          Effect.flatMap((cluster) => Scene.play(cluster, script)),
          Effect.scoped,
          Effect.provide(TestContext.TestContext),
          // In a fiber of its own, as the test's Clock stays with the fiber that was given it.
          Effect.fork,
          Effect.flatMap(Fiber.await),
          Effect.flatten
        )
        const ours = yield* embedded
        const theirs = yield* Effect.flatMap(withNode(Cluster.real(plane)), (cluster) => Scene.play(cluster, script))
        expect(ours).toEqual(theirs)
      }),
    { controllers: true, scheduler: true }
  )
}
