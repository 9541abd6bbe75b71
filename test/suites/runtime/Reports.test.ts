/** Two controllers of one kind, one of which is stuck: the report of the runtime on the object, in virtual time. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"

const Widget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ conditions: Schema.optionalKey(Condition.list) })
})

type Widget = typeof Widget.Type

const key = { namespace: "default", name: "a" }

const create = Client.create(Widget, { metadata: key, spec: { size: 1 } })

const patch = (change: object) => Effect.andThen(Client.patch(Widget, key, Patch.merge(change)), pass)

const pass = TestClock.adjust("2 minutes")

const messages = Effect.map(Client.get(Widget, key), ({ status }) =>
  (status?.conditions ?? []).map(({ message, type }) => `${type} ${message}`)
)

const report = (words: string) => [`Ready The reconcile stopped: ${words}`, `Stalled The reconcile stopped: ${words}`]

/** A controller of Widgets that counts its runs. A loop ends after 50 runs, so that a failing test ends too. */
const counted = <E, R>(name: string, behave: (object: Widget) => Effect.Effect<Result.Result, E, R>) => {
  let runs = 0
  const reconcile = (object: Widget) => Effect.suspend(() => (++runs > 50 ? Effect.never : behave(object)))
  return { controller: Controller.make(name, { for: Widget, reconcile }), runs: () => runs }
}

const hopeless = (words: string) => Effect.fail(new TerminalError({ message: words }))

const other = () => counted("other", () => Effect.succeed(Result.done))
const small = () =>
  counted("small", ({ spec }) => (spec.size === 1 ? hopeless("too small") : Effect.succeed(Result.done)))

type Body = (
  start: Effect.Effect<void, unknown, Scope.Scope>
) => Effect.Effect<void, unknown, Client.Client | Scope.Scope>

/** Declares a test of two controllers: its body starts the manager. */
const test = (name: string, controllers: ReadonlyArray<Controller.Controller<Controller.Services>>, body: Body) =>
  Harness.make({ crds: [Crd.of(Widget)], manager: Effect.void })(name, ({ transport }) =>
    body(Effect.asVoid(Effect.provide(Manager.launch(controllers), transport)))
  )

describe("The report of one of two controllers of a kind", () => {
  const [a, b] = [small(), other()]
  test("stays while the other one succeeds, until its own reconcile succeeds", [a.controller, b.controller], (start) =>
    Effect.gen(function* () {
      yield* start
      yield* create
      yield* pass
      expect(yield* messages).toEqual(report("too small"))
      yield* patch({ metadata: { labels: { touched: "yes" } } })
      expect(yield* messages).toEqual(report("too small"))
      yield* patch({ spec: { size: 2 } })
      expect(yield* messages).toEqual([])
      expect(a.runs() + b.runs()).toBeLessThan(12)
    })
  )

  const [first, second] = [counted("first", () => hopeless("first")), counted("second", () => hopeless("second"))]
  test("does not alternate with the report of the other one", [first.controller, second.controller], (start) =>
    Effect.gen(function* () {
      yield* start
      yield* create
      yield* pass
      expect([report("first"), report("second")]).toContainEqual(yield* messages)
      expect(first.runs() + second.runs()).toBeLessThan(8)
    })
  )

  const c = small()
  const d = counted("other", (object) => {
    const time = "2026-11-20T00:00:00Z"
    const ready = { type: "Ready", status: "True", reason: "Fine", message: "fine", lastTransitionTime: time } as const
    return Effect.as(Status.update(object, { conditions: [ready] }), Result.done)
  })
  test("is written once a minute at most over a Ready of the other one", [c.controller, d.controller], (start) =>
    Effect.gen(function* () {
      yield* start
      yield* create
      yield* pass
      expect(yield* messages).toEqual(["Ready fine"])
      const before = c.runs() + d.runs()
      expect(before).toBeLessThan(8)
      yield* patch({ metadata: { labels: { touched: "yes" } } })
      expect(c.runs() + d.runs() - before).toBeLessThan(8)
    })
  )

  const [e, f] = [small(), other()]
  test("is removed by its own controller after a restart", [e.controller, f.controller], (start) =>
    Effect.gen(function* () {
      yield* create
      yield* Effect.scoped(Effect.andThen(start, pass))
      expect(yield* messages).toEqual(report("too small"))
      yield* Effect.scoped(Effect.andThen(start, pass))
      expect(yield* messages).toEqual(report("too small"))
      yield* patch({ spec: { size: 2 } })
      yield* start
      yield* pass
      expect(yield* messages).toEqual([])
      expect(e.runs() + f.runs()).toBeLessThan(16)
    })
  )
})
