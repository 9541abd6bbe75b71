/**
 * Kubernetes Events about the objects of a controller, as `kubectl describe` shows them.
 *
 * `record` adds the event to a bounded queue and returns at once. Events must never delay a reconcile or fail it. So a full queue drops
 * events (counted), and the recorder gives up a write after the client's retries.
 *
 * Two events are equal if objects, type, reason **and note** are equal, so that a new note is never lost. Equal events within {@link
 * seriesMillis} are counted as one series, which is written at most once per {@link tickMillis}.
 *
 * Needs the permissions to create and patch `events` of `events.k8s.io` in the namespaces of the objects, and in `default` for
 * cluster-scoped objects.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Inspectable from "effect/Inspectable"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Client from "../client/Client.ts"
import { Exchanges } from "../client/Exchange.ts"
import { FieldManager } from "../client/FieldManager.ts"
import * as Patch from "../client/Patch.ts"
import * as WriteSwitch from "../client/WriteSwitch.ts"
import * as Bounded from "../resource/Bounded.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Text from "../resource/Text.ts"
import * as Time from "../resource/Time.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Metric from "../telemetry/Metric.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import { type Settings, Tracing, annotation as traceAnnotation } from "../telemetry/Tracing.ts"

/** An Event to record. */
export interface EventFields {
  /** The object of the event. It needs `apiVersion` and `kind`, like an object in `reconcile`. */
  readonly regarding: KubernetesObject
  /** A second object that takes part, such as the Pod that a Node has lost. Events that differ only in it are not equal, as in client-go. */
  readonly related?: KubernetesObject | undefined
  readonly type: "Normal" | "Warning"
  /** The reason in one CamelCase word for machines, such as `DeploymentCreated`. */
  readonly reason: string
  /** The action in one CamelCase word. Default `Reconcile`. */
  readonly action?: string | undefined
  /** One sentence for people. Cut at 1024 bytes, the server's limit. */
  readonly note: string
}

/** Records Kubernetes Events about objects. */
export class EventRecorder extends Context.Service<
  EventRecorder,
  {
    /**
     * Never waits and never fails.
     *
     * @param evenStopped whether the Event passes while a user stops all writes. Others wait until the end of the stop
     */
    readonly record: (entry: EventFields, evenStopped?: boolean) => Effect.Effect<void>
    /** Waits until all recorded events are written or dropped, but at most {@link flushTimeout}. */
    readonly flush: Effect.Effect<void>
    /** The number of events that were lost, because the queue was full or a write failed permanently. */
    readonly dropped: () => number
  }
>()("@homeostat/runtime/EventRecorder") {}

/**
 * Records an event about `regarding`.
 *
 * @example
 * ```ts
 * yield* EventRecorder.record({ regarding: site, type: "Normal", reason: "Entered", note: "Entered in the directory" })
 * ```
 */
export const record = (entry: EventFields): Effect.Effect<void, never, EventRecorder> =>
  Effect.flatMap(EventRecorder, (recorder) => recorder.record(entry))

/** A repeat within this time after the last one belongs to the same series: ten minutes, within an Event's lifetime of an hour. */
export const seriesMillis = 600_000

/** The interval at which the counts of running series are written, in ms. */
export const tickMillis = 10_000

/** The largest number of queued events, as in client-go. */
const capacity = 1000

/** The largest number of writes at a time. One writer falls behind a controller that creates 60 children a second. */
const mostWrites = 4

/** The largest number of series; the oldest are dropped first. */
const mostSeries = 4096

/** The timeout of a flush, including a write in progress. */
export const flushTimeout = Duration.seconds(3)

interface Series {
  readonly namespace: string
  readonly name: string
  count: number
  written: number
  lastAt: number
}

/** A queued event, with cut texts, and a reference instead of the object. */
interface Pending {
  readonly key: bigint
  readonly regarding: Reference
  readonly related: Reference | undefined
  readonly type: EventFields["type"]
  readonly reason: string
  readonly action: string
  readonly note: string
  readonly at: number
  /** The earlier events of this millisecond. Each adds a microsecond to the time, because clients sort Events by time. */
  readonly micros: number
  readonly controller: string
  /** The annotation with the trace of the event. */
  readonly annotations: Readonly<Record<string, string>> | undefined
}

/** A queued write. */
interface Job {
  readonly run: Effect.Effect<void>
  /** Whether it waits for all earlier writes, and all later ones wait for it. */
  readonly isAlone: boolean
}

/** `ObjectReference` of core/v1. */
interface Reference {
  readonly apiVersion?: string
  readonly kind?: string
  readonly name: string
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
}

const referenceOf = ({ apiVersion, kind, metadata }: KubernetesObject): Reference => ({
  ...(apiVersion === undefined ? {} : { apiVersion }),
  ...(kind === undefined ? {} : { kind }),
  name: metadata.name,
  namespace: metadata.namespace ?? "",
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion
})

/** The identity of an event. A hash, because notes may have a thousand characters, and thousands of series are kept. */
const keyOf = ({
  note,
  reason,
  regarding,
  related,
  type
}: Pick<Pending, "regarding" | "related" | "type" | "reason" | "note">): bigint =>
  Bun.hash.wyhash(`${regarding.uid} ${related === undefined ? "" : `${related.uid} `}${type} ${reason} ${note}`)

/** Adds the event to the current trace, if there is one, and returns the annotation with the trace. */
const traced = (
  { reason, type }: Pick<EventFields, "reason" | "type">,
  parent: Recording.Span | undefined,
  settings: Settings | undefined,
  clock: Clock.Clock
): Pending["annotations"] => {
  if (parent === undefined) return undefined
  const now = clock.currentTimeNanosUnsafe()
  const span = parent.recording.span(SpanName.event, Option.some(parent), now)
  span.attribute(Attribute.eventType, type)
  span.attribute(Attribute.eventReason, reason)
  span.end(now, Exit.void)
  return { [settings?.annotation ?? traceAnnotation]: TraceParent.format(span) }
}

/** The beginning of a text, in bytes of UTF-8, because the server counts bytes and rejects longer texts. */
const cut = (text: string, bytes: number): string => {
  const encoded = Buffer.from(text.slice(0, bytes + 1))
  // A cut character decodes to a replacement character, which texts of events do not contain otherwise.
  return encoded.byteLength <= bytes
    ? text
    : encoded
        .subarray(0, bytes)
        .toString()
        .replace(/\uFFFD{1,3}$/, "")
}

/** The parts of an object's name that the name of an Event may contain. Names of ClusterRoles may have capitals and colons. */
const labelsOf = (name: string): ReadonlyArray<string> =>
  name
    .slice(0, 220)
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]/g, "-")
    .split(".")
    .map((label) => label.replaceAll(/^-+|(?<!-)-+$/g, ""))
    .filter((label) => label !== "")

/** @internal */
export const make = (options: {
  /** The reporting instance: the name of the pod or of the host. */
  readonly instance: string
}): Effect.Effect<EventRecorder["Service"], never, Client.Client | Scope.Scope> =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const clock = yield* Clock.Clock
    const writes = yield* WriteSwitch.WriteSwitch
    const scope = yield* Effect.scope
    // The pending writes, in order.
    const queue = yield* Queue.unbounded<Job>()
    const series = new Map<bigint, Series>()
    const losses = (yield* Metrics).counter(Metric.eventsDropped, {})
    let dropped = 0
    let latest = { at: Number.NaN, micros: 0 }
    const now = (): Pick<Pending, "at" | "micros"> => {
      const at = clock.currentTimeMillisUnsafe()
      latest = { at, micros: at === latest.at ? latest.micros + 1 : 0 }
      return latest
    }
    const drop = (): void => {
      dropped++
      losses.add()
    }

    const create = (pending: Pending) => {
      const { key, regarding, related } = pending
      const namespace = regarding.namespace || "default"
      // Unique for the lifetime of an Event, with the same prefix for one object to keep listings readable.
      const name = [...labelsOf(regarding.name), Bun.hash(`${key}${pending.at}`).toString(16)].join(".")
      store(key, { namespace, name, count: 1, written: 1, lastAt: pending.at })
      return client.create(BuiltIn.Event, {
        metadata: { namespace, name, ...(pending.annotations !== undefined && { annotations: pending.annotations }) },
        eventTime: Time.micros(pending.at + pending.micros / 1000),
        type: pending.type,
        reason: pending.reason,
        action: pending.action,
        note: pending.note,
        reportingController: pending.controller,
        reportingInstance: cut(options.instance, 128),
        regarding,
        ...(related !== undefined && { related })
      })
    }

    /** Open while there are series. */
    const counting = yield* Latch.make(false)
    const store = (key: bigint, entry: Series): void => {
      Bounded.put(series, key, entry, mostSeries)
      counting.openUnsafe()
    }

    const lost = (error: { readonly message: string }, count = 1) =>
      Effect.suspend(() => {
        for (let each = 0; each < count; each++) drop()
        return Effect.logDebug(`An event was lost: ${error.message}`)
      })

    /** The running series of an equal event. */
    const runningAt = (key: bigint, at: number): Series | undefined => {
      const running = series.get(key)
      return running !== undefined && at - running.lastAt < seriesMillis ? running : undefined
    }

    const write = (pending: Pending) =>
      Effect.suspend(() => {
        const { key } = pending
        const running = runningAt(key, pending.at)
        if (running !== undefined) {
          running.count++
          running.lastAt = pending.at
          return Effect.void
        }
        return Effect.catch(create(pending), (error) => {
          // Repeats during the write are lost with it.
          const count = series.get(key)?.count
          series.delete(key)
          return lost(error, count)
        })
      })

    const countUp = Effect.suspend(() =>
      Effect.forEach(
        [...series].filter(([, entry]) => entry.count > entry.written),
        ([key, entry]) => {
          const { count, lastAt } = entry
          return client
            .patch(BuiltIn.Event, entry, Patch.merge({ series: { count, lastObservedTime: Time.micros(lastAt) } }))
            .pipe(
              Effect.andThen(
                Effect.sync(() => {
                  entry.written = count
                })
              ),
              // Events live an hour: after that, the next repeat creates a new Event.
              Effect.catch((error) => {
                series.delete(key)
                return error._tag === "NotFound" ? Effect.void : lost(error)
              })
            )
        },
        { discard: true }
      )
    )

    /** Drops ended series: the next repeat begins a new one. */
    const forget = Effect.sync(() => {
      const now = clock.currentTimeMillisUnsafe()
      for (const [key, { count, lastAt, written }] of series) {
        if (count === written && now - lastAt >= seriesMillis) series.delete(key)
      }
      if (series.size === 0) counting.closeUnsafe()
    })

    const flush = Effect.flatMap(Deferred.make<void>(), (flushed) =>
      Effect.andThen(
        Queue.offer(queue, { run: Effect.andThen(countUp, Deferred.succeed(flushed, undefined)), isAlone: true }),
        Deferred.await(flushed)
      )
    ).pipe(Effect.interruptible, Effect.timeoutOption(flushTimeout), Effect.asVoid)

    // A failed write, for any reason, loses only its own event.
    const guarded = (job: Effect.Effect<void>) =>
      Effect.catchDefect(job, (defect) => lost({ message: Inspectable.toStringUnknown(defect, 0) }))
    const slots = yield* Semaphore.make(mostWrites)
    yield* slots.take(1).pipe(
      Effect.andThen(Queue.take(queue)),
      Effect.tap(writes?.resumed ?? Effect.void),
      Effect.flatMap(({ isAlone, run }) => {
        const taken = isAlone ? mostWrites : 1
        const writing = Effect.forkChild(Effect.ensuring(guarded(run), slots.release(taken)))
        return isAlone ? Effect.andThen(slots.take(mostWrites - 1), writing) : writing
      }),
      Effect.forever,
      Effect.interruptible,
      Effect.forkScoped
    )
    // Ticks must not fill the queue while the writer waits for the server, so at most one is queued.
    let isTickPending = false
    const tick = Effect.suspend(() => {
      isTickPending = false
      return Effect.andThen(countUp, forget)
    })
    const offerTick = Effect.suspend(() => {
      if (isTickPending) return Effect.void
      isTickPending = true
      return Queue.offer(queue, { run: tick, isAlone: true })
    })
    yield* counting.await.pipe(
      Effect.andThen(Effect.sleep(tickMillis)),
      Effect.andThen(offerTick),
      Effect.forever,
      Effect.interruptible,
      Effect.forkScoped
    )
    // Added to the scope last, so it runs while the writer still works.
    yield* Effect.addFinalizer(() => flush)

    return EventRecorder.of({
      record: (entry, evenStopped = false) =>
        Effect.withFiber((fiber) => {
          if (Queue.sizeUnsafe(queue) >= capacity) {
            drop()
            return Effect.void
          }
          return guarded(
            Effect.suspend(() => {
              const parent = Recording.current(fiber)
              const { type } = entry
              const recorded = {
                regarding: referenceOf(entry.regarding),
                related: entry.related === undefined ? undefined : referenceOf(entry.related),
                type,
                reason: cut(entry.reason, 128),
                action: cut(entry.action ?? "Reconcile", 128),
                note: cut(Text.printable(fiber.getRef(Exchanges)?.hide(entry.note) ?? entry.note), 1024),
                controller: fiber.getRef(FieldManager),
                ...now()
              }
              const key = keyOf(recorded)
              const annotations = traced(recorded, parent, fiber.getRef(Tracing), clock)
              // A repeat increments an Event with the annotation of another trace, and is not a reason to keep this trace.
              if (parent !== undefined && runningAt(key, recorded.at) === undefined) parent.recording.hasEvent = true
              const run = write({ ...recorded, key, annotations })
              if (evenStopped) return Effect.asVoid(Effect.forkIn(guarded(WriteSwitch.exempt(run)), scope))
              Queue.offerUnsafe(queue, { run, isAlone: false })
              return Effect.void
            })
          )
        }),
      flush,
      dropped: () => dropped
    })
  })

/**
 * An EventRecorder for the lifetime of the layer. It writes the queued events at the end.
 *
 * @internal
 */
export const layer = (options: { readonly instance: string }): Layer.Layer<EventRecorder, never, Client.Client> =>
  Layer.effect(EventRecorder, make(options))
