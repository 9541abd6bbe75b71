/**
 * `/metrics`: what the manager's registry holds, in the format that the reader likes best, in the words of whoever renders it.
 * Compressed if the reader asks for it, as Prometheus does: a page shrinks to a tenth for a fraction of a millisecond.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Family, Metrics } from "../telemetry/Metrics.ts"
import * as Accept from "./Accept.ts"
import * as Endpoints from "./Endpoints.ts"

/** Makes a page of metrics. */
export type Render = (families: ReadonlyArray<Family>) => {
  readonly contentType: string
  readonly body: string
}

/** A format of the page. */
export interface Format extends Accept.Offer {
  readonly render: Render
}

/** Those that a program has. The first is for readers who do not say what they like. */
export type Formats = readonly [Format, ...ReadonlyArray<Format>]

/** Smaller pages fit into one packet anyway. */
const worthCompressing = 1024

const accepts = (request: Request): boolean =>
  /(^|,)\s*gzip\s*(,|;(?!\s*q=0(\.0*)?\s*(,|$))|$)/i.test(request.headers.get("accept-encoding") ?? "")

/**
 * Serves the metrics of the fiber's registry at the port for metrics, until the scope closes.
 *
 * @param guard who may read them; by default everybody
 */
export const serve = (
  formats: Formats,
  guard: (handler: Endpoints.Handler) => Endpoints.Handler = (handler) => handler
): Effect.Effect<void, never, Endpoints.Endpoints | Scope.Scope> =>
  Effect.gen(function* () {
    const endpoints = yield* Endpoints.Endpoints
    const registry = yield* Metrics
    const page: Endpoints.Handler = (request) =>
      Effect.sync(() => {
        const { render } = Accept.preferred(request.headers.get("accept"), formats)
        const { body, contentType } = render(registry.read())
        const headers = { "content-type": contentType, vary: "accept, accept-encoding" }
        return body.length >= worthCompressing && accepts(request)
          ? new Response(Bun.gzipSync(body, { level: 1 }), { headers: { ...headers, "content-encoding": "gzip" } })
          : new Response(body, { headers })
      })
    yield* endpoints.route("metrics", "/metrics", guard(page))
  })
