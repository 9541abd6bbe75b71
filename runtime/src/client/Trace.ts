/**
 * Makes a request visible where it belongs: in the ledger of its reconcile, and, where that is traced, as a CLIENT span named by
 * the URL's template, findable from the API server's audit log and traces by `Audit-ID: <trace id>-<n>` and `traceparent`.
 * Any current span gets CLIENT spans, one of a reconcile or not. Where there is neither a reconcile nor a span, nothing is made
 * and nothing is paid.
 *
 * It stands outside of `Retry`: a request that is sent again is one span, and one entry in the audit log's ids.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
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

// A disabled tracer hands out spans whose ids are no ids.
const isTraceId = (id: string): boolean => id.length === 32

/** Status and error of what came of a request. */
const verdict = (exit: Exit.Exit<Response, ApiError>): Pick<Exchange, "status" | "error"> => {
  if (Exit.isSuccess(exit)) return { status: exit.value.status, error: undefined }
  const error = exit.cause._tag === "Fail" ? exit.cause.error : undefined
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

/** The layer, for requests to a server (a URL, or another name of it). One per client: it numbers the requests. */
export const layer = (server: string): ((send: Handler) => Handler) => {
  const host = URL.parse(server)?.hostname ?? server
  let requests = 0

  /** Sends, and enters what came of it. */
  const entered = (request: Request, ledger: Ledger | undefined, send: Handler, auditId?: string, span?: Tracer.Span) =>
    Effect.flatMap(Effect.clock, (clock) => {
      const startedAt = clock.unsafeCurrentTimeMillis()
      const began = Time.monotonic(clock)
      const sendings = { again: 0 }
      return Effect.onExit(send({ ...request, sendings }), (exit) =>
        Effect.sync(() => {
          const millis = Time.monotonic(clock) - began
          const exchange = { request, startedAt, millis, ...verdict(exit), resends: sendings.again, auditId, span }
          ledger?.add(exchange)
          if (span !== undefined) describe(span, exchange)
        })
      )
    })

  return (send) => (request) =>
    Effect.withFiberRuntime((fiber) => {
      const ledger = Context.get(fiber.getFiberRef(FiberRef.currentContext), Exchanges)
      if (fiber.currentSpan === undefined) {
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
