import { expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import * as Client from "../client/Client.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Resource from "../resource/Resource.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import * as Predicate from "./Predicate.ts"
import * as Result from "./Result.ts"
import { counted, run, settle, Widget, widget, withWorld } from "./World.fixture.ts"

effect(
  "The predicate of an owned kind decides which changes of children trigger their owner",
  withWorld(({ server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("a"))
      const predicate = Predicate.object(({ metadata }) => metadata.labels?.loud === "yes")
      const { reconcile, runs } = counted((_, owner) =>
        Effect.as(Owned.apply(owner, ConfigMap, { metadata: { name: "a" } }), Result.done)
      )
      yield* run({ reconcile, owns: [Owned.kind(ConfigMap, { predicate })] })
      const before = runs.length
      server.change(ConfigMap, "a", { data: { theirs: "yes" } })
      yield* settle
      expect(runs.length).toBe(before)
      server.change(ConfigMap, "a", { metadata: { labels: { loud: "yes" } } })
      yield* settle
      expect(runs.length).toBeGreaterThan(before)
    })
  )
)

effect(
  "The label selector of an owned kind restricts the cache, and a child without the labels is a permanent error",
  withWorld(({ server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("a"))
      server.put(ConfigMap, { metadata: { name: "other" } })
      const seen: Array<number> = []
      const { reconcile } = counted((_, owner) =>
        Effect.gen(function* () {
          const labels = owner.spec.size === 1 ? { app: "shop" } : { app: "cart" }
          yield* Owned.apply(owner, ConfigMap, { metadata: { name: "a", labels } })
          seen.push((yield* Cache.list(ConfigMap)).items.length)
          return Result.done
        })
      )
      yield* run({ reconcile, owns: [Owned.kind(ConfigMap, { select: { labels: "app in (shop)" } })] })
      expect(seen.at(-1)).toBe(1)
      server.change(Widget, "a", { spec: { size: 2 } })
      yield* settle
      expect(server.get(Widget, "a")?.status?.conditions?.[0]?.message).toContain(
        "ConfigMap a needs labels that match the selection of its kind in owns: app in (shop)"
      )
      expect(server.get(ConfigMap, "a")?.metadata.labels).toEqual({ app: "shop" })
    })
  )
)

effect(
  "Children with only metadata in the cache trigger their owner, and can be removed",
  withWorld(({ server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("a"))
      const kind = Resource.metadataOnly(ConfigMap)
      const key = { namespace: "default", name: "a" }
      const seen: Array<object> = []
      const { reconcile } = counted((n, owner) =>
        Effect.gen(function* () {
          const { apiVersion, metadata } = { apiVersion: "example.com/v1", ...owner }
          const reference = { apiVersion, kind: "Widget", name: metadata.name, uid: metadata.uid, controller: true }
          if (n === 1) {
            yield* Client.create(ConfigMap, { metadata: { ...key, ownerReferences: [reference] }, data: { a: "1" } })
            return Result.done
          }
          seen.push(...Option.toArray(yield* Cache.get(kind, key)))
          yield* Owned.remove(owner, kind, key)
          return Result.done
        })
      )
      yield* run({ reconcile, owns: [Owned.kind(ConfigMap, { metadataOnly: true, removes: true })] })
      yield* settle
      expect(seen[0]).toMatchObject({ metadata: { name: "a" } })
      expect(seen[0]).not.toHaveProperty("data")
      expect(server.get(ConfigMap, "a")).toBeUndefined()
    })
  )
)

test("A kind with only metadata in the cache needs no permission to apply", () => {
  const owns = [Owned.kind(ConfigMap, { metadataOnly: true })]
  const { access } = Controller.make("widgets", { for: Widget, owns, reconcile: () => Effect.succeed(Result.done) })
  const verbs = access.filter(({ resource }) => resource.plural === "configmaps").flatMap((each) => each.verbs)
  expect(verbs).toEqual(["list", "watch"])
})

test("An owned kind rejects an invalid label selector", () => {
  expect(() => Owned.kind(ConfigMap, { select: { labels: "app is shop" } })).toThrow(
    'invalid labels in the selection of an owned kind: "app is shop" (must be like app=shop)'
  )
})
