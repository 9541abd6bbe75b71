import { describe, expect, test } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { Informer } from "../cache/Cache.ts"
import type { Change, Store } from "../cache/Store.ts"
import * as Client from "../client/Client.ts"
import { Ledger } from "../client/Exchange.ts"
import * as Patch from "../client/Patch.ts"
import * as WorkQueue from "../queue/WorkQueue.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Controller from "./Controller.ts"
import * as Memory from "./Memory.ts"
import * as OwnWrites from "./OwnWrites.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import * as Sources from "./Sources.ts"
import * as Status from "./Status.ts"
import { TerminalError } from "./TerminalError.ts"
import * as Trigger from "./Trigger.ts"
import { pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

class Broken extends Data.TaggedError("Broken")<{ readonly message: string }> {}

/** A kind of another controller. */
const Gadget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Gadget",
  spec: Schema.Struct({ size: Schema.Int })
})

/** Runs a controller of Gadgets beside that of Widgets. */
const beside = <E>(reconcile: (gadget: typeof Gadget.Type) => Effect.Effect<unknown, E, Controller.Services>) =>
  Effect.gen(function* () {
    const controller = Controller.make("gadgets", {
      for: Gadget,
      reconcile: (gadget) => Effect.as(reconcile(gadget), Result.done)
    })
    const runner = yield* RunnerFixture.start(controller, { gracePeriod: 0 })
    yield* runner.started
    yield* settle
  })

const named = (name: string) => ({ namespace: "default", name })
const resize = (name: string, size: number) =>
  Effect.orDie(Client.patch(Widget, named(name), Patch.merge({ spec: { size } })))

/** The outcomes of the reconcile of a small Widget. */
const ends: { readonly [state: string]: () => Effect.Effect<Result.Result, Broken | TerminalError> } = {
  "was given up": () => new TerminalError({ message: "too small" }),
  "has a requeueAfter": () => Effect.succeed(Result.requeueAfter("1 hour")),
  "is in back-off": () => new Broken({ message: "too small" })
}

// The events arrive before the responses to their writes, or 30 ms after them.
for (const lag of [0, 30]) {
  const when = lag === 0 ? "before the answer" : "after the answer"

  describe(`A write whose event comes ${when}`, () => {
    for (const [state, end] of Object.entries(ends)) {
      const small = (widgets: Array<string>) => (one: Widget) => {
        widgets.push(`${one.metadata.name} ${one.spec.size}`)
        return one.spec.size > 1 ? Effect.succeed(Result.done) : end()
      }

      effect(
        `of another controller of the process triggers an object that ${state}`,
        withWorld(
          ({ server }) =>
            Effect.gen(function* () {
              server.put(Widget, widget("a"))
              const seen: Array<string> = []
              yield* run({ reconcile: small(seen), retry: Schedule.spaced("1 hour") })
              yield* beside(({ metadata, spec }) => resize(metadata.name, spec.size))
              if (lag > 0) server.faults.on({ verb: "watch" }, Faults.delayed(lag))
              server.put(Gadget, { metadata: { name: "a" }, spec: { size: 5 } })
              yield* pass("1 second")
              // One more run follows if the runtime removes the conditions of the failure.
              expect(seen.slice(0, 2)).toEqual(["a 1", "a 5"])
            }),
          { kinds: [Widget, Gadget] }
        )
      )

      effect(
        `of the same controller for another object triggers an object that ${state}`,
        withWorld(({ server }) =>
          Effect.gen(function* () {
            server.put(Widget, widget("a"))
            const seen: Array<string> = []
            const reconcile = small(seen)
            yield* run({
              reconcile: (one) =>
                one.metadata.name === "parent" ? Effect.as(resize("a", one.spec.size), Result.done) : reconcile(one),
              retry: Schedule.spaced("1 hour")
            })
            if (lag > 0) server.faults.on({ verb: "watch" }, Faults.delayed(lag))
            server.put(Widget, widget("parent", 5))
            yield* pass("1 second")
            // One more run follows if the runtime removes the conditions of the failure.
            expect(seen.slice(0, 2)).toEqual(["a 1", "a 5"])
          })
        )
      )

      for (const relation of ["owns", "watches"] as const) {
        effect(
          `to an object that it ${relation}, of another controller, triggers an object that ${state}`,
          withWorld(
            ({ attempts, server }) =>
              Effect.gen(function* () {
                server.put(Widget, widget("a"))
                const uid = String(Reflect.get(Object(server.get(Widget, "a")?.metadata), "uid"))
                const ownerReferences = [
                  {
                    apiVersion: "example.com/v1",
                    kind: "Widget",
                    name: "a",
                    uid,
                    controller: true,
                    blockOwnerDeletion: true
                  }
                ]
                server.put(ConfigMap, { metadata: { name: "a", ownerReferences } })
                const retry = Schedule.spaced("1 hour")
                yield* relation === "owns"
                  ? run({ reconcile: end, retry, owns: [ConfigMap] })
                  : run({
                      reconcile: end,
                      retry,
                      watches: [Trigger.on(ConfigMap, { map: ({ metadata }) => [metadata] })]
                    })
                yield* pass("1 second")
                const before = attempts.filter(({ controller }) => controller === "widgets").length
                yield* beside(({ spec }) =>
                  Effect.orDie(Client.patch(ConfigMap, named("a"), Patch.merge({ data: { size: `${spec.size}` } })))
                )
                if (lag > 0) server.faults.on({ verb: "watch" }, Faults.delayed(lag))
                server.put(Gadget, { metadata: { name: "a" }, spec: { size: 5 } })
                yield* pass("1 second")
                const after = attempts.filter(({ controller }) => controller === "widgets")
                expect(after).toHaveLength(before + 1)
                expect(after.at(-1)?.triggers.map(({ source }) => source?.kind)).toContain("ConfigMap")
              }),
            { kinds: [Widget, Gadget] }
          )
        )
      }
    }
  })
}

describe("The event of an own write", () => {
  for (const lag of [0, 3, 30, 3000]) {
    effect(
      `that comes ${lag} ms late does not end the back-off of a reconcile that writes a new status each time`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          let seen = 0
          yield* run({
            reconcile: (one) =>
              Effect.andThen(Status.update(one, { seen: ++seen }), Effect.fail(new Broken({ message: "no luck" }))),
            retry: Schedule.exponential("5 millis")
          })
          if (lag > 0) server.faults.on({ verb: "watch" }, Faults.delayed(lag))
          server.put(Widget, widget("a"))
          yield* pass(lag)
          yield* pass("20 seconds")
          // The sum 5 + 10 + … + 5 * 2^11 ms exceeds 20 s.
          expect(story(attempts)).toEqual(Array.from({ length: 12 }, (_, n) => `Failed +${5 * 2 ** n}`))
        })
      )
    )
  }
})

test("Ledger.versions contains the new versions of the writes of a run, without unchanged ones", () => {
  const ledger = new Ledger()
  const request = { method: "PATCH", path: "/", template: "/", headers: {}, repeatable: false } as const
  const write = { kind: "Widget", verb: "patch", subresource: undefined, fieldManager: "w" }
  expect(ledger.versions()).toBeUndefined()
  ledger.wrote(request, { ...write, uid: "u", before: "7", after: "7" })
  ledger.wrote(request, { ...write, uid: "u", before: undefined, after: undefined })
  ledger.wrote(request, { ...write, uid: undefined, before: undefined, after: "8" })
  for (let version = 1000; version < 2000; version++) {
    ledger.wrote(request, { ...write, uid: `u${version}`, before: undefined, after: `${version}` })
  }
  expect(ledger.versions()?.size).toBe(1000)
  expect(ledger.versions()?.get("1999")).toBe("u1999")
})

effect(
  "A change in a list after a gap does not count as an own write, because it may hide another one",
  withWorld(() =>
    Effect.gen(function* () {
      const listeners: Array<(changes: ReadonlyArray<Change>) => void> = []
      const subscribe: Informer["subscribe"] = (listener) => {
        listeners.push(listener)
        return () => {}
      }
      const queue = yield* WorkQueue.make<Trigger.TriggerEvent>()
      const controller = Controller.make("widgets", { for: Widget, reconcile: () => Effect.succeed(Result.done) })
      yield* Sources.connect(controller, {
        queue,
        memory: Memory.make(),
        // The test uses no other part of the informer.
        primary: { subscribe, store: { keys: () => [] } as Partial<Store> as Store } as Informer,
        informers: [],
        gone: () => {}
      })
      const object = {
        apiVersion: "example.com/v1",
        kind: "Widget",
        metadata: {
          namespace: "default",
          name: "a",
          uid: "u",
          resourceVersion: "7",
          creationTimestamp: "2026-01-01T00:00:00Z"
        }
      }
      const change = { type: "updated", object, previous: object, initial: false, receivedAt: 0 } as const
      for (const relisted of [false, true]) {
        queue.add("default/a", { kind: "resync", at: 0 })
        yield* queue.take
        queue.addAfter("default/a", 1000, { kind: "retry", at: 0 }, { holdsEchoes: true })
        queue.done("default/a", new Map([["7", "u"]]))
        for (const listener of listeners) listener([{ ...change, relisted }])
        expect(queue.position("default/a")._tag).toBe(relisted ? "Ready" : "Delayed")
        if (!relisted) queue.add("default/a", { kind: "resync", at: 0 })
        yield* queue.take
        queue.done("default/a")
      }
    })
  )
)

test("OwnWrites keeps the latest writes of a controller by UID and resourceVersion", () => {
  const writes = OwnWrites.make(8)
  const write = { uid: "u", key: 1n, answeredAt: 0, arrivedAt: undefined, trace: undefined }
  for (let version = 1; version <= 100; version++) writes.record(`${version}`, write)
  const known = Array.from({ length: 100 }, (_, n) => `${n + 1}`).filter(
    (resourceVersion) => writes.find({ uid: "u", resourceVersion }) !== undefined
  )
  expect(known).toEqual(["93", "94", "95", "96", "97", "98", "99", "100"])
  expect(writes.find({ uid: "v", resourceVersion: "100" })).toBeUndefined()
  expect(writes.find({ resourceVersion: "100" })).toBeUndefined()
})
