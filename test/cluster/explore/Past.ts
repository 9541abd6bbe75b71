/** Compares the end of a step with that of a new cluster with the same specs. */

import * as Json from "@homeostat/apiserver/model/Json"
import type * as Store from "@homeostat/apiserver/storage/Store"
import * as Effect from "effect/Effect"
import type * as Left from "./Left.ts"
import * as Picture from "./Picture.ts"
import type { Story } from "./Story.ts"
import * as World from "./World.ts"

/** The promise that this module checks. */
export const oracle = "the end follows from the specs, not from the past"

type Parts = Pick<Options, "isOwn" | "roots">

/** Whether an object belongs to users: the program has not created it, and it has no owner. */
const isOfUser = ({ isOwn }: Parts, storage: string, object: Json.JsonObject): boolean =>
  !isOwn(storage, object) && Json.list(Json.at(object.metadata, "ownerReferences")).length === 0

/** Returns the reconciled objects and those of the program. */
const own = (saved: Store.Saved, parts: Parts): Store.Saved => ({
  ...saved,
  storages: Object.fromEntries(
    Object.entries(saved.storages).map(([storage, objects]) => [
      storage,
      parts.roots.has(storage) ? objects : objects.filter((object) => !isOfUser(parts, storage, object))
    ])
  )
})

/** Returns the parts of an object that users write. */
const written = ({ metadata, status: _, ...content }: Json.JsonObject): Json.JsonObject => {
  const { annotations, labels, name, namespace } = Json.object(metadata)
  return { ...content, metadata: { name, namespace, labels, annotations } }
}

/** Returns the objects of users that the program may read, besides the reconciled ones, such as a Secret that a spec names. */
const read = (story: Story, saved: Store.Saved, { view, ...parts }: Parts & Pick<Options, "view">) => {
  const storages = story.controllers.flatMap(({ access, triggers }) =>
    [...access, ...triggers].flatMap(({ resource: { group, plural } }) => {
      const storage = `${group}/${plural}`
      return parts.roots.has(storage) || plural === "events" ? [] : [storage]
    })
  )
  return [...new Set(storages)].flatMap((storage) =>
    (saved.storages[storage] ?? []).filter(
      (object) => isOfUser(parts, storage, object) && view.base.storages[storage]?.includes(object) !== true
    )
  )
}

interface Options extends Pick<World.Options, "real" | "seed"> {
  readonly isOwn: Left.IsOwn
  readonly roots: ReadonlySet<string>
  readonly view: Picture.View
}

/** Returns the differences between the end of a step and the end of a cluster that starts with its specs. */
export const differences = (
  story: Story,
  base: World.Moment,
  end: Store.Saved,
  { isOwn, real, roots, seed, view }: Options
): Effect.Effect<ReadonlyArray<Picture.Difference>> =>
  World.run(story, { from: real === undefined ? base : undefined, real, seed }, (world) =>
    Effect.gen(function* () {
      const objects = [...roots].flatMap((storage) => end.storages[storage] ?? [])
      const parts = { isOwn, roots }
      yield* world.create(read(story, end, { ...parts, view }).map(written))
      yield* world.start
      yield* world.settle()
      const start = yield* world.moment
      yield* world.create(
        objects.filter(({ metadata }) => Json.at(metadata, "deletionTimestamp") === undefined).map(written)
      )
      yield* world.settle()
      const fresh = real === undefined ? view : { ...view, base: start.saved }
      const expected = Picture.of(own((yield* world.moment).saved, parts), fresh)
      return Picture.differences(expected, Picture.of(own(end, parts), view), story.ignore)
    })
  )
