import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"
import * as TestClock from "effect/testing/TestClock"
import type { ManagedFieldsEntry } from "../resource/KubernetesObject.ts"
import * as Client from "./Client.ts"
import { Exchanges, Ledger, most } from "./Exchange.ts"
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

/** A tracer that keeps its spans. */
const recording = (sampled: boolean) => {
  const spans: Array<Recorded> = []
  const tracer = Tracer.make({
    span: ({ annotations, kind, links, name, parent, startTime }) => {
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
        annotations,
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
    }
  })
  return { spans, tracer }
}

const get = Effect.result(Client.get(ConfigMap, key))

const run = (
  script: Parameters<typeof Scripted.make>[0],
  body: Effect.Effect<unknown, never, Client.Client>,
  sampled = true
) =>
  Effect.gen(function* () {
    const { spans, tracer } = recording(sampled)
    const server = yield* Scripted.make(script)
    const fiber = yield* Effect.forkChild(body.pipe(Effect.provide(Scripted.client(server)), Effect.withTracer(tracer)))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(fiber)
    return { spans, headers: server.requests.map((request) => request.headers) }
  })

const ok = () => answer(200, configMap("b"))

describe("The trace of a request", () => {
  effect("is empty outside of a span, and no ids are sent", () =>
    Effect.gen(function* () {
      const { headers, spans } = yield* run(ok, get)
      expect(spans).toEqual([])
      expect(headers[0]).not.toHaveProperty("traceparent")
      expect(headers[0]).not.toHaveProperty("audit-id")
    })
  )

  effect("is a CLIENT span in the current span, named by the URL template", () =>
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

  effect("is sent to the server, with numbered audit ids", () =>
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

  effect("is one span for all attempts, with their number", () =>
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

  effect("has the type of an error, and the status code if there is one", () =>
    Effect.gen(function* () {
      const answered = yield* run(() => failure(403, "Forbidden"), Effect.withSpan(get, "reconcile"))
      expect(answered.spans[1]).toMatchObject({
        attributes: { "error.type": "Forbidden", "http.response.status_code": 403 },
        exit: { _tag: "Failure" }
      })
      const lost = yield* run((request) => disconnect(request, "CERT_HAS_EXPIRED"), Effect.withSpan(get, "reconcile"))
      expect(lost.spans[1]?.attributes["error.type"]).toBe("Transport")
      expect(lost.spans[1]?.attributes).not.toHaveProperty("http.response.status_code")
    })
  )

  effect("accepts an external parent, and ignores a disabled tracer", () =>
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

describe("The exchanges of a reconcile", () => {
  /** The ledger entries of requests with these responses, in order. */
  const entries = (answers: ReadonlyArray<Scripted.Reaction>, body: Effect.Effect<unknown, unknown, Client.Client>) =>
    Effect.gen(function* () {
      const ledger = new Ledger()
      let next = 0
      const { spans } = yield* run(
        (request) => answers[next++] ?? disconnect(request, "CERT_HAS_EXPIRED"),
        Effect.withSpan(Effect.ignore(body), "reconcile").pipe(Effect.provideService(Exchanges, ledger))
      )
      return { all: ledger.all(), spans }
    })
  const made = (resourceVersion: string) => {
    const object = configMap("b")
    return { ...object, metadata: { ...object.metadata, resourceVersion } }
  }
  const apply = (before?: string) =>
    Client.apply(ConfigMap, { metadata: { namespace: "a", name: "b" } }, { before, fieldManager: "m" })
  const remove = Client.delete(ConfigMap, key)

  const rows: ReadonlyArray<readonly [what: string, entry: ManagedFieldsEntry, own: boolean]> = [
    [
      "the version that its manager wrote at the time of the answer",
      { manager: "m", time: "2026-11-23T09:00:08Z" },
      true
    ],
    ["no version that its manager wrote earlier", { manager: "m", time: "2026-11-23T09:00:07Z" }, false],
    ["a version if the answer does not contain its manager", { manager: "other", time: "2026-11-23T09:00:07Z" }, true]
  ]
  for (const [what, entry, own] of rows) {
    effect(`count ${what} as an own write`, () =>
      Effect.gen(function* () {
        const ledger = new Ledger()
        const object = made("8")
        const body = { ...object, metadata: { ...object.metadata, managedFields: [entry] } }
        const reaction = answer(200, body, { date: "Mon, 23 Nov 2026 09:00:10 GMT" })
        yield* run(() => reaction, Effect.ignore(apply("7")).pipe(Effect.provideService(Exchanges, ledger)))
        expect([...(ledger.versions() ?? [])].map(([version]) => version)).toEqual(own ? ["8"] : [])
        expect(ledger.all()[0]?.write?.changed).toBe(own)
      })
    )
  }

  effect("contain each request with its result and its retries, with and without a trace", () =>
    Effect.gen(function* () {
      const ledger = new Ledger()
      const body = Effect.ignore(Effect.zip(get, remove)).pipe(Effect.provideService(Exchanges, ledger))
      yield* run((request, sent) => (sent < 2 ? disconnect(request, "ECONNRESET") : failure(403, "Forbidden")), body)
      expect(ledger.all()).toMatchObject([
        {
          request: { method: "GET" },
          status: 403,
          error: "Forbidden",
          resends: 1,
          auditId: undefined,
          span: undefined
        },
        { request: { method: "DELETE" }, status: 403, error: "Forbidden", resends: 0 }
      ])
      const traced = yield* entries([ok()], get)
      expect(traced.all).toMatchObject([{ status: 200, error: undefined, auditId: `${"a".repeat(32)}-1` }])
      expect(traced.all[0]).not.toHaveProperty("write")
    })
  )

  const table: ReadonlyArray<
    readonly [string, Scripted.Reaction, Effect.Effect<unknown, unknown, Client.Client>, object | undefined]
  > = [
    [
      "a creation",
      answer(201, made("8")),
      apply(),
      { verb: "apply", fieldManager: "m", before: undefined, after: "8", changed: true }
    ],
    ["a write that changed the object", answer(200, made("8")), apply("7"), { before: "7", after: "8", changed: true }],
    ["a write without a change", answer(200, made("7")), apply("7"), { before: "7", after: "7", changed: false }],
    ["a write with an unknown effect", answer(200, made("8")), apply(), { after: "8", changed: undefined }],
    [
      "a replacement, with the version that it states",
      answer(200, made("8")),
      Client.replace(ConfigMap, made("7")),
      { verb: "update", before: "7", after: "8", changed: true }
    ],
    [
      "a deletion",
      answer(200, { kind: "Status", status: "Success" }),
      remove,
      { verb: "delete", kind: "ConfigMap", after: undefined, changed: true }
    ],
    [
      "a deletion of an object that is being deleted",
      answer(200, made("7")),
      Client.delete(ConfigMap, key, { resourceVersion: "7" }),
      { verb: "delete", before: "7", after: "7", changed: false }
    ],
    [
      "a deletion of a collection, with an unknown number of objects",
      answer(200, { kind: "Status", status: "Success" }),
      Effect.flatMap(Client.Client, (client) => client.deleteAll(ConfigMap, { namespace: "a" })),
      { verb: "deletecollection", changed: undefined }
    ],
    ["no write for a failed one", failure(409, "Conflict"), apply("7"), undefined],
    [
      "no write for a dry run",
      answer(201, made("8")),
      Client.apply(ConfigMap, { metadata: { namespace: "a", name: "b" } }, { dryRun: true }),
      undefined
    ]
  ]
  for (const [what, answered, body, write] of table) {
    effect(`contain ${what}, and so does the span`, () =>
      Effect.gen(function* () {
        const { all, spans } = yield* entries([answered], body)
        expect(all).toHaveLength(1)
        if (write === undefined) expect(all[0]?.write).toBeUndefined()
        else expect(all[0]?.write).toMatchObject(write)
        expect(spans[1]?.attributes["k8s.write.changed"]).toBe(all[0]?.write?.changed)
        expect(spans[1]?.attributes["k8s.object.resource_version.before"]).toBe(all[0]?.write?.before)
        expect(spans[1]?.attributes["k8s.object.resource_version.after"]).toBe(all[0]?.write?.after)
        expect(spans[1]?.attributes["k8s.field_manager"]).toBe(all[0]?.write?.fieldManager)
      })
    )
  }

  effect("are limited to the first requests", () =>
    Effect.gen(function* () {
      const answers = Array.from({ length: most + 5 }, ok)
      const { all } = yield* entries(answers, Effect.replicateEffect(get, most + 5))
      expect(all).toHaveLength(most)
      expect(all.at(-1)?.auditId).toEndWith(`-${most}`)
    })
  )

  effect("keep a late write after many reads, drop reads after many writes, and count all of them", () =>
    Effect.gen(function* () {
      const many = most + 44
      const dry = Client.apply(
        ConfigMap,
        { metadata: { namespace: "a", name: "b" } },
        { fieldManager: "m", dryRun: true }
      )
      const ledgerOf = (...parts: ReadonlyArray<Effect.Effect<unknown, unknown, Client.Client>>) =>
        Effect.gen(function* () {
          const ledger = new Ledger()
          const body = Effect.all(parts, { discard: true }).pipe(Effect.provideService(Exchanges, ledger))
          yield* run(() => answer(200, made("8")), Effect.ignore(body))
          return ledger
        })
      const last = yield* ledgerOf(Effect.replicateEffect(get, most), Effect.replicateEffect(dry, 44), apply("7"))
      expect(last.all().at(-1)).toMatchObject({ request: { method: "PATCH" }, write: { changed: true, after: "8" } })
      expect([last.all().length, last.count()]).toEqual([most + 1, many + 1])
      const first = yield* ledgerOf(Effect.replicateEffect(apply("7"), many), get)
      expect(first.all().at(-1)?.request.method).toBe("GET")
      expect([first.all().length, first.count()]).toEqual([most + 1, many + 1])
    })
  )
})
