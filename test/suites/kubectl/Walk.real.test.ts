/** kubectl writes the same and ends the same way on the embedded cluster as it did on the recorded real one. */
import { expect, test } from "bun:test"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Recording from "../comparison/Recording.ts"
import { digest } from "./Recorded.ts"
import * as Walk from "./Walk.ts"
import { walks } from "./Walks.ts"

const recording = Recording.read("kubectl")

test("the recording has every walk with its commands", () => {
  Recording.complete(
    "kubectl",
    recording,
    walks.map(({ name }) => name)
  )
  for (const walk of walks) {
    if (digest(walk) !== recording.get(walk.name)?.asked) {
      throw new Recording.Stale({ suite: "kubectl", reason: `"${walk.name}" has other commands` })
    }
  }
})

for (const walk of walks) {
  Shared.embedded(
    walk.name,
    (cluster) =>
      Effect.gen(function* () {
        const texts = yield* Walk.take(cluster, walk)
        expect(texts.join("\n\n")).toBe((recording.get(walk.name)?.answers ?? []).join("\n\n"))
      }),
    Envtest.everything
  )
}
