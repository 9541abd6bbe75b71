/**
 * Prints the costs of a manager as JSON: per start, per creation, and per reconcile without changes.
 *
 * Run it with `BUN_JSC_useGC=0`, so that the capacity of the heap counts all allocated bytes. Also set `BUN_JSC_useJIT=0`, because compiled
 * code avoids some allocations. The bytes of a start and of a creation include those of the API server in memory.
 */
import { heapStats } from "bun:jsc"
import * as Client from "@homeostat/runtime/client/Client"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import type { Runner } from "@homeostat/runtime/controller/Runner"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Fiber, Layer, Metric, Option, Scheduler } from "effect"
import { TestClock } from "effect/testing"
import * as Counted from "./Counted.ts"

/** The WebApps whose costs are averaged. */
const count = 20

/** The number of reconciles without changes for each WebApp. The heap grows in blocks of 16 KiB, so a small number measures nothing. */
const passes = 200

/** Runs `counted` before each operation of a fiber, because the run loop asks the scheduler then. */
const counting = (scheduler: Scheduler.Scheduler, counted: () => void): Scheduler.Scheduler => ({
  executionMode: scheduler.executionMode,
  shouldYield: (fiber) => {
    counted()
    return scheduler.shouldYield(fiber)
  },
  makeDispatcher: () => scheduler.makeDispatcher()
})

/** Excludes the work of the API server in this process. */
const uncounted = (scheduler: Scheduler.Scheduler) =>
  Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, (transport) => ({
      ...transport,
      send: (request) =>
        transport
          .send(request)
          .pipe(
            Effect.provideService(Scheduler.Scheduler, scheduler),
            Effect.provideService(Metric.FiberRuntimeMetrics, undefined)
          )
    }))
  )

/** True if the current fiber belongs to the manager, and not to the API server. */
const isCounted = (): boolean => Fiber.getCurrent()?.getRef(Metric.FiberRuntimeMetrics) !== undefined

/** Counts the calls of JSON.parse and JSON.stringify by the manager. */
const countingJson = <A, E, R>(json: { parsed: number; written: number }, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const { parse, stringify } = JSON
      JSON.parse = (...args) => {
        if (isCounted()) json.parsed++
        return parse(...args)
      }
      JSON.stringify = ((...args: Parameters<typeof stringify>) => {
        if (isCounted()) json.written++
        return stringify(...args)
      }) as typeof stringify
      return { parse, stringify }
    }),
    () => effect,
    (natives) => Effect.sync(() => Object.assign(JSON, natives))
  )

/** The counts per start, per creation and per reconcile without changes. */
const counts = Effect.gen(function* () {
  const requests: Array<string> = []
  const json = { parsed: 0, written: 0 }
  let operations = 0
  let forks = 0
  let attempts = 0
  let runner: Runner | undefined
  const sent = { requests, exchanges: [], watches: [], pending: 0 }
  const manager = Effect.flatMap(Scheduler.Scheduler, (scheduler) =>
    Manager.launch([controller]).pipe(
      Effect.tap(([first]) =>
        Effect.sync(() => {
          runner = first
        })
      ),
      Effect.provide(Layer.provide(Counted.counting(sent), uncounted(scheduler))),
      Attempt.observedBy(() => {
        attempts++
        return Effect.void
      }),
      Effect.provideService(
        Scheduler.Scheduler,
        counting(scheduler, () => operations++)
      ),
      Effect.provideService(Metric.FiberRuntimeMetrics, {
        recordFiberStart: () => void forks++,
        recordFiberEnd: () => undefined
      })
    )
  )
  const read = () => ({
    operations,
    forks,
    requests: requests.length,
    attempts,
    bytes: heapStats().heapCapacity,
    ...json
  })
  type Counts = ReturnType<typeof read>
  const nothing = read()
  const between = (before: Counts, after: Counts, times: number): Counts => {
    const each = Object.entries(after).map(([name, value]) => [name, (value - before[name as keyof Counts]) / times])
    return Object.fromEntries(each) as Counts
  }
  const run = Harness.run({ crds: [Crd.of(WebApp)], manager }, () =>
    Effect.gen(function* () {
      const start = between(nothing, read(), 1)
      const begun = read()
      const names = Array.from({ length: count }, (_, index) => `app-${index}`)
      yield* Effect.forEach(names, (name) =>
        Client.create(WebApp, {
          metadata: { namespace: "default", name },
          spec: { image: "registry.test/web:1", replicas: 1 }
        })
      )
      yield* eventually("all running WebApps", Client.list(WebApp, { namespace: "default" }), ({ items }) =>
        items.every(({ status }) => status?.phase === "Running")
      )
      yield* TestClock.adjust("1 minute")
      const created = read()
      const queue = Option.getOrThrow(Option.fromNullishOr(runner?.queue()).pipe(Option.flatten))
      const pass = Effect.suspend(() => {
        for (const name of names) queue.add(`default/${name}`, { kind: "resync", at: 0 })
        return Effect.repeat(Effect.yieldNow, { times: 10 })
      })
      yield* pass
      const before = read()
      yield* Effect.repeat(pass, { times: passes - 1 })
      return { start, creation: between(begun, created, count), noop: between(before, read(), count * passes) }
    })
  )
  return yield* countingJson(json, run)
})

const counted = await Effect.runPromise(counts)
await Bun.write(Bun.stdout, JSON.stringify(counted))
