/**
 * Name this file in bunfig.toml under `[test] preload`: Bun runs the hooks of a preloaded file once for all files.
 * Without the preload, the shared control planes end some seconds after the process, and leave nothing behind either.
 */
import { afterAll } from "bun:test"
import * as AtEnd from "./AtEnd.ts"

afterAll(AtEnd.run)

// The test command started this process. The pipe ends with the test command, even after SIGKILL. Then the results have no reader.
if (process.env.HOMEOSTAT_TEST_INPUT === "pipe") {
  // Test runs that a test starts have another standard input.
  delete process.env.HOMEOSTAT_TEST_INPUT
  process.stdin.on("end", () => process.exit(1)).resume()
  process.stdin.unref()
}
