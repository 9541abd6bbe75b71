import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import * as Client from "./Client.ts"
import * as Scripted from "./Scripted.fixture.ts"
import { answer, ConfigMap, configMap, disconnect, failure } from "./Scripted.fixture.ts"

const key = { namespace: "a", name: "b" }

interface Recorded {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Record<string, unknown>
  exit?: Exit.Exit<unknown, unknown>
}

/** A tracer that keeps what it is given. */
const recording = (sampled: boolean) => {
  const spans: Array<Recorded> = []
  const tracer = Tracer.make({
    span: (name, parent, context, links, startTime, kind) => {
      const spanId = String(spans.length + 1).padStart(16, "0")
      const traceId = parent._tag === "Some" ? parent.value.traceId : "a".repeat(32)
      const recorded: Recorded = { name, kind, traceId, spanId, attributes: {} }
      spans.push(recorded)
      const span: Tracer.Span = {
        _tag: "Span",
        name,
        spanId,
        traceId,
        parent,
        context,
        links,
        kind,
        sampled,
        status: { _tag: "Started", startTime },
        attributes: new Map(),
        attribute: (key, value) => {
          recorded.attributes[key] = value
        },
        end: (_, exit) => {
          recorded.exit = exit
        },
        event: () => {},
        addLinks: () => {}
      }
      return span
    },
    context: (f) => f()
  })
  return { spans, tracer }
}

const get = Effect.either(Client.get(ConfigMap, key))

const run = (
  script: Parameters<typeof Scripted.make>[0],
  body: Effect.Effect<unknown, never, Client.Client>,
  sampled = true
) =>
  Effect.gen(function* () {
    const { spans, tracer } = recording(sampled)
    const server = yield* Scripted.make(script)
    const fiber = yield* Effect.fork(body.pipe(Effect.provide(Scripted.client(server)), Effect.withTracer(tracer)))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(fiber)
    return { spans, headers: server.requests.map((request) => request.headers) }
  })

const ok = () => answer(200, configMap("b"))

describe("Trace", () => {
  effect("outside of a span, a request makes none and carries no ids", () =>
    Effect.gen(function* () {
      const { headers, spans } = yield* run(ok, get)
      expect(spans).toEqual([])
      expect(headers[0]).not.toHaveProperty("traceparent")
      expect(headers[0]).not.toHaveProperty("audit-id")
    })
  )

  effect("inside of one, it is a CLIENT span named by the URL's template", () =>
    Effect.gen(function* () {
      const { spans } = yield* run(ok, Effect.withSpan(get, "reconcile"))
      expect(spans).toHaveLength(2)
      expect(spans[1]).toMatchObject({
        name: "GET /api/v1/namespaces/{ns}/configmaps/{name}",
        kind: "client",
        attributes: {
          "http.request.method": "GET",
          "url.template": "/api/v1/namespaces/{ns}/configmaps/{name}",
          "server.address": "server",
          "k8s.namespace.name": "a",
          "k8s.object.name": "b",
          "k8s.audit_id": `${"a".repeat(32)}-1`,
          "http.response.status_code": 200
        },
        exit: { _tag: "Success" }
      })
    })
  )

  effect("the server is told the span, and numbered ids for its audit log", () =>
    Effect.gen(function* () {
      const { headers } = yield* run(ok, Effect.withSpan(Effect.zip(get, get), "reconcile"))
      const trace = "a".repeat(32)
      expect(headers.map((each) => each["audit-id"])).toEqual([`${trace}-1`, `${trace}-2`])
      expect(headers.map((each) => each.traceparent)).toEqual([
        `00-${trace}-0000000000000002-01`,
        `00-${trace}-0000000000000003-01`
      ])
      const unsampled = yield* run(ok, Effect.withSpan(get, "reconcile"), false)
      expect(unsampled.headers[0]?.traceparent).toEndWith("-00")
    })
  )

  effect("a request that is sent again is one span, which says how often", () =>
    Effect.gen(function* () {
      const { headers, spans } = yield* run(
        (request, sent) => (sent < 3 ? disconnect(request, "ECONNRESET") : ok()),
        Effect.withSpan(get, "reconcile")
      )
      expect(spans).toHaveLength(2)
      expect(spans[1]?.attributes["http.request.resend_count"]).toBe(2)
      expect(new Set(headers.map((each) => each["audit-id"])).size).toBe(1)
    })
  )

  effect("a failure is on the span, with the server's code when there is one", () =>
    Effect.gen(function* () {
      const answered = yield* run(() => failure(403, "Forbidden"), Effect.withSpan(get, "reconcile"))
      expect(answered.spans[1]).toMatchObject({
        attributes: { "error.type": "Forbidden", "http.response.status_code": 403 },
        exit: { _tag: "Failure" }
      })
      const lost = yield* run((request) => disconnect(request, "EPROTO"), Effect.withSpan(get, "reconcile"))
      expect(lost.spans[1]?.attributes["error.type"]).toBe("Transport")
      expect(lost.spans[1]?.attributes).not.toHaveProperty("http.response.status_code")
    })
  )

  effect("a parent from elsewhere counts as a span, a disabled tracer as none", () =>
    Effect.gen(function* () {
      const external = Tracer.externalSpan({ traceId: "b".repeat(32), spanId: "c".repeat(16) })
      const { headers } = yield* run(ok, Effect.provide(get, Context.make(Tracer.ParentSpan, external)))
      expect(headers[0]?.traceparent).toStartWith(`00-${"b".repeat(32)}-`)
      const disabled = yield* run(ok, Effect.withSpan(get, "reconcile").pipe(Effect.withTracerEnabled(false)))
      expect(disabled.spans).toEqual([])
      expect(disabled.headers[0]).not.toHaveProperty("traceparent")
    })
  )
})
