/**
 * Logs: one line per fact, to standard error, as JSON for machines or aligned text for people. Annotations of a line (controller,
 * object, reconcileID) become fields beside its message.
 */
import * as Cause from "effect/Cause"
import * as HashMap from "effect/HashMap"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"

/** How lines look. */
export type Format = "json" | "pretty"

/** Anything as text: an error, of which JSON shows nothing, by what it says. */
const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value instanceof Error ? String(value) : Inspectable.toStringUnknown(value, 0)

const messageOf = (message: unknown): string => (Array.isArray(message) ? message : [message]).map(textOf).join(" ")

type Field = string | number | boolean

const fieldsOf = (options: Logger.Logger.Options<unknown>): { readonly [key: string]: Field } => ({
  ...Object.fromEntries(
    HashMap.toEntries(options.annotations).map(([key, value]): [string, Field] => [
      key,
      typeof value === "number" || typeof value === "boolean" ? value : textOf(value)
    ])
  ),
  ...(Cause.isEmpty(options.cause) ? {} : { cause: Cause.pretty(options.cause, { renderErrorCause: true }) })
})

/** `{"time":"…","level":"info","msg":"…","controller":"webapp",…}`: what log collectors take without a parser of their own. */
export const json: Logger.Logger<unknown, string> = Logger.make((options) => {
  const line = {
    time: options.date.toISOString(),
    level: options.logLevel.label.toLowerCase(),
    msg: messageOf(options.message)
  }
  // These come first to the eye, and last so that no annotation takes their place.
  return JSON.stringify({ ...line, ...fieldsOf(options), ...line })
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
      return text.includes("\n") ? `\n${text}` : ` ${key}=${/^$|[\s"=]/.test(text) ? JSON.stringify(text) : text}`
    })
    return `${line.date.toISOString().slice(11, 23)} ${shown} ${messageOf(line.message)}${fields.length === 0 ? "" : ` ${fields.join("")}`}`
  })

/** Replaces Effect's default logger. */
export const layer = (options: {
  readonly format: Format
  /** Lines below it are not made. */
  readonly level: LogLevel.LogLevel
  /** Colour pretty lines. */
  readonly colour: boolean
}): Layer.Layer<never> =>
  Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      Logger.withConsoleError(options.format === "json" ? json : pretty({ colour: options.colour }))
    ),
    Logger.minimumLogLevel(options.level)
  )
