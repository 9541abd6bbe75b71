/** Runs `bun run demo` as a child process, and reads its output. */
import { join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"

/** Runs the demo to its end. */
export const demo = (args: ReadonlyArray<string>, env?: Process.Environment) =>
  Process.run(process.execPath, [join(import.meta.dir, "../../demo.ts"), ...args], { env })

/** The lines of the output, without times and without repeated spaces. */
export const story = (output: string): ReadonlyArray<string> =>
  output.split("\n").map((line) => line.replace(/^ *[\d.]+s +/, "").replace(/ +/g, " "))

/** The index of the first line that matches each pattern, or -1. */
export const places = (output: string, patterns: ReadonlyArray<RegExp>): ReadonlyArray<number> => {
  const lines = story(output)
  return patterns.map((pattern) => lines.findIndex((line) => pattern.test(line)))
}
