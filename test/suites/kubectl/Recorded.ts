/** Records the walks on a real control plane. */
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Effect } from "effect"
import type { Entry, Recorded } from "../comparison/Recording.ts"
import { digest } from "./Requests.ts"
import * as Walk from "./Walk.ts"
import { walks } from "./Walks.ts"

/** Runs all walks one after the other, because one of them changes the only node. */
export const kubectl: Recorded = {
  name: "kubectl",
  plane: Envtest.everything,
  record: (cluster) =>
    Effect.gen(function* () {
      const entries = yield* Effect.forEach(walks, (walk) =>
        Effect.map(Walk.take(cluster, walk), (answers): readonly [string, Entry] => [
          walk.name,
          { asked: digest(walk), answers }
        ])
      )
      return new Map(entries)
    })
}
