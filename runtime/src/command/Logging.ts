/** The logging of a program, and its flags. */
import { fstatSync } from "node:fs"
import type * as LogLevel from "effect/LogLevel"
import * as Result from "effect/Result"
import * as LogLevels from "../telemetry/LogLevels.ts"
import * as Flag from "./Flag.ts"

/** The format and the level of log lines. */
export interface Settings {
  readonly format: "json" | "pretty"
  /** The level at the start of the program. `run` skips the lines below the current level. */
  readonly level: LogLevel.LogLevel
  readonly colour: boolean
}

const formats: { readonly [name: string]: Settings["format"] } = { json: "json", pretty: "pretty" }

/** The flags. */
export const flags = {
  logLevel: Flag.parsed("log-level", {
    placeholder: "LEVEL",
    description: `The least severe level to log: ${LogLevels.names.join(", ")} (default info)`,
    parse: (word) =>
      Result.fromNullishOr(
        LogLevels.nameOf(word),
        () => `invalid value: "${word}" (must be one of ${LogLevels.names.join(", ")})`
      ),
    otherwise: "info" as const
  }),
  logFormat: Flag.choice("log-format", formats, {
    placeholder: "FORMAT",
    description: "The format of log lines: json or pretty (default pretty on a terminal, otherwise json)",
    otherwise: undefined
  })
} as const

/** Whether standard error is a terminal. The check of the device comes first, because `isTTY` on a pipe takes 8 ms at the start. */
const isTerminal = (): boolean => fstatSync(2).isCharacterDevice() && process.stderr.isTTY === true

/** Whether the user of a terminal accepts colours: see https://no-color.org. */
export const acceptsColours = ({ NO_COLOR = "", TERM }: Record<string, string | undefined>): boolean =>
  NO_COLOR === "" && TERM !== "dumb"

/** The settings from the flags, for a program that logs to standard error. */
export const settingsOf = ({
  logFormat,
  logLevel
}: Pick<Flag.Values<typeof flags>, "logFormat" | "logLevel">): Settings => {
  const isShown = isTerminal()
  return {
    format: logFormat ?? (isShown ? "pretty" : "json"),
    level: LogLevels.byName[logLevel],
    colour: isShown && acceptsColours(process.env)
  }
}
