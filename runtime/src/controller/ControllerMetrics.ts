/**
 * Feeds the metrics of a controller from the records of its attempts, and from its queue at each scrape.
 *
 * All series exist from the start at 0, also on a standby, so that `rate()` sees the first increase. Each term of a leader has its own
 * queue; the totals continue over all terms.
 *
 * An attempt for an object that is gone counts as a success, as in controller-runtime. An attempt that was interrupted by a shutdown or
 * by the loss of the Lease does not count.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Informer } from "../cache/Cache.ts"
import * as CachedState from "../cache/CachedState.ts"
import type { Backoffs } from "../queue/Backoff.ts"
import type { Snapshot, WorkQueue } from "../queue/WorkQueue.ts"
import * as ObjectState from "../resource/ObjectState.ts"
import * as Metric from "../telemetry/Metric.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { type Attempt, type Observer, ReconcileTimeout } from "./Attempt.ts"
import type * as HotLoop from "./HotLoop.ts"
import * as OwnWrites from "./OwnWrites.ts"
import type { TriggerEvent } from "./Trigger.ts"

/** The metrics of one controller. */
export interface ControllerMetrics {
  /** Counts an attempt. */
  readonly observe: Observer
  /** Counts a hot loop. */
  readonly found: (reason: HotLoop.Reason) => void
  /** Reads the queue, the back-offs and the reconciled objects of a term until the scope closes. */
  readonly follow: (
    queue: WorkQueue<TriggerEvent>,
    backoffs: Backoffs,
    objects: Pick<Informer, "resource" | "store">
  ) => Effect.Effect<void, never, Scope.Scope>
}

/** The priorities with their own series, as in controller-runtime. */
const priorities = 25

/** The numbers without a queue. Priority 0 always has a series; other priorities from their first use. */
const empty: Pick<Snapshot, "processing" | "unfinishedMillis" | "longestRunMillis" | "depth"> = {
  processing: 0,
  unfinishedMillis: 0,
  longestRunMillis: 0,
  depth: new Map([[0, 0]])
}

/** The trace for the exemplars of an attempt, if the trace is exported. */
const traceOf = ({ finishedAt, root }: Attempt): Metrics.Trace | undefined =>
  root?.recording.exported === true ? { traceId: root.traceId, spanId: root.spanId, at: finishedAt } : undefined

/** Feeds the metrics of the fiber's registry. It records the writes of attempts in `writes`. */
export const make = (
  controller: string,
  concurrency: number,
  writes: OwnWrites.OwnWrites
): Effect.Effect<ControllerMetrics> =>
  Effect.map(Metrics.Metrics, (registry) => {
    const own = { controller }
    const queued = { name: controller, controller }
    const { counter, gauge, histogram } = registry
    const total = (result: (typeof Metric.reconcileResults)[number]) =>
      counter(Metric.reconcileTotal, { controller, result })
    const [success, failed] = [total("success"), total("error")]
    /** The result by outcome; any other outcome is an error. */
    const results: { readonly [outcome: string]: Metrics.Counting | undefined } = {
      Done: success,
      Vanished: success,
      Requeue: total("requeue"),
      RequeueAfter: total("requeue_after")
    }
    const loop = (reason: HotLoop.Reason) => counter(Metric.hotLoops, { controller, reason })
    const loops = { fight: loop("fight"), altered: loop("altered"), rewrite: loop("rewrite") }
    const errors = counter(Metric.reconcileErrors, own)
    const terminal = counter(Metric.terminalReconcileErrors, own)
    const panics = counter(Metric.reconcilePanics, own)
    const timeouts = counter(Metric.reconcileTimeouts, own)
    const time = histogram(Metric.reconcileTime, own)
    gauge(Metric.maxConcurrentReconciles, own).set(concurrency)
    const active = gauge(Metric.activeWorkers, own)

    const started = histogram(Metric.freshnessStarted, own)
    const finished = histogram(Metric.freshnessFinished, own)
    const seen = histogram(Metric.freshnessSeen, own)

    /**
     * When the oldest change arrived that triggered an attempt; `undefined` if only own writes triggered it. The machine's time may have
     * been set meanwhile.
     */
    const arrivedAt = ({ dropped, key, queuedAt, triggers }: Attempt): number | undefined => {
      let oldest: number | undefined
      for (const { at, kind, source } of triggers) {
        if (source === undefined || kind === "startup") continue
        const own = writes.find(source)
        if (own?.arrivedAt !== undefined) {
          const seenAt = Math.max(at, own.answeredAt)
          seen.observe(Math.max(0, seenAt - own.arrivedAt) / 1000, own.trace && { ...own.trace, at: seenAt })
          own.arrivedAt = undefined
        }
        const isNews = own === undefined || own.key !== OwnWrites.hash(key)
        if (isNews && (oldest === undefined || at < oldest)) oldest = at
      }
      // The oldest trigger may be dropped, but it arrived no later than the key became ready.
      return oldest !== undefined && dropped > 0 ? Math.min(oldest, queuedAt) : oldest
    }

    const observeFreshness = (attempt: Attempt, trace: Metrics.Trace | undefined): void => {
      const arrived = arrivedAt(attempt)
      for (const { millis, startedAt, write } of attempt.exchanges) {
        if (write?.uid === undefined || write.after === undefined || write.changed === false) continue
        const { after, uid } = write
        writes.record(after, {
          uid,
          key: OwnWrites.hash(attempt.key),
          answeredAt: startedAt + millis,
          arrivedAt: arrived,
          trace
        })
      }
      if (arrived === undefined) return
      started.observe(Math.max(0, attempt.startedAt - arrived) / 1000, trace)
      finished.observe(Math.max(0, attempt.finishedAt - arrived) / 1000, trace)
    }

    const backoffObjects = gauge(Metric.backoffObjects, own)
    const backoffAttempts = gauge(Metric.backoffAttempts, own)
    const backoffDelay = gauge(Metric.backoffDelay, own)
    const setBackoffs = (objects: number, { attempts, delayMillis }: ReturnType<Backoffs["worst"]>): void => {
      backoffObjects.set(objects)
      backoffAttempts.set(attempts)
      backoffDelay.set(delayMillis / 1000)
    }

    const objectsIn = ObjectState.all.map((state) => gauge(Metric.objects, { controller, state }))
    const setObjects = (counts: { readonly [state in ObjectState.State]?: number }): void => {
      for (const [at, state] of ObjectState.all.entries()) objectsIn[at]?.set(counts[state] ?? 0)
    }
    setObjects({})

    const adds = counter(Metric.queueAdds, queued)
    const retries = counter(Metric.queueRetries, queued)
    const waited = histogram(Metric.queueDuration, queued)
    const worked = histogram(Metric.workDuration, queued)
    const unfinished = gauge(Metric.unfinishedWork, queued)
    const longest = gauge(Metric.longestRun, queued)

    const known = new Set<number>()
    /** A priority that was used keeps its series, at 0 while nothing waits with it. */
    const setDepth = (depth: Snapshot["depth"]): void => {
      let others = 0
      for (const [priority, size] of depth) {
        if (known.size < priorities) known.add(priority)
        if (!known.has(priority)) others += size
      }
      for (const priority of known) {
        gauge(Metric.queueDepth, { ...queued, priority: String(priority) }).set(depth.get(priority) ?? 0)
      }
      if (others > 0 || known.size === priorities) {
        gauge(Metric.queueDepth, { ...queued, priority: Metrics.others }).set(others)
      }
    }
    const setState = (state: typeof empty): void => {
      active.set(state.processing)
      unfinished.set(state.unfinishedMillis / 1000)
      longest.set(state.longestRunMillis / 1000)
      setDepth(state.depth)
    }
    setState(empty)

    return {
      observe: (attempt) => {
        const { outcome } = attempt
        const seconds = (attempt.finishedAt - attempt.startedAt) / 1000
        waited.observe((attempt.startedAt - attempt.queuedAt) / 1000)
        worked.observe(seconds)
        if (outcome._tag === "Interrupted") return Effect.void
        const result = results[outcome._tag] ?? failed
        const trace = traceOf(attempt)
        result.add()
        time.observe(seconds, trace)
        observeFreshness(attempt, trace)
        if (result !== failed) return Effect.void
        errors.add()
        if (outcome._tag === "Terminal") terminal.add()
        if (outcome._tag !== "Failed") return Effect.void
        if (outcome.defect) panics.add()
        if (outcome.error instanceof ReconcileTimeout) timeouts.add()
        return Effect.void
      },
      found: (reason) => loops[reason].add(),
      follow: (queue, backoffs, { resource, store }) =>
        Effect.suspend(() => {
          const followAdds = Metrics.following(adds)
          const followRetries = Metrics.following(retries)
          const collect = (): void => {
            const snapshot = queue.snapshot()
            followAdds(snapshot.adds)
            followRetries(snapshot.retries)
            setState(snapshot)
            setBackoffs(backoffs.size(), backoffs.worst())
            const counts: { [state in ObjectState.State]?: number } = {}
            for (const object of store.list()) {
              const state = CachedState.of(resource, object)
              counts[state] = (counts[state] ?? 0) + 1
            }
            setObjects(counts)
          }
          return Effect.asVoid(
            Effect.acquireRelease(
              Effect.sync(() => registry.onCollect(collect)),
              (forget) =>
                Effect.sync(() => {
                  forget()
                  // Unread values go into the totals; beyond that, a controller without a queue has nothing.
                  collect()
                  setState(empty)
                  setObjects({})
                  setBackoffs(0, { attempts: 0, delayMillis: 0 })
                })
            )
          )
        })
    }
  })
