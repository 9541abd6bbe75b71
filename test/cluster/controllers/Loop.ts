/**
 * Runs the controllers of a server. Each change of the store yields keys, and the loop runs a pass of a controller for each key in their
 * order.
 *
 * Guarantees:
 * - A pass sees the stored objects, and its writes are made before any other read or write.
 * - One pass handles all changes of a key since its last pass.
 * - A pass that fails is retried with a growing back-off. A failure never ends the loop.
 * - Time comes from the Clock: while the Clock stands still, only due keys run.
 * - While a write waits for a webhook, no other pass runs.
 */

import type { Failure } from "@homeostat/apiserver/model/Failure"
import type { Json } from "@homeostat/apiserver/model/Json"
import * as Step from "@homeostat/apiserver/storage/Step"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { Cause, Clock, Deferred, Effect, type Scope } from "effect"
import type { BuiltInController } from "./BuiltInController.ts"
import * as Index from "./Index.ts"
import * as Queue from "./Queue.ts"
import * as Recorder from "./Recorder.ts"
import * as Writer from "./Writer.ts"

/** A running loop. */
export interface Loop {
  /** Waits until no key is due, so that the controllers have done all current work. */
  readonly idle: Effect.Effect<void>
  /** Clears the state of all earlier passes, as after a restart. A restore of the store needs it, for example. */
  readonly restart: Effect.Effect<void>
}

/** The options of the loop. */
export interface Options {
  /** Whether the controllers write Events. Default: true. */
  readonly events?: boolean | undefined
}

/** The default back-off of a failed key, as in client-go's queues. */
const defaultRetry = { firstMillis: 5, lastMillis: 1_000_000 }

/** The number of passes before other fibers run. They take some milliseconds. */
const turn = 16

/** The controllers see a change as late as the clients of a watch, so that a client sees what happens between two passes. */
const lag = Effect.repeat(Effect.yieldNow, { times: 2 })

/** Runs controllers until the end of the Scope. For them, each stored object counts as added. */
export const start = (
  target: Writer.Target,
  controllers: ReadonlyArray<BuiltInController>,
  { events = true }: Options = {}
): Effect.Effect<Loop, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { registry, store } = target
    const index = Index.make(store, registry)
    const recorder = events ? Recorder.make() : Recorder.silent
    const queue = Queue.make()
    const memories = new Map<string, Json>()
    const failures = new Map<string, number>()
    let waiting: Array<Deferred.Deferred<void>> = []
    let wake = yield* Deferred.make<void>()

    const watchers = watchersOf(controllers)
    const observe = (change: Change): void => {
      index.apply(change)
      for (const [place, controller] of watchers(change.storage)) {
        for (const key of controller.keys(change, index.snapshot)) queue.add({ controller: place, key })
      }
      // The step that makes the change ends before the next pass begins.
      Deferred.doneUnsafe(wake, Effect.yieldNow)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        for (const change of whatIsThere(target)) observe(change)
        return store.subscribe(observe)
      }),
      (end) => Effect.sync(end)
    )

    const retry = (item: Queue.Item, id: string, now: number): void => {
      const times = failures.get(id) ?? 0
      failures.set(id, times + 1)
      const { firstMillis, lastMillis } = controllers[item.controller]?.retry ?? defaultRetry
      queue.add(item, now + Math.min(firstMillis * 2 ** times, lastMillis))
    }

    const pass = (item: Queue.Item, now: number): Effect.Effect<void, unknown> | undefined => {
      const controller = controllers[item.controller]
      if (controller === undefined) return undefined
      const id = `${item.controller} ${item.key}`
      const { again, memory, writes } = controller.reconcile(index.snapshot, item.key, now, memories.get(id))
      const step = Step.make()
      const write = () => Writer.write({ ...target, recorder, controller, now }, writes)
      const done = (refused: Failure | undefined): void => {
        if (refused !== undefined) {
          retry(item, id, now)
          // A delayed pass stays due even if a write fails.
          if (again !== undefined) queue.add(item, now + again)
          return
        }
        failures.delete(id)
        if (memory === undefined) memories.delete(id)
        else memories.set(id, memory)
        if (again !== undefined) queue.add(item, now + again)
      }
      try {
        done(Step.attempt(step, write))
        return undefined
      } catch (error) {
        if (!(error instanceof Step.Pending)) throw error
        return Effect.map(Step.answered(step, error, write), done)
      }
    }

    /** Runs due passes, and returns whether more are due. */
    const work = (now: number) =>
      Effect.gen(function* () {
        for (let count = 0; count < turn; count++) {
          const item = queue.take(now)
          if (item === undefined) return false
          yield* Effect.try(() => pass(item, now)).pipe(
            Effect.flatMap((waits) => waits ?? Effect.void),
            Effect.catch((error) => {
              retry(item, `${item.controller} ${item.key}`, now)
              const cause = error instanceof Cause.UnknownError ? error.cause : error
              return Effect.logError(`${controllers[item.controller]?.name} failed at ${item.key}`, cause)
            })
          )
        }
        return queue.isDue(now)
      })

    const rest = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      wake = yield* Deferred.make<void>()
      if (queue.isDue(now)) return
      const idle = waiting
      waiting = []
      for (const waiter of idle) yield* Deferred.succeed(waiter, undefined)
      const next = queue.next()
      const woken = Deferred.await(wake)
      yield* next === undefined ? woken : Effect.race(woken, Effect.sleep(next - now))
    })

    yield* Clock.currentTimeMillis.pipe(
      Effect.flatMap(work),
      Effect.flatMap((more) => (more ? Effect.yieldNow : Effect.andThen(rest, lag))),
      Effect.forever,
      Effect.forkScoped
    )

    return {
      restart: Effect.sync(() => {
        memories.clear()
        failures.clear()
        recorder.forget()
        for (const change of whatIsThere(target)) observe(change)
      }),
      idle: Effect.gen(function* () {
        const waiter = yield* Deferred.make<void>()
        waiting.push(waiter)
        Deferred.doneUnsafe(wake, Effect.yieldNow)
        yield* Deferred.await(waiter)
      })
    }
  })

type Watcher = readonly [place: number, controller: BuiltInController]

/** Returns a function that returns the controllers that watch a storage. */
const watchersOf = (controllers: ReadonlyArray<BuiltInController>) => {
  const known = new Map<string, ReadonlyArray<Watcher>>()
  return (storage: string): ReadonlyArray<Watcher> => {
    const found = known.get(storage)
    if (found !== undefined) return found
    const made = [...controllers.entries()].filter(([, { storages }]) => storages?.includes(storage) ?? true)
    known.set(storage, made)
    return made
  }
}

/** Returns the objects of the store as changes. */
const whatIsThere = ({ registry, store }: Writer.Target): ReadonlyArray<Change> =>
  [...new Set(registry.resources().map(({ storage }) => storage))].flatMap((storage) =>
    store.list(storage).map((object) => ({
      revision: store.revision,
      type: "ADDED" as const,
      storage,
      object,
      previous: undefined
    }))
  )
