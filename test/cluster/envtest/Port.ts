/**
 * Free ports on the loopback.
 */
import { createServer } from "node:net"
import { Effect, Random } from "effect"

/** The only address that anything listens on. */
export const host = "127.0.0.1"

/**
 * A port that was free a moment ago: whoever starts a server on it tries again with another when it was taken meanwhile.
 * From below the range that operating systems hand out to outgoing connections (32768 and up), so that a server which is
 * stopped for a while finds its port still free.
 */
export const free: Effect.Effect<number> = Effect.gen(function* () {
  while (true) {
    const port = yield* Random.nextIntBetween(20_000, 32_768)
    if (yield* isFree(port)) return port
  }
})

const isFree = (port: number): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(false)))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resume(Effect.succeed(true))))
  })
