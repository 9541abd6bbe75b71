/**
 * Makes a request visible in the trace it belongs to, and findable from it in the API server's audit log: a CLIENT span
 * named by the URL's template, `traceparent`, and `Audit-ID: <trace id>-<n>`. Outside of a span nothing is made and
 * nothing is paid.
 *
 * It stands outside of `Retry`: a request that is sent again is one span, and one entry in the audit log's ids.
 */
import * as Effect from "effect/Effect"
import * as Attribute from "../telemetry/Attribute.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import { isAnswer } from "./ApiError.ts"
import type { Handler } from "./Handler.ts"
import type { Request } from "./Request.ts"

const attributesOf = (request: Request, host: string): Record<string, string> => ({
  [Attribute.httpMethod]: request.method,
  [Attribute.urlTemplate]: request.template,
  [Attribute.serverAddress]: host,
  ...(request.namespace !== undefined && { [Attribute.namespace]: request.namespace }),
  ...(request.name !== undefined && { [Attribute.objectName]: request.name })
})

// A disabled tracer hands out spans whose ids are no ids.
const isTraceId = (id: string): boolean => id.length === 32

/** The layer, for requests to a server (a URL, or another name of it). One per client: it numbers the requests. */
export const layer = (server: string): ((send: Handler) => Handler) => {
  const host = URL.parse(server)?.hostname ?? server
  let requests = 0
  return (send) => (request) =>
    Effect.withFiberRuntime((fiber) => {
      if (fiber.currentSpan === undefined) return send(request)
      const options = { kind: "client", captureStackTrace: false, attributes: attributesOf(request, host) } as const
      return Effect.useSpan(SpanName.request(request.method, request.template), options, (span) => {
        if (!isTraceId(span.traceId)) return send(request)
        const auditId = `${span.traceId}-${++requests}`
        span.attribute(Attribute.auditId, auditId)
        const traced: Request = {
          ...request,
          headers: {
            ...request.headers,
            traceparent: `00-${span.traceId}-${span.spanId}-0${span.sampled ? 1 : 0}`,
            "audit-id": auditId
          }
        }
        return send(traced).pipe(
          Effect.withParentSpan(span),
          Effect.tapBoth({
            onSuccess: (response) => Effect.sync(() => span.attribute(Attribute.httpStatus, response.status)),
            onFailure: (error) =>
              Effect.sync(() => {
                span.attribute(Attribute.errorType, error._tag)
                if (isAnswer(error)) span.attribute(Attribute.httpStatus, error.code)
              })
          })
        )
      })
    })
}
