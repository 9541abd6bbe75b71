/**
 * Recorded traces: an Effect tracer with cheap spans, which are not exported by themselves. A recording contains the spans under one
 * root. After the root has ended, the exporter decides whether to export the recording.
 *
 * IDs are those of W3C's Trace Context, so that OpenTelemetry can use them unchanged. This module needs no SDK.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as Attribute from "./Attribute.ts"

/** Further spans of a recording are only counted, because a reconcile may send thousands of requests. */
export const mostSpans = 256

/** Further events of a span are only counted. OpenTelemetry's default limit. */
export const mostEvents = 128

/** An event of a span. */
export interface Event {
  readonly name: string
  /** Nanoseconds since 1970. */
  readonly at: bigint
  readonly attributes: Readonly<Record<string, unknown>>
}

const ids = new Uint8Array(4096)
let used = ids.length

/** Random bytes, in hexadecimal. Generated in batches, because eight bytes from the system cost as much as thousands. */
const random = (bytes: number): string => {
  if (used + bytes > ids.length) {
    crypto.getRandomValues(ids)
    used = 0
  }
  used += bytes
  return Buffer.from(ids.buffer, used - bytes, bytes).toString("hex")
}

/** A new trace ID. */
export const traceId = (): string => random(16)

/** A span of a recording. */
export class Span implements Tracer.Span {
  readonly _tag = "Span"
  readonly sampled: boolean
  readonly spanId = random(8)
  readonly traceId: string
  readonly attributes = new Map<string, unknown>()
  readonly events: Array<Event> = []
  readonly links: Array<Tracer.SpanLink>
  private droppedEvents = 0
  status: Tracer.SpanStatus

  constructor(
    readonly recording: Recording,
    readonly name: string,
    readonly parent: Option.Option<Tracer.AnySpan>,
    readonly annotations: Context.Context<never>,
    links: ReadonlyArray<Tracer.SpanLink>,
    startTime: bigint,
    readonly kind: Tracer.SpanKind
  ) {
    this.traceId = recording.traceId
    this.sampled = recording.sampled
    this.links = links.slice()
    this.status = { _tag: "Started", startTime }
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
  }
  attribute(key: string, value: unknown): void {
    this.attributes.set(key, value)
  }
  /** Adds an event. Does nothing after the end of the span, because background work of a step may run as long as the process. */
  event(name: string, at: bigint, attributes: Readonly<Record<string, unknown>> = {}): void {
    if (this.status._tag === "Started") this.remark(name, at, attributes)
  }
  /** Adds an event, also after the end of the span. */
  remark(name: string, at: bigint, attributes: Readonly<Record<string, unknown>> = {}): void {
    if (this.events.length < mostEvents) this.events.push({ name, at, attributes })
    else this.attribute(Attribute.droppedEvents, ++this.droppedEvents)
  }
  addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    this.links.push(...links)
  }
}

/** The spans under one root. */
export class Recording {
  /** In the order of their starts, the root first. */
  readonly spans: Array<Span> = []
  /** The number of dropped spans. */
  dropped = 0
  /** Whether the recording is exported, so that its ID can be looked up. The exporter sets it after the root has ended. */
  exported = false

  /** Removes the values of Secrets that the attempt knows from a text; absent if there are none to know. The exporter calls it. */
  hide: ((text: string) => string) | undefined

  /** Whether a Kubernetes Event has the ID, so that the recording should be exported. The EventRecorder sets it. */
  hasEvent = false

  constructor(
    readonly traceId: string,
    /** Sent with requests: whether the receiver should record its part of the trace. */
    readonly sampled = true
  ) {}

  /** Creates a span of this recording, and keeps it while there is room. */
  readonly span = (
    name: string,
    parent: Option.Option<Tracer.AnySpan>,
    startTime: bigint,
    kind: Tracer.SpanKind = "internal",
    links: ReadonlyArray<Tracer.SpanLink> = [],
    annotations: Context.Context<never> = Context.empty()
  ): Span => {
    const span = new Span(this, name, parent, annotations, links, startTime, kind)
    if (this.spans.length < mostSpans) this.spans.push(span)
    else this.dropped++
    return span
  }
}

/**
 * The root of a new recording.
 *
 * @param traceId 32 hexadecimal digits; with a parent, the parent's ID is used
 * @param startTime nanoseconds since 1970
 * @param sampled the flag in `traceparent` of its requests; default true
 */
export const root = (
  name: string,
  options: {
    readonly traceId?: string | undefined
    readonly parent?: Tracer.AnySpan | undefined
    readonly startTime: bigint
    readonly kind?: Tracer.SpanKind | undefined
    readonly sampled?: boolean | undefined
  }
): Span => {
  const { parent } = options
  const recording = new Recording(parent?.traceId ?? options.traceId ?? traceId(), options.sampled)
  return recording.span(name, Option.fromNullishOr(parent), options.startTime, options.kind)
}

/** Adds spans to the recording of their parent. A span without a recorded parent starts a recording that is not exported. */
export const tracer: Tracer.Tracer = Tracer.make({
  span: ({ annotations, kind, links, name, parent, startTime }) => {
    const recording =
      Option.isSome(parent) && parent.value instanceof Span
        ? parent.value.recording
        : new Recording(Option.isSome(parent) ? parent.value.traceId : traceId())
    return recording.span(name, parent, startTime, kind, links, annotations)
  }
})

/** The recorded span of a fiber; `undefined` if nothing is recorded. */
export const current = ({ cache: { span } }: Pick<Fiber.Fiber<unknown, unknown>, "cache">): Span | undefined =>
  span instanceof Span ? span : undefined

/** Records a step without a duration as a span. Does nothing if nothing is recorded. */
export const mark = (name: string, attributes: () => Readonly<Record<string, unknown>>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const parent = current(fiber)
    if (parent === undefined) return Effect.void
    const now = fiber.getRef(Clock.Clock).currentTimeNanosUnsafe()
    const span = parent.recording.span(name, Option.some(parent), now)
    for (const [key, value] of Object.entries(attributes())) span.attribute(key, value)
    span.end(now, Exit.void)
    return Effect.void
  })

/**
 * Records a step as a span around an effect. If nothing is recorded, it returns the effect itself and costs nothing.
 *
 * @param effect gets the span, to add attributes and events
 */
export const step = <A, E, R>(
  name: string,
  effect: (span: Span | undefined) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const parent = current(fiber)
    if (parent === undefined) return effect(undefined)
    const clock = fiber.getRef(Clock.Clock)
    const span = parent.recording.span(name, Option.some(parent), clock.currentTimeNanosUnsafe())
    return Effect.onExit(Effect.withParentSpan(effect(span), span, { captureStackTrace: false }), (exit) =>
      Effect.sync(() => span.end(clock.currentTimeNanosUnsafe(), exit))
    )
  })
