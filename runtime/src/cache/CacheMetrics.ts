/**
 * Feeds the metrics of the cache, by kind. Restarts and relists are counted when they happen. The number of objects, their size and
 * the idle time are computed at each scrape.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Resource from "../resource/Resource.ts"
import * as Metric from "../telemetry/Metric.ts"
import { type Counting, Metrics } from "../telemetry/Metrics.ts"
import type { Informer } from "./Informer.ts"
import type { Reason } from "./Reflector.ts"
import type { Shares } from "./Shares.ts"
import type { Sink } from "./Watcher.ts"

/** The metrics of one cache. */
export interface CacheMetrics {
  /** The counters of a kind. The call creates the series at 0. */
  readonly counted: (kind: string) => Sink["counted"]
}

/** The reasons of each counter. Each has a series from the start, at 0. */
const restarts: ReadonlyArray<Reason> = ["ended", "broken", "idle", "error"]
const relists: ReadonlyArray<Reason> = ["expired", "refused", "empty", "idle"]

/** Feeds the metrics of the fiber's registry until the scope closes. */
export const make = (
  informers: () => ReadonlyArray<Informer>,
  shares: Pick<Shares, "limit" | "total">
): Effect.Effect<CacheMetrics, never, Scope.Scope> =>
  Effect.gen(function* () {
    const registry = yield* Metrics

    const collect = (): void => {
      const kinds = new Map<string, { objects: number; bytes: number; idleMillis: number; tooLarge: number }>()
      for (const { isAbsent, isOptional, resource, state, store } of informers()) {
        const kind = Resource.nameOf(resource)
        if (isOptional()) registry.gauge(Metric.kindServed, { kind }).set(isAbsent() ? 0 : 1)
        const sum = kinds.get(kind) ?? { objects: 0, bytes: 0, idleMillis: 0, tooLarge: 0 }
        const { idleMillis, meanSize, tooLarge } = state()
        sum.objects += store.size()
        sum.tooLarge += tooLarge
        sum.bytes += Math.round(store.size() * meanSize)
        sum.idleMillis = Math.max(sum.idleMillis, idleMillis)
        kinds.set(kind, sum)
      }
      registry.gauge(Metric.cacheMemory, {}).set(shares.total())
      registry.gauge(Metric.cacheMemoryLimit, {}).set(shares.limit)
      for (const [kind, { bytes, idleMillis, objects, tooLarge }] of kinds) {
        registry.gauge(Metric.cacheObjects, { kind }).set(objects)
        registry.gauge(Metric.cacheBytes, { kind }).set(bytes)
        registry.gauge(Metric.cacheTooLarge, { kind }).set(tooLarge)
        registry.gauge(Metric.watchIdle, { kind }).set(idleMillis / 1000)
      }
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => registry.onCollect(collect)),
      (forget) => Effect.sync(forget)
    )

    return {
      counted: (kind) => {
        const bind = (metric: typeof Metric.watchRestarts, reasons: ReadonlyArray<Reason>) => {
          const of = (reason: Reason): Counting => registry.counter(metric, { kind, reason })
          reasons.forEach(of)
          return of
        }
        const restarted = bind(Metric.watchRestarts, restarts)
        const relisted = bind(Metric.watchRelists, relists)
        return (what, reason) => (what === "Restarted" ? restarted : relisted)(reason).add()
      }
    }
  })
