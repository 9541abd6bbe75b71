/** The controllers of the embedded server reproduce the stories of a real control plane in virtual time. */
import { expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Recording from "../comparison/Recording.ts"
import * as Cluster from "./Cluster.ts"
import { entry } from "./Recorded.ts"
import * as Scene from "./Scene.ts"
import { scenes, withNode } from "./Scenes.ts"

const recording = Recording.read("controllers")

test("the recording has every scene", () => {
  expect(() => Recording.complete("controllers", recording, Object.keys(scenes))).not.toThrow()
})

for (const [name, script] of Object.entries(scenes)) {
  effect(name, () =>
    Effect.gen(function* () {
      const cluster = yield* Effect.flatMap(Cluster.embedded, withNode)
      const { answers, asked } = entry(yield* Scene.play(cluster, script))
      const recorded = recording.get(name)
      expect(answers).toEqual([...(recorded?.answers ?? [])])
      if (asked !== recorded?.asked) {
        throw new Recording.Stale({ suite: "controllers", reason: `"${name}" asks for something else` })
      }
    })
  )
}
