/** The walks on a real control plane. */
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Effect } from "effect"
import type { Entry, Recorded } from "../comparison/Recording.ts"
import * as Recording from "../comparison/Recording.ts"
import * as Walk from "./Walk.ts"
import { walks } from "./Walks.ts"

/** The digest of the commands of a walk and of its files. */
export const digest = ({ files = {}, steps }: Walk.Walk): string =>
  Recording.digest(
    JSON.stringify([files, steps], (_, value: unknown) => (value instanceof RegExp ? value.source : value))
  )

/** All walks, one after the other: one of them changes the only node. */
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
