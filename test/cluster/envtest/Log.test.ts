import { describe, expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { live } from "../Test.ts"
import * as Directory from "./Directory.ts"
import * as Log from "./Log.ts"

describe("Log", () => {
  live("returns the last lines, also of a long file", () =>
    Effect.gen(function* () {
      const path = join(yield* Directory.make, "log")
      yield* Effect.promise(() => writeFile(path, Array.from({ length: 50_000 }, (_, i) => `line ${i}\n`).join("")))
      expect(Log.tail(path, 2)).toBe("line 49998\nline 49999")
    })
  )

  live("omits lines from before its start", () =>
    Effect.gen(function* () {
      const path = join(yield* Directory.make, "log")
      yield* Effect.promise(() => writeFile(path, "before\n"))
      const size = Log.size(path)
      yield* Effect.promise(() => writeFile(path, "after\n", { flag: "a" }))
      expect(Log.tail(path, 5, size)).toBe("after")
    })
  )

  live("returns nothing for a missing file", () =>
    Effect.sync(() => {
      expect(Log.size("/nowhere/log")).toBe(0)
      expect(Log.tail("/nowhere/log", 5)).toBe("")
    })
  )
})
