/** A collector that can be made to fail, at one address all the time. */
import * as Port from "@homeostat/testkit/envtest/Port"
import { Effect, Runtime, type Scope } from "effect"

/**
 * How it treats those who send:
 * - `healthy`: takes everything
 * - `killed`: nobody listens
 * - `hanging`: accepts, and never answers
 * - `refusing`: answers that it has no time
 */
export type Mode = "healthy" | "killed" | "hanging" | "refusing"

/** A collector. */
export interface Collector {
  readonly endpoint: string
  readonly become: (mode: Mode) => Effect.Effect<void>
  /** How many requests came so far, to be answered or not. */
  readonly asked: () => number
}

/** Starts one, healthy, for the lifetime of the Scope. It answers a request when `meanwhile` is done. */
export const start = <E = never, R = never>(
  meanwhile: Effect.Effect<void, E, R> = Effect.void
): Effect.Effect<Collector, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* Port.free
    const runtime = yield* Effect.runtime<R>()
    let mode: Mode = "healthy"
    let asked = 0
    const listen = () =>
      Bun.serve({
        hostname: Port.host,
        port,
        idleTimeout: 0,
        fetch: async (request) => {
          asked++
          await request.arrayBuffer()
          await Runtime.runPromise(runtime)(meanwhile)
          if (mode === "hanging") return new Promise<Response>(() => {})
          return new Response(null, { status: mode === "refusing" ? 503 : 200 })
        }
      })
    let server: ReturnType<typeof listen> | undefined = listen()
    const stop = async () => {
      await server?.stop(true)
      server = undefined
    }
    yield* Effect.addFinalizer(() => Effect.promise(stop))
    return {
      endpoint: `http://${Port.host}:${port}`,
      asked: () => asked,
      become: (next) =>
        Effect.promise(async () => {
          mode = next
          if (next === "killed") await stop()
          else server ??= listen()
        })
    }
  })
