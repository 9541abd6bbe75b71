/** The journal entries of a running controller. */
import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Fence from "../../client/Fence.ts"
import * as Controller from "../../controller/Controller.ts"
import * as Predicate from "../../controller/Predicate.ts"
import * as Result from "../../controller/Result.ts"
import * as Runner from "../../controller/Runner.ts"
import * as Trigger from "../../controller/Trigger.ts"
import { counted, run, settle, Widget, widget, withWorld } from "../../controller/World.fixture.ts"
import { ConfigMap } from "../../resource/BuiltIn.ts"
import * as Journal from "./Journal.ts"

const done = () => counted(() => Effect.succeed(Result.done)).reconcile

describe("The journal of a controller", () => {
  effect(
    "contains its attempts, the changes that its predicate ignored, and deletions",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const journal = Journal.make()
        yield* run({ reconcile: done(), predicate: Predicate.labels({ seen: "yes" }) }, { history: journal })
        expect(journal.of("default/a")).toMatchObject({
          runs: [],
          ignored: [{ kind: "startup", predicate: "labels: it does not have seen=yes" }]
        })
        server.change(Widget, "a", { metadata: { labels: { seen: "yes" } } })
        yield* settle
        expect(journal.of("default/a")?.runs).toMatchObject([
          { outcome: "Done", triggers: [{ kind: "watch.modified" }] }
        ])
        server.remove(Widget, "a")
        yield* settle
        expect(journal.of("default/a")).toMatchObject({
          deleted: { at: 0 },
          runs: [{ outcome: "Done" }, { outcome: "Vanished" }]
        })
      })
    )
  )

  effect(
    "contains ignored changes of a watched kind, by source",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const trigger = Trigger.on(ConfigMap, {
          map: () => [],
          predicate: Predicate.named("never: nothing is news", () => false)
        })
        const journal = Journal.make()
        yield* run({ reconcile: done(), watches: [trigger] }, { history: journal })
        server.put(ConfigMap, { metadata: { name: "c" } })
        yield* settle
        expect(Array.from(journal.elsewhere(trigger))).toMatchObject([
          { kind: "watch.added", source: { kind: "ConfigMap", key: "default/c" }, predicate: "never: nothing is news" }
        ])
      })
    )
  )

  effect(
    "omits objects from before its start, which would displace newer entries",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(ConfigMap, { metadata: { name: "old" } })
        const trigger = Trigger.on(ConfigMap, { map: () => [], predicate: () => false })
        const journal = Journal.make()
        yield* run({ reconcile: done(), watches: [trigger] }, { history: journal })
        expect(Array.from(journal.elsewhere(trigger))).toEqual([])
        server.change(ConfigMap, "old", { data: { a: "1" } })
        yield* settle
        expect(Array.from(journal.elsewhere(trigger))).toMatchObject([{ kind: "watch.modified", times: 1 }])
      })
    )
  )

  effect(
    "survives a term, and continues while another process leads",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const journal = Journal.make()
        const prepared = yield* Runner.prepare(
          Controller.make("widgets", { for: Widget, reconcile: done(), predicate: Predicate.generationChanged }),
          { gracePeriod: 0, history: journal }
        )
        const stop = yield* Deferred.make<void>()
        const term = yield* Effect.forkChild(prepared.lead(Fence.open, Deferred.await(stop)))
        yield* settle
        yield* Deferred.succeed(stop, undefined)
        yield* Fiber.join(term)
        expect(journal.of("default/a")?.runs).toHaveLength(1)
        yield* Effect.forkScoped(prepared.standBy)
        yield* settle
        server.change(Widget, "a", { metadata: { labels: { by: "hand" } } })
        yield* settle
        expect(journal.of("default/a")?.ignored).toMatchObject([{ kind: "watch.modified" }])
      })
    )
  )
})
