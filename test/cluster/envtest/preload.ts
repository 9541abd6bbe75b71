/**
 * To be named in bunfig.toml under `[test] preload`: hooks of a preloaded file run once for all files. Without it, nothing
 * is left behind either: what is shared then ends with the process, some seconds after it.
 */
import { afterAll } from "bun:test"
import * as AtEnd from "./AtEnd.ts"

afterAll(AtEnd.run)
