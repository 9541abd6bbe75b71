import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as WorkQueue from "./WorkQueue.ts"

const make = WorkQueue.make<string>()

/** The options for the event of a write, by the number of the version that it made. */
const event = (version: number, priority?: number): WorkQueue.AddOptions => ({
  version: { uid: "u", resourceVersion: String(version) },
  priority
})

/** The versions that a run wrote, by the same numbers. */
const wrote = (...versions: ReadonlyArray<number>): WorkQueue.WrittenVersions =>
  new Map(versions.map((version) => [String(version), "u"]))

/** The delay of a failed run. */
const backoff: WorkQueue.AddAfterOptions = { holdsEchoes: true }

/** Runs all other fibers until they wait. */
const settle = TestClock.adjust(0)

/** The next item. Throws if the queue is empty. */
const next = <T>(queue: WorkQueue.WorkQueue<T>): Effect.Effect<WorkQueue.Item<T>> =>
  Effect.suspend(() =>
    queue.snapshot().ready > 0
      ? Effect.flatMap(queue.take, (taken) => Effect.orDie(Effect.fromOption(taken)))
      : Effect.die(new Error("nothing is ready"))
  )

/** Takes and ends all ready items in order. */
const drain = <T>(queue: WorkQueue.WorkQueue<T>): Effect.Effect<Array<WorkQueue.Item<T>>> =>
  Effect.gen(function* () {
    const items: Array<WorkQueue.Item<T>> = []
    while (queue.snapshot().ready > 0) {
      const item = yield* next(queue)
      queue.done(item.key)
      items.push(item)
    }
    return items
  })

const keys = (items: ReadonlyArray<{ readonly key: string }>): string => items.map((item) => item.key).join(" ")

effect("keys of one priority are served in insertion order, each once", () =>
  Effect.gen(function* () {
    const queue = yield* make
    for (const key of ["a", "b", "c", "a", "b"]) queue.add(key, `event of ${key}`)
    const items = yield* drain(queue)
    expect(keys(items)).toBe("a b c")
    expect(items.map((item) => item.triggers.length)).toEqual([2, 2, 1])
    expect(queue.position("a")).toEqual({ _tag: "Absent" })
  })
)

effect("pending returns the triggers of a key without removing them", () =>
  Effect.gen(function* () {
    const queue = yield* WorkQueue.make<string>({ triggers: 2 })
    expect(queue.pending("a")).toEqual({ triggers: [], dropped: 0 })
    for (const trigger of ["1", "2", "3"]) queue.add("a", trigger)
    expect(queue.pending("a")).toEqual({ triggers: ["2", "3"], dropped: 1 })
    const item = yield* next(queue)
    expect(item).toMatchObject({ triggers: ["2", "3"], dropped: 1 })
    expect(queue.pending("a")).toEqual({ triggers: [], dropped: 0 })
    queue.addAfter("a", 1000, "4")
    queue.done("a")
    expect(queue.pending("a")).toEqual({ triggers: ["4"], dropped: 0 })
  })
)

effect("a higher priority is served first, and the initial list last", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("list-1", "initial", { priority: WorkQueue.low })
    queue.add("list-2", "initial", { priority: WorkQueue.low })
    queue.add("event", "updated")
    queue.add("urgent", "deleted", { priority: 7 })
    const items = yield* drain(queue)
    expect(keys(items)).toBe("urgent event list-1 list-2")
    expect(items.map((item) => item.priority)).toEqual([7, 0, WorkQueue.low, WorkQueue.low])
  })
)

effect("a trigger of a higher priority moves a ready key to the end of that priority; others move nothing", () =>
  Effect.gen(function* () {
    const queue = yield* make
    for (const key of ["a", "b", "c"]) queue.add(key, "initial", { priority: WorkQueue.low })
    queue.add("x", "updated")
    queue.add("y", "updated")
    queue.add("c", "updated")
    queue.add("x", "again")
    queue.add("x", "initial", { priority: WorkQueue.low })
    const items = yield* drain(queue)
    expect(keys(items)).toBe("x y c a b")
    expect(items.map((item) => item.priority)).toEqual([0, 0, 0, WorkQueue.low, WorkQueue.low])
  })
)

effect("any number of triggers during a run cause exactly one more run with all of them", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("a", "first")
    yield* next(queue)
    for (const trigger of ["second", "third", "fourth"]) queue.add("a", trigger)
    queue.done("a")
    const items = yield* drain(queue)
    expect(items.map((item) => item.triggers)).toEqual([["second", "third", "fourth"]])
  })
)

effect("a running key is not served again, unlike the keys behind it", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("a", "first")
    yield* next(queue)
    queue.add("a", "second")
    queue.add("b", "first")
    expect(keys([yield* next(queue)])).toBe("b")
    const waiting = yield* Effect.forkChild(queue.take)
    yield* settle
    expect(waiting.pollUnsafe() === undefined).toBe(true)
    queue.done("a")
    expect(Option.getOrThrow(yield* Fiber.join(waiting)).triggers).toEqual(["second"])
  })
)

effect("a key that is triggered during its run keeps its position", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("a", "first")
    yield* next(queue)
    queue.add("a", "second")
    queue.add("b", "first")
    queue.done("a")
    expect(keys(yield* drain(queue))).toBe("a b")
  })
)

effect("the next run has the priority of its own triggers, not that of the last run", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("a", "deleted", { priority: 5 })
    yield* next(queue)
    queue.add("a", "resync", { priority: WorkQueue.low })
    queue.done("a")
    expect((yield* next(queue)).priority).toBe(WorkQueue.low)
  })
)

effect("an item has the newest ten triggers and the number of dropped ones", () =>
  Effect.gen(function* () {
    const queue = yield* WorkQueue.make<number>()
    for (let index = 1; index <= 25; index++) queue.add("a", index)
    const item = yield* next(queue)
    expect(item.triggers).toEqual([16, 17, 18, 19, 20, 21, 22, 23, 24, 25])
    expect(item.dropped).toBe(15)
    queue.add("a", 26)
    queue.done("a")
    const again = yield* next(queue)
    expect([again.triggers, again.dropped]).toEqual([[26], 0])
  })
)

describe("Among dropped triggers,", () => {
  /** The counts of the next item. */
  const counts = (queue: WorkQueue.WorkQueue<number>) =>
    Effect.map(next(queue), ({ dropped, droppedNews }) => ({ dropped, droppedNews }))

  effect("events of own writes are counted separately, even before the end of their run", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make<number>({ triggers: 2 })
      queue.add("a", 0)
      yield* next(queue)
      for (let version = 1; version <= 6; version++) queue.add("a", version, event(version))
      queue.done("a", wrote(1, 2, 3))
      for (let version = 1; version <= 3; version++) queue.add("a", version, event(version))
      // The queue keeps the last two of 4 to 6 and then 1 to 3.
      expect(yield* counts(queue)).toEqual({ dropped: 7, droppedNews: 3 })
    })
  )

  effect("events above the limit of a comparison count as news", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make<number>({ triggers: 2 })
      queue.add("a", 0)
      yield* next(queue)
      const versions = Array.from({ length: 1100 }, (_, n) => n)
      for (const version of versions) queue.add("a", version, event(version))
      queue.addAfter("a", 5000, -1, backoff)
      queue.done("a", wrote(...versions))
      expect(yield* counts(queue)).toEqual({ dropped: 1099, droppedNews: 99 })
    })
  )

  effect("a delay does not count as the event of an own write", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make<number>({ triggers: 2 })
      queue.add("a", 0)
      yield* next(queue)
      queue.addAfter("a", 1000, 0, backoff)
      queue.done("a", wrote(1, 2, 3, 4, 5, 6))
      for (let version = 1; version <= 6; version++) queue.add("a", version, event(version))
      yield* TestClock.adjust(1000)
      expect(yield* counts(queue)).toEqual({ dropped: 5, droppedNews: 1 })
    })
  )

  effect("none is lost when a key is put back, and those during the run count as news", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make<number>({ triggers: 2 })
      for (let index = 1; index <= 6; index++) queue.add("a", index)
      const item = yield* next(queue)
      for (let index = 7; index <= 9; index++) queue.add("a", index, event(index))
      queue.putBack(item)
      expect(yield* counts(queue)).toEqual({ dropped: 7, droppedNews: 7 })
    })
  )
})

effect("a delayed key is served exactly when its delay ends", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.addAfter("a", 1000, "retry")
    yield* TestClock.adjust(999)
    expect(queue.position("a")).toEqual({ _tag: "Delayed", until: 1000, priority: 0 })
    yield* TestClock.adjust(1)
    const item = yield* next(queue)
    expect(item).toMatchObject({ key: "a", triggers: ["retry"], addedAt: 0, enqueuedAt: 1000 })
  })
)

effect("a shorter delay wakes the timer earlier", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.addAfter("slow", 60_000, "retry")
    yield* settle
    queue.addAfter("fast", 5, "retry")
    queue.addAfter("faster", 3, "retry")
    yield* TestClock.adjust(5)
    expect(keys(yield* drain(queue))).toBe("faster fast")
    yield* TestClock.adjust(59_995)
    expect(keys(yield* drain(queue))).toBe("slow")
  })
)

effect("a delayed key keeps the earliest time", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.addAfter("a", 500, "one")
    queue.addAfter("a", 100, "two")
    queue.addAfter("a", 900, "three")
    yield* TestClock.adjust(100)
    expect((yield* next(queue)).triggers).toEqual(["one", "two", "three"])
    queue.done("a")
    yield* TestClock.adjust(1000)
    expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 0 })
  })
)

effect("a new trigger makes a delayed key ready at once and removes the delay", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.addAfter("a", 1000, "retry", { priority: 3 })
    queue.add("a", "updated")
    const item = yield* next(queue)
    expect(item).toMatchObject({ triggers: ["retry", "updated"], priority: 3 })
    queue.done("a")
    yield* TestClock.adjust(2000)
    expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 0, processing: 0 })
  })
)

effect("delayed keys are appended to the ready ones when they become ready", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.addAfter("matured", 10, "retry")
    queue.addAfter("promoted", 1000, "retry")
    queue.add("a", "updated")
    queue.add("promoted", "updated")
    yield* TestClock.adjust(10)
    queue.add("b", "updated")
    expect(keys(yield* drain(queue))).toBe("a promoted matured b")
  })
)

effect("keys with the same due time become ready in insertion order", () =>
  Effect.gen(function* () {
    const queue = yield* make
    for (const key of ["d", "a", "c", "b", "e"]) queue.addAfter(key, 10, "retry")
    yield* TestClock.adjust(10)
    expect(keys(yield* drain(queue))).toBe("d a c b e")
  })
)

effect("the delay of a run does not delay a trigger that arrived during the run", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("a", "first")
    yield* next(queue)
    queue.add("a", "updated")
    queue.addAfter("a", 60_000, "retry")
    queue.done("a")
    expect((yield* next(queue)).triggers).toEqual(["updated", "retry"])
    queue.done("a")
    expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 0 })
  })
)

effect("a delay that ends during the next run causes one more run", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("a", "first")
    yield* next(queue)
    queue.addAfter("a", 10, "retry")
    yield* TestClock.adjust(20)
    expect(queue.position("a")).toEqual({ _tag: "Processing", since: 0, again: true, until: undefined })
    const waiting = yield* Effect.forkChild(queue.take)
    yield* settle
    expect(waiting.pollUnsafe() === undefined).toBe(true)
    queue.done("a")
    expect(Option.getOrThrow(yield* Fiber.join(waiting)).enqueuedAt).toBe(10)
  })
)

effect("a delay of zero, a negative number or NaN is ignored, and an infinite one waits for a trigger", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.addAfter("zero", 0, "retry")
    queue.addAfter("past", -5, "retry")
    queue.addAfter("nan", Number.NaN, "retry")
    queue.addAfter("never", Number.POSITIVE_INFINITY, "retry")
    expect(keys(yield* drain(queue))).toBe("zero past nan")
    yield* TestClock.adjust("1000 days")
    expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 1 })
    queue.add("never", "updated")
    expect(keys(yield* drain(queue))).toBe("never")
  })
)

effect("a delay longer than the limit of JavaScript timers ends on time", () =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const slept: Array<number> = []
    const recording: Clock.Clock = {
      ...WallClock.skewed(clock, () => 0),
      sleep: (duration) => {
        slept.push(Duration.toMillis(duration))
        return clock.sleep(duration)
      }
    }
    const queue = yield* Effect.provideService(make, Clock.Clock, recording)
    const sleep = (days: number) => TestClock.adjust(`${days} days`)
    queue.addAfter("a", 40 * 86_400_000, "retry")
    yield* settle
    // A timer must support the delay, because the real Clock treats a longer one as infinite.
    expect(Math.max(...slept)).toBeWithin(1, 2 ** 31)
    yield* sleep(39)
    expect(queue.snapshot().ready).toBe(0)
    yield* sleep(1)
    expect(queue.snapshot().ready).toBe(1)
  })
)

describe("The event of a key's own write", () => {
  /** Runs the key once, with a write of version 1. */
  const after = (end: (queue: WorkQueue.WorkQueue<string>) => void) =>
    Effect.gen(function* () {
      const queue = yield* make
      queue.add("a", "first")
      yield* next(queue)
      end(queue)
      queue.done("a", wrote(1))
      return queue
    })

  effect("does not wake the key in back-off, and is among the triggers of the next run", () =>
    Effect.gen(function* () {
      const queue = yield* after(({ addAfter }) => addAfter("a", 1000, "retry", backoff))
      queue.add("a", "echo", event(1, 9))
      expect(queue.position("a")).toEqual({ _tag: "Delayed", until: 1000, priority: 0 })
      yield* TestClock.adjust(1000)
      expect((yield* next(queue)).triggers).toEqual(["retry", "echo"])
    })
  )

  effect("is added to the ready key without moving it", () =>
    Effect.gen(function* () {
      const queue = yield* after(({ addAfter }) =>
        addAfter("a", 1000, "retry", { ...backoff, priority: WorkQueue.low })
      )
      yield* TestClock.adjust(1000)
      queue.add("b", "updated")
      queue.add("a", "echo", event(1))
      const items = yield* drain(queue)
      expect(keys(items)).toBe("b a")
      expect(items[1]?.triggers).toEqual(["retry", "echo"])
    })
  )

  effect("is an ordinary trigger of an idle key", () =>
    Effect.gen(function* () {
      const queue = yield* after(() => {})
      queue.add("a", "echo", event(1))
      expect((yield* next(queue)).triggers).toEqual(["echo"])
    })
  )

  effect("does not wake a run that failed after its write, before or after its end", () =>
    Effect.gen(function* () {
      for (const early of [true, false]) {
        const queue = yield* after(({ add, addAfter }) => {
          if (early) add("a", "echo", event(1))
          addAfter("a", 5000, "retry", { ...backoff, priority: WorkQueue.low })
        })
        if (!early) queue.add("a", "echo", event(1))
        expect(queue.position("a")).toMatchObject({ _tag: "Delayed", priority: WorkQueue.low })
        yield* TestClock.adjust(5000)
        const runs = yield* drain(queue)
        expect(runs.map((run) => [...run.triggers].sort())).toEqual([["echo", "retry"]])
      }
    })
  )

  for (const [delay, end] of [
    ["no delay", () => {}],
    ["a delay", ({ addAfter }) => addAfter("a", 3_600_000, "requeue_after")],
    ["an endless delay", ({ addAfter }) => addAfter("a", Number.POSITIVE_INFINITY, "requeue_after")]
  ] as ReadonlyArray<[string, (queue: WorkQueue.WorkQueue<string>) => void]>) {
    effect(`causes one more run of a key that ended with ${delay}, before or after its end`, () =>
      Effect.gen(function* () {
        for (const early of [true, false]) {
          const events = (queue: WorkQueue.WorkQueue<string>) => {
            for (const [version, echo] of ["child", "status"].entries()) queue.add("a", echo, event(version, 5))
          }
          const queue = yield* make
          queue.add("a", "first")
          yield* next(queue)
          if (early) events(queue)
          end(queue)
          expect(queue.snapshot().ready).toBe(0)
          queue.done("a", wrote(0, 1))
          if (!early) events(queue)
          const runs = yield* drain(queue)
          expect(runs.map(({ triggers }) => triggers.filter((each) => each !== "requeue_after"))).toEqual([
            ["child", "status"]
          ])
          yield* TestClock.adjust("2 hours")
          expect(queue.position("a")).toEqual({ _tag: "Absent" })
        }
      })
    )
  }

  effect("ends no back-off that a shorter delay joins, and every delay that no back-off joins", () =>
    Effect.gen(function* () {
      for (const [first, second, place] of [
        [backoff, undefined, "Delayed"],
        [undefined, backoff, "Delayed"],
        [undefined, undefined, "Ready"]
      ] as const) {
        const queue = yield* after(({ addAfter }) => {
          addAfter("a", 5000, "one", first)
          addAfter("a", 1000, "two", second)
        })
        queue.add("a", "echo", event(1))
        expect(queue.position("a")._tag).toBe(place)
      }
    })
  )

  effect("of an earlier run ends a delay, also if it arrives during the run before the delay", () =>
    Effect.gen(function* () {
      const queue = yield* after(({ addAfter }) => addAfter("a", 1000, "retry", backoff))
      yield* TestClock.adjust(1000)
      yield* next(queue)
      queue.addAfter("a", 60_000, "trigger with a delay")
      queue.add("a", "echo", event(1, 9))
      expect(queue.position("a")).toMatchObject({ until: 61_000 })
      queue.done("a")
      expect(queue.position("a")).toMatchObject({ _tag: "Ready", priority: 0 })
    })
  )

  for (const [what, between, runs] of [
    ["once for each object: a run that polls may write again and again", () => Effect.void, 1],
    ["again after news", (queue) => Effect.sync(() => queue.add("a", "news")), 2],
    ["again after the end of the delay", () => TestClock.adjust("1 hour"), 2]
  ] as ReadonlyArray<[string, (queue: WorkQueue.WorkQueue<string>) => Effect.Effect<void>, number]>) {
    for (const early of [true, false]) {
      effect(`ends a delay ${what}, ${early ? "before" : "after"} the end of its run`, () =>
        Effect.gen(function* () {
          const queue = yield* make
          let version = 0
          let echoes = 0
          const write = Effect.gen(function* () {
            const { triggers } = yield* next(queue)
            if (triggers.every((each) => each === "echo" || each === "requeue_after")) echoes++
            version++
            if (early) queue.add("a", "echo", event(version))
            queue.addAfter("a", 3_600_000, "requeue_after")
            queue.done("a", wrote(version))
            if (!early) queue.add("a", "echo", event(version))
          })
          const drainAll = Effect.gen(function* () {
            while (queue.snapshot().ready > 0 && version < 20) yield* write
          })
          queue.add("a", "first")
          yield* drainAll
          expect([version, echoes]).toEqual([2, 1])
          yield* between(queue)
          yield* drainAll
          expect(version).toBe(2 * runs)
          expect(queue.position("a")._tag).toBe("Delayed")
        })
      )
    }
  }

  effect("keeps a new back-off that follows a delay", () =>
    Effect.gen(function* () {
      const queue = yield* after(({ addAfter }) => addAfter("a", 1000, "requeue_after"))
      yield* TestClock.adjust(1000)
      yield* next(queue)
      queue.addAfter("a", 5000, "retry", backoff)
      queue.done("a", wrote(2))
      queue.add("a", "echo", event(2))
      expect(queue.position("a")._tag).toBe("Delayed")
      queue.add("a", "news")
      yield* next(queue)
      queue.addAfter("a", 5000, "requeue_after")
      queue.done("a", wrote(3))
      queue.add("a", "echo", event(3))
      expect(queue.position("a")._tag).toBe("Ready")
    })
  )

  for (const late of [59_000, 61_000]) {
    effect(`${late < 60_000 ? "is known" : "is news"} ${late / 1000} s later, after more failed runs`, () =>
      Effect.gen(function* () {
        const queue = yield* after(({ addAfter }) => addAfter("a", late, "retry", backoff))
        yield* TestClock.adjust(late)
        yield* next(queue)
        queue.addAfter("a", 5000, "retry", backoff)
        queue.done("a", wrote(2))
        queue.add("a", "echo of the first run", event(1))
        expect(queue.position("a")._tag).toBe(late < 60_000 ? "Delayed" : "Ready")
      })
    )
  }

  effect("of a run before the latest 64 is news", () =>
    Effect.gen(function* () {
      for (const runs of [63, 64]) {
        const queue = yield* after(({ addAfter }) => addAfter("a", 1, "retry", backoff))
        for (let run = 1; run <= runs; run++) {
          yield* TestClock.adjust(1)
          yield* next(queue)
          queue.addAfter("a", 1, "retry", backoff)
          queue.done("a", wrote(run + 1))
        }
        queue.add("a", "echo of the first run", event(1))
        expect(queue.position("a")._tag).toBe(runs < 64 ? "Delayed" : "Ready")
      }
    })
  )
})

describe("The event of another write", () => {
  for (const early of [true, false]) {
    const when = early ? "before the end of a run" : "after a run"
    for (const [what, version] of [
      ["of another key's run", { uid: "u", resourceVersion: "2" }],
      ["of another object with the same resourceVersion", { uid: "v", resourceVersion: "1" }],
      ["of an object without a UID", { resourceVersion: "1" }]
    ] as const) {
      for (const millis of [5000, Number.POSITIVE_INFINITY]) {
        effect(`${what}, ${when}, wakes a key that ${millis === 5000 ? "waits" : "was given up"}`, () =>
          Effect.gen(function* () {
            const queue = yield* make
            queue.add("a", "first", { priority: WorkQueue.low })
            yield* next(queue)
            if (early) queue.add("a", "news", { version, priority: 3 })
            if (early) queue.add("a", "echo", event(1))
            queue.addAfter("a", millis, "retry", { ...backoff, priority: WorkQueue.low })
            queue.done("a", wrote(1))
            if (!early) queue.add("a", "news", { version, priority: 3 })
            expect(queue.position("a")).toMatchObject({ _tag: "Ready", priority: 3 })
            expect((yield* drain(queue)).map(({ triggers }) => [...triggers].sort())).toEqual([
              early ? ["echo", "news", "retry"] : ["news", "retry"]
            ])
          })
        )
      }
    }
  }

  effect("is reported once: the next run has its own events, which do not wake it", () =>
    Effect.gen(function* () {
      const queue = yield* make
      queue.add("a", "created")
      yield* next(queue)
      queue.add("a", "foreign", event(2))
      queue.done("a", wrote(1))
      expect((yield* next(queue)).triggers).toEqual(["foreign"])
      queue.add("a", "echo", event(3))
      queue.addAfter("a", 1000, "retry", backoff)
      queue.done("a", wrote(3))
      expect(queue.position("a")).toMatchObject({ _tag: "Delayed" })
    })
  )
})

effect("waiters are served in order", () =>
  Effect.gen(function* () {
    const queue = yield* make
    const waiters = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(queue.take))
    yield* settle
    for (const key of ["a", "b", "c"]) queue.add(key, "updated")
    const items = yield* Effect.forEach(waiters, Fiber.join)
    expect(keys(items.map(Option.getOrThrow))).toBe("a b c")
  })
)

effect("a new waiter does not take the key of a notified waiter", () =>
  Effect.gen(function* () {
    const queue = yield* make
    const first = yield* Effect.forkChild(queue.take)
    yield* settle
    queue.add("a", "updated")
    yield* Effect.forkChild(Effect.sync(() => queue.add("b", "updated")))
    // This fiber takes the item before the notified fiber can run.
    expect(Option.getOrThrow(yield* queue.take).key).toBe("b")
    expect(Option.getOrThrow(yield* Fiber.join(first)).key).toBe("a")
  })
)

effect("the events of one chunk are merged into one run, and the highest priority is served first", () =>
  Effect.gen(function* () {
    const queue = yield* make
    const waiter = yield* Effect.forkChild(queue.take)
    yield* settle
    queue.add("a", "one")
    queue.add("b", "one", { priority: 5 })
    queue.add("b", "two")
    const item = Option.getOrThrow(yield* Fiber.join(waiter))
    expect(item).toMatchObject({ key: "b", triggers: ["one", "two"] })
  })
)

effect("an interrupted waiter passes its key on to the next waiter", () =>
  Effect.gen(function* () {
    const queue = yield* make
    const first = yield* Effect.forkChild(queue.take)
    const second = yield* Effect.forkChild(queue.take)
    yield* settle
    queue.add("a", "updated")
    yield* Fiber.interrupt(first)
    expect(Option.getOrThrow(yield* Fiber.join(second)).key).toBe("a")
  })
)

effect("an interrupted waiter without a key is removed", () =>
  Effect.gen(function* () {
    const queue = yield* make
    const first = yield* Effect.forkChild(queue.take)
    const second = yield* Effect.forkChild(queue.take)
    yield* settle
    yield* Fiber.interrupt(first)
    queue.add("a", "updated")
    expect(Option.getOrThrow(yield* Fiber.join(second)).key).toBe("a")
    expect(queue.snapshot()).toMatchObject({ ready: 0, processing: 1 })
  })
)

effect("take can be interrupted in an uninterruptible region", () =>
  Effect.gen(function* () {
    const queue = yield* make
    const worker = yield* Effect.forkChild(Effect.uninterruptible(queue.take))
    yield* settle
    yield* Fiber.interrupt(worker)
    expect(Exit.hasInterrupts(yield* Fiber.await(worker))).toBe(true)
    queue.add("a", "updated")
    expect(queue.snapshot()).toMatchObject({ ready: 1, processing: 0 })
  })
)

effect("a key that is put back is first in its priority, with its old and new triggers", () =>
  Effect.gen(function* () {
    const queue = yield* WorkQueue.make<number>()
    for (let index = 1; index <= 12; index++) queue.add("a", index)
    const item = yield* next(queue)
    queue.add("b", 1)
    queue.addAfter("a", 1000, 13)
    yield* TestClock.adjust(5)
    queue.putBack(item)
    const items = yield* drain(queue)
    expect(keys(items)).toBe("a b")
    expect(items[0]).toMatchObject({ triggers: [4, 5, 6, 7, 8, 9, 10, 11, 12, 13], dropped: 3, enqueuedAt: 0 })
    expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 0, processing: 0 })
  })
)

effect("putting back a key that was triggered during its run counts it once", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("a", "first")
    const item = yield* next(queue)
    queue.add("a", "second", { priority: 2 })
    queue.putBack(item)
    expect(queue.snapshot()).toMatchObject({ ready: 1, processing: 0 })
    expect(yield* next(queue)).toMatchObject({ triggers: ["first", "second"], priority: 2 })
    queue.done("a")
    expect(queue.position("a")).toEqual({ _tag: "Absent" })
  })
)

effect("after shutDown, waiters get nothing, and new keys are rejected", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("running", "first")
    queue.add("echoed", "first")
    yield* next(queue)
    yield* next(queue)
    queue.add("echoed", "echo", event(1))
    const waiting = yield* Effect.forEach([1, 2], () => Effect.forkChild(queue.take))
    yield* settle
    queue.add("running", "second")
    queue.addAfter("delayed", 10, "retry")
    queue.shutDown()
    expect(yield* Effect.forEach(waiting, Fiber.join)).toEqual([Option.none(), Option.none()])
    queue.add("new", "updated")
    queue.addAfter("new", 5, "retry")
    yield* TestClock.adjust(100)
    expect(Option.isNone(yield* queue.take)).toBe(true)
    expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 0, processing: 2 })
    queue.done("running")
    queue.done("echoed")
    expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 0, processing: 0 })
    expect(queue.position("running")).toEqual({ _tag: "Absent" })
  })
)

effect("a notified waiter gets no key after shutDown", () =>
  Effect.gen(function* () {
    const queue = yield* make
    const waiting = yield* Effect.forkChild(queue.take)
    yield* settle
    queue.add("a", "updated")
    queue.shutDown()
    expect(Option.isNone(yield* Fiber.join(waiting))).toBe(true)
  })
)

effect(
  "closing the scope shuts the queue down, even if it was made in an uninterruptible region",
  () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const queue = yield* Effect.uninterruptible(make).pipe(Scope.provide(scope))
      queue.addAfter("a", 1000, "retry")
      const waiting = yield* Effect.forkChild(queue.take)
      yield* settle
      yield* Scope.close(scope, Exit.void)
      expect(Option.isNone(yield* Fiber.join(waiting))).toBe(true)
    }),
  2000
)

effect("a key that is put back after shutDown is dropped, and the queue is drained", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("a", "1")
    const item = yield* next(queue)
    queue.shutDown()
    const drained = yield* Effect.forkChild(queue.drained)
    yield* settle
    expect(drained.pollUnsafe() === undefined).toBe(true)
    queue.putBack(item)
    yield* Fiber.join(drained)
    expect(yield* queue.take).toEqual(Option.none())
    expect(queue.position("a")).toEqual({ _tag: "Absent" })
    expect(queue.snapshot()).toMatchObject({ ready: 0, processing: 0 })
  })
)

effect("done and putBack ignore keys that are not running", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("a", "updated")
    const item = yield* next(queue)
    queue.done("a")
    queue.add("a", "again")
    queue.done("a")
    queue.putBack(item)
    queue.done("unknown")
    queue.putBack({ ...item, key: "unknown" })
    expect((yield* next(queue)).triggers).toEqual(["again"])
    const waiting = yield* Effect.forkChild(queue.take)
    yield* settle
    expect(queue.snapshot()).toMatchObject({ ready: 0, processing: 1 })
    yield* Fiber.interrupt(waiting)
  })
)

effect("snapshot returns the counts for the metrics", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("low", "initial", { priority: WorkQueue.low })
    queue.add("run-1", "updated", { priority: 1 })
    queue.add("run-2", "updated", { priority: 1 })
    yield* TestClock.adjust(10)
    yield* next(queue)
    yield* TestClock.adjust(20)
    yield* next(queue)
    queue.add("run-1", "again")
    queue.add("low", "again", { priority: WorkQueue.low })
    queue.add("low", "raised")
    queue.addAfter("later", 1000, "retry")
    yield* TestClock.adjust(5)
    expect(queue.snapshot()).toEqual({
      ready: 2,
      delayed: 1,
      processing: 2,
      depth: new Map([
        [WorkQueue.low, 0],
        [0, 2],
        [1, 0]
      ]),
      adds: 4,
      retries: 1,
      oldestMillis: 35,
      longestRunMillis: 25,
      unfinishedMillis: 30
    })
  })
)

for (const [way, millis] of WallClock.ways) {
  effect(`a wall clock that is set ${way} by an hour changes the shown times, but no delay`, () =>
    Effect.gen(function* () {
      const wall = yield* WallClock.make
      const queue = yield* Effect.provideService(make, Clock.Clock, wall.clock)
      queue.addAfter("a", 1000, "retry")
      queue.addAfter("b", 5000, "retry")
      yield* TestClock.adjust(100)
      wall.set(millis)
      expect(queue.position("b")).toMatchObject({ until: 5000 + millis })
      queue.addAfter("c", 2000, "retry")
      yield* TestClock.adjust(899)
      expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 3 })
      yield* TestClock.adjust(1)
      const first = yield* drain(queue)
      expect(first).toMatchObject([{ key: "a", addedAt: 0, enqueuedAt: 1000 + millis }])
      yield* TestClock.adjust(1100)
      expect(keys(yield* drain(queue))).toBe("c")
      yield* TestClock.adjust(2899)
      expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 1 })
      yield* TestClock.adjust(1)
      expect(keys(yield* drain(queue))).toBe("b")
    })
  )
}

effect("position returns the index of a ready key, the end of a delay or the start of a run", () =>
  Effect.gen(function* () {
    const queue = yield* make
    queue.add("urgent", "updated", { priority: 1 })
    queue.add("a", "updated")
    yield* TestClock.adjust(3)
    queue.add("b", "updated")
    queue.addAfter("c", 50, "retry", { priority: WorkQueue.low })
    expect(queue.position("b")).toEqual({ _tag: "Ready", index: 2, priority: 0, since: 3 })
    expect(queue.position("c")).toEqual({ _tag: "Delayed", until: 53, priority: WorkQueue.low })
    expect(queue.position("d")).toEqual({ _tag: "Absent" })
    yield* next(queue)
    expect(queue.position("urgent")).toEqual({ _tag: "Processing", since: 3, again: false, until: undefined })
    queue.add("urgent", "echo", event(1))
    expect(queue.position("urgent")).toMatchObject({ again: true, until: undefined })
    queue.addAfter("urgent", 7, "retry", backoff)
    expect(queue.position("urgent")).toMatchObject({ again: true, until: 10 })
  })
)
