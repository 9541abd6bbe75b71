import { describe, expect } from "bun:test"
import { createServer } from "node:net"
import { Effect, Random } from "effect"
import { live } from "../Test.ts"
import * as Port from "./Port.ts"

describe("A port", () => {
  live("from Port.free is not in use", () =>
    Effect.gen(function* () {
      // The same seed draws the same ports. The test listens on the first port before the second draw.
      const draw = Port.free.pipe(Effect.withRandom(Random.make("seed")))
      const first = yield* draw
      yield* Effect.acquireRelease(
        Effect.async<ReturnType<typeof createServer>>((resume) => {
          const server = createServer()
          server.listen(first, Port.host, () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const second = yield* Port.free.pipe(Effect.withRandom(Random.make("seed")))
      expect(second).not.toBe(first)
    })
  )
})
