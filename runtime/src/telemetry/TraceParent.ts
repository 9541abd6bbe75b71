/**
 * W3C's `traceparent`: `00-<trace id>-<span id>-<flags>`, by which a trace goes on in another process.
 */
import * as Tracer from "effect/Tracer"

/** Which span, of which trace. */
export type SpanContext = Pick<Tracer.AnySpan, "traceId" | "spanId" | "sampled">

/** The header's and the annotation's value. */
export const format = ({ sampled, spanId, traceId }: SpanContext): string =>
  `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`

// Versions beyond 00 may have more parts; ff is forbidden, and so are ids of zeros.
const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

/** The span that a value names, if it is one: anybody can write an annotation. */
export const parse = (text: string | undefined): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId, flags] = (text === undefined ? undefined : form.exec(text)) ?? []
  return traceId === undefined || spanId === undefined || flags === undefined
    ? undefined
    : Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}
