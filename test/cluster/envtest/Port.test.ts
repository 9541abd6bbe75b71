import { describe, expect } from "bun:test"
import { createServer } from "node:net"
import { Effect, Random } from "effect"
import { live } from "../Test.ts"
import * as Port from "./Port.ts"

describe("A port", () => {
  live("from Port.free is not in use", () =>
    Effect.gen(function* () {
      // The same seed draws the same ports. The test listens on the first port before the second draw.
      const draw = Port.free.pipe(Random.withSeed("seed"))
      const first = yield* draw
      yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const server = createServer()
          server.listen(first, Port.host, () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const second = yield* Port.free.pipe(Random.withSeed("seed"))
      expect(second).not.toBe(first)
    })
  )
})
