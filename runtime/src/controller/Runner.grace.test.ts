import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Controller from "./Controller.ts"
import * as Result from "./Result.ts"
import { closable, ended, pass, run, story, Widget, widget, withWorld } from "./World.fixture.ts"

describe("A grace period of 0", () => {
  effect(
    "interrupts a reconcile at once, and waits for its clean-up",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let cleaned = false
        const reconcile = () =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.andThen(
              Effect.sleep("1 second"),
              Effect.sync(() => {
                cleaned = true
              })
            )
          )
        const { close, scope } = yield* closable
        yield* Scope.provide(run({ reconcile, timeout: "1 hour" }, { gracePeriod: 0 }), scope)
        const closing = yield* close
        yield* pass("900 millis")
        expect(yield* ended(closing)).toBe(false)
        yield* pass("200 millis")
        expect(yield* ended(closing)).toBe(true)
        expect(cleaned).toBe(true)
        expect(story(attempts)).toEqual(["Interrupted"])
      })
    )
  )
})

describe("The default grace period", () => {
  effect(
    "is 30 seconds, after which the runner interrupts a reconcile",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { close, scope } = yield* closable
        const reconcile = () => Effect.never
        yield* Scope.provide(run({ reconcile, timeout: "1 hour" }, { gracePeriod: undefined }), scope)
        const closing = yield* close
        yield* pass("29999 millis")
        expect(attempts).toEqual([])
        expect(yield* ended(closing)).toBe(false)
        yield* pass("1 millis")
        expect(story(attempts)).toEqual(["Interrupted"])
        expect(yield* ended(closing)).toBe(true)
      })
    )
  )
})

describe("A controller", () => {
  test("runs only in the leader by default", () => {
    const reconcile = () => Effect.succeed(Result.done)
    expect(Controller.make("widgets", { for: Widget, reconcile }).leaderElected).toBe(true)
    expect(Controller.make("widgets", { for: Widget, reconcile, leaderElected: false }).leaderElected).toBe(false)
  })
})
