import { describe, expect, test } from "bun:test"
import { effect, live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as TestClock from "effect/testing/TestClock"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as Attempt from "../controller/Attempt.ts"
import * as Controller from "../controller/Controller.ts"
import { Account, CpuAccount } from "../controller/CpuAccount.ts"
import * as Result from "../controller/Result.ts"
import { Widget, widget } from "../controller/World.fixture.ts"
import * as CpuUse from "../queue/CpuUse.ts"
import * as Time from "../resource/Time.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as FairScheduler from "./FairScheduler.ts"
import * as Manager from "./Manager.ts"

/** A machine whose event loop the test controls. */
const machine = () => {
  let time = 0
  let microtasks: Array<() => void> = []
  let immediates: Array<() => void> = []
  const runMicrotasks = (): void => {
    while (microtasks.length > 0) {
      const due = microtasks
      microtasks = []
      for (const run of due) run()
    }
  }
  return {
    host: {
      now: () => time,
      microtask: (run: () => void) => void microtasks.push(run),
      immediate: (run: () => void) => void immediates.push(run)
    },
    work: (millis: number): void => {
      time += millis
    },
    runMicrotasks,
    immediates: () => immediates.length,
    turn: () => {
      const due = immediates
      immediates = []
      for (const run of due) {
        run()
        runMicrotasks()
      }
    }
  }
}

describe("FairScheduler", () => {
  const spawn = (tasks: Scheduler.SchedulerDispatcher, name: string, log: Array<string>, work: () => void): void =>
    tasks.scheduleTask(() => {
      log.push(name)
      work()
    }, 0)

  test("runs tasks in microtasks during its turn", () => {
    const loop = machine()
    const tasks = FairScheduler.make(loop.host).makeDispatcher()
    const log: Array<string> = []
    const again = (n: number): void =>
      spawn(tasks, `${n}`, log, () => {
        loop.work(1)
        if (n < 8) again(n + 1)
      })
    again(1)
    loop.runMicrotasks()
    expect(log).toHaveLength(8)
  })

  test("has a turn of ten milliseconds", () => {
    const ran = (millis: number): number => {
      const loop = machine()
      const tasks = FairScheduler.make(loop.host).makeDispatcher()
      const log: Array<string> = []
      spawn(tasks, "first", log, () => {
        loop.work(millis)
        spawn(tasks, "second", log, () => {})
      })
      loop.runMicrotasks()
      return log.length
    }
    expect([ran(9), ran(10)]).toEqual([2, 1])
  })

  test("waits for the event loop after its turn, and then continues", () => {
    const loop = machine()
    const tasks = FairScheduler.make(loop.host).makeDispatcher()
    const log: Array<string> = []
    const again = (n: number): void =>
      spawn(tasks, `${n}`, log, () => {
        loop.work(4)
        again(n + 1)
      })
    again(1)
    loop.runMicrotasks()
    expect(log).toEqual(["1", "2", "3"])
    loop.turn()
    expect(log).toEqual(["1", "2", "3", "4", "5", "6"])
    expect(loop.immediates()).toBe(1)
  })

  test("schedules the event loop once per turn, and not at all without work", () => {
    const loop = machine()
    const tasks = FairScheduler.make(loop.host).makeDispatcher()
    for (let n = 0; n < 5; n++) spawn(tasks, `${n}`, [], () => {})
    loop.runMicrotasks()
    expect(loop.immediates()).toBe(1)
    loop.turn()
    expect(loop.immediates()).toBe(0)
  })

  const fibers = (count: number, scheduler: Scheduler.Scheduler, work: (name: string) => void) =>
    Array.from({ length: count }, (_, at) =>
      Effect.runFork(
        Effect.gen(function* () {
          while (true) {
            work(`${at}`)
            yield* Effect.yieldNow
          }
        }),
        { scheduler }
      )
    )

  test("gives every waiting fiber a turn, in order", () => {
    const loop = machine()
    const log: Array<string> = []
    fibers(20, FairScheduler.make(loop.host), (name) => {
      log.push(name)
      loop.work(6)
    })
    loop.runMicrotasks()
    for (let turn = 0; turn < 20; turn++) loop.turn()
    const counts = Object.values(Object.groupBy(log, (name) => name)).map((runs) => runs?.length ?? 0)
    expect(counts).toHaveLength(20)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
  })

  test("ends the turn of a fiber that does not yield", () => {
    const loop = machine()
    let steps = 0
    const step = Effect.sync(() => {
      steps++
      loop.work(1)
    })
    Effect.runFork(Effect.forever(step, { disableYield: true }), { scheduler: FairScheduler.make(loop.host) })
    loop.runMicrotasks()
    expect(steps).toBeWithin(10, 300)
    const before = steps
    loop.turn()
    expect(steps - before).toBeWithin(10, 300)
  })

  const current = FairScheduler.within(Scheduler.Scheduler)

  live("is the scheduler of a program with the system clock", () =>
    Effect.map(current, (scheduler) => expect(scheduler).toBe(FairScheduler.scheduler))
  )

  live("is not used in a test with its own clock", () =>
    Effect.map(Effect.provideService(current, Clock.Clock, VirtualTime.make().clock), (scheduler) =>
      expect(scheduler).toBe(Context.get(Context.empty(), Scheduler.Scheduler))
    )
  )

  live("is not used in a program with its own scheduler", () => {
    const own = new Scheduler.MixedScheduler()
    return Effect.map(Effect.provideService(current, Scheduler.Scheduler, own), (scheduler) =>
      expect(scheduler).toBe(own)
    )
  })

  live("lets a timer run during the first reconciles of 5,000 objects", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      for (let number = 0; number < 5000; number++) server.put(Widget, widget(`w${number}`))
      let runs = 0
      let ticks = 0
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: () =>
          Effect.sync(() => {
            runs++
            if (runs === 1) {
              const timer = setInterval(() => (runs < 5000 ? ticks++ : clearInterval(timer)), 1)
            }
            return Result.done
          })
      })
      yield* Effect.provide(Manager.launch([controller]), server.transport)
      while (runs < 5000) yield* Effect.sleep("10 millis")
      // One tick per 25 ms of work; a turn of the scheduler takes 10 ms.
      expect(ticks).toBeGreaterThan(5)
    })
  )
})

describe("The CPU time of an attempt", () => {
  /** Attempts in two namespaces. Each part of one takes the number of ms, and waits for the event loop at a `|`. */
  const measure = (attempts: { readonly [namespace: string]: string }, between = 0) => {
    const loop = machine()
    const scheduler = FairScheduler.make(loop.host)
    const use = CpuUse.make()
    const waiting: Array<() => void> = []
    const wait = Effect.callback<void>((resume) => void waiting.push(() => resume(Effect.void)))
    const work = (millis: string) => Effect.sync(() => loop.work(Number(millis)))
    const parts = (text: string): Effect.Effect<void> =>
      Effect.forEach(text.split("|"), (part, at) => Effect.andThen(at === 0 ? Effect.void : wait, work(part)), {
        discard: true
      })
    for (const [namespace, text] of Object.entries(attempts)) {
      const account = new CpuAccount(use)
      const [own = "", ...children] = text.split(" + ")
      const attempt = Effect.gen(function* () {
        yield* Effect.sync(() => account.begin(namespace, loop.host.now()))
        // The attempt has a fiber of its own, and may have children.
        yield* Fiber.join(
          yield* Effect.forkDetach(
            Effect.all([parts(own), ...children.map(parts)], { concurrency: "unbounded", discard: true }),
            { startImmediately: true }
          )
        )
        yield* Effect.sync(() => account.end(loop.host.now))
        yield* work("7")
      })
      Effect.runFork(Effect.provideService(attempt, Account, account), { scheduler })
    }
    Effect.runFork(parts("40|50"), { scheduler })
    loop.runMicrotasks()
    while (waiting.length + loop.immediates() > 0) {
      loop.turn()
      loop.work(between)
      const due = waiting.splice(0)
      for (const resume of due) resume()
      loop.runMicrotasks()
    }
    return (namespace: string) => use.of(namespace, loop.host.now())
  }

  for (const [what, a, expected] of [
    ["is that of its only part", "3", 3],
    ["is the sum of its parts", "3|5|20", 28],
    ["includes its children", "3|5 + 1|10 + 2", 21],
    ["includes a part that does not yield", "400", 400]
  ] as const) {
    test(`${what}, and that of others counts for them`, () => {
      const used = measure({ a, b: "100|1000|2" })
      expect([used("a"), used("b")]).toEqual([expected, 1102])
    })

    test(`${what}, without the time between its parts`, () => {
      expect(measure({ a }, 500)("a")).toBe(expected)
    })
  }

  test("is not measured with another scheduler, as in virtual time", async () => {
    const use = CpuUse.make()
    const account = new CpuAccount(use)
    const attempt = Effect.gen(function* () {
      account.begin("a", performance.now())
      yield* Effect.yieldNow
      const until = performance.now() + 20
      while (performance.now() < until);
      yield* Effect.yieldNow
      account.end(() => performance.now())
    })
    await Effect.runPromise(Effect.provideService(attempt, Account, account))
    expect(use.of("a", performance.now())).toBe(0)
  })

  live("is that of the worker and of all fibers of a reconcile", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const burn = (millis: number) =>
        Effect.sync(() => {
          const until = performance.now() + millis
          while (performance.now() < until);
        })
      const ended = yield* Deferred.make<void>()
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: () =>
          Effect.gen(function* () {
            yield* burn(20)
            yield* Effect.sleep("300 millis")
            yield* Effect.all([burn(20), Effect.andThen(Effect.sleep("10 millis"), burn(20))], {
              concurrency: "unbounded"
            })
            return Result.done
          })
      })
      server.put(Widget, widget("a"))
      // Observers run in the worker.
      const observed = Attempt.observedBy(() => Effect.andThen(burn(20), Deferred.succeed(ended, undefined)))
      const [runner] = yield* Effect.provide(observed(Manager.launch([controller])), server.transport)
      yield* Deferred.await(ended)
      yield* Effect.sleep("20 millis")
      expect(runner?.use.of("default", Time.monotonic(Time.machine))).toBeWithin(80, 300)
    })
  )
})

live("The process measures the delay of its timers", () =>
  FairScheduler.within(
    Effect.gen(function* () {
      const registry = Metrics.make()
      yield* Effect.provideService(FairScheduler.lagMetered, Metrics.Metrics, registry)
      yield* Effect.sleep("150 millis")
      yield* Effect.yieldNow
      const until = performance.now() + 500
      while (performance.now() < until);
      yield* Effect.sleep("10 millis")
      const { homeostat_event_loop_lag_seconds_sum: sum = 0 } = reading(registry)
      expect(sum).toBeWithin(0.15, 5)
    })
  )
)

effect("The measurement of timers stops in a process at rest, and goes on with the next turn of a fiber", () =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const delays: Array<number> = []
    let turns = 0
    let others = 0
    let wake = (): void => {}
    const onTurn = (listener: () => void) => {
      wake = listener
      return () => {}
    }
    yield* Effect.forkScoped(
      FairScheduler.meter(clock, { turns: () => (turns += others), onTurn }, (seconds) => void delays.push(seconds))
    )
    yield* TestClock.adjust("1 hour")
    expect(delays).toHaveLength(1)

    wake()
    yield* TestClock.adjust("99 millis")
    expect(delays).toHaveLength(1)
    yield* TestClock.adjust("1 hour")
    expect(delays).toHaveLength(2)

    wake()
    others = 2
    const before = delays.length
    yield* TestClock.adjust("1 minute")
    expect(delays.length - before).toBeWithin(58, 66)
  })
)
