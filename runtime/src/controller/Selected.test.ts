import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as EffectScope from "effect/Scope"
import * as Cache from "../cache/Cache.ts"
import * as Client from "../client/Client.ts"
import { type Fields, lines } from "../client/Cluster.fixture.ts"
import * as Fence from "../client/Fence.ts"
import * as Patch from "../client/Patch.ts"
import { ConfigMap, Namespace, Node } from "../resource/BuiltIn.ts"
import * as Access from "./Access.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import * as Predicate from "./Predicate.ts"
import * as Result from "./Result.ts"
import * as Runner from "./Runner.ts"
import * as Trigger from "./Trigger.ts"
import { counted, pass, type Services, settle, Widget, type World, widget, withWorld } from "./World.fixture.ts"

type Declared = Pick<Controller.Options<Widget, never, never, never, never, never, never>, "select" | "when">

/** Each selects `default/mine`, and not `other/theirs`. */
const selections: { readonly [what: string]: Declared } = {
  labels: { select: { labels: "mine=yes" } },
  fields: { select: { fields: "metadata.name!=theirs" } },
  namespaces: { select: { namespaces: ["default"] } },
  content: { when: ({ spec }) => spec.size === 2 }
}

const mine = { metadata: { name: "mine", labels: { mine: "yes" } }, spec: { size: 2 } }
const theirs = { metadata: { namespace: "other", name: "theirs" }, spec: { size: 1 } }
const there = { namespace: "other", name: "theirs" }
const both = [{ namespace: "default", name: "mine" }, there]
const touch = Client.patch(Widget, there, Patch.merge({ metadata: { annotations: { touched: "yes" } } }))

/** Begins a term, or stands by, as long as the test. */
interface Turns {
  readonly server: World["server"]
  readonly begin: Effect.Effect<void, never, Services | EffectScope.Scope>
  readonly standBy: Effect.Effect<void, never, Services | EffectScope.Scope>
}

/** How the key of an object reaches the queue. */
const ways: { readonly [what: string]: (turns: Turns) => Effect.Effect<void, unknown, Services | EffectScope.Scope> } =
  {
    "the first list": ({ begin }) => begin,
    "a change": ({ begin }) => Effect.andThen(begin, touch),
    "a resync": ({ begin }) => Effect.andThen(begin, pass("2 hours")),
    "a burst of changes behind a slow map": ({ begin, server }) =>
      Effect.gen(function* () {
        yield* begin
        for (let n = 0; n < 1100; n++) server.put(ConfigMap, { metadata: { name: `c${n}` } })
      }),
    "a trigger": ({ begin, server }) =>
      Effect.andThen(
        begin,
        Effect.sync(() => server.put(Namespace, { metadata: { name: "new" } }))
      ),
    "a child": ({ begin, server }) =>
      Effect.gen(function* () {
        yield* begin
        const { uid } = (yield* Client.get(Widget, there)).metadata
        const owner = { apiVersion: "example.com/v1", kind: "Widget", name: "theirs", uid, controller: true }
        server.put(ConfigMap, { metadata: { namespace: "other", name: "child", ownerReferences: [owner] } })
      }),
    "a change on a standby": ({ begin, standBy }) => standBy.pipe(Effect.andThen(touch), Effect.andThen(begin))
  }

describe("An object that a controller does not select is not touched", () => {
  for (const [by, declared] of Object.entries(selections)) {
    for (const [way, act] of Object.entries(ways)) {
      effect(
        `by ${by}: after ${way}`,
        withWorld(({ attempts, server }) =>
          Effect.gen(function* () {
            server.put(Widget, mine)
            server.put(Widget, theirs)
            const { names, reconcile } = counted(() => Effect.succeed(Result.done))
            const controller = Controller.make("widgets", {
              for: Widget,
              ...declared,
              finalizer: { name: "example.com/clean", cleanup: () => Effect.void },
              owns: way === "a child" ? [ConfigMap] : [],
              watches:
                way === "a trigger"
                  ? [Trigger.on(Namespace, { map: () => both })]
                  : way === "a burst of changes behind a slow map"
                    ? [Trigger.on(ConfigMap, { map: () => Effect.as(Effect.sleep("10 millis"), []) })]
                    : [],
              reconcile
            })
            const runner = yield* Runner.prepare(controller, { gracePeriod: 0, syncPeriod: "1 hour" })
            yield* settle
            yield* act({
              server,
              begin: Effect.andThen(Effect.forkScoped(runner.lead(Fence.open, Effect.never)), settle),
              standBy: Effect.andThen(Effect.forkScoped(runner.standBy), settle)
            })
            yield* pass("1 minute")
            expect(new Set(names())).toEqual(new Set(["mine"]))
            // A trigger may name an object that the cache does not have.
            const attempted = attempts.filter(({ outcome }) => outcome._tag !== "Vanished").map(({ key }) => key)
            expect(new Set(attempted)).toEqual(new Set(["default/mine"]))
            expect(yield* Client.get(Widget, there)).not.toHaveProperty("metadata.finalizers")
            const writes = lines(server.writes()).filter((line) => line.includes("theirs"))
            expect(writes.length).toBe(way.startsWith("a change") ? 1 : 0)
          })
        )
      )
    }
  }

  effect(
    "after the delay of a requeueAfter, if its content has changed meanwhile",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a", 2))
        const { names, reconcile } = counted(() => Effect.succeed(Result.requeueAfter("1 minute")))
        const controller = Controller.make("widgets", { for: Widget, when: ({ spec }) => spec.size === 2, reconcile })
        const runner = yield* Runner.prepare(controller, { gracePeriod: 0, syncPeriod: 0 })
        yield* Effect.forkScoped(runner.lead(Fence.open, Effect.never))
        yield* settle
        server.change(Widget, "a", { spec: { size: 1 } })
        yield* pass("1 hour")
        expect(names()).toEqual(["a"])
      })
    )
  )
})

/** A controller with a finalizer, and the names that were cleaned up. */
const cleaning = (
  declared: Declared,
  options: {
    readonly whenUnselected?: "Retain"
    readonly cleanup?: (run: number) => Effect.Effect<Result.Result, unknown>
    readonly settings?: Runner.Settings
  } = {}
) =>
  Effect.gen(function* () {
    const cleaned: Array<string> = []
    const { names, reconcile } = counted(() => Effect.succeed(Result.done))
    const controller = Controller.make("widgets", {
      for: Widget,
      ...declared,
      finalizer: {
        name: "example.com/clean",
        whenUnselected: options.whenUnselected,
        cleanup: ({ metadata }) =>
          Effect.suspend(() => (options.cleanup ?? (() => Effect.succeed(Result.done)))(cleaned.push(metadata.name)))
      },
      reconcile
    })
    const runner = yield* Runner.prepare(controller, { gracePeriod: 0, syncPeriod: 0, ...options.settings })
    const begin = Effect.andThen(Effect.forkScoped(runner.lead(Fence.open, Effect.never)), settle)
    return { cleaned, names, begin }
  })

/** By a label, by a field and by content: each selects `a` until the change. */
const leavings: {
  readonly [what: string]: { readonly declared: Declared; readonly before: Fields; readonly after: Fields }
} = {
  labels: {
    declared: { select: { labels: "mine=yes" } },
    before: { metadata: { labels: { mine: "yes" } } },
    after: { metadata: { labels: { mine: "no" } } }
  },
  content: {
    declared: { when: ({ spec }) => spec.size === 2 },
    before: { spec: { size: 2 } },
    after: { spec: { size: 1 } }
  },
  "labels and content": {
    declared: { select: { labels: "mine=yes" }, when: ({ spec }) => spec.size === 2 },
    before: { metadata: { labels: { mine: "yes" } }, spec: { size: 2 } },
    after: { metadata: { labels: { mine: "no" } } }
  }
}

describe("An object that a predicate refuses", () => {
  for (const way of ["the first list", "a change", "a resync", "a burst of changes behind a slow map"]) {
    effect(
      `is not touched after ${way}, which is news`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, mine)
          server.put(Widget, theirs)
          const { names, reconcile } = counted(() => Effect.succeed(Result.done))
          const controller = Controller.make("widgets", {
            for: Widget,
            predicate: Predicate.labels({ mine: "yes" }),
            watches: [Trigger.on(ConfigMap, { map: () => Effect.as(Effect.sleep("10 millis"), []) })],
            reconcile
          })
          const runner = yield* Runner.prepare(controller, { gracePeriod: 0, syncPeriod: "1 hour" })
          yield* settle
          yield* (ways[way] ?? (() => Effect.die(way)))({
            server,
            begin: Effect.andThen(Effect.forkScoped(runner.lead(Fence.open, Effect.never)), settle),
            standBy: Effect.void
          })
          yield* pass("1 minute")
          expect(new Set(names())).toEqual(new Set(["mine"]))
        })
      )
    )
  }
})

describe("An object that leaves a selection", () => {
  for (const [by, { after, before, declared }] of Object.entries(leavings)) {
    const arrive = (server: World["server"]) => {
      server.put(Widget, widget("a", 3))
      server.change(Widget, "a", before)
    }
    const finalizersOf = (server: World["server"]) => server.get(Widget, "a")?.metadata.finalizers ?? []

    effect(
      `is cleaned up, and loses the finalizer: ${by}`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          arrive(server)
          const { begin, cleaned, names } = yield* cleaning(declared)
          yield* begin
          expect(finalizersOf(server)).toEqual(["example.com/clean"])
          const runs = names().length
          server.change(Widget, "a", after)
          yield* settle
          expect(cleaned).toEqual(["a"])
          expect(finalizersOf(server)).toEqual([])
          expect(server.get(Widget, "a")?.metadata.deletionTimestamp).toBeUndefined()
          expect(names()).toHaveLength(runs)

          // Selected again, it is reconciled, and cleaned up once more when it is deleted.
          server.change(Widget, "a", before)
          yield* settle
          expect(names().length).toBeGreaterThan(runs)
          expect(finalizersOf(server)).toEqual(["example.com/clean"])
          server.remove(Widget, "a")
          yield* settle
          expect(cleaned).toEqual(["a", "a"])
          expect(server.get(Widget, "a")).toBeUndefined()
        })
      )
    )

    effect(
      `loses the finalizer without a clean-up if the controller retains: ${by}`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          arrive(server)
          const { begin, cleaned } = yield* cleaning(declared, { whenUnselected: "Retain" })
          yield* begin
          server.change(Widget, "a", after)
          yield* settle
          expect(cleaned).toEqual([])
          expect(finalizersOf(server)).toEqual([])
        })
      )
    )

    effect(
      `is cleaned up by the next term if it left between two terms: ${by}`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          arrive(server)
          server.change(Widget, "a", { metadata: { finalizers: ["example.com/clean"] } })
          server.change(Widget, "a", after)
          server.put(Widget, widget("other", 1))
          const { begin, cleaned } = yield* cleaning(declared)
          yield* begin
          expect(cleaned).toEqual(["a"])
          expect(finalizersOf(server)).toEqual([])
        })
      )
    )

    effect(
      `keeps the finalizer until the clean-up has ended, also while it is deleted: ${by}`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          arrive(server)
          const cleanup = (run: number) =>
            run === 1 ? Effect.fail("busy") : Effect.succeed(run < 4 ? Result.requeueAfter("1 minute") : Result.done)
          const { begin, cleaned } = yield* cleaning(declared, { cleanup })
          yield* begin
          server.change(Widget, "a", after)
          yield* pass("30 seconds")
          expect(cleaned).toEqual(["a", "a"])
          expect(finalizersOf(server)).toEqual(["example.com/clean"])
          server.remove(Widget, "a")
          yield* pass("10 minutes")
          expect(cleaned.length).toBeGreaterThanOrEqual(4)
          expect(server.get(Widget, "a")).toBeUndefined()
        })
      )
    )
  }

  effect(
    "is cleaned up when it leaves by a field that only the API server can evaluate",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Node, { metadata: { name: "a" } })
        server.put(Node, { metadata: { name: "b", labels: { of: "others" } }, spec: { unschedulable: true } })
        const cleaned: Array<string> = []
        const controller = Controller.make("nodes", {
          for: Node,
          select: { fields: "spec.unschedulable=false" },
          finalizer: {
            name: "example.com/clean",
            cleanup: ({ metadata }) => Effect.sync(() => void cleaned.push(metadata.name))
          },
          reconcile: () => Effect.succeed(Result.done)
        })
        const runner = yield* Runner.prepare(controller, { gracePeriod: 0, syncPeriod: 0 })
        yield* Effect.forkScoped(runner.lead(Fence.open, Effect.never))
        yield* settle
        const finalizersOf = (name: string) => server.get(Node, name)?.metadata.finalizers
        expect([finalizersOf("a"), finalizersOf("b")]).toEqual([["example.com/clean"], undefined])
        server.change(Node, "a", { spec: { unschedulable: true } })
        yield* settle
        expect(cleaned).toEqual(["a"])
        expect(finalizersOf("a")).toBeUndefined()
      })
    )
  )

  effect(
    "of the manager alone keeps the finalizer: the manager with its labels has it",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, { metadata: { name: "a", labels: { mine: "yes", shard: "one" } }, spec: { size: 1 } })
        const { begin, cleaned } = yield* cleaning(
          { select: { labels: "mine=yes" } },
          { settings: { labelSelector: "shard=one" } }
        )
        yield* begin
        server.change(Widget, "a", { metadata: { labels: { shard: "two" } } })
        yield* pass("1 minute")
        expect(cleaned).toEqual([])
        expect(server.get(Widget, "a")?.metadata.finalizers).toEqual(["example.com/clean"])
      })
    )
  )

  effect(
    "by its deletion is not read after its clean-up",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, { metadata: { name: "a", labels: { mine: "yes" } }, spec: { size: 1 } })
        const { begin } = yield* cleaning({ select: { labels: "mine=yes" } })
        yield* begin
        server.remove(Widget, "a")
        yield* settle
        const reads = server.requests.filter(({ verb }) => verb === "get")
        expect(lines(reads)).toEqual([])
      })
    )
  )

  effect(
    "without finalizers sends no request",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, { metadata: { name: "a", labels: { mine: "yes" } }, spec: { size: 1 } })
        const { reconcile } = counted(() => Effect.succeed(Result.done))
        const controller = Controller.make("widgets", { for: Widget, select: { labels: "mine=yes" }, reconcile })
        const runner = yield* Runner.prepare(controller, { gracePeriod: 0, syncPeriod: 0 })
        yield* Effect.forkScoped(runner.lead(Fence.open, Effect.never))
        yield* settle
        const before = server.requests.length
        server.change(Widget, "a", { metadata: { labels: { mine: "no" } } })
        yield* pass("1 minute")
        expect(server.requests).toHaveLength(before)
      })
    )
  )
})

describe("Two controllers of one kind", () => {
  effect(
    "each see the objects that they select, whatever the other selects",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("owner"))
        for (const team of ["red", "blue"]) server.put(ConfigMap, { metadata: { name: team, labels: { team } } })
        const seen = new Map<string, ReadonlyArray<string>>()
        const of = (name: string, labels: string | undefined) =>
          Controller.make(name, {
            for: Widget,
            watches: [Trigger.on(ConfigMap, { select: { labels }, map: () => [] })],
            reconcile: () =>
              Effect.map(Cache.list(ConfigMap), ({ items }) => {
                seen.set(name, items.map(({ metadata }) => metadata.name).sort())
                return Result.done
              })
          })
        for (const controller of [of("red", "team=red"), of("blue", "team=blue"), of("all", undefined)]) {
          const runner = yield* Runner.prepare(controller, { gracePeriod: 0, syncPeriod: 0 })
          yield* Effect.forkScoped(runner.lead(Fence.open, Effect.never))
        }
        yield* settle
        expect(Object.fromEntries(seen)).toEqual({ red: ["red"], blue: ["blue"], all: ["blue", "red"] })
      })
    )
  )

  effect(
    "may read only the kinds that each declares",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const declares = Controller.make("declares", {
          for: Widget,
          watches: [Trigger.on(ConfigMap, { map: () => [] })],
          reconcile: () => Effect.as(Cache.list(ConfigMap), Result.done)
        })
        const reads = Controller.make("reads", {
          for: Widget,
          reconcile: () => Effect.as(Cache.list(ConfigMap), Result.done)
        })
        for (const controller of [declares, reads]) {
          const runner = yield* Runner.prepare(controller, { gracePeriod: 0, syncPeriod: 0 })
          yield* Effect.forkScoped(runner.lead(Fence.open, Effect.never))
        }
        yield* settle
        const outcomes = attempts.map(({ controller, outcome }) => [controller, outcome._tag])
        expect(outcomes).toContainEqual(["declares", "Done"])
        expect(outcomes).toContainEqual(["reads", "Terminal"])
        expect(server.get(Widget, "a")?.status?.conditions?.[0]?.message).toContain(
          "controller reads reads configmaps (v1, full) from the cache and does not declare it: add ConfigMap to watches or owns"
        )
      })
    )
  )
})

describe("A selection", () => {
  test("is refused if it cannot select anything", () => {
    const of = (declared: Pick<Controller.Options<Widget, never, never, never, never, never, never>, "select">) => () =>
      Controller.make("widgets", { for: Widget, ...declared, reconcile: () => Effect.succeed(Result.done) })
    expect(of({ select: { labels: "app is shop" } })).toThrow(
      'invalid labels in the selection of controller widgets: "app is shop" (must be like app=shop)'
    )
    expect(of({ select: { namespaces: [] } })).toThrow(
      "invalid namespaces in the selection of controller widgets: [] (must have a namespace, or be left out for all)"
    )
    expect(() => Trigger.on(Namespace, { select: { namespaces: ["a"] }, map: () => [] })).toThrow(
      'invalid namespaces in the selection of a trigger: ["a"] (namespaces are cluster-scoped, so leave namespaces out)'
    )
  })

  test("of namespaces restricts the permissions of the kind, of its Events and of its children", () => {
    const { access } = Controller.make("widgets", {
      for: Widget,
      select: { namespaces: ["a"] },
      owns: [ConfigMap, Owned.kind(Namespace, {})],
      watches: [Trigger.on(ConfigMap, { select: { namespaces: ["b"] }, map: () => [] })],
      access: [Access.get(ConfigMap)],
      reconcile: () => Effect.succeed(Result.done)
    })
    const placed = access.map(({ resource, selected }) => `${resource.plural} ${selected ?? "all"}`)
    expect(new Set(placed)).toEqual(
      new Set(["widgets a", "events a", "configmaps a", "namespaces all", "configmaps b", "configmaps all"])
    )
  })

  effect(
    "of namespaces that the manager does not follow stops the program",
    withWorld(() =>
      Effect.gen(function* () {
        const cache = yield* Cache.make({ namespaces: ["one"] })
        const controller = Controller.make("widgets", {
          for: Widget,
          select: { namespaces: ["two"] },
          reconcile: () => Effect.succeed(Result.done)
        })
        const prepared = Runner.prepare(controller).pipe(Effect.provideService(Cache.Cache, cache), Effect.exit)
        const exit = yield* prepared
        expect(Exit.isFailure(exit) && String(exit.cause)).toContain(
          "a controller selects widgets.example.com of namespaces two, and the manager follows none of these namespaces: follow one with --namespace (the manager follows one)"
        )
      })
    )
  )
})
