/** How a program logs, and the flags that say so. */
import { fstatSync } from "node:fs"
import * as LogLevel from "effect/LogLevel"
import * as Flag from "./Flag.ts"

/** How lines look and which are made. */
export interface Settings {
  readonly format: "json" | "pretty"
  readonly level: LogLevel.LogLevel
  readonly colour: boolean
}

/** By the names that `--log-level` takes. */
const levels: { readonly [name: string]: LogLevel.LogLevel } = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error
}

const formats: { readonly [name: string]: Settings["format"] } = { json: "json", pretty: "pretty" }

/** The flags. */
export const flags = {
  logLevel: Flag.choice("log-level", levels, {
    placeholder: "LEVEL",
    description: `Log from this level on: ${Object.keys(levels).join(", ")}; default info`,
    otherwise: LogLevel.Info
  }),
  logFormat: Flag.choice("log-format", formats, {
    placeholder: "FORMAT",
    description: "How log lines look: json or pretty; default pretty on a terminal, else json",
    otherwise: undefined
  })
} as const

/** Whether a person reads the lines. Only a device can be a terminal, and asking a pipe by `isTTY` takes 8 ms of a start. */
const isTerminal = (): boolean => fstatSync(2).isCharacterDevice() && process.stderr.isTTY === true

/** What those flags say, of a program that logs to standard error. */
export const settingsOf = ({ logFormat, logLevel }: Flag.Values<typeof flags>): Settings => {
  const colour = isTerminal()
  return { format: logFormat ?? (colour ? "pretty" : "json"), level: logLevel, colour }
}
