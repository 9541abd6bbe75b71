import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { FieldManager } from "../client/FieldManager.ts"
import * as Backoff from "../queue/Backoff.ts"
import { ConfigMap, Secret } from "../resource/BuiltIn.ts"
import * as Controller from "./Controller.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"
import * as Trigger from "./Trigger.ts"
import { run, Widget, widget, withWorld } from "./World.fixture.ts"

const reconcile = () => Effect.succeed(Result.done)

describe("A controller", () => {
  test("has a name of lower-case letters, digits and dashes", () => {
    for (const name of ["webapp", "a", "backup-2"]) {
      expect(Controller.make(name, { for: Widget, reconcile }).name).toBe(name)
    }
    for (const name of ["", "WebApp", "2nd", "-a", "a-", "a b", "a/b"]) {
      expect(() => Controller.make(name, { for: Widget, reconcile })).toThrow(
        `invalid name of a controller: "${name}" (must be lower-case letters, digits and dashes)`
      )
    }
  })

  test("has a concurrency of at least 1 and a timeout above 0", () => {
    const make = (settings: { readonly concurrency?: number; readonly timeout?: Duration.Input }) => () =>
      Controller.make("widgets", { for: Widget, reconcile, ...settings })
    for (const concurrency of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(make({ concurrency })).toThrow(
        /^invalid concurrency of a controller: .* \(must be a whole number from 1\)$/
      )
    }
    for (const timeout of [0, -1, Number.NaN, "0 seconds"] as const) {
      expect(make({ timeout })).toThrow(/^invalid timeout of a controller: .* \(must be a duration above 0\)$/)
    }
    expect(make({ concurrency: 1, timeout: 1 })()).toMatchObject({ concurrency: 1 })
  })

  test("has defaults for optional settings", () => {
    const controller = Controller.make("widgets", { for: Widget, reconcile })
    expect(controller).toMatchObject({ fieldManager: "widgets", concurrency: 16, triggers: [], retry: Backoff.default })
    expect(Duration.toMillis(controller.timeout)).toBe(120_000)
  })

  test("watches owned kinds first, and then other kinds", () => {
    const watches = [Trigger.on(Secret, { map: () => [] })]
    const { triggers } = Controller.make("widgets", { for: Widget, owns: [ConfigMap], watches, reconcile })
    expect(triggers.map(({ relation, resource }) => `${relation} ${resource.kind}`)).toEqual([
      "owned ConfigMap",
      "watch Secret"
    ])
  })
})

describe("A reconcile", () => {
  effect(
    "gets the decoded object, and its context",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a", 7))
        const seen: Array<unknown> = []
        const look = (owner: Widget) =>
          Effect.gen(function* () {
            const { controller, fieldManager, object, resource } = yield* Reconciliation
            const inName = yield* FieldManager
            seen.push([owner.spec.size, controller, fieldManager, inName, object.metadata.name, resource.kind])
            return Result.done
          })
        yield* run({ fieldManager: "widget-maker", reconcile: look })
        expect(seen).toEqual([[7, "widgets", "widget-maker", "widget-maker", "a", "Widget"]])
      })
    )
  )

  effect(
    "does not get an object that is being deleted",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, { ...widget("a"), metadata: { name: "a", finalizers: ["example.com/other"] } })
        server.remove(Widget, "a")
        let runs = 0
        yield* run({
          reconcile: () =>
            Effect.as(
              Effect.sync(() => runs++),
              Result.done
            )
        })
        expect(attempts.map(({ outcome }) => outcome._tag)).toEqual(["RequeueAfter"])
        expect(runs).toBe(0)
        expect(server.writes()).toEqual([])
      })
    )
  )
})
