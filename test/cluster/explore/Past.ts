/** Compares the end of a step with that of a new cluster with the same specs. */

import * as Json from "@homeostat/apiserver/model/Json"
import type * as Store from "@homeostat/apiserver/storage/Store"
import * as Effect from "effect/Effect"
import * as Picture from "./Picture.ts"
import type { Story } from "./Story.ts"
import * as World from "./World.ts"

/** The promise that this module checks. */
export const oracle = "the end follows from the specs, not from the past"

/** Returns the reconciled objects and those with an owner. All other objects belong to users. */
const own = (saved: Store.Saved, roots: ReadonlySet<string>): Store.Saved => ({
  ...saved,
  storages: Object.fromEntries(
    Object.entries(saved.storages).map(([storage, objects]) => [
      storage,
      roots.has(storage)
        ? objects
        : objects.filter(({ metadata }) => Json.list(Json.at(metadata, "ownerReferences")).length > 0)
    ])
  )
})

/** Returns the parts of an object that users write. */
const written = ({ apiVersion, kind, metadata, spec }: Json.JsonObject): Json.JsonObject => {
  const { annotations, labels, name, namespace } = Json.object(metadata)
  return { apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec }
}

interface Options extends Pick<World.Options, "real" | "seed"> {
  readonly roots: ReadonlySet<string>
  readonly view: Picture.View
}

/** Returns the differences between the end of a step and the end of a cluster that starts with its specs. */
export const differences = (
  story: Story,
  base: World.Moment,
  end: Store.Saved,
  { real, roots, seed, view }: Options
): Effect.Effect<ReadonlyArray<Picture.Difference>> =>
  World.run(story, { from: real === undefined ? base : undefined, real, seed }, (world) =>
    Effect.gen(function* () {
      const objects = [...roots].flatMap((storage) => end.storages[storage] ?? [])
      yield* world.start
      yield* world.settle()
      const start = yield* world.moment
      yield* world.create(
        objects.filter(({ metadata }) => Json.at(metadata, "deletionTimestamp") === undefined).map(written)
      )
      yield* world.settle()
      const fresh = real === undefined ? view : { ...view, base: start.saved }
      const expected = Picture.of(own((yield* world.moment).saved, roots), fresh)
      return Picture.differences(expected, Picture.of(own(end, roots), view), story.ignore)
    })
  )
