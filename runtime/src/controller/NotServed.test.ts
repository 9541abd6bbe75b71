/** Controllers with a kind that the API server does not serve. */
import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Crds from "../manager/Crds.ts"
import { CustomResourceDefinition } from "../resource/BuiltIn.ts"
import * as Condition from "../resource/Condition.ts"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import * as Trigger from "./Trigger.ts"
import {
  counted,
  pass,
  run,
  settle,
  story,
  type Widget,
  Widget as WidgetKind,
  widget,
  withWorld
} from "./World.fixture.ts"

const Gadget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Gadget",
  spec: Schema.Struct({ size: Schema.Int })
})

const crd = { name: Crd.of(Gadget).metadata.name ?? "" }

const gadgetOf = ({ metadata: { name }, spec }: Widget) => Owned.child(Gadget, { metadata: { name }, spec })

const message = "the API server does not serve example.com/v1 Gadget: install its CustomResourceDefinition"

describe("An owned kind that is optional and not served", () => {
  const options = {
    owns: [Owned.kind(Gadget, { optional: true, removes: true })],
    reconcile: (widget: Widget) => Effect.as(Owned.all(widget, [gadgetOf(widget)]), Result.done)
  }
  const stalled = (found: Widget | undefined) => Condition.find(found?.status?.conditions, "Stalled")

  effect(
    "fails its owner once, which is reconciled when the API server serves the kind, and again without it",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a", 3))
        yield* run(options)
        yield* pass("1 hour")
        expect(story(attempts)).toEqual(["Terminal"])
        expect(stalled(server.get(WidgetKind, "a"))).toMatchObject({
          reason: "NotServed",
          message: `The reconcile stopped: ${message}`
        })
        expect(server.writes().filter(({ path }) => path.includes("gadgets"))).toEqual([])

        yield* Crds.install([Gadget])
        yield* pass("1 minute")
        expect(server.get(Gadget, "a")?.spec).toEqual({ size: 3 })
        expect(attempts[1]?.triggers.at(-1)?.kind).toBe("served")
        expect(stalled(server.get(WidgetKind, "a"))).toBeUndefined()

        server.remove(CustomResourceDefinition, crd.name)
        yield* pass("1 minute")
        expect(stalled(server.get(WidgetKind, "a"))?.reason).toBe("NotServed")
        const before = attempts.length
        server.put(WidgetKind, widget("b"))
        yield* pass("1 hour")
        expect(story(attempts.slice(before))).toEqual(["Terminal"])

        yield* Crds.install([Gadget])
        yield* pass("1 minute")
        expect(server.list(Gadget).map(({ metadata }) => metadata.name)).toEqual(["a", "b"])
      })
    )
  )

  effect(
    "costs nothing for an owner that does not want such a child",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        yield* run({ ...options, reconcile: (widget) => Effect.as(Owned.all(widget, []), Result.done) })
        yield* pass("1 minute")
        expect(attempts.map(({ outcome, requests }) => [outcome._tag, requests])).toEqual([["Done", 0]])
      })
    )
  )

  effect(
    "is a failed child for Owned.allSettled and Owned.progress, beside those that are applied",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        const found: Array<unknown> = []
        yield* run({
          ...options,
          reconcile: (widget) =>
            Effect.gen(function* () {
              const children = yield* Owned.allSettled(widget, [gadgetOf(widget)])
              found.push(
                children.states.map(({ _tag }) => _tag),
                Owned.progress(children)
              )
              return Result.done
            })
        })
        const failed = [["Failed"], { state: "Stalled", reason: "NotServed", message }]
        expect(found).toEqual(failed)
        // A reconcile without an error waits for the kind, too.
        yield* Crds.install([Gadget])
        yield* pass("1 minute")
        expect(found.slice(2, 4)).toEqual([["Applied"], expect.objectContaining({ state: "Ready" })])
      })
    )
  )
})

describe("A watched kind that is optional and not served", () => {
  effect(
    "triggers reconciles by its objects as soon as it is served",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        const { names, reconcile } = counted(() => Effect.succeed(Result.done))
        yield* run({
          watches: [Trigger.on(Gadget, { optional: true, map: ({ metadata }) => [metadata] })],
          reconcile
        })
        expect(names()).toEqual(["a"])
        yield* Crds.install([Gadget])
        server.put(Gadget, { metadata: { name: "a" }, spec: { size: 1 } })
        yield* pass("1 minute")
        expect(attempts[1]?.triggers.map(({ kind }) => kind)).toEqual(["watch.added"])
      })
    )
  )
})

describe("A kind that is not optional for another controller", () => {
  effect(
    "holds back that controller alone",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        const reconcile = () => Effect.succeed(Result.done)
        const make = (name: string, optional: boolean) =>
          Controller.make(name, { for: WidgetKind, owns: [Owned.kind(Gadget, { optional })], reconcile })
        yield* RunnerFixture.start(make("optional", true), { gracePeriod: 0 })
        yield* RunnerFixture.start(make("required", false), { gracePeriod: 0 })
        yield* settle
        yield* pass("1 minute")
        expect(attempts.map(({ controller }) => controller)).toEqual(["optional"])
        yield* Crds.install([Gadget])
        yield* pass("1 minute")
        expect(attempts.map(({ controller }) => controller)).toEqual(["optional", "required"])
      })
    )
  )
})
