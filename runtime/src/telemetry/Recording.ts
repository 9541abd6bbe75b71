/**
 * Traces as they are recorded: an Effect tracer whose spans cost little and go nowhere by themselves. A recording holds what
 * happened under one root; when the root has ended, whoever has the recording decides what becomes of it.
 *
 * Ids are those of W3C's Trace Context, so that a recording can be handed to OpenTelemetry as it is. No SDK is needed here.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as Attribute from "./Attribute.ts"

/** Spans of a recording beyond this number are counted and not kept: a reconcile that sends thousands of requests is one still. */
export const mostSpans = 256

/** Events of a span beyond this number are counted and not kept: OpenTelemetry's default limit. */
export const mostEvents = 128

/** Something that happened at one moment of a span. */
export interface Event {
  readonly name: string
  /** Nanoseconds since 1970. */
  readonly at: bigint
  readonly attributes: Readonly<Record<string, unknown>>
}

const ids = new Uint8Array(4096)
let used = ids.length

/** So many random bytes, in hexadecimal. Drawn in stock: asking the system for eight bytes costs as much as for thousands. */
const random = (bytes: number): string => {
  if (used + bytes > ids.length) {
    crypto.getRandomValues(ids)
    used = 0
  }
  used += bytes
  return Buffer.from(ids.buffer, used - bytes, bytes).toString("hex")
}

/** A new trace id. */
export const traceId = (): string => random(16)

/** A span of a recording. */
export class Span implements Tracer.Span {
  readonly _tag = "Span"
  readonly sampled = true
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
    readonly context: Context.Context<never>,
    links: ReadonlyArray<Tracer.SpanLink>,
    startTime: bigint,
    readonly kind: Tracer.SpanKind
  ) {
    this.traceId = recording.traceId
    this.links = links.slice()
    this.status = { _tag: "Started", startTime }
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
  }
  attribute(key: string, value: unknown): void {
    this.attributes.set(key, value)
  }
  /** Something that happens in it. After its end nothing does: what a step left behind may go on for as long as the process. */
  event(name: string, at: bigint, attributes: Readonly<Record<string, unknown>> = {}): void {
    if (this.status._tag === "Started") this.remark(name, at, attributes)
  }
  /** Something that was found out about it, be it after its end. */
  remark(name: string, at: bigint, attributes: Readonly<Record<string, unknown>> = {}): void {
    if (this.events.length < mostEvents) this.events.push({ name, at, attributes })
    else this.attribute(Attribute.droppedEvents, ++this.droppedEvents)
  }
  addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    this.links.push(...links)
  }
}

/** What is recorded under one root. */
export class Recording {
  /** In the order in which they began, the root first. */
  readonly spans: Array<Span> = []
  /** How many were not kept. */
  dropped = 0
  /** Whether it leaves this process, so that its id leads somewhere. Set by who exports, when the root has ended. */
  exported = false

  /** Whether a Kubernetes Event was recorded that bears its id, and should lead somewhere. Set by who records Events. */
  told = false

  constructor(readonly traceId: string) {}

  /** A span of this recording. It is kept while there is room. */
  readonly span = (
    name: string,
    parent: Option.Option<Tracer.AnySpan>,
    startTime: bigint,
    kind: Tracer.SpanKind = "internal",
    links: ReadonlyArray<Tracer.SpanLink> = [],
    context: Context.Context<never> = Context.empty()
  ): Span => {
    const span = new Span(this, name, parent, context, links, startTime, kind)
    if (this.spans.length < mostSpans) this.spans.push(span)
    else this.dropped++
    return span
  }
}

/**
 * A new recording's root.
 *
 * @param traceId 32 hexadecimal digits; with a parent, the parent's counts
 * @param startTime nanoseconds since 1970
 */
export const root = (
  name: string,
  options: {
    readonly traceId?: string | undefined
    readonly parent?: Tracer.AnySpan | undefined
    readonly startTime: bigint
    readonly kind?: Tracer.SpanKind | undefined
  }
): Span => {
  const { parent } = options
  const recording = new Recording(parent?.traceId ?? options.traceId ?? traceId())
  return recording.span(name, Option.fromNullable(parent), options.startTime, options.kind)
}

/** Spans go to the recording of their parent. One without a recorded parent begins a recording that nobody has. */
export const tracer: Tracer.Tracer = Tracer.make({
  span: (name, parent, context, links, startTime, kind) => {
    const recording =
      Option.isSome(parent) && parent.value instanceof Span
        ? parent.value.recording
        : new Recording(Option.isSome(parent) ? parent.value.traceId : traceId())
    return recording.span(name, parent, startTime, kind, links, context)
  },
  context: (run) => run()
})

/** What a fiber is in, of which a span can be recorded. */
type Fiber = Parameters<Parameters<typeof Effect.withFiberRuntime>[0]>[0]

/** The recorded span that a fiber is in; `undefined` where nothing is recorded. */
export const current = ({ currentSpan }: Pick<Fiber, "currentSpan">): Span | undefined =>
  currentSpan instanceof Span ? currentSpan : undefined

/** A step that takes no time worth telling, as a span without length. Where nothing is recorded, nothing; it costs little. */
export const mark = (name: string, attributes: () => Readonly<Record<string, unknown>>): Effect.Effect<void> =>
  Effect.withFiberRuntime((fiber) => {
    const parent = current(fiber)
    if (parent === undefined) return Effect.void
    return Effect.map(Effect.clock, (clock) => {
      const now = clock.unsafeCurrentTimeNanos()
      const span = parent.recording.span(name, Option.some(parent), now)
      for (const [key, value] of Object.entries(attributes())) span.attribute(key, value)
      span.end(now, Exit.void)
    })
  })

/**
 * A step of what is being recorded, as a span of its own around an effect. Where nothing is recorded, the effect as it is: a
 * step costs nothing then.
 *
 * @param effect gets the span, to add attributes and events
 */
export const step = <A, E, R>(
  name: string,
  effect: (span: Span | undefined) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    const parent = current(fiber)
    if (parent === undefined) return effect(undefined)
    return Effect.flatMap(Effect.clock, (clock) => {
      const span = parent.recording.span(name, Option.some(parent), clock.unsafeCurrentTimeNanos())
      return Effect.onExit(Effect.provideService(effect(span), Tracer.ParentSpan, span), (exit) =>
        Effect.sync(() => span.end(clock.unsafeCurrentTimeNanos(), exit))
      )
    })
  })
