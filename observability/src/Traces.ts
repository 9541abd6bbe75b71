/**
 * Exports traces of attempts and of requests to webhooks. Observers decide at the end of each whether to export its trace ({@link Tail}).
 * OpenTelemetry's SDK sends it.
 *
 * The export never delays a reconcile or an answer, and its memory is bounded. At most `OTEL_BSP_MAX_QUEUE_SIZE` spans wait or are being sent;
 * beyond that whole traces are dropped. Exported, skipped and lost traces are counted, and problems are logged at most once a minute.
 * When the scope closes, the remaining spans have {@link flushTimeout}.
 */
import type * as Attempt from "@homeostat/runtime/controller/Attempt"
import * as Metric from "@homeostat/runtime/telemetry/Metric"
import { Metrics } from "@homeostat/runtime/telemetry/Metrics"
import type { Recording, Span } from "@homeostat/runtime/telemetry/Recording"
import type * as Call from "@homeostat/runtime/webhook/Call"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as AttemptTrace from "./AttemptTrace.ts"
import * as CallTrace from "./CallTrace.ts"
import type { Pipeline, Reports } from "./OpenTelemetry.ts"
import * as RateLimitedLog from "./RateLimitedLog.ts"
import * as Resource from "./Resource.ts"
import * as Tail from "./Tail.ts"
import * as TraceSettings from "./TraceSettings.ts"

/** The program, and its environment. */
export interface Setup extends Resource.Service {
  readonly environment: TraceSettings.Environment
}

/** The observers of a program. */
export interface Observers {
  readonly attempts: Attempt.Observer
  readonly webhooks: Call.Observer
}

/** The observers with the fiber's metrics, until the scope closes. */
export type Exporting = Effect.Effect<Observers, never, Scope.Scope>

/** How long a program waits for the export on shutdown. */
export const flushTimeout = Duration.millis(500)

/** The delay of an export: other observers may still add to the trace, and the worker can continue. */
export const handOverDelay = Duration.millis(20)

/** Opens the export: see `OpenTelemetry.open`. */
export type Open = (reports: Reports) => Effect.Effect<Pipeline>

/**
 * The exporter of the environment; `undefined` if tracing is off, see {@link TraceSettings}. The error is one line that names the
 * variable. The SDK is loaded only when the effect runs.
 *
 * @example
 * ```ts
 * const environment = { OTEL_TRACES_EXPORTER: "none" }
 * Traces.make({ name: "sites", version: "1.0.0", instance: "sites-0", environment }) // => EffectResult.succeed(undefined)
 * ```
 */
export const make = (setup: Setup): Result.Result<Exporting | undefined, string> =>
  Result.map(TraceSettings.parse(setup.environment), (settings) =>
    settings === undefined
      ? undefined
      : Effect.andThen(
          Effect.logInfo(`Exports traces to ${TraceSettings.destinationOf(settings, setup.environment)}`),
          exporting(settings, (reports) =>
            Effect.map(
              Effect.promise(() => import("./OpenTelemetry.ts")),
              (sdk) => {
                const { environment } = setup
                return sdk.open({ settings, environment, resource: Resource.attributesOf(setup, environment), reports })
              }
            )
          )
        )
  )

/**
 * The exporter with this pipeline.
 *
 * @internal
 */
export const exporting = (
  settings: Pick<TraceSettings.TraceSettings, "ratio" | "parentBased">,
  open: Open
): Exporting =>
  Effect.gen(function* () {
    const { counter } = yield* Metrics
    const exported = counter(Metric.spansExported, {})
    const lost = (reason: (typeof Metric.spanLosses)[number]) => counter(Metric.spansDropped, { reason })
    const failed = lost("export_failed")
    const crowded = lost("buffer_full")
    const excess = lost("trace_too_long")
    const unsent = lost("shutdown")
    const decided = new Map(
      [...Tail.decisions, "dropped" as const].map((decision) => [decision, counter(Metric.traces, { decision })])
    )
    const ofAttempt = Tail.make(settings)
    const ofCall = Tail.ofCall(settings)
    // One limit for all messages: any problem with the collector is one line per minute.
    const log = yield* RateLimitedLog.make
    let lastFailure: string | undefined

    /** Traces to export that wait for the delay. */
    const pending: Array<{ readonly complete: () => Recording | undefined; readonly size: number }> = []
    let reserved = 0
    const latch = yield* Latch.make(false)

    /** Exports the next trace. A failure loses only this trace. */
    const handOver = (pipeline: Pipeline) =>
      Effect.suspend(() => {
        const next = pending.shift()
        if (next === undefined) return Effect.void
        reserved -= next.size
        return Effect.sync(() => {
          const recording = next.complete()
          if (recording === undefined) return
          excess.add(recording.dropped)
          pipeline.write(recording)
        }).pipe(
          Effect.catchCause((cause) =>
            Effect.sync(() => {
              failed.add(next.size)
              log(`A trace can't be exported: ${Cause.pretty(cause)}`)
            })
          )
        )
      })

    const close = (pipeline: Pipeline) =>
      Effect.gen(function* () {
        while (pending.length > 0) yield* handOver(pipeline)
        const flushed = yield* Effect.tryPromise(() => pipeline.shutdown()).pipe(
          Effect.ignore,
          Effect.interruptible,
          Effect.timeoutOption(flushTimeout)
        )
        const left = pipeline.inFlight()
        unsent.add(left)
        if (left > 0 || Option.isNone(flushed))
          yield* Effect.logWarning(`Ends without having exported all spans (${left} left)`)
      })

    const pipeline = yield* Effect.acquireRelease(
      open({
        exported: (spans) => exported.add(spans),
        failed: (spans, error) => {
          failed.add(spans)
          lastFailure = error?.message
          log(`Could not export spans (${spans}): ${error?.message || (error?.name ?? "no reason was given")}`)
        },
        warned: (message) => {
          // The SDK repeats the reason of a failed export.
          if (message !== lastFailure) log(`OpenTelemetry: ${message}`)
        }
      }),
      close
    )

    yield* latch.await.pipe(
      Effect.andThen(Effect.sleep(handOverDelay)),
      Effect.andThen(latch.close),
      Effect.andThen(
        Effect.whileLoop({
          while: () => pending.length > 0,
          // Yields to other fibers between two traces.
          body: () => Effect.andThen(handOver(pipeline), Effect.yieldNow),
          step: () => {}
        })
      ),
      Effect.forever,
      Effect.forkScoped
    )

    /** Counts the decision, and exports the trace if it has a reason and there is room. */
    const settle = (
      { recording }: Span,
      decision: Tail.Decision,
      extra: number,
      complete: () => Recording | undefined
    ): void => {
      if (decision !== "quiet") {
        const size = recording.spans.length + extra
        if (pipeline.room() - reserved < size) {
          decided.get("dropped")?.add()
          crowded.add(size)
          log("Traces are dropped: more spans wait to be exported than there is room for")
          return
        }
        recording.exported = true
        reserved += size
        pending.push({ complete, size })
        latch.openUnsafe()
      }
      decided.get(decision)?.add()
    }

    return {
      attempts: (attempt) =>
        Effect.sync(() => {
          if (attempt.root === undefined) return
          // Plus one for the span of the queue wait.
          settle(attempt.root, ofAttempt(attempt), 1, () => AttemptTrace.complete(attempt))
        }),
      webhooks: (call) => {
        if (call.root !== undefined) settle(call.root, ofCall(call), 0, () => CallTrace.complete(call))
      }
    }
  })
