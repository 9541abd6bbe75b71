import { expect } from "bun:test"
import { readFile } from "node:fs/promises"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Compilation from "../../../deploy/build/Compilation.ts"
import * as StartOrder from "./StartOrder.ts"

live(
  "The build puts the bytecode of most functions of a start together",
  () =>
    Effect.gen(function* () {
      const kept = new Set(StartOrder.linesOf(yield* Effect.promise(() => readFile(Compilation.order, "utf8"))))
      const used = yield* StartOrder.record
      const known = used.filter((line) => kept.has(line)).length
      // `bun test/order.ts` records them again.
      expect(known / used.length).toBeGreaterThan(0.8)
    }),
  60_000
)
