/**
 * Replays a recording to OpenTelemetry's SDK with its own IDs, times, links and events.
 *
 * Only exported recordings are replayed, so only their reconciles pay the SDK's cost.
 */
import { messageOf } from "@homeostat/runtime/controller/Attempt"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import type { Recording, Span } from "@homeostat/runtime/telemetry/Recording"
import * as Secrecy from "@homeostat/runtime/telemetry/Secrecy"
import {
  type Attributes,
  type AttributeValue,
  type Context,
  type HrTime,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace
} from "@opentelemetry/api"
import type { IdGenerator } from "@opentelemetry/sdk-trace"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import type * as EffectTracer from "effect/Tracer"
import { errorTypeOf } from "./AttemptTrace.ts"

/** Replays recordings. */
export interface Replay {
  /** The ID generator for the SDK: it returns the IDs of the recording. */
  readonly ids: IdGenerator
  /**
   * Replays all spans of a recording whose root has ended, the root first.
   *
   * @param handing called for each complete span, before the SDK's processors get it
   */
  readonly play: (recording: Recording, tracer: Tracer, handing: () => void) => void
}

const kinds: { readonly [kind in EffectTracer.SpanKind]: SpanKind } = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER
}

const billion = 1_000_000_000n

/** Exact: a number of milliseconds since 1970 has no room for nanoseconds. */
const timeOf = (nanos: bigint): HrTime => [Number(nanos / billion), Number(nanos % billion)]

const later = (one: bigint, other: bigint): bigint => {
  if (one > other) return one
  return other
}

const isPrimitive = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"

/** The number of items of a list that are exported. */
const mostItems = 64

/** A text without secrets. */
type Mask = (text: string) => string

/** The value in OpenTelemetry's types; other types as text. Undefined for an absent value. Without secrets. */
const attributeOf = (value: unknown, mask: Mask): AttributeValue | undefined => {
  if (value === undefined || value === null) return undefined
  if (isPrimitive(value)) return typeof value === "string" ? mask(value) : value
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item === "number")) return value
    return value
      .slice(0, mostItems)
      .map((item: unknown) => (isPrimitive(item) ? mask(String(item)) : textOf(item, mask)))
  }
  return textOf(value, mask)
}

const textOf = (value: unknown, mask: Mask): string =>
  typeof value === "bigint" ? String(value) : mask(Inspectable.toStringUnknown(value, 0))

const attributesOf = (entries: Iterable<readonly [string, unknown]>, mask: Mask): Attributes => {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(Secrecy.fields(entries))) attributes[name] = attributeOf(value, mask)
  return attributes
}

const contextOf = (span: EffectTracer.AnySpan): SpanContext => ({
  traceId: span.traceId,
  spanId: span.spanId,
  traceFlags: span.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  ...(span._tag === "ExternalSpan" && { isRemote: true })
})

const parentOf = (span: Span): Context =>
  Option.match(span.parent, {
    onNone: () => ROOT_CONTEXT,
    onSome: (parent) => trace.setSpanContext(ROOT_CONTEXT, contextOf(parent))
  })

/** The message of a cause: its first failure or defect, or that it was only interrupted. */
const verdictOf = (
  cause: Cause.Cause<unknown>,
  mask: Mask
): { readonly message: string; readonly exception?: Attributes } => {
  if (Cause.hasInterruptsOnly(cause)) return { message: "interrupted" }
  const failure = Cause.findErrorOption(cause)
  const error = Option.isSome(failure) ? failure.value : Cause.squash(cause)
  const message = mask(messageOf(error))
  return {
    message,
    exception: {
      [Attribute.exceptionType]: errorTypeOf(error),
      [Attribute.exceptionMessage]: message,
      // A failure describes itself; a defect needs its stack.
      ...(Option.isNone(failure) && {
        [Attribute.exceptionStack]: mask(Cause.pretty(cause))
      })
    }
  }
}

/** Replays each recording synchronously, so that the spans of two recordings do not mix. */
export const make = (): Replay => {
  let traceId = ""
  let spanId = ""

  const playSpan = (span: Span, tracer: Tracer, end: bigint, handing: () => void): void => {
    traceId = span.traceId
    spanId = span.spanId
    const { status } = span
    const { hide } = span.recording
    const mask: Mask = (text) => Secrecy.masked(hide === undefined ? text : hide(text))
    const played = tracer.startSpan(
      mask(span.name),
      {
        kind: kinds[span.kind],
        startTime: timeOf(status.startTime),
        attributes: attributesOf(span.attributes, mask),
        links: span.links.map((link) => ({
          context: contextOf(link.span),
          attributes: attributesOf(Object.entries(link.attributes), mask)
        }))
      },
      parentOf(span)
    )
    for (const { at, attributes, name } of span.events) {
      played.addEvent(mask(name), attributesOf(Object.entries(attributes), mask), timeOf(at))
    }
    // Work in the background that outlives the reconcile ends here with the root.
    const endTime = status._tag === "Ended" ? status.endTime : later(end, status.startTime)
    if (status._tag === "Ended" && Exit.isFailure(status.exit)) {
      const { exception, message } = verdictOf(status.exit.cause, mask)
      if (exception !== undefined) played.addEvent("exception", exception, timeOf(endTime))
      played.setStatus({ code: SpanStatusCode.ERROR, message })
    }
    handing()
    played.end(timeOf(endTime))
  }

  return {
    ids: { generateTraceId: () => traceId, generateSpanId: () => spanId },
    play: ({ spans }, tracer, handing) => {
      const status = spans[0]?.status
      if (status?._tag !== "Ended") return
      for (const span of spans) playSpan(span, tracer, status.endTime, handing)
    }
  }
}
