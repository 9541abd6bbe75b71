import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Predicate from "./Predicate.ts"
import * as Result from "./Result.ts"
import { TerminalError } from "./TerminalError.ts"
import * as Trigger from "./Trigger.ts"
import { counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

class Broken extends Data.TaggedError("Broken")<{ readonly message: string }> {}
const broken = new Broken({ message: "no luck" })

const touched = (how: string) => ({ metadata: { labels: { touched: how } } })

describe("Reconciles that wait", () => {
  /** 4 workers, slow reconciles of a tenant, and fast ones that come later. */
  const shares = (tenants: number, honest: number) =>
    withWorld(({ server }) =>
      Effect.gen(function* () {
        let [now, inAll, beside, begun, done] = [0, 0, 0, 0, 0]
        const { reconcile } = counted((_, { metadata }) =>
          metadata.namespace === "tenant"
            ? Effect.gen(function* () {
                now++
                inAll = Math.max(inAll, now)
                if (begun < honest && begun > 0) beside = Math.max(beside, now)
                yield* Effect.ensuring(
                  Effect.sleep("30 seconds"),
                  Effect.sync(() => void now--)
                )
                return Result.done
              })
            : Effect.gen(function* () {
                begun++
                yield* Effect.sleep("1 second")
                done++
                return Result.done
              })
        )
        yield* run({ reconcile, concurrency: 4 })
        for (let at = 0; at < tenants; at++)
          server.put(Widget, { metadata: { name: `t${at}`, namespace: "tenant" }, spec: { size: 1 } })
        yield* pass("1 second")
        for (let at = 0; at < honest; at++) server.put(Widget, widget(`h${at}`))
        yield* pass("45 seconds")
        expect([inAll, done, beside <= 2]).toEqual([4, honest, true])
      })
    )

  effect("of one namespace hold at most half of the workers while others wait", shares(40, 20))
  effect("of one namespace alone hold all workers", shares(40, 0))
})

describe("A requeued run", () => {
  for (const [how, again] of [
    ["with requeueAfter", Result.requeueAfter("10 millis")],
    ["with requeue", Result.requeue]
  ] as const) {
    for (const [where, result, order] of [
      ["keeps its position", again, "a busy before a after a"],
      ["is first with a high priority, also after a failure", Result.withPriority(again, 7), "a busy a before a after"],
      ["is behind all changes with a low priority", Result.withPriority(again, Result.low), "a busy before after a a"]
    ] as const) {
      effect(
        `${how} ${where}`,
        withWorld(({ server }) =>
          Effect.gen(function* () {
            let runs = 0
            const { names, reconcile } = counted((_, { metadata }) =>
              metadata.name !== "a"
                ? Effect.as(Effect.sleep("100 millis"), Result.done)
                : ++runs === 2
                  ? broken
                  : Effect.succeed(runs === 1 ? result : Result.done)
            )
            yield* run({ reconcile, retry: Schedule.spaced("10 millis"), concurrency: 1 })
            server.put(Widget, widget("a"))
            yield* settle
            for (const name of ["busy", "before"]) server.put(Widget, widget(name))
            // The only worker is busy until 100 ms. At 10 ms, a trigger for `a` arrives.
            yield* pass("20 millis")
            server.put(Widget, widget("after"))
            yield* pass("1 second")
            expect(names().join(" ")).toBe(order)
          })
        )
      )
    }
  }

  effect(
    "with requeueAfter is on time for many objects",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        for (let n = 0; n < 150; n++) server.put(Widget, widget(`w${n}`))
        const { reconcile, times } = counted((n) =>
          Effect.succeed(n <= 150 ? Result.requeueAfter("10 millis") : Result.done)
        )
        yield* run({ reconcile })
        yield* pass("1 second")
        expect(times().slice(150)).toEqual(Array(150).fill(10))
      })
    )
  )

  effect(
    "is dropped on a failure, after which the retry schedule decides",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const reconcile = () => Effect.tap(Effect.succeed(Result.requeueAfter("1 hour")), broken)
        yield* run({ reconcile, retry: Schedule.exponential("1 second") })
        yield* pass("3500 millis")
        expect(story(attempts)).toEqual(["Failed +1000", "Failed +2000", "Failed +4000"])
      })
    )
  )

  test("may have a priority, unlike a finished one", () => {
    // @ts-expect-error: a finished result has no next run.
    expect(Result.withPriority(Result.done, 1)).toMatchObject({ _tag: "Done" })
  })
})

describe("An object that failed permanently", () => {
  effect(
    "starts again with its first failure",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((n) => Effect.fail(n === 3 ? new TerminalError({ message: "never" }) : broken))
        yield* run({ reconcile, retry: Schedule.exponential("1 second") })
        yield* pass("3 seconds")
        // A label does not change the generation. A new generation would reset the state anyway.
        server.change(Widget, "a", touched("yes"))
        yield* settle
        expect(story(attempts)).toEqual(["Failed +1000", "Failed +2000", "Terminal", "Failed +1000"])
        expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 1])
      })
    )
  )
})

describe("The predicates", () => {
  effect(
    "of two triggers for one kind are evaluated for their own trigger only",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b"]) server.put(Widget, widget(name))
        const { names, reconcile } = counted(() => Effect.succeed(Result.done))
        const wakes = (name: string, when: string) =>
          Trigger.on(ConfigMap, {
            map: () => [{ namespace: "default", name }],
            predicate: Predicate.labels({ touched: when })
          })
        yield* run({ reconcile, watches: [wakes("a", "one"), wakes("b", "two")] })
        server.put(ConfigMap, { metadata: { name: "config" } })
        yield* settle
        expect(names()).toEqual(["a", "b"])
        server.change(ConfigMap, "config", touched("one"))
        yield* settle
        expect(names().slice(2)).toEqual(["a"])
        server.change(ConfigMap, "config", touched("two"))
        yield* settle
        expect(names().slice(2)).toEqual(["a", "b"])
        expect(attempts).toHaveLength(4)
      })
    )
  )
})
