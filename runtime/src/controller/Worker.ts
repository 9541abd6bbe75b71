/**
 * The loop of a worker: take a key, run one attempt, add the key to the queue again if the outcome needs it.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as Cache from "../cache/Cache.ts"
import * as Transform from "../cache/Transform.ts"
import { Exchanges, Ledger } from "../client/Exchange.ts"
import { Fence } from "../client/Fence.ts"
import { FieldManager } from "../client/FieldManager.ts"
import { WriteSwitch } from "../client/WriteSwitch.ts"
import type { Item } from "../queue/WorkQueue.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import { type Settings, Tracing } from "../telemetry/Tracing.ts"
import { type Attempt, messageOf, type Observer, Observers, Outcome, outcomeOf, ReconcileTimeout } from "./Attempt.ts"
import { Account, CpuAccount } from "./CpuAccount.ts"
import * as Departures from "./Departures.ts"
import type { Change } from "./HotLoop.ts"
import * as Lasting from "./Lasting.ts"
import * as Paused from "./Paused.ts"
import { Reachability } from "./Reachability.ts"
import { announce, type Correction, Reconciliation } from "./Reconciliation.ts"
import type { Result } from "./Result.ts"
import { forget, resetBackoff, retryOf, type Shared, type Started, settle } from "./Settle.ts"
import type { TriggerEvent } from "./Trigger.ts"

/** The progress of a worker. */
interface Progress {
  /** The key of the attempt in progress. */
  key: string | undefined
  /** Whether the queue is shut down, or the term interrupts the worker. */
  isOver: boolean
  /** Called with the first key. */
  begin: (() => void) | undefined
}

/**
 * One worker: runs attempts until the queue is shut down, and then ends. An attempt never fails the worker. An interrupted worker
 * interrupts the attempt in progress and waits for its finalizers.
 *
 * @param begin is called when the worker has its first key
 */
export const run = <R>(shared: Shared<R>, begin?: () => void): Effect.Effect<void, never, R | Reachability> =>
  Effect.gen(function* () {
    const progress: Progress = { key: undefined, isOver: false, begin }
    const account = new CpuAccount(shared.use)
    const charged = Effect.provideService(loop(shared, progress, account), Account, account)
    while (!progress.isOver) {
      const exit = yield* Effect.exit(charged)
      if (Exit.isSuccess(exit)) continue
      if (progress.key === undefined) return yield* exit
      shared.queue.done(progress.key)
      progress.key = undefined
      yield* Effect.logError(`A worker of controller ${shared.controller.name} died and goes on`, exit.cause)
    }
  })

/** Starts the workers. Each starts when the previous one has its first key, so that an idle controller has one worker. */
export const pool = <R>(shared: Shared<R>, size: number): Effect.Effect<void, never, R | Reachability> =>
  size <= 1
    ? run(shared)
    : Effect.flatMap(Latch.make(), (begun) =>
        Effect.all(
          [
            Effect.ensuring(
              run(shared, () => begun.openUnsafe()),
              begun.open
            ),
            Effect.andThen(
              begun.await,
              Effect.suspend(() => pool(shared, size - 1))
            )
          ],
          { concurrency: "unbounded", discard: true }
        )
      )

/** Runs attempts until the queue is shut down or the worker is interrupted. Only the waits and the attempts can be interrupted. */
const loop = <R>(
  shared: Shared<R>,
  progress: Progress,
  account: CpuAccount
): Effect.Effect<void, never, R | Reachability> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.contextWith((services: Context.Context<R | Reachability>) => {
      const { backoffs, controller, departed, hold, memory, queue, timeouts, trouble } = shared
      const clock = Context.get(services, Clock.Clock)
      const now = () => Time.monotonic(clock)
      const reachability = Context.get(services, Reachability)
      const observers = Context.get(services, Observers)
      const writes = Context.get(services, WriteSwitch)
      const { permits } = Context.get(services, Fence)
      const tracing = Context.get(services, Tracing)
      const annotations = { ...Context.get(services, References.CurrentLogAnnotations), controller: controller.name }
      const reading = Context.add(services, Cache.Cache, shared.cache)
      const base = Context.add(reading, FieldManager, controller.fieldManager)
      // One tracer for all attempts: a tracer for each attempt costs more than the rest of its trace.
      const all = tracing === undefined ? base : Context.add(base, Tracer.Tracer, Recording.tracer)
      // In one map: after eight additions, each further one would copy all services for each attempt.
      const given = Context.makeUnsafe<R | Reachability>(new Map(all.mapUnsafe))
      /** The attempt in progress. One function serves all attempts. */
      let current: Started | undefined
      const retryAt: Reconciliation["Service"]["retryAt"] = (error) =>
        current === undefined
          ? Effect.succeed(undefined)
          : Effect.map(retryOf(shared, current, error), Option.getOrUndefined)

      /** The services of an attempt. */
      const contextOf = (
        object: KubernetesObject,
        started: Started,
        scope: Scope.Scope
      ): Context.Context<R | Reachability | Reconciliation | Scope.Scope> => {
        const { changes, corrections, id, ledger, root } = started
        const context = given.pipe(
          Context.add(Reconciliation, {
            id,
            controller: controller.name,
            fieldManager: controller.fieldManager,
            resource: shared.wire,
            object,
            memory,
            hasConditions: false,
            applied: controller.applied,
            deleted: controller.deleted,
            selectors: controller.selectors,
            owns: controller.owns,
            lasts: started.lasts,
            fight: started.fight,
            retryAt,
            corrected: (correction: Correction) => void corrections.push(correction),
            changed: (change: Change) => void changes.push(change)
          }),
          Context.add(Exchanges, ledger),
          Context.add(Scope.Scope, scope),
          Context.add(References.CurrentLogAnnotations, {
            ...annotations,
            object: `${controller.resource.kind} ${keyString(object.metadata)}`,
            reconcileID: id
          })
        )
        return root === undefined ? context : Context.add(context, Tracer.ParentSpan, root)
      }

      /** The attempt, after the report of a failure that the attempt before could not report. */
      const attemptOf = (object: KubernetesObject, { failing, key, lasts }: Started) => {
        const attempt =
          departed !== undefined && departed.get(key) === object && controller.departures !== undefined
            ? controller.departures.attempt
            : controller.attempt
        return lasts && failing?.unreported !== undefined
          ? Effect.andThen(controller.report(object, failing.unreported), attempt(object))
          : attempt(object)
      }

      /** Whether the controller has nothing to do with an object, whatever triggered it: it is neither selected nor marked. */
      const isUnselected = (key: string): boolean => {
        const object = controller.selects === undefined ? undefined : shared.informer.store.get(key)
        if (object === undefined || Transform.isPartial(controller.resource, object)) return false
        const { metadata } = object
        try {
          if (controller.selects?.(object) !== false) {
            // A clean-up that ended before must run again after this reconcile.
            if (metadata.deletionTimestamp === undefined) memory.clean.delete(metadata.uid)
            return false
          }
        } catch {
          // The attempt throws it again, and reports it.
          return false
        }
        return !Departures.carries(controller.finalizers, object) && !memory.reports.get(metadata.uid)?.message
      }

      /**
       * Runs the attempt on a fiber of its own, with its time limit. Fibers and resources of the attempt end with it. Most attempts end
       * without a wait; for them, the fiber is all that is needed.
       */
      const execute = function* (object: KubernetesObject, started: Started) {
        const scope = Scope.makeUnsafe()
        const context = contextOf(object, started, scope)
        // The worker provides what the compiler sees as missing. A controller that throws has a defect like any other.
        const attempt = Effect.suspend(() => attemptOf(object, started) as Effect.Effect<Result, unknown, R>)
        const fiber = yield* Effect.forkDetach(Effect.setContext(attempt, context), atOnce)
        let result = fiber.pollUnsafe()
        let isLate = false
        if (result === undefined) {
          const limit = timeouts.begin(fiber)
          const waited = yield* Effect.exit(restore(Fiber.await(fiber)))
          if (Exit.isFailure(waited)) {
            progress.isOver = true
            yield* Fiber.interrupt(fiber)
          }
          result = yield* Fiber.await(fiber)
          timeouts.end(limit)
          isLate = limit.isOver
        }
        const announced = announce(object, started.corrections)
        if (announced !== undefined) yield* Effect.setContext(announced as Effect.Effect<void>, context)
        const closing = Scope.closeUnsafe(scope, result)
        const closed = closing === undefined ? Exit.void : yield* Effect.exit(Effect.setContext(closing, context))
        const exit: Exit.Exit<Result, unknown> = Exit.isSuccess(closed)
          ? result
          : Exit.failCause(Exit.isSuccess(result) ? closed.cause : Cause.combine(result.cause, closed.cause))
        return isLate && (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause))
          ? Exit.fail(new ReconcileTimeout({ after: controller.timeout }))
          : exit
      }

      const attempt = function* (item: Item<TriggerEvent>) {
        const startedAt = clock.currentTimeMillisUnsafe()
        const began = Time.monotonic(clock)
        const id = crypto.randomUUID()
        const root = tracing === undefined ? undefined : rootOf(controller.name, id, item.triggers, tracing, clock)
        const found = shared.informer.store.get(item.key) ?? departed?.get(item.key)
        account.begin(found?.metadata.namespace, began)
        const object = found !== undefined && memory.gone.has(found.metadata.uid) ? undefined : found
        if (memory.paused.size > 0 && object !== undefined && Paused.reasonOf(object) === undefined)
          memory.paused.delete(object.metadata.uid)
        const generation = object?.metadata.generation
        const entries = object === undefined ? undefined : memory.entriesOf(object.metadata.uid, startedAt)

        // A new generation resets the back-off, because the change may be the fix.
        const failing = trouble.get(item.key)
        if (failing !== undefined && failing.generation !== generation) resetBackoff(shared, item.key)
        const lasts = failing?.since !== undefined && began - failing.since >= Lasting.millis
        const ledger = new Ledger()
        const corrections: Array<Correction> = []
        const changes: Array<Change> = []
        const started: Started = {
          id,
          root,
          key: item.key,
          object,
          ledger,
          corrections,
          changes,
          failing,
          lasts,
          fight: entries?.fight,
          retry: undefined
        }
        current = started
        const number = backoffs.attempts(item.key) + 1

        const exit = object === undefined ? undefined : yield* execute(object, started)
        const outcome =
          exit === undefined
            ? Outcome.Vanished()
            : outcomeOf(exit, { interrupted: progress.isOver, server: reachability.server })
        if (object !== undefined && "error" in outcome) ledger.suspect(object)
        const settled = settle(shared, item, outcome, { generation, started, clock, reachability })
        const next = Effect.isEffect(settled) ? yield* settled : settled
        current = undefined
        queue.done(item.key, ledger.versions())
        // The deletion event may have passed, so entries that this run has added since then are removed here.
        if (object !== undefined && shared.informer.store.get(item.key)?.metadata.uid !== object.metadata.uid) {
          memory.forget(object.metadata.uid, item.key)
        }

        const record: Attempt = {
          id,
          controller: controller.name,
          kind: controller.resource.kind,
          key: item.key,
          uid: object?.metadata.uid,
          generation,
          resourceVersion: object?.metadata.resourceVersion,
          object,
          priority: item.priority,
          triggers: item.triggers,
          dropped: item.dropped,
          droppedNews: item.droppedNews,
          number,
          lasts,
          queuedAt: item.enqueuedAt,
          startedAt,
          finishedAt: startedAt + Time.monotonic(clock) - began,
          outcome,
          next,
          exchanges: ledger.all(),
          requests: ledger.count(),
          reads: ledger.cachedReads(),
          memory: entries,
          corrections,
          secrets: ledger,
          changes,
          root
        }
        root?.end(clock.currentTimeNanosUnsafe(), exit ?? Exit.void)
        for (const observe of observers) {
          const observed = observedBy(observe, record)
          if (observed !== Effect.void) yield* observed
        }
        return outcome
      }

      return Effect.gen(function* () {
        while (!progress.isOver) {
          if (!reachability.isReached()) yield* restore(reachability.reached)
          if (writes?.stop() !== undefined) yield* restore(writes.resumed)
          if (hold?.isHeld() === true) yield* restore(hold.over)
          const taken = yield* queue.take
          if (Option.isNone(taken)) {
            progress.isOver = true
            return
          }
          // The connection may be lost since this worker began to wait, or writes may be stopped: then the key goes back.
          if (!reachability.isReached() || writes?.stop() !== undefined || hold?.isHeld() === true) {
            queue.putBack(taken.value)
            continue
          }
          if (controller.selects !== undefined && isUnselected(taken.value.key)) {
            forget(shared, taken.value.key)
            queue.done(taken.value.key)
            continue
          }
          progress.key = taken.value.key
          progress.begin?.()
          progress.begin = undefined
          const { _tag } = yield* attempt(taken.value)
          account.end(now)
          progress.key = undefined
          if (_tag !== "Interrupted" || progress.isOver) continue
          // The Lease is lost. The term will interrupt this worker, and another attempt could not write.
          if (!permits()) return yield* restore(Effect.never)
          // A stop of all writes has ended the attempt.
          for (const trigger of taken.value.triggers)
            queue.add(taken.value.key, trigger, { priority: taken.value.priority })
        }
      })
    })
  )

/** An attempt begins at once. */
const atOnce = { startImmediately: true } as const

/** Passes the record to an observer. A defect of an observer does not stop the worker. */
const observedBy = (observe: Observer, record: Attempt): Effect.Effect<void> => {
  const died = (error: unknown) => Effect.logError(`An observer of attempts died: ${messageOf(error)}`)
  try {
    const observing = observe(record)
    return observing === Effect.void ? observing : Effect.catchCause(observing, (cause) => died(Cause.squash(cause)))
  } catch (error) {
    return died(error)
  }
}

/**
 * The root span of an attempt. The trace ID is the reconcile ID, unless a cause is the parent.
 */
const rootOf = (
  controller: string,
  id: string,
  triggers: ReadonlyArray<TriggerEvent>,
  { propagation }: Settings,
  clock: Clock.Clock
): Recording.Span => {
  // An attempt before this one is a cause too, but no parent: it has ended.
  const cause = propagation === "parent" ? triggers.findLast((each) => each.source && each.traceparent) : undefined
  return Recording.root(SpanName.reconcile(controller), {
    traceId: id.replaceAll("-", ""),
    parent: TraceParent.parse(cause?.traceparent),
    startTime: clock.currentTimeNanosUnsafe(),
    kind: "consumer"
  })
}
