/**
 * The loop: take a key, run one attempt, tell the queue what follows. Everything else about an attempt is an observer's.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type { Informer } from "../cache/Cache.ts"
import * as ApiError from "../client/ApiError.ts"
import { Exchanges, Ledger } from "../client/Exchange.ts"
import { FieldManager } from "../client/FieldManager.ts"
import type { Backoffs } from "../queue/Backoff.ts"
import type { Item, WorkQueue } from "../queue/WorkQueue.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import { Tracing } from "../telemetry/Tracing.ts"
import { type Attempt, messageOf, type Next, Observers, Outcome, outcomeOf, ReconcileTimeout } from "./Attempt.ts"
import type { Controller } from "./Controller.ts"
import type { Memory } from "./Memory.ts"
import { Reachability } from "./Reachability.ts"
import { type Correction, Reconciliation } from "./Reconciliation.ts"
import type { Result } from "./Result.ts"
import type { Fired } from "./Trigger.ts"

/** What the workers of one controller share. */
export interface Shared<R> {
  readonly controller: Controller<R>
  readonly queue: WorkQueue<Fired>
  readonly informer: Informer
  /** The controller's kind, not decoded. */
  readonly wire: Resource.Any
  readonly backoffs: Backoffs
  readonly memory: Memory
  /** Consecutive failures to reach a server, and the generation that failed last, per key. */
  readonly trouble: Map<string, Trouble>
}

/** What is known of an object that is failing. */
export interface Trouble {
  readonly generation: number | undefined
  readonly number: number
  readonly unreachable: number
}

/**
 * One worker: runs attempts until the queue is shut down, and then ends. An attempt never fails the worker. Interrupted, it
 * interrupts the attempt in progress and waits for its finalizers.
 */
export const run = <R>(shared: Shared<R>): Effect.Effect<void, never, R | Reachability> =>
  Effect.flatMap(Tracing, (tracing) =>
    // One tracer for all attempts: to exchange it for each would cost more than the rest of a trace in which nothing happens.
    tracing === undefined ? loop(shared) : Effect.withTracer(loop(shared), Recording.tracer)
  )

const loop = <R>(shared: Shared<R>): Effect.Effect<void, never, R | Reachability> =>
  Effect.gen(function* () {
    const reachability = yield* Reachability
    while (true) {
      yield* reachability.reached
      const item = yield* shared.queue.take
      if (Option.isNone(item)) return
      // The server may have been lost while this worker waited for a key: then the key has not had its turn.
      // (An interruption here loses nothing: workers are interrupted when their queue is shut down, and then only.)
      if (reachability.isReached()) yield* survive(shared, item.value.key, attempt(shared, item.value))
      else shared.queue.putBack(item.value)
    }
  })

/** Should the runtime itself have made a mistake, it costs this one run and not the controller. */
const survive = <R>({ controller, queue }: Shared<R>, key: string, run: Effect.Effect<void, never, R | Reachability>) =>
  Effect.catchAllCause(run, (cause) => {
    queue.done(key)
    return Effect.logError(`A worker of controller ${controller.name} died and goes on`, cause)
  })

const attempt = <R>(shared: Shared<R>, item: Item<Fired>): Effect.Effect<void, never, R | Reachability> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const { controller, queue, trouble } = shared
      const clock = yield* Effect.clock
      const startedAt = clock.unsafeCurrentTimeMillis()
      const began = Time.monotonic(clock)
      const id = crypto.randomUUID()
      const root = yield* rootOf(controller.name, id, item.triggers)
      const ledger = new Ledger()
      const corrections: Array<Correction> = []
      const found = shared.informer.store.get(item.key)
      const object = found !== undefined && shared.memory.isGone(found.metadata.uid) ? undefined : found
      const generation = object?.metadata.generation

      // A changed spec deserves a fresh start: what failed before may be just what was mended.
      const before = trouble.get(item.key)
      const failing = before !== undefined && before.generation === generation ? before : undefined
      if (before !== undefined && failing === undefined) forget(shared, item.key)

      const exit =
        object === undefined
          ? undefined
          : yield* Effect.exit(restore(reconcile(shared, object, { id, root, ledger, corrections })))
      const { interruptors } = yield* Effect.descriptor
      const outcome =
        exit === undefined
          ? Outcome.Vanished()
          : outcomeOf(exit, { interrupted: HashSet.size(interruptors) > 0, server: (yield* Reachability).server })
      const next = yield* settle(shared, item, outcome, { generation, failing, root })
      queue.done(item.key, ledger.versions())
      // What this run remembered of an object that was deleted meanwhile: the event that makes it forgotten is past.
      if (object !== undefined && shared.informer.store.get(item.key)?.metadata.uid !== object.metadata.uid) {
        shared.memory.forget(object.metadata.uid, item.key)
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
        number: (failing?.number ?? 0) + 1,
        queuedAt: item.enqueuedAt,
        startedAt,
        finishedAt: startedAt + Time.monotonic(clock) - began,
        outcome,
        next,
        exchanges: ledger.all(),
        requests: ledger.count(),
        corrections,
        root
      }
      root?.end(clock.unsafeCurrentTimeNanos(), exit ?? Exit.void)
      for (const observe of yield* Observers) {
        // Whoever watches must not be able to stop the work.
        yield* Effect.catchAllCause(
          Effect.suspend(() => observe(record)),
          (cause) => Effect.logError(`An observer of attempts died: ${messageOf(Cause.squash(cause))}`)
        )
      }
    })
  )

/**
 * The root of an attempt's trace, where attempts are traced. Trace and reconcile have one id, so that either
 * finds the other; unless a cause is the parent, whose trace it is part of then.
 */
const rootOf = (controller: string, id: string, triggers: ReadonlyArray<Fired>) =>
  Effect.zipWith(Tracing, Effect.clock, (settings, clock) => {
    if (settings === undefined) return undefined
    // An attempt before this one is a cause too, but no parent: it has ended.
    const cause =
      settings.propagation === "parent" ? triggers.findLast((each) => each.source && each.traceparent) : undefined
    return Recording.root(SpanName.reconcile(controller), {
      traceId: id.replaceAll("-", ""),
      parent: TraceParent.parse(cause?.traceparent),
      startTime: clock.unsafeCurrentTimeNanos(),
      kind: "consumer"
    })
  })

const reconcile = <R>(
  { controller, memory, wire }: Shared<R>,
  object: KubernetesObject,
  {
    corrections,
    id,
    ledger,
    root
  }: {
    readonly id: string
    readonly root: Recording.Span | undefined
    readonly ledger: Ledger
    readonly corrections: Array<Correction>
  }
): Effect.Effect<Result, unknown, R> => {
  const services = Context.make(Reconciliation, {
    id,
    controller: controller.name,
    fieldManager: controller.fieldManager,
    resource: wire,
    object,
    memory,
    hasConditions: false,
    applied: controller.applied,
    corrected: (correction) => void corrections.push(correction)
  }).pipe(
    Context.add(FieldManager, controller.fieldManager),
    Context.add(Exchanges, ledger),
    root === undefined ? identity : Context.add(Tracer.ParentSpan, root)
  )
  // The timeout runs the reconcile on a fiber of its own, whose end takes along whatever the author forked in it.
  const provided = controller.attempt(object).pipe(
    Effect.scoped,
    Effect.timeoutFail({
      duration: controller.timeout,
      onTimeout: () => new ReconcileTimeout({ after: controller.timeout })
    }),
    Effect.annotateLogs({
      controller: controller.name,
      object: `${controller.resource.kind} ${keyString(object.metadata)}`,
      reconcileID: id
    }),
    // All at once: each of them alone would cost as much.
    Effect.provide(services)
  )
  // `Controller.make` has taken what is provided here out of R, which the compiler can't see of a type it doesn't know.
  return provided as Effect.Effect<Result, unknown, R>
}

const forget = <R>({ backoffs, trouble }: Shared<R>, key: string): void => {
  backoffs.forget(key)
  trouble.delete(key)
}

/** How long the server that refused asks to be left alone, in ms. */
const askedMillis = (error: unknown): number =>
  (ApiError.isApiError(error) ? ApiError.askedMillis(error) : undefined) ?? 0

/** Tells the queue what follows from an outcome: design 2's table, one row a case. */
const settle = <R>(
  shared: Shared<R>,
  { key, priority }: Item<Fired>,
  outcome: Outcome,
  state: {
    readonly generation: number | undefined
    readonly failing: Trouble | undefined
    readonly root: Recording.Span | undefined
  }
): Effect.Effect<Next, never, Reachability> => {
  const { controller, queue, backoffs, trouble } = shared
  const wait = Effect.sync((): Next => {
    forget(shared, key)
    return { _tag: "Wait" }
  })
  /** No more by itself. It waits for a trigger: what the attempt itself wrote comes back as an event, and that is none. */
  const giveUp = (next: Next) =>
    Effect.map(Effect.clock, (clock) => {
      forget(shared, key)
      const trigger: Fired = { kind: "given_up", at: clock.unsafeCurrentTimeMillis(), traceparent }
      queue.addAfter(key, Number.POSITIVE_INFINITY, trigger, { priority })
      return next
    })
  const unreachable = state.failing?.unreachable ?? 0
  const traceparent = state.root === undefined ? undefined : TraceParent.format(state.root)

  const again = (kind: Fired["kind"], input: unknown, at = priority) =>
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      const delay = yield* Effect.catchAllCause(backoffs.next(key, input), (cause) =>
        Effect.as(
          Effect.logError(
            `The retry schedule of controller ${controller.name} threw: ${messageOf(Cause.squash(cause))}`
          ),
          Option.none()
        )
      )
      if (Option.isNone(delay)) return yield* giveUp({ _tag: "GiveUp" })
      trouble.set(key, {
        generation: state.generation,
        number: (state.failing?.number ?? 0) + 1,
        unreachable: kind === "unreachable" ? unreachable + 1 : 0
      })
      const afterMillis = Math.max(delay.value, askedMillis(input))
      queue.addAfter(key, afterMillis, { kind, at: clock.unsafeCurrentTimeMillis(), traceparent }, { priority: at })
      return { _tag: "Run", afterMillis } as const
    })

  return Outcome.$match(outcome, {
    Done: () => wait,
    Vanished: () => wait,
    Terminal: () => giveUp({ _tag: "Wait" }),
    Interrupted: () => Effect.succeed<Next>({ _tag: "Wait" }),
    RequeueAfter: ({ after, priority: asked = priority }) =>
      Effect.map(Effect.clock, (clock): Next => {
        forget(shared, key)
        const afterMillis = Duration.toMillis(after)
        if (afterMillis === 0) return { _tag: "Wait" }
        const trigger: Fired = { kind: "requeue_after", at: clock.unsafeCurrentTimeMillis(), traceparent }
        queue.addAfter(key, afterMillis, trigger, { priority: asked })
        return { _tag: "Run", afterMillis }
      }),
    Requeue: (result) => again("requeue", "Requeue", result.priority),
    Failed: ({ error }) => again("retry", error),
    Unreachable: ({ error }) =>
      Effect.gen(function* () {
        const reachability = yield* Reachability
        yield* reachability.lost
        // The first one is not the object's fault and costs it nothing. If the probe gets through and the same object
        // meets it again, the fault may well be the object's (a request that breaks the connection): back off.
        if (unreachable > 0) return yield* again("unreachable", error)
        const clock = yield* Effect.clock
        trouble.set(key, {
          generation: state.generation,
          number: state.failing?.number ?? 0,
          unreachable: 1
        })
        const trigger: Fired = { kind: "unreachable", at: clock.unsafeCurrentTimeMillis(), traceparent }
        queue.addAfter(key, 0, trigger, { priority })
        return { _tag: "Run", afterMillis: 0 } as const
      })
  })
}
