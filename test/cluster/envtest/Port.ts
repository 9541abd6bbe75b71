/**
 * Free ports on the loopback.
 */
import { createServer } from "node:net"
import { Effect, Random } from "effect"

/** The only address on which the programs listen. */
export const host = "127.0.0.1"

/**
 * Returns a port that was free a moment ago. Another program may take the port first, so the caller retries with another port.
 * The port is below the range for outgoing connections (32768 and up). So a server that stops for a while finds its port still free.
 */
export const free: Effect.Effect<number> = Effect.gen(function* () {
  while (true) {
    const port = yield* Random.nextIntBetween(20_000, 32_768, { halfOpen: true })
    if (yield* isFree(port)) return port
  }
})

const isFree = (port: number): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(false)))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resume(Effect.succeed(true))))
  })
