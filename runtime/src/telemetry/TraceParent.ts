/** W3C's `traceparent`: `00-<trace id>-<span id>-<flags>`. It continues a trace in another process. */
import * as Tracer from "effect/Tracer"

/** The IDs of a span and its trace. */
export type SpanContext = Pick<Tracer.AnySpan, "traceId" | "spanId" | "sampled">

/** The value of the header and of the annotation. */
export const format = ({ sampled, spanId, traceId }: SpanContext): string =>
  `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`

// Later versions may have more parts; ff is forbidden, and so are IDs of zeros.
const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

/** The span of a value; undefined if it is invalid, because any client can write the annotation. */
export const parse = (text: string | undefined): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId, flags] = (text === undefined ? undefined : form.exec(text)) ?? []
  return traceId === undefined || spanId === undefined || flags === undefined
    ? undefined
    : Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}
