import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Cache from "../cache/Cache.ts"
import type { Cluster } from "../client/Cluster.fixture.ts"
import * as Fence from "../client/Fence.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Controller from "./Controller.ts"
import * as Predicate from "./Predicate.ts"
import * as Result from "./Result.ts"
import * as Runner from "./Runner.ts"
import type * as Sources from "./Sources.ts"
import * as Trigger from "./Trigger.ts"
import { counted, ended, pass, run, settle, Widget, widget, withWorld } from "./World.fixture.ts"

const done = () => counted(() => Effect.succeed(Result.done))

const putWidgets = (server: Cluster, ...names: ReadonlyArray<string>) => {
  for (const name of names) server.put(Widget, widget(name))
}

const config = (name: string, data: { readonly [key: string]: string }) => ({ metadata: { name }, data })

/** The Widgets that use a ConfigMap, from a comma-separated list. */
const users = ({ data }: ConfigMap) =>
  (data?.users ?? "").split(",").flatMap((name) => (name === "" ? [] : [{ namespace: "default", name }]))

describe("A change of another kind", () => {
  effect(
    "triggers the objects of its map before and after the change, each once",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a", "b", "c")
        server.put(ConfigMap, config("shared", { users: "a,b" }))
        const { names, reconcile } = done()
        yield* run({ reconcile, watches: [Trigger.on(ConfigMap, { map: users })] })
        const before = names().length
        server.change(ConfigMap, "shared", { data: { users: "b,c" } })
        const shared = (server.get(ConfigMap, "shared") ?? expect.unreachable("no ConfigMap")).metadata
        yield* settle
        expect(names().slice(before).sort()).toEqual(["a", "b", "c"])
        expect(attempts.at(-1)?.triggers).toEqual([
          {
            kind: "watch.modified",
            source: {
              kind: "ConfigMap",
              key: "default/shared",
              uid: shared.uid,
              resourceVersion: shared.resourceVersion
            },
            at: 0
          }
        ])
        server.remove(ConfigMap, "shared")
        yield* settle
        expect(
          names()
            .slice(before + 3)
            .sort()
        ).toEqual(["b", "c"])
      })
    )
  )

  effect(
    "that a predicate ignores is in the history, unlike the objects of the first list",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a")
        server.put(ConfigMap, config("shared", { users: "a" }))
        const ignored: Array<string> = []
        const { reconcile } = done()
        const none = Predicate.named("never: it is a test", () => false)
        const ignoredElsewhere: Sources.History["ignoredElsewhere"] = (_, kind, source, { object }, predicate) => {
          ignored.push(`${kind} ${source} ${object.metadata.name} ${predicate}`)
        }
        const history = { record: () => {}, ignored: () => {}, ignoredElsewhere, deleted: () => {} }
        yield* run({ reconcile, watches: [Trigger.on(ConfigMap, { map: users, predicate: none })] }, { history })
        expect(ignored).toEqual([])
        server.change(ConfigMap, "shared", { data: { users: "b" } })
        yield* settle
        expect(ignored).toEqual(["watch.modified ConfigMap shared never: it is a test"])
      })
    )
  )

  effect(
    "can be mapped by an effect that reads the cache, without blocking the watch",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a", "b")
        const { names, reconcile } = done()
        const everyone = () =>
          Effect.sleep("1 second").pipe(
            Effect.andThen(Cache.list(Widget, { namespace: "default" })),
            Effect.map(({ items }) => items.map(({ metadata }) => metadata))
          )
        yield* run({ reconcile, watches: [Trigger.on(ConfigMap, { map: everyone })] })
        expect(names()).toEqual(["a", "b"])
        server.put(ConfigMap, config("shared", {}))
        yield* settle
        server.put(Widget, widget("c"))
        yield* settle
        expect(names()).toEqual(["a", "b", "c"])
        yield* pass("1 second")
        expect(names().slice(3)).toEqual(["a", "b", "c"])
      })
    )
  )

  effect(
    "that comes faster than its effect runs makes the controller reconcile all objects",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a", "b")
        const { names, reconcile } = done()
        let maps = 0
        const slowly = (object: ConfigMap) =>
          Effect.sleep("1 second").pipe(Effect.andThen(Effect.sync(() => void maps++)), Effect.as(users(object)))
        yield* run({ reconcile, watches: [Trigger.on(ConfigMap, { map: slowly })] })
        server.put(ConfigMap, config("of-a", { users: "a" }))
        yield* settle
        for (let n = 1; n < 1500; n++) server.put(ConfigMap, config(`of-a-${n}`, { users: "a" }))
        server.put(ConfigMap, config("of-b", { users: "b" }))
        yield* settle
        expect(names()).toEqual(["a", "b"])
        yield* pass("1 second")
        expect([maps, names().slice(2).sort()]).toEqual([1, ["a", "a", "b"]])
        expect(attempts.at(-1)?.triggers).toEqual([{ kind: "resync", at: 1000 }])
        expect(logs.filter((line) => line.includes("reconciles all"))).toEqual([
          "INFO Controller widgets reconciles all objects: more than 1000 changes wait for a map"
        ])
        server.change(ConfigMap, "of-b", { data: { users: "a" } })
        yield* pass("2 seconds")
        expect([maps, names().slice(5)]).toEqual([3, ["a", "b"]])
      })
    )
  )

  effect(
    "of one namespace delays the maps of no other, and makes the controller reconcile the others at most once a minute",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a")
        server.put(Widget, { metadata: { name: "t", namespace: "tenant" }, spec: { size: 1 } })
        const { names, reconcile, runs } = done()
        const slowly = (object: ConfigMap) => Effect.as(Effect.sleep("1 second"), users(object))
        yield* run({ reconcile, watches: [Trigger.on(ConfigMap, { map: slowly })] })
        const burst = (from: number, users: string) => {
          for (let n = 0; n < 1100; n++)
            server.put(ConfigMap, { metadata: { name: `c${from + n}`, namespace: "tenant" }, data: { users } })
        }
        const before = names().length
        // The first map runs already, and those of the tenant and of others take turns.
        for (let n = 0; n < 500; n++)
          server.put(ConfigMap, { metadata: { name: `b${n}`, namespace: "tenant" }, data: { users: "" } })
        yield* settle
        server.put(ConfigMap, config("of-a", { users: "a" }))
        yield* pass("3 seconds")
        expect(names().slice(before)).toEqual(["a"])

        const since = names().length
        const countOf = (name: string) =>
          names()
            .slice(since)
            .filter((each) => each === name).length
        for (let minute = 0; minute < 3; minute++) {
          burst(minute * 10_000, "")
          yield* pass("10 seconds")
          burst(minute * 10_000 + 2000, "")
          yield* pass("50 seconds")
        }
        expect([countOf("a") <= 4, countOf("a") >= 3, countOf("t") >= 6]).toEqual([true, true, true])
        expect(runs.length).toBeLessThan(40)
      })
    )
  )

  effect(
    "can be mapped by an uninterruptible effect, which delays neither the end of a term nor that of a standby",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const stuck = Controller.make("widgets", {
          for: Widget,
          watches: [Trigger.on(ConfigMap, { map: () => Effect.uninterruptible(Effect.never) })],
          reconcile: () => Effect.succeed(Result.done)
        })
        const runner = yield* Runner.prepare(stuck)
        const standby = yield* Effect.forkChild(runner.standBy)
        const stop = yield* Deferred.make<void>()
        yield* settle
        server.put(ConfigMap, config("one", {}))
        yield* settle
        const term = yield* Effect.forkChild(runner.lead(Fence.open, Deferred.await(stop)))
        yield* settle
        server.put(ConfigMap, config("two", {}))
        yield* settle
        yield* Deferred.succeed(stop, undefined)
        standby.interruptUnsafe()
        yield* pass("6 seconds")
        expect([yield* ended(term), yield* ended(standby)]).toEqual([true, true])
      })
    )
  )

  effect(
    "that its predicate or selector excludes triggers no reconcile",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a")
        const { names, reconcile } = done()
        const labelled = (name: string, used: string, loud: string) => ({
          metadata: { name, labels: { used, loud } },
          data: { users: "a" }
        })
        yield* run({
          reconcile,
          watches: [
            Trigger.on(ConfigMap, {
              map: users,
              predicate: Predicate.labels({ loud: "yes" }),
              select: { labels: "used=yes" }
            })
          ]
        })
        server.put(ConfigMap, labelled("quiet", "yes", "no"))
        server.put(ConfigMap, labelled("unused", "no", "yes"))
        yield* settle
        expect(names()).toEqual(["a"])
        server.put(ConfigMap, labelled("both", "yes", "yes"))
        yield* settle
        expect(names()).toEqual(["a", "a"])
      })
    )
  )

  effect(
    "that its field selector leaves out is not in the cache, and triggers no reconcile",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a")
        const { names, reconcile } = done()
        yield* run({
          reconcile,
          watches: [Trigger.on(ConfigMap, { map: users, select: { fields: "metadata.name!=large" } })]
        })
        server.put(ConfigMap, config("large", { users: "a" }))
        yield* settle
        expect(names()).toEqual(["a"])
        server.put(ConfigMap, config("small", { users: "a" }))
        yield* settle
        expect(names()).toEqual(["a", "a"])
        const { items } = yield* Cache.list(ConfigMap)
        expect(items.map(({ metadata }) => metadata.name)).toEqual(["small"])
      })
    )
  )

  const delayed = { map: users, delay: "2 seconds" } as const

  effect(
    "with a delay is reconciled once with the changes after it, and not before the delay ends",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a")
        server.put(ConfigMap, config("shared", { users: "a" }))
        const { reconcile, times } = done()
        yield* run({ reconcile, watches: [Trigger.on(ConfigMap, delayed)] })
        expect(times()).toEqual([0])
        yield* pass("10 seconds")
        server.change(ConfigMap, "shared", { data: { users: "a", round: "1" } })
        yield* pass("1 second")
        server.change(ConfigMap, "shared", { data: { users: "a", round: "2" } })
        yield* pass("1 minute")
        expect(times()).toEqual([0, 12_000])
      })
    )
  )

  effect(
    "with a delay is reconciled at once with another change",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a")
        const { reconcile, times } = done()
        yield* run({ reconcile, watches: [Trigger.on(ConfigMap, delayed)] })
        server.put(ConfigMap, config("shared", { users: "a" }))
        yield* pass("1 second")
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* pass("1 minute")
        expect(times()).toEqual([0, 1000])
      })
    )
  )

  effect(
    "finds the objects by an index of the controller's own kind",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("small", 1))
        server.put(Widget, widget("large", 9))
        const { names, reconcile } = done()
        // The watch of this kind delivers only Widgets.
        const values = (object: object) => [`${(object as Widget).spec.size}`]
        const map = ({ data }: ConfigMap) =>
          Effect.map(Cache.list(Widget, { index: { name: "size", value: data?.size ?? "" } }), ({ items }) =>
            items.map(({ metadata }) => metadata)
          )
        yield* run({ reconcile, indexes: [{ name: "size", values }], watches: [Trigger.on(ConfigMap, { map })] })
        const before = names().length
        server.put(ConfigMap, config("shared", { size: "9" }))
        yield* settle
        expect(names().slice(before)).toEqual(["large"])
      })
    )
  )

  effect(
    "can be looked up by the index of the trigger",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a", "b")
        server.put(ConfigMap, config("one", { users: "a,b" }))
        server.put(ConfigMap, config("two", { users: "b" }))
        const found: Array<string> = []
        const reconcile = ({ metadata }: Widget) =>
          Cache.list(ConfigMap, { index: { name: "users", value: metadata.name } }).pipe(
            Effect.map(({ items }) =>
              found.push(...items.map((each) => `${metadata.name} uses ${each.metadata.name}`))
            ),
            Effect.as(Result.done)
          )
        // The watch of this kind delivers only ConfigMaps.
        const values = (object: object) => users(object as ConfigMap).map(({ name }) => name)
        yield* run({
          reconcile,
          watches: [Trigger.on(ConfigMap, { map: users, indexes: [{ name: "users", values }] })]
        })
        expect(found.sort()).toEqual(["a uses one", "b uses one", "b uses two"])
      })
    )
  )

  effect(
    "contains only metadata if that is sufficient for the trigger",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a")
        server.put(ConfigMap, config("a", { secret: "1" }))
        const seen: Array<ReadonlyArray<string>> = []
        const { names, reconcile } = done()
        const map = (object: object & { readonly metadata: { readonly name: string } }) => {
          seen.push(Object.keys(object))
          return [{ namespace: "default", name: object.metadata.name }]
        }
        yield* run({ reconcile, watches: [Trigger.onMetadata(ConfigMap, { map })] })
        expect(seen.map((keys) => keys.toSorted())).toEqual([["apiVersion", "kind", "metadata"]])
        expect(names()).toEqual(["a"])
      })
    )
  )
})

describe("A child that exists when a term starts", () => {
  for (const [name, predicate, kinds] of [
    ["adds no trigger, because its owner is reconciled anyway", undefined, ["Widget"]],
    [
      "triggers its owner if a predicate may have ignored the owner",
      Predicate.named("all", () => true),
      ["ConfigMap", "Widget"]
    ]
  ] as const) {
    effect(
      name,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          putWidgets(server, "a")
          const ownerReferences = [
            { apiVersion: "example.com/v1", kind: "Widget", name: "a", uid: "u", controller: true }
          ]
          server.put(ConfigMap, { metadata: { name: "child", ownerReferences } })
          yield* run({
            reconcile: () => Effect.succeed(Result.done),
            owns: [ConfigMap],
            ...(predicate && { predicate })
          })
          expect(attempts.map(({ triggers }) => triggers.map(({ source }) => source?.kind).sort())).toEqual([
            [...kinds]
          ])
          server.change(ConfigMap, "child", { data: { changed: "yes" } })
          yield* settle
          expect(attempts.at(-1)?.triggers.map(({ kind }) => kind)).toEqual(["owned.modified"])
        })
      )
    )
  }
})

describe("A change of an object itself", () => {
  effect(
    "that the predicate of the controller excludes does not trigger it, unlike deletions and retries",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a")
        const { reconcile, times } = counted((n) => (n === 2 ? Effect.fail("no luck") : Effect.succeed(Result.done)))
        const retry = Schedule.spaced("1 second")
        const noDeletion: Predicate.Predicate = ({ type }) => type !== "deleted"
        yield* run({ reconcile, retry, predicate: Predicate.and(Predicate.generationChanged, noDeletion) })
        server.change(Widget, "a", { metadata: { labels: { touched: "yes" } } })
        server.change(Widget, "a", { status: { phase: "touched" } })
        yield* pass("1 second")
        expect(times()).toEqual([0])
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* pass("1 second")
        expect(times()).toEqual([0, 1000, 2000])
        server.remove(Widget, "a")
        yield* settle
        expect(attempts.at(-1)?.outcome._tag).toBe("Vanished")
      })
    )
  )
})

describe("An exception", () => {
  const bad = (): never => {
    throw new Error("bad")
  }

  effect(
    "in a predicate is logged once, lets the change pass, and does not end the watch",
    withWorld(({ logs, server }) =>
      Effect.gen(function* () {
        putWidgets(server, "a")
        const { names, reconcile } = done()
        yield* run({ reconcile, predicate: bad, watches: [Trigger.on(ConfigMap, { map: users, predicate: bad })] })
        putWidgets(server, "b")
        server.put(ConfigMap, config("shared", { users: "a" }))
        yield* settle
        expect(names()).toEqual(["a", "b", "a"])
        expect(logs.filter((line) => line.startsWith("ERROR"))).toEqual([
          "ERROR A predicate of controller widgets threw: bad"
        ])
      })
    )
  )

  for (const later of [false, true]) {
    effect(
      `in a map that returns a key without a namespace is logged as an error, and triggers nothing${later ? ", also in an effect" : ""}`,
      withWorld(({ logs, server }) =>
        Effect.gen(function* () {
          putWidgets(server, "a")
          const { names, reconcile } = done()
          const map = () => (later ? Effect.succeed([{ name: "a" }]) : [{ name: "a" }])
          yield* run({ reconcile, watches: [Trigger.on(ConfigMap, { map })] })
          server.put(ConfigMap, config("any", {}))
          yield* settle
          expect(names()).toEqual(["a"])
          expect(logs.filter((line) => line.startsWith("ERROR"))).toEqual([
            "ERROR A map of controller widgets threw: namespace required: key of widgets.example.com a (the kind is namespaced)"
          ])
        })
      )
    )
  }

  for (const [how, fail] of [
    ["throws", bad],
    ["dies", () => Effect.die(new Error("bad"))]
  ] as const) {
    effect(
      `in a map that ${how} is logged once, and does not affect later changes`,
      withWorld(({ logs, server }) =>
        Effect.gen(function* () {
          putWidgets(server, "a")
          const { names, reconcile } = done()
          const map = (object: ConfigMap) => (object.metadata.name === "odd" ? fail() : Effect.succeed(users(object)))
          yield* run({ reconcile, watches: [Trigger.on(ConfigMap, { map })] })
          server.put(ConfigMap, config("odd", {}))
          server.change(ConfigMap, "odd", { data: { more: "yes" } })
          server.put(ConfigMap, config("even", { users: "a" }))
          yield* settle
          expect(names()).toEqual(["a", "a"])
          expect(logs.filter((line) => line.startsWith("ERROR"))).toEqual([
            "ERROR A map of controller widgets threw: bad"
          ])
        })
      )
    )
  }
})
