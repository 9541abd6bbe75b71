/** Finds writes that change the same fields again and again while the cluster is at rest. */

import * as Json from "@homeostat/apiserver/model/Json"
import * as Effect from "effect/Effect"
import type { Broken } from "./Broken.ts"
import type { Witness } from "./Evidence.ts"
import * as Picture from "./Picture.ts"
import type { Story } from "./Story.ts"
import * as Trace from "./Trace.ts"
import * as Wire from "./Wire.ts"
import * as World from "./World.ts"
import { type WriteMoment, type Written, writtenIn } from "./Writes.ts"

/** The time at rest. */
const time = "10 minutes"

/** The number of equal writes in this time from which they count. */
const fewest = 3

/** The metadata that changes with each write. */
const always = /^metadata\.(resourceVersion|generation|managedFields)/

/** Returns the fields that a write changed, as `kind: path`; undefined if it created or deleted an object. */
const fieldsOf = ({ after, before }: Written, { ignore }: Story): ReadonlyArray<string> | undefined => {
  if (after.length !== before.length) return undefined
  const changed = after.flatMap((object) => {
    const uid = Json.at(object, "metadata", "uid")
    const old = before.find((one) => Json.at(one, "metadata", "uid") === uid)
    if (old === object || old === undefined) return []
    return Picture.pathsOf(old, object).flatMap((path) =>
      always.test(path) ? [] : [`${Json.text(object.kind)}: ${path}`]
    )
  })
  return changed.filter((field) => !ignore.some((ignored) => field.startsWith(ignored))).sort()
}

const brokenBy = (moments: ReadonlyArray<WriteMoment>, story: Story): ReadonlyArray<Broken> => {
  const groups = new Map<string, { readonly sent: Wire.Sent; times: number }>()
  for (const written of writtenIn(moments)) {
    const fields = fieldsOf(written, story)
    // A program that creates objects, for example by a schedule, has work to do.
    if (fields === undefined) return []
    if (fields.length === 0) continue
    const message = `${Wire.textOf(written.sent)}, which changed only ${fields.join(", ")}`
    const group = groups.get(message) ?? { sent: written.sent, times: 0 }
    group.times++
    groups.set(message, group)
  }
  return [...groups].flatMap(([message, { sent, times }]) =>
    times < fewest
      ? []
      : [
          {
            oracle: World.atRest,
            message: `${times} times in ten minutes: ${message}`,
            objects: [Trace.keyOf(sent.asked)]
          }
        ]
  )
}

/** Returns the broken promises of ten minutes at rest after a moment. */
export const broken = (
  story: Story,
  from: World.Moment,
  seed: number
): Effect.Effect<{ readonly broken: ReadonlyArray<Broken>; readonly witness: Witness }> =>
  Effect.suspend(() => {
    const moments: Array<WriteMoment> = []
    const write = (sent: Wire.Sent, when: "before" | "after", moment: Effect.Effect<World.Moment>) =>
      Effect.map(moment, (moment) => {
        moments.push({ sent, when, moment })
      })
    return World.run(story, { from, seed, write }, (world) =>
      Effect.gen(function* () {
        yield* world.start
        yield* world.settle()
        world.director.arm([])
        const since = world.time.clock.currentTimeMillisUnsafe()
        yield* world.time.pass(time)
        return { broken: brokenBy(moments, story), witness: Trace.of(world, since) }
      })
    )
  })
