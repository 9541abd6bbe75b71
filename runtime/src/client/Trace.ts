/**
 * Records requests in the ledger of their reconcile and, if it is traced, as CLIENT spans. A span has the URL's template as its name.
 * `Audit-ID: <trace id>-<n>` and `traceparent` link it to the API server's audit log and traces. Every current span gets CLIENT
 * spans, inside or outside of a reconcile. Without a reconcile and a span, the layer costs nothing.
 *
 * It is outside of `Retry`: a request with retries is one span and one ID in the audit log.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Tracer from "effect/Tracer"
import * as Time from "../resource/Time.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import { type ApiError, isAnswer } from "./ApiError.ts"
import { type Exchange, Exchanges, type Ledger } from "./Exchange.ts"
import type { Handler } from "./Handler.ts"
import type { Request } from "./Request.ts"
import type { Response } from "./Response.ts"

const attributesOf = (request: Request, host: string): Record<string, string> => ({
  [Attribute.httpMethod]: request.method,
  [Attribute.urlTemplate]: request.template,
  [Attribute.serverAddress]: host,
  ...(request.namespace !== undefined && { [Attribute.namespace]: request.namespace }),
  ...(request.name !== undefined && { [Attribute.objectName]: request.name })
})

// A disabled tracer creates spans without valid IDs.
const isTraceId = (id: string): boolean => id.length === 32

/** Status and error of a request. */
const verdict = (exit: Exit.Exit<Response, ApiError>): Pick<Exchange, "status" | "error"> => {
  if (Exit.isSuccess(exit)) return { status: exit.value.status, error: undefined }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  return {
    status: error !== undefined && isAnswer(error) ? error.code : undefined,
    error: error?._tag ?? "Interrupted"
  }
}

const describe = (span: Tracer.Span, { error, resends, status }: Exchange): void => {
  if (status !== undefined) span.attribute(Attribute.httpStatus, status)
  if (error !== undefined) span.attribute(Attribute.errorType, error)
  if (resends > 0) span.attribute(Attribute.httpResendCount, resends)
}

/** The layer, for requests to a server (its URL or another name). One per client, because it numbers the requests. */
export const layer = (server: string): ((send: Handler) => Handler) => {
  const host = URL.parse(server)?.hostname ?? server
  let requests = 0

  /** Sends the request and records its outcome. */
  const entered = (request: Request, ledger: Ledger | undefined, send: Handler, auditId?: string, span?: Tracer.Span) =>
    Effect.flatMap(Clock.Clock, (clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const began = Time.monotonic(clock)
      const sendings = { again: 0 }
      const ended = ledger?.count()
      return Effect.onExit(send({ ...request, sendings }), (exit) =>
        Effect.sync(() => {
          const millis = Time.monotonic(clock) - began
          const again = { resends: sendings.again, auditId, span, answer: exit }
          const order = ledger && { began: ended ?? 0, ended: ledger.count() + 1 }
          const exchange = { request, startedAt, millis, ...verdict(exit), ...again, order }
          ledger?.add(exchange)
          if (span !== undefined) describe(span, exchange)
        })
      )
    })

  return (send) => (request) =>
    Effect.withFiber((fiber) => {
      const ledger = Context.get(fiber.context, Exchanges)
      if (fiber.cache.span === undefined) {
        return ledger === undefined ? send(request) : entered(request, ledger, send)
      }
      const options = { kind: "client", captureStackTrace: false, attributes: attributesOf(request, host) } as const
      return Effect.useSpan(SpanName.request(request.method, request.template), options, (span) => {
        if (!isTraceId(span.traceId)) return entered(request, ledger, send)
        const auditId = `${span.traceId}-${++requests}`
        span.attribute(Attribute.auditId, auditId)
        const headers = { ...request.headers, traceparent: TraceParent.format(span), "audit-id": auditId }
        const traced: Handler = (counted) => send({ ...counted, headers })
        return Effect.withParentSpan(entered(request, ledger, traced, auditId, span), span)
      })
    })
}
