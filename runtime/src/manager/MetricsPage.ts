/**
 * `/metrics`: what the manager's registry holds, in the words of whoever renders it. Compressed if the reader asks for it, as
 * Prometheus does: a page shrinks to a tenth for a fraction of a millisecond.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Family, Metrics } from "../telemetry/Metrics.ts"
import * as Endpoints from "./Endpoints.ts"

/** Makes a page of metrics. */
export type Render = (families: ReadonlyArray<Family>) => {
  readonly contentType: string
  readonly body: string
}

/** Smaller pages fit into one packet anyway. */
const worthCompressing = 1024

const accepts = (request: Request): boolean =>
  /(^|,)\s*gzip\s*(,|;(?!\s*q=0(\.0*)?\s*(,|$))|$)/i.test(request.headers.get("accept-encoding") ?? "")

/** Serves the metrics of the fiber's registry at the port for metrics, until the scope closes. */
export const serve = (render: Render): Effect.Effect<void, never, Endpoints.Endpoints | Scope.Scope> =>
  Effect.gen(function* () {
    const endpoints = yield* Endpoints.Endpoints
    const registry = yield* Metrics
    yield* endpoints.route("metrics", "/metrics", (request) =>
      Effect.sync(() => {
        const { body, contentType } = render(registry.read())
        const headers = { "content-type": contentType, vary: "accept-encoding" }
        return body.length >= worthCompressing && accepts(request)
          ? new Response(Bun.gzipSync(body, { level: 1 }), { headers: { ...headers, "content-encoding": "gzip" } })
          : new Response(body, { headers })
      })
    )
  })
