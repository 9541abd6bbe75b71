/** `bun run demo` as a child process, and what it told. */
import { join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"

/** Runs the demo to its end. */
export const demo = (args: ReadonlyArray<string>, env?: Process.Environment) =>
  Process.run(process.execPath, [join(import.meta.dir, "../../demo.ts"), ...args], { env })

/** The lines without what differs from run to run. */
export const story = (output: string): ReadonlyArray<string> =>
  output.split("\n").map((line) => line.replace(/^ *[\d.]+s +/, "").replace(/ +/g, " "))

/** Where each of the patterns is first told; -1: nowhere. */
export const places = (output: string, patterns: ReadonlyArray<RegExp>): ReadonlyArray<number> => {
  const lines = story(output)
  return patterns.map((pattern) => lines.findIndex((line) => pattern.test(line)))
}
