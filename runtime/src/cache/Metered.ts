/**
 * What the cache's metrics are fed from: why watches are resumed and states asked for anew, as it happens, and the number of
 * objects, when somebody reads. They go by kind, however many informers follow it.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Resource from "../resource/Resource.ts"
import * as Metric from "../telemetry/Metric.ts"
import { type Counting, Metrics } from "../telemetry/Metrics.ts"
import type { Informer } from "./Informer.ts"
import type { Reason } from "./Reflector.ts"
import type { Sink } from "./Watcher.ts"

/** The feeder of one cache. */
export interface Metered {
  /** Counts for a kind, which has its series from then on. */
  readonly counted: (kind: string) => Sink["counted"]
}

/** The reasons that there are for each: they have a series from the start, at 0. */
const restarts: ReadonlyArray<Reason> = ["ended", "broken", "idle", "error"]
const relists: ReadonlyArray<Reason> = ["expired", "refused", "empty", "idle"]

/** Feeds the metrics of the fiber's registry, until the scope closes. */
export const make = (informers: () => ReadonlyArray<Informer>): Effect.Effect<Metered, never, Scope.Scope> =>
  Effect.gen(function* () {
    const registry = yield* Metrics

    const countObjects = (): void => {
      const sizes = new Map<string, number>()
      for (const { resource, store } of informers()) {
        const kind = Resource.nameOf(resource)
        sizes.set(kind, (sizes.get(kind) ?? 0) + store.size())
      }
      for (const [kind, size] of sizes) registry.gauge(Metric.cacheObjects, { kind }).set(size)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => registry.onCollect(countObjects)),
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
