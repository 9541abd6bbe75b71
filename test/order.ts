/**
 * `bun test/order.ts` records the functions that a start of the program uses. The build puts their bytecode together, so a manager at
 * rest has fewer pages of the program in memory.
 * Functions that changed after the recording come last.
 */
import { writeFile } from "node:fs/promises"
import { Effect } from "effect"
import * as Compilation from "../deploy/build/Compilation.ts"
import * as StartOrder from "./suites/binary/StartOrder.ts"

const lines = await Effect.runPromise(StartOrder.record)
await writeFile(Compilation.order, `${lines.join("\n")}\n`)
process.stdout.write(`recorded ${lines.length - 1} functions\n`)
process.exit(0)
