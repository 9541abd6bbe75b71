/**
 * Logs to standard error, one line per fact, as JSON or as aligned text. The annotations of a line (controller, object, reconcileID)
 * become fields beside its message, and so do its trace and span. A cause becomes the fields `error` and `stacktrace`.
 */
import { Exchanges } from "@homeostat/runtime/client/Exchange"
import * as Text from "@homeostat/runtime/resource/Text"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import { Span } from "@homeostat/runtime/telemetry/Recording"
import * as Secrecy from "@homeostat/runtime/telemetry/Secrecy"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import { identity } from "effect/Function"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import { ParentSpan } from "effect/Tracer"

/** The format of log lines. */
export type Format = "json" | "pretty"

/** Any value as text; errors by their message, because their JSON is empty. */
const written = (value: unknown): string =>
  typeof value === "string"
    ? value
    : value instanceof Error
      ? String(value)
      : Inspectable.toStringUnknown(Secrecy.redacted(value), 0)

/** The values of Secrets that the reconcile of a line has read or written must not be in the line. */
const hiderOf = (context: FiberRefs.FiberRefs): ((text: string) => string) => {
  const services = FiberRefs.get(context, FiberRef.currentContext)
  const ledger = Option.isNone(services) ? undefined : Context.get(services.value, Exchanges)
  return ledger === undefined ? identity : (text) => ledger.hide(text)
}

/** The text of a value, cut to {@link Secrecy.longest} characters and without secrets. */
const textOf = (value: unknown, hide: (text: string) => string): string => Secrecy.masked(hide(written(value)))

/** The parts of a message as one text, because a secret may follow its name in the next part. */
const messageOf = ({ context, message }: Pick<Logger.Logger.Options<unknown>, "context" | "message">): string => {
  const hide = hiderOf(context)
  const parts = (Array.isArray(message) ? message : [message]).map((part) => hide(written(part)))
  return Secrecy.masked(parts.map((part) => Text.clip(part, 2 * Secrecy.longest)).join(" "))
}

/** Indents all lines after the first, so that none looks like another log line. */
const indented = (text: string): string => text.replaceAll("\n", "\n    ")

type Field = string | number | boolean

/** With OpenTelemetry's names for logs. */
interface Traced {
  readonly trace_id?: string
  readonly span_id?: string
}

/** The span of a line, if it is recorded; others are never exported. */
const spanOf = (context: FiberRefs.FiberRefs): Span | undefined => {
  const span = Option.flatMap(FiberRefs.get(context, FiberRef.currentContext), Context.getOption(ParentSpan))
  return Option.isSome(span) && span.value instanceof Span ? span.value : undefined
}

/** The trace and the span of a line. */
const tracedBy = (context: FiberRefs.FiberRefs): Traced => {
  const span = spanOf(context)
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId }
}

/**
 * The parts of a line's `object`, such as `WebApp shop/cart`, as separate fields for queries. They are made for each line that is
 * written, because an attempt usually writes none.
 */
const partsOf = (object: unknown): { readonly [key: string]: string } => {
  const [, controllerKind, namespace, name] = /^(\S+) (?:([^\s/]+)\/)?([^\s/]+)$/.exec(String(object ?? "")) ?? []
  return controllerKind === undefined || name === undefined
    ? {}
    : { controllerKind, ...(namespace !== undefined && { namespace }), name }
}

const fieldsOf = (options: Logger.Logger.Options<unknown>): { readonly [key: string]: Field } => {
  const hide = hiderOf(options.context)
  return {
    ...tracedBy(options.context),
    ...partsOf(Option.getOrUndefined(HashMap.get(options.annotations, "object"))),
    ...Object.fromEntries(
      Object.entries(Secrecy.fields(options.annotations)).map(([key, value]): [string, Field] => [
        key,
        typeof value === "number" || typeof value === "boolean" ? value : textOf(value, hide)
      ])
    ),
    ...(Cause.isEmpty(options.cause)
      ? {}
      : {
          error: textOf(Cause.squash(options.cause), hide),
          stacktrace: Secrecy.masked(hide(Cause.pretty(options.cause, { renderErrorCause: true })))
        })
  }
}

/** `{"time":"…","level":"info","msg":"…","controller":"webapp",…}`, which log collectors parse without configuration. */
export const json: Logger.Logger<unknown, string> = Logger.make((options) => {
  const line = {
    time: options.date.toISOString(),
    level: options.logLevel.label.toLowerCase(),
    msg: messageOf(options)
  }
  // These fields are first for the reader, and last so that no annotation overrides them.
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

/** The fields that `object` contains, which a person does not read twice. */
const inObject: ReadonlySet<string> = new Set(["controllerKind", "namespace", "name"])

/**
 * `14:05:31.042Z WARN Reconcile failed … controller=webapp object="WebApp shop/cart"`, with colours on a terminal.
 *
 * @example
 * ```ts
 * const logs = Logger.replace(Logger.defaultLogger, Logs.pretty({ colour: true }))
 * ```
 */
export const pretty = (options: { readonly colour: boolean }): Logger.Logger<unknown, string> =>
  Logger.make((line) => {
    const level = line.logLevel.label.padEnd(5)
    const shown = options.colour ? `${colours[line.logLevel.label] ?? ""}${level}\u001b[0m` : level
    const all = fieldsOf(line)
    const fields = Object.entries(all).flatMap(([key, value]) => {
      const isTwice =
        (all.object !== undefined && inObject.has(key)) || (all.stacktrace !== undefined && key === "error")
      if (isTwice) return []
      const text = String(value)
      const shown = /^$|[\s"=]/.test(text) ? JSON.stringify(text) : text
      return text.includes("\n") ? [indented(Text.printable(`\n${text}`))] : [` ${key}=${Text.printable(shown)}`]
    })
    const message = indented(Text.printable(messageOf(line)))
    return `${line.date.toISOString().slice(11)} ${shown} ${message}${fields.length === 0 ? "" : ` ${fields.join("")}`}`
  })

/** The annotations that the root of the trace already has. */
const known = new Set(["controller", "object", ...inObject, "reconcileID", "trace_id", "span_id"])

/** Adds lines as events to their spans. */
const events: Logger.Logger<unknown, void> = Logger.make((line) => {
  const span = spanOf(line.context)
  if (span === undefined) return
  const clock = Context.get(FiberRefs.getOrDefault(line.context, DefaultServices.currentServices), Clock.Clock)
  const fields = Object.entries(fieldsOf(line)).filter(([key]) => !known.has(key))
  span.event(messageOf(line), clock.unsafeCurrentTimeNanos(), {
    [Attribute.logLevel]: line.logLevel.label.toLowerCase(),
    ...Object.fromEntries(fields)
  })
})

/** Prints lines to standard error with `console.warn`, because Bun colours the lines of `console.error` red. */
const printed = (logger: Logger.Logger<unknown, string>): Logger.Logger<unknown, void> =>
  Logger.make((line) => {
    const services = FiberRefs.getOrDefault(line.context, DefaultServices.currentServices)
    Context.get(services, Console.Console).unsafe.warn(logger.log(line))
  })

/**
 * Replaces Effect's default loggers.
 *
 * @example
 * ```ts
 * const logs = Logs.layer({ format: "json", level: LogLevel.Info, colour: false })
 * ```
 */
export const layer = (options: {
  readonly format: Format
  /** Skips lines below this level. It is read for each line, because its rank may change. */
  readonly level: LogLevel.LogLevel
  /** Colours for pretty lines. */
  readonly colour: boolean
}): Layer.Layer<never> =>
  // One layer, because merging those of Logger delays the start.
  Layer.scopedDiscard(
    Effect.zipRight(
      Effect.locallyScopedWith(FiberRef.currentLoggers, (loggers) =>
        loggers.pipe(
          HashSet.remove(Logger.defaultLogger),
          HashSet.remove(Logger.tracerLogger),
          HashSet.add(printed(options.format === "json" ? json : pretty({ colour: options.colour }))),
          HashSet.add(events)
        )
      ),
      Effect.locallyScoped(FiberRef.currentMinimumLogLevel, options.level)
    )
  )
