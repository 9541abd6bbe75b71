import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Client from "../client/Client.ts"
import * as Fence from "../client/Fence.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import { Reachability } from "./Reachability.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"
import * as Runner from "./Runner.ts"
import * as Status from "./Status.ts"
import * as Trigger from "./Trigger.ts"
import { counted, ended, pass, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

const prepare = (
  reconcile: (widget: Widget) => Effect.Effect<Result.Result, unknown, Controller.Services | Reconciliation>,
  settings?: Runner.Settings
) =>
  Runner.prepare(Controller.make("widgets", { for: Widget, reconcile, retry: undefined }), {
    gracePeriod: 0,
    syncPeriod: 0,
    ...settings
  })

/** A term on a fiber, with the functions that stop it and interrupt it. */
const term = <R>(runner: Runner.Prepared<R>, permit: Fence.Permit = Fence.open) =>
  Effect.gen(function* () {
    const stop = yield* Deferred.make<void>()
    const fiber = yield* Effect.forkScoped(runner.lead(permit, Deferred.await(stop)))
    yield* settle
    return {
      fiber,
      stop: Effect.andThen(Deferred.succeed(stop, undefined), settle),
      lose: Effect.suspend(() => {
        fiber.interruptUnsafe()
        return settle
      })
    }
  })

describe("A controller without leadership", () => {
  effect(
    "has synced caches and no queue",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const { names, reconcile } = counted(() => Effect.succeed(Result.done))
        const runner = yield* prepare(reconcile)
        for (const name of ["a", "b"]) server.put(Widget, widget(name))
        yield* settle
        server.remove(Widget, "a")
        yield* settle
        expect(runner.informers.map(({ state, store }) => [state().status, store.size()])).toEqual([["synced", 1]])
        expect(Option.isNone(runner.queue())).toBe(true)
        const requests = server.requests.length
        yield* term(runner)
        // All existing objects and no deleted ones, without further requests to the server.
        expect(names()).toEqual(["b"])
        expect(server.requests).toHaveLength(requests)
      })
    )
  )
})

describe("A standby controller", () => {
  for (const [what, changed, first] of [
    ["reconciles a change before it has added all objects", true, 1],
    ["adds all objects first if nothing has changed", false, 1000]
  ] as const) {
    effect(
      what,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          for (let index = 0; index < 1000; index++) server.put(Widget, widget(`w${index}`))
          const seen: Array<readonly [name: string, known: number]> = []
          let queue: Runner.Runner["queue"] = Option.none
          const runner = yield* prepare(
            ({ metadata }) =>
              Effect.sync(() => {
                const { processing, ready } = Option.getOrThrow(queue()).snapshot()
                seen.push([metadata.name, processing + ready + seen.length])
                return Result.done
              }),
            { concurrency: 1 }
          )
          queue = runner.queue
          yield* Effect.forkScoped(runner.standBy)
          yield* settle
          if (changed) server.change(Widget, "w500", { spec: { size: 2 } })
          yield* settle
          yield* term(runner)
          const [[name, known] = ["", 0]] = seen
          expect(changed ? name : "w500").toBe("w500")
          expect(known).toBeGreaterThanOrEqual(first)
          expect(known < 1000).toBe(changed)
          expect(seen.map(([each]) => each).sort()).toEqual(Array.from({ length: 1000 }, (_, at) => `w${at}`).sort())
        })
      )
    )
  }

  effect(
    "starts each term with the changes since the last one, before the first pass",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c", "d"]) server.put(Widget, widget(name))
        const { names, reconcile } = counted(() => Effect.succeed(Result.done))
        const runner = yield* prepare(reconcile, { concurrency: 1 })
        yield* Effect.forkScoped(runner.standBy)
        yield* settle
        server.change(Widget, "c", { spec: { size: 2 } })
        yield* settle
        const first = yield* term(runner)
        expect(names()).toEqual(["c", "a", "b", "d"])
        expect(attempts[0]?.triggers.map(({ kind }) => kind)).toEqual(["watch.modified"])
        yield* first.stop
        server.change(Widget, "b", { spec: { size: 2 } })
        yield* settle
        yield* term(runner)
        expect(names().slice(4)).toEqual(["b", "a", "c", "d"])
      })
    )
  )

  effect(
    "starts its term with the changes that its last lost term has left",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c", "d"]) server.put(Widget, widget(name))
        const { names, reconcile } = counted((n) => (n === 1 ? Effect.never : Effect.succeed(Result.done)))
        const runner = yield* prepare(reconcile, { concurrency: 1 })
        yield* Effect.forkScoped(runner.standBy)
        yield* settle
        const first = yield* term(runner)
        expect(names()).toEqual(["a"])
        server.change(Widget, "d", { spec: { size: 2 } })
        yield* settle
        yield* first.lose
        yield* term(runner)
        expect(names().slice(1)).toEqual(["d", "a", "b", "c"])
      })
    )
  )

  effect(
    "collects no changes while it leads",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b"]) server.put(Widget, widget(name))
        const { names, reconcile } = counted(() => Effect.succeed(Result.done))
        const runner = yield* prepare(reconcile, { concurrency: 1 })
        yield* Effect.forkScoped(runner.standBy)
        const first = yield* term(runner)
        server.change(Widget, "b", { spec: { size: 2 } })
        yield* settle
        yield* first.stop
        yield* term(runner)
        expect(names()).toEqual(["a", "b", "b", "a", "b"])
      })
    )
  )
})

describe("A standby, after each term,", () => {
  effect(
    "evaluates no predicates and maps for existing objects, and maps cannot write",
    withWorld(({ logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(ConfigMap, { metadata: { name: "old" }, data: {} })
        const asked: Array<string> = []
        const ask = (what: string, { metadata }: { readonly metadata: { readonly name: string } }) => {
          asked.push(`${what} ${metadata.name}`)
          return true
        }
        const runner = yield* Runner.prepare(
          Controller.make("widgets", {
            for: Widget,
            predicate: ({ object }) => ask("predicate", object),
            watches: [
              Trigger.on(ConfigMap, {
                predicate: ({ object }) => ask("predicate", object),
                map: (object) =>
                  Effect.as(Client.delete(ConfigMap, object.metadata), [{ namespace: "default", name: "a" }]).pipe(
                    Effect.ensuring(Effect.sync(() => ask("map", object))),
                    Effect.orDie
                  )
              })
            ],
            reconcile: () => Effect.succeed(Result.done)
          }),
          { gracePeriod: 0, syncPeriod: 0 }
        )
        yield* Effect.forkScoped(runner.standBy)
        yield* settle
        expect(asked).toEqual([])
        server.put(ConfigMap, { metadata: { name: "new" }, data: {} })
        yield* settle
        expect(asked).toEqual(["predicate new", "map new"])
        expect(server.writes()).toEqual([])
        const { lose } = yield* term(runner, { permits: () => false, reason: "the leadership has ended" })
        const before = asked.length
        expect(before).toBe(7)
        yield* lose
        expect(asked).toHaveLength(before)
        expect(logs.filter((line) => line.startsWith("ERROR"))).toEqual([])
      })
    )
  )
})

describe("A term that is stopped", () => {
  effect(
    "ends after its reconciles, and the next one starts with all objects",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b"]) server.put(Widget, widget(name))
        const { names, reconcile } = counted(() => Effect.as(Effect.sleep("1 second"), Result.done))
        const runner = yield* prepare(reconcile, { gracePeriod: "2 seconds", concurrency: 1 })
        const first = yield* term(runner)
        yield* first.stop
        expect(yield* ended(first.fiber)).toBe(false)
        yield* pass("1 second")
        expect(yield* Fiber.join(first.fiber)).toBe(true)
        expect(names()).toEqual(["a"])
        expect(Option.isNone(runner.queue())).toBe(true)
        server.change(Widget, "b", { spec: { size: 2 } })
        yield* settle
        yield* term(runner)
        yield* pass("2 seconds")
        expect(names()).toEqual(["a", "a", "b"])
        expect(attempts.slice(1).map(({ triggers }) => triggers.map(({ kind }) => kind))).toEqual([
          ["startup"],
          ["startup"]
        ])
      })
    )
  )

  effect(
    "forgets failures: the next one starts with new retries",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const runner = yield* prepare(() => Effect.fail("no luck"))
        const first = yield* term(runner)
        yield* pass("100 millis")
        const before = attempts.length
        expect(story(attempts).slice(0, 3)).toEqual(["Failed +5", "Failed +10", "Failed +20"])
        yield* first.stop
        yield* pass("1 minute")
        expect(attempts).toHaveLength(before)
        yield* term(runner)
        expect(story(attempts)[before]).toBe("Failed +5")
      })
    )
  )

  effect(
    "passes its record of writes to the next term, without objects that were deleted in between",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
        const sizes: Array<number> = []
        const runner = yield* prepare((owner) =>
          Effect.gen(function* () {
            sizes.push((yield* Reconciliation).memory.hotLoop.size().keys)
            yield* Status.update(owner, { seen: 1 })
            return Result.done
          })
        )
        const first = yield* term(runner)
        yield* first.stop
        server.remove(Widget, "a")
        yield* settle
        sizes.length = 0
        yield* term(runner)
        expect(sizes).toEqual([2, 2])
      })
    )
  )

  effect(
    "fails if its workers die, so that the failure is noticed",
    withWorld(() =>
      Effect.gen(function* () {
        const runner = yield* prepare(() => Effect.succeed(Result.done))
        const broken = {
          server: "memory",
          reached: Effect.die(new Error("boom")),
          isReached: () => false,
          lost: Effect.void
        }
        const lead = Effect.provideService(runner.lead(Fence.open, Effect.never), Reachability, broken)
        const fiber = yield* Effect.forkScoped(Effect.exit(lead))
        yield* settle
        expect(yield* ended(fiber)).toBe(true)
        expect(Exit.isFailure(yield* Fiber.join(fiber))).toBe(true)
      })
    )
  )

  effect(
    "reports reconciles that do not stop after their interruption, and abandons them",
    withWorld(({ logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const runner = yield* prepare(() => Effect.uninterruptible(Effect.as(Effect.sleep("1 minute"), Result.done)), {
          gracePeriod: "1 second"
        })
        const { fiber, stop } = yield* term(runner)
        yield* stop
        yield* pass("5900 millis")
        expect(yield* ended(fiber)).toBe(false)
        yield* pass("200 millis")
        expect(yield* Fiber.join(fiber)).toBe(false)
        expect(logs).toContain(
          "ERROR Controller widgets: 1 reconciles did not stop after being interrupted; abandoning them"
        )
      })
    )
  )
})

describe("A term that is lost", () => {
  effect(
    "starts no reconcile after the fence has rejected a write",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
        const runner = yield* prepare((owner) => Effect.as(Status.update(owner, { phase: "Ready" }), Result.done), {
          concurrency: 1
        })
        const { lose } = yield* term(runner, { permits: () => false, reason: "the leadership has ended" })
        yield* pass("1 minute")
        expect(story(attempts)).toEqual(["Interrupted"])
        yield* lose
        expect(server.writes()).toEqual([])
      })
    )
  )

  effect(
    "interrupts its reconciles at once, and waits for their finalizers",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let finalized = false
        const runner = yield* prepare(
          () =>
            Effect.onInterrupt(Effect.never, () =>
              Effect.andThen(
                Effect.sleep("1 second"),
                Effect.sync(() => {
                  finalized = true
                })
              )
            ),
          { gracePeriod: "1 hour" }
        )
        const { fiber, lose } = yield* term(runner)
        yield* lose
        yield* pass("900 millis")
        expect(yield* ended(fiber)).toBe(false)
        yield* pass("200 millis")
        expect(yield* ended(fiber)).toBe(true)
        expect(finalized).toBe(true)
        expect(story(attempts)).toEqual(["Interrupted"])
      })
    )
  )

  effect(
    "passes its active keys to the next term, which starts with them",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
        const { names, reconcile } = counted((n, { metadata }) =>
          n <= 3 && metadata.name === "c" ? Effect.never : Effect.succeed(Result.done)
        )
        const runner = yield* prepare(reconcile, { concurrency: 1 })
        yield* Effect.forkScoped(runner.standBy)
        const first = yield* term(runner)
        yield* first.lose
        yield* term(runner)
        expect(names()).toEqual(["a", "b", "c", "c", "a", "b"])
        expect(attempts[2]?.outcome._tag).toBe("Interrupted")
      })
    )
  )

  effect(
    "is not followed by another one while one of its reconciles runs",
    withWorld(({ logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let running = 0
        let most = 0
        const { names, reconcile } = counted((n) =>
          Effect.uninterruptible(
            Effect.acquireUseRelease(
              Effect.sync(() => {
                most = Math.max(most, ++running)
              }),
              () => Effect.as(Effect.sleep(n === 1 ? "1 minute" : "0 millis"), Result.done),
              () => Effect.sync(() => running--)
            )
          )
        )
        const runner = yield* prepare(reconcile)
        const first = yield* term(runner)
        yield* first.lose
        // The reconcile delays the end of the lost term by at most this time.
        yield* pass("5 seconds")
        expect(yield* ended(first.fiber)).toBe(true)
        const second = yield* term(runner)
        yield* pass("50 seconds")
        expect(names()).toEqual(["a"])
        expect(logs).toContain("ERROR Controller widgets waits for reconciles of its last term, which do not end")
        yield* pass("10 seconds")
        expect(names()).toEqual(["a", "a"])
        expect(most).toBe(1)
        yield* second.stop
        expect(yield* Fiber.join(second.fiber)).toBe(true)
      })
    )
  )

  effect(
    "can be stopped while it waits for the previous one",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const runner = yield* prepare(() => Effect.uninterruptible(Effect.never))
        const first = yield* term(runner)
        yield* first.lose
        yield* pass("5 seconds")
        const second = yield* term(runner)
        yield* second.stop
        expect(yield* Fiber.join(second.fiber)).toBe(false)
      })
    )
  )

  effect(
    "writes nothing more: its rejected writes count as interruptions",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let isOpen = true
        const permit = { permits: () => isOpen, reason: "the leadership has ended" }
        const runner = yield* Runner.prepare(
          Controller.make("widgets", {
            for: Widget,
            owns: [ConfigMap],
            reconcile: (owner) =>
              Effect.gen(function* () {
                yield* Effect.sleep("1 second")
                yield* Client.get(Widget, { namespace: "default", name: owner.metadata.name })
                yield* Owned.apply(owner, ConfigMap, { metadata: { name: "a" }, data: {} })
                return Result.done
              })
          }),
          { gracePeriod: 0 }
        )
        yield* term(runner, permit)
        isOpen = false
        yield* pass("1 second")
        expect(server.writes()).toEqual([])
        expect(story(attempts)).toEqual(["Interrupted"])
        expect(logs.filter((line) => !line.startsWith("INFO"))).toEqual([])
      })
    )
  )
})
