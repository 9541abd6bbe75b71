/**
 * `/metrics`: the registry of the manager, in the format that the request prefers. A custom collector that throws loses its own
 * metrics and not the page.
 *
 * Compressed if the client accepts it, as Prometheus does: a page shrinks to a tenth for a fraction of a millisecond.
 *
 * Concurrent requests share a page until it is rendered. Otherwise many readers would block timers and sockets for seconds.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { messageOf } from "../controller/Attempt.ts"
import * as Bounded from "../resource/Bounded.ts"
import * as Metric from "../telemetry/Metric.ts"
import { type Family, Full, Metrics } from "../telemetry/Metrics.ts"
import * as Accept from "./Accept.ts"
import * as Endpoints from "./Endpoints.ts"

/** Renders a page of metrics. */
export type Render = (families: ReadonlyArray<Family>) => {
  readonly contentType: string
  readonly body: string
}

/** A format of the page. */
export interface Format extends Accept.Offer {
  readonly render: Render
}

/** The formats of a program. The first is the default. */
export type Formats = readonly [Format, ...ReadonlyArray<Format>]

/** The failures of collectors that are kept, so that each is logged once. */
const mostReported = 100

/** Smaller pages fit into one packet. */
const worthCompressing = 1024

const accepts = (request: Request): boolean =>
  /(^|,)\s*gzip\s*(,|;(?!\s*q=0(\.0*)?\s*(,|$))|$)/i.test(request.headers.get("accept-encoding") ?? "")

/**
 * Serves the metrics of the fiber's registry at the metrics port, until the scope closes.
 *
 * @param guard protects the route; default: all callers may read
 */
export const serve = (
  formats: Formats,
  guard: (handler: Endpoints.Handler) => Endpoints.Handler = (handler) => handler
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const endpoints = yield* Endpoints.Endpoints
    const registry = yield* Metrics
    // Creates the series at the start, because a rate needs a first value.
    registry.counter(Metric.collectErrors, {})
    /** Logs each failure of a collector, and each full metric, once. */
    const reported = new Map<string, true>()
    const report = (thrown: ReadonlyArray<unknown>) =>
      Effect.forEach(
        thrown.filter((error) => !reported.has(messageOf(error))),
        (error) => {
          const message = messageOf(error)
          Bounded.put(reported, message, true, mostReported)
          return error instanceof Full
            ? Effect.logWarning(message)
            : Effect.logError(`A collector of metrics threw, so its metrics are missing or old: ${message}`)
        },
        { discard: true }
      )
    const rendered = ({ render }: Format, compressed: boolean) =>
      Effect.gen(function* () {
        const thrown: Array<unknown> = []
        const { body, contentType } = render(registry.read((error) => thrown.push(error)))
        if (thrown.length > 0) yield* report(thrown)
        const headers = { "content-type": contentType, vary: "accept, accept-encoding" }
        return compressed && body.length >= worthCompressing
          ? { body: Bun.gzipSync(body, { level: 1 }), headers: { ...headers, "content-encoding": "gzip" } }
          : { body, headers }
      })
    /** The pages that wait for rendering. */
    const next = new Map<string, ReturnType<typeof rendered>>()
    const page: Endpoints.Handler = (request) =>
      Effect.gen(function* () {
        const format = Accept.preferred(request.headers.get("accept"), formats)
        const compressed = accepts(request)
        const name = `${formats.indexOf(format)} ${compressed}`
        const shared =
          next.get(name) ??
          (yield* Effect.cached(
            Effect.suspend(() => {
              next.delete(name)
              return rendered(format, compressed)
            })
          ))
        next.set(name, shared)
        yield* Effect.yieldNow
        const { body, headers } = yield* shared
        return new Response(body, { headers })
      })
    yield* endpoints.route("metrics", "/metrics", guard(page))
  })
