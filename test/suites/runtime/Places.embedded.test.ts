/** A manager sees only its namespaces and labels. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import { keyOf, keyString } from "@homeostat/runtime/resource/KubernetesObject"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { Chore, create, placed, touch } from "./Chore.ts"

/** A controller that notes its objects. */
const watching = () => {
  const seen: Array<string> = []
  const controller = Controller.make("chores", {
    for: Chore,
    reconcile: ({ metadata }) =>
      Effect.sync(() => {
        seen.push(keyString(metadata))
        return Result.done
      })
  })
  return { seen, controller }
}

const sees = (seen: ReadonlyArray<string>, count: number) =>
  Managed.eventually(
    `${count} reconciles`,
    Effect.sync(() => seen),
    ({ length }) => length >= count
  )

describe.concurrent("A manager", () => {
  placed("of two namespaces sees only these", (place) =>
    Effect.gen(function* () {
      const { cluster, namespace } = place
      const [second, third] = [yield* cluster.namespace("runtime"), yield* cluster.namespace("runtime")]
      const { controller, seen } = watching()
      yield* create(place, "early")
      yield* create({ cluster, namespace: third }, "early")
      const manager = yield* Managed.start(cluster, [controller], { namespaces: [namespace, second, namespace] })
      const made = yield* Effect.forEach([third, second, namespace], (namespace) =>
        create({ cluster, namespace }, "late")
      )
      yield* sees(seen, 3)
      for (const { metadata } of made) yield* touch(metadata, "again")
      yield* sees(seen, 5)
      yield* Rest.of(manager)
      expect(seen.toSorted()).toEqual(
        [`${namespace}/early`, `${namespace}/late`, `${namespace}/late`, `${second}/late`, `${second}/late`].toSorted()
      )
      const [informer] = manager.runners[0]?.informers ?? []
      expect(Array.from(informer?.store.keys() ?? []).toSorted()).toEqual(
        [`${namespace}/early`, `${namespace}/late`, `${second}/late`].toSorted()
      )
    })
  )

  placed("with a label selector sees objects while they have the label", (place) =>
    Effect.gen(function* () {
      const { controller, seen } = watching()
      const [inside, outside] = [
        yield* create(place, "inside", { labels: { team: "a" } }),
        yield* create(place, "outside", { labels: { team: "b" } })
      ]
      const manager = yield* Managed.start(place.cluster, [controller], {
        namespaces: [place.namespace],
        labelSelector: "team in (a,c)"
      })
      const [informer] = manager.runners[0]?.informers ?? []
      const held = Effect.sync(() => Array.from(informer?.store.keys() ?? []).toSorted())
      yield* sees(seen, 1)
      yield* touch(outside.metadata, "unseen")
      const team = (name: Chore, team: string) =>
        Client.patch(Chore, keyOf(name), Patch.merge({ metadata: { labels: { team } } }))
      yield* team(outside, "c")
      yield* sees(seen, 2)
      expect(seen).toEqual([keyString(inside.metadata), keyString(outside.metadata)])
      yield* team(inside, "d")
      yield* Managed.eventually(
        "its removal from the cache",
        held,
        (keys) => keys.join() === keyString(outside.metadata)
      )
      const before = seen.length
      yield* touch(inside.metadata, "unseen")
      yield* Rest.of(manager)
      expect(seen.length).toBe(before)
    })
  )
})
