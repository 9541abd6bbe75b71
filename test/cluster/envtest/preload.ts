/**
 * To be named in bunfig.toml under `[test] preload`: hooks of a preloaded file run once for all files. Without it, nothing
 * is left behind either: what is shared then ends with the process, some seconds after it.
 */
import { afterAll } from "bun:test"
import * as AtEnd from "./AtEnd.ts"

afterAll(AtEnd.run)

// Started by the test command, whose end, even by SIGKILL, is the end of this pipe: nobody reads the results any more.
if (process.env.HOMEOSTAT_TEST_INPUT === "pipe") {
  // Test runs that a test starts have another input.
  delete process.env.HOMEOSTAT_TEST_INPUT
  process.stdin.on("end", () => process.exit(1)).resume()
  process.stdin.unref()
}
