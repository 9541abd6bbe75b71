/** Records the stories of the scenes on a real control plane. */
import { Effect } from "effect"
import type { Entry, Recorded } from "../comparison/Recording.ts"
import * as Recording from "../comparison/Recording.ts"
import * as Cluster from "./Cluster.ts"
import * as Scene from "./Scene.ts"
import { scenes, withNode } from "./Scenes.ts"
import type { Played } from "./Story.ts"

/** The recorded form of a scene. */
export const entry = ({ asked, story }: Played): Entry => ({ asked: Recording.digest(asked), answers: [story] })

/** Plays all scenes one after the other, because messages of the scheduler contain the number of nodes. */
export const stories: Recorded = {
  name: "controllers",
  plane: { controllers: true, scheduler: true },
  record: (plane) =>
    Effect.gen(function* () {
      const cluster = yield* withNode(Cluster.real(plane))
      const entries = yield* Effect.forEach(Object.entries(scenes), ([name, script]) =>
        Effect.map(Scene.play(cluster, script), (played) => [name, entry(played)] as const)
      )
      return new Map(entries)
    })
}
