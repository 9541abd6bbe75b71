/**
 * Controllers in one process, over one client and one cache.
 *
 * Up: caches fill, and each controller starts when all of its own are synced; one that can't sync holds up nobody else.
 * Down, when the scope closes: no more intake, reconciles in progress are finished (all controllers at once, for the grace
 * period), events are written, watches are closed.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Cache from "../cache/Cache.ts"
import * as Client from "../client/Client.ts"
import type { Transport } from "../client/Transport.ts"
import type { Controller, Services } from "../controller/Controller.ts"
import * as Reachability from "../controller/Reachability.ts"
import * as Runner from "../controller/Runner.ts"
import * as EventRecorder from "../events/EventRecorder.ts"

/** What reconciling needs, for one cluster. */
export type Runtime = Services | Reachability.Reachability

/** The services of a manager, over the transport to a cluster. Closing their scope closes every watch. */
export const layer = (options: {
  /** Only objects of these namespaces are seen; none means all. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  /** Who reports events: the pod's name or the host's. */
  readonly instance: string
  /** Sent as `User-Agent`. */
  readonly userAgent?: string | undefined
}): Layer.Layer<Runtime, never, Transport> =>
  Layer.mergeAll(
    Cache.layer({ namespaces: options.namespaces }),
    EventRecorder.layer({ instance: options.instance }),
    Reachability.layer
  ).pipe(Layer.provideMerge(Client.layer({ userAgent: options.userAgent })))

/** How a manager runs its controllers. */
export interface Settings {
  /** Workers: one number for all, or one for each controller by name. */
  readonly workers?: number | { readonly [controller: string]: number } | undefined
  /** Only objects of the reconciled kinds with these labels are seen. */
  readonly labelSelector?: string | undefined
  readonly syncPeriod?: Duration.DurationInput | undefined
  readonly gracePeriod?: Duration.DurationInput | undefined
}

/** Starts controllers, which run as long as the scope. Returns at once; each runner tells when it has started. */
export const start = <R>(
  controllers: ReadonlyArray<Controller<R>>,
  settings: Settings = {}
): Effect.Effect<ReadonlyArray<Runner.Runner>, never, R | Cache.Cache | Reachability.Reachability | Scope.Scope> =>
  Effect.gen(function* () {
    const { workers } = settings
    // They drain side by side: the grace period is the process's, not each controller's.
    const together = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.parallel)
    return yield* Effect.forEach(controllers, (controller) =>
      Effect.flatMap(Scope.fork(together, ExecutionStrategy.sequential), (scope) =>
        Scope.extend(
          Runner.start(controller, {
            concurrency: typeof workers === "number" ? workers : workers?.[controller.name],
            labelSelector: settings.labelSelector,
            syncPeriod: settings.syncPeriod,
            gracePeriod: settings.gracePeriod
          }),
          scope
        )
      )
    )
  })
