/**
 * Logs to standard error, one line per fact, as JSON or as aligned text. The annotations of a line (controller, object, reconcileID)
 * become fields beside its message, and so do its trace and span. A cause becomes the fields `error` and `stacktrace`.
 */
import { Exchanges } from "@homeostat/runtime/client/Exchange"
import * as Text from "@homeostat/runtime/resource/Text"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import * as Recording from "@homeostat/runtime/telemetry/Recording"
import * as Secrecy from "@homeostat/runtime/telemetry/Secrecy"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import { identity } from "effect/Function"
import * as HashMap from "effect/HashMap"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"

/** The format of log lines. */
export type Format = "json" | "pretty"

/** Any value as text; errors by their message, because their JSON is empty. */
const written = (value: unknown): string =>
  typeof value === "string"
    ? value
    : value instanceof Error || typeof value === "bigint"
      ? String(value)
      : Inspectable.toStringUnknown(Secrecy.redacted(value), 0)

type Line = Logger.Options<unknown>

/** The values of Secrets that the reconcile of a line has read or written must not be in the line. */
const hiderOf = ({ fiber }: Pick<Line, "fiber">): ((text: string) => string) => {
  const ledger = fiber.getRef(Exchanges)
  return ledger === undefined ? identity : (text) => ledger.hide(text)
}

/** The text of a value, cut to {@link Secrecy.longest} characters and without secrets. */
const textOf = (value: unknown, hide: (text: string) => string): string => Secrecy.masked(hide(written(value)))

/** The parts of a message as one text, because a secret may follow its name in the next part. */
const messageOf = ({ fiber, message }: Pick<Line, "fiber" | "message">): string => {
  const hide = hiderOf({ fiber })
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

/** The trace and the span of a line, if the span is recorded; others are never exported. */
const tracedBy = ({ fiber }: Pick<Line, "fiber">): Traced => {
  const span = Recording.current(fiber)
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

const fieldsOf = (line: Line): { readonly [key: string]: Field } => {
  const hide = hiderOf(line)
  const annotations = line.fiber.getRef(References.CurrentLogAnnotations)
  return {
    ...tracedBy(line),
    ...partsOf(annotations.object),
    ...Object.fromEntries(
      // In an order that does not depend on that of the annotations.
      Object.entries(Secrecy.fields(HashMap.fromIterable(Object.entries(annotations)))).map(
        ([key, value]): [string, Field] => [
          key,
          typeof value === "number" || typeof value === "boolean" ? value : textOf(value, hide)
        ]
      )
    ),
    ...(line.cause.reasons.length === 0
      ? {}
      : {
          error: textOf(Cause.squash(line.cause), hide),
          stacktrace: Secrecy.masked(hide(Cause.pretty(line.cause)))
        })
  }
}

/** `{"time":"…","level":"info","msg":"…","controller":"webapp",…}`, which log collectors parse without configuration. */
export const json: Logger.Logger<unknown, string> = Logger.make((options) => {
  const line = {
    time: options.date.toISOString(),
    level: options.logLevel.toLowerCase(),
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
 * const logs = Logger.layer([Logger.map(Logs.pretty({ colour: true }), (line) => console.warn(line))])
 * ```
 */
export const pretty = (options: { readonly colour: boolean }): Logger.Logger<unknown, string> =>
  Logger.make((line) => {
    const label = line.logLevel.toUpperCase()
    const level = label.padEnd(5)
    const shown = options.colour ? `${colours[label] ?? ""}${level}\u001b[0m` : level
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
  const span = Recording.current(line.fiber)
  if (span === undefined) return
  const fields = Object.entries(fieldsOf(line)).filter(([key]) => !known.has(key))
  span.event(messageOf(line), line.fiber.getRef(Clock.Clock).currentTimeNanosUnsafe(), {
    [Attribute.logLevel]: line.logLevel.toLowerCase(),
    ...Object.fromEntries(fields)
  })
})

/** Prints lines to standard error with `console.warn`, because Bun colours the lines of `console.error` red. */
const printed = (logger: Logger.Logger<unknown, string>): Logger.Logger<unknown, void> =>
  Logger.make((line) => line.fiber.getRef(Console.Console).warn(logger.log(line)))

/**
 * Replaces all loggers.
 *
 * @example
 * ```ts
 * const logs = Logs.layer({ format: "json", level: "Info", colour: false })
 * ```
 */
export const layer = (options: {
  readonly format: Format
  /** Skips lines below this level. */
  readonly level: LogLevel.LogLevel
  /** Colours for pretty lines. */
  readonly colour: boolean
}): Layer.Layer<never> =>
  // One layer, because merging those of Logger delays the start.
  Layer.succeedContext(
    Context.make(
      Logger.CurrentLoggers,
      new Set([printed(options.format === "json" ? json : pretty({ colour: options.colour })), events])
    ).pipe(Context.add(References.MinimumLogLevel, options.level))
  )
