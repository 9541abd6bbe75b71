/** A collector with a fixed address, which a test can make fail. */
import * as Port from "@homeostat/testkit/envtest/Port"
import { Effect, type Scope } from "effect"

/**
 * The behaviour of the collector: `healthy` accepts all spans, `killed` refuses connections, `hanging` accepts requests without a response,
 * and `refusing` responds that it is overloaded.
 */
export type Mode = "healthy" | "killed" | "hanging" | "refusing"

/** A collector. */
export interface Collector {
  readonly endpoint: string
  readonly become: (mode: Mode) => Effect.Effect<void>
  /** The number of requests so far, with and without a response. */
  readonly asked: () => number
}

/** Starts a healthy collector for the lifetime of the Scope. The collector responds to a request after `meanwhile` has ended. */
export const start = <E = never, R = never>(
  meanwhile: Effect.Effect<void, E, R> = Effect.void
): Effect.Effect<Collector, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* Port.free
    const runtime = yield* Effect.context<R>()
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
          await Effect.runPromiseWith(runtime)(meanwhile)
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
