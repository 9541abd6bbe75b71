/** The children of a controller, against the same API server that others write to. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import { Chore, create, type Place, placed, touch } from "./Chore.ts"

const key = ({ namespace }: Place) => ({ namespace, name: "sweep" })

/** Writes that the cache of the manager does not hear of by themselves. */
const others = Effect.map(
  Client.Client,
  (client) =>
    <A, E>(effect: Effect.Effect<A, E, Client.Client>): Effect.Effect<A, E> =>
      Effect.provideService(effect, Client.Client, client)
)

describe.concurrent("A child", () => {
  placed("that somebody creates in the same moment is not written to", (place) =>
    Effect.gen(function* () {
      const asOthers = yield* others
      const outcomes: Array<string> = []
      const controller = Controller.make("chores", {
        for: Chore,
        owns: [ConfigMap],
        reconcile: (chore) =>
          Effect.gen(function* () {
            if (outcomes.length === 0) {
              const precious = { metadata: key(place), data: { precious: "of somebody else" } }
              yield* asOthers(Client.create(ConfigMap, precious, { fieldManager: "somebody" }))
            }
            const applied = yield* Effect.either(
              Owned.apply(chore, ConfigMap, { metadata: { name: chore.metadata.name }, data: { ours: "1" } })
            )
            outcomes.push(applied._tag === "Left" ? applied.left._tag : "applied")
            return Result.done
          })
      })
      yield* Managed.start(place.cluster, [controller], { namespaces: [place.namespace] })
      yield* create(place, "sweep")
      const attempts = (count: number) =>
        Managed.eventually(
          `attempt ${count}`,
          Effect.sync(() => outcomes),
          ({ length }) => length >= count
        )
      yield* attempts(1)
      yield* touch(key(place), "again")
      yield* attempts(2)
      expect(new Set(outcomes)).toEqual(new Set(["NotOwned"]))
      const { data, metadata } = yield* Client.get(ConfigMap, key(place))
      expect(data).toEqual({ precious: "of somebody else" })
      expect(metadata.ownerReferences).toBeUndefined()
      expect(metadata.managedFields?.map(({ manager }) => manager)).toEqual(["somebody"])
    })
  )

  placed("is created by an apply with a resourceVersion, which fails where an object exists", (place) =>
    Effect.gen(function* () {
      const apply = (data: { readonly [key: string]: string }, force: boolean) =>
        Client.apply(ConfigMap, { metadata: { ...key(place), resourceVersion: "1" }, data }, { force })
      const made = yield* apply({ a: "1" }, false)
      expect(made.data).toEqual({ a: "1" })
      for (const force of [false, true]) {
        expect((yield* Effect.flip(apply({ a: "1" }, force)))._tag).toBe("Conflict")
        expect((yield* Effect.flip(apply({ b: "2" }, force)))._tag).toBe("Conflict")
      }
      expect(yield* Client.get(ConfigMap, key(place))).toEqual(made)
    })
  )
})
