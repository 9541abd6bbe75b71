/**
 * Logs: one line per fact, to standard error, as JSON for machines or aligned text for people. Annotations of a line (controller,
 * object, reconcileID) become fields beside its message, and so do the trace and the span it was written in.
 */
import * as Text from "@homeostat/runtime/resource/Text"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import { Span } from "@homeostat/runtime/telemetry/Recording"
import * as Secrecy from "@homeostat/runtime/telemetry/Secrecy"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as HashSet from "effect/HashSet"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import { ParentSpan } from "effect/Tracer"

/** How lines look. */
export type Format = "json" | "pretty"

/** Anything as text: an error, of which JSON shows nothing, by what it says. */
const written = (value: unknown): string =>
  typeof value === "string"
    ? value
    : value instanceof Error
      ? String(value)
      : Inspectable.toStringUnknown(Secrecy.redacted(value), 0)

/** The same, cut to {@link Secrecy.longest} characters and without secrets. */
const textOf = (value: unknown): string => Secrecy.masked(written(value))

/** The parts of a message as one text: a secret may follow its name in another part. */
const messageOf = (message: unknown): string =>
  Secrecy.masked(
    (Array.isArray(message) ? message : [message])
      .map((part) => Text.clip(written(part), 2 * Secrecy.longest))
      .join(" ")
  )

/** Lines after the first are indented, so that none looks like a line of the log. */
const indented = (text: string): string => text.replaceAll("\n", "\n    ")

type Field = string | number | boolean

/** By the names that OpenTelemetry gives them in logs. */
interface Traced {
  readonly trace_id?: string
  readonly span_id?: string
}

/** The span that a line was written in. Only one that is recorded: the ids of others lead nowhere. */
const spanOf = (context: FiberRefs.FiberRefs): Span | undefined => {
  const span = Option.flatMap(FiberRefs.get(context, FiberRef.currentContext), Context.getOption(ParentSpan))
  return Option.isSome(span) && span.value instanceof Span ? span.value : undefined
}

/** Where in a trace a line was written. */
const tracedBy = (context: FiberRefs.FiberRefs): Traced => {
  const span = spanOf(context)
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId }
}

const fieldsOf = (options: Logger.Logger.Options<unknown>): { readonly [key: string]: Field } => ({
  ...tracedBy(options.context),
  ...Object.fromEntries(
    Object.entries(Secrecy.fields(options.annotations)).map(([key, value]): [string, Field] => [
      key,
      typeof value === "number" || typeof value === "boolean" ? value : textOf(value)
    ])
  ),
  ...(Cause.isEmpty(options.cause)
    ? {}
    : { cause: Secrecy.masked(Cause.pretty(options.cause, { renderErrorCause: true })) })
})

/** `{"time":"…","level":"info","msg":"…","controller":"webapp",…}`: what log collectors take without a parser of their own. */
export const json: Logger.Logger<unknown, string> = Logger.make((options) => {
  const line = {
    time: options.date.toISOString(),
    level: options.logLevel.label.toLowerCase(),
    msg: messageOf(options.message)
  }
  // These come first to the eye, and last so that no annotation takes their place.
  return Text.printable(JSON.stringify({ ...line, ...fieldsOf(options), ...line }))
})

const colours: { readonly [label: string]: string } = {
  FATAL: "\u001b[31m",
  ERROR: "\u001b[31m",
  WARN: "\u001b[33m",
  INFO: "\u001b[32m",
  DEBUG: "\u001b[90m",
  TRACE: "\u001b[90m"
}

/** `14:05:31.042 WARN  Reconcile failed …  controller=webapp object="WebApp shop/cart"`, in colour on a terminal. */
export const pretty = (options: { readonly colour: boolean }): Logger.Logger<unknown, string> =>
  Logger.make((line) => {
    const level = line.logLevel.label.padEnd(5)
    const shown = options.colour ? `${colours[line.logLevel.label] ?? ""}${level}\u001b[0m` : level
    const fields = Object.entries(fieldsOf(line)).map(([key, value]) => {
      const text = String(value)
      const shown = /^$|[\s"=]/.test(text) ? JSON.stringify(text) : text
      return text.includes("\n") ? indented(Text.printable(`\n${text}`)) : ` ${key}=${Text.printable(shown)}`
    })
    const message = indented(Text.printable(messageOf(line.message)))
    return `${line.date.toISOString().slice(11, 23)} ${shown} ${message}${fields.length === 0 ? "" : ` ${fields.join("")}`}`
  })

/** What is said of a line as a whole, on the root of its trace. */
const known = new Set(["controller", "object", "reconcileID", "trace_id", "span_id"])

/** Makes lines events of the spans that they were written in, so that they are read where the time went. */
const events: Logger.Logger<unknown, void> = Logger.make((line) => {
  const span = spanOf(line.context)
  if (span === undefined) return
  const clock = Context.get(FiberRefs.getOrDefault(line.context, DefaultServices.currentServices), Clock.Clock)
  const fields = Object.entries(fieldsOf(line)).filter(([key]) => !known.has(key))
  span.event(messageOf(line.message), clock.unsafeCurrentTimeNanos(), {
    [Attribute.logLevel]: line.logLevel.label.toLowerCase(),
    ...Object.fromEntries(fields)
  })
})

/** Replaces Effect's default loggers. */
export const layer = (options: {
  readonly format: Format
  /** Lines below it are not made. It is asked for each line, as its rank may change while the program runs. */
  readonly level: LogLevel.LogLevel
  /** Colour pretty lines. */
  readonly colour: boolean
}): Layer.Layer<never> =>
  // One layer: those of Logger, merged, take longer than a start can spare.
  Layer.scopedDiscard(
    Effect.zipRight(
      Effect.locallyScopedWith(FiberRef.currentLoggers, (loggers) =>
        loggers.pipe(
          HashSet.remove(Logger.defaultLogger),
          HashSet.remove(Logger.tracerLogger),
          HashSet.add(Logger.withConsoleError(options.format === "json" ? json : pretty({ colour: options.colour }))),
          HashSet.add(events)
        )
      ),
      Effect.locallyScoped(FiberRef.currentMinimumLogLevel, options.level)
    )
  )
