import { afterEach, describe, expect, test } from "bun:test"
import * as Recording from "@homeostat/runtime/telemetry/Recording"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { SpanKind, SpanStatusCode } from "@opentelemetry/api"
import { type ExportResult, ExportResultCode } from "@opentelemetry/core"
import { InMemorySpanExporter, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as OpenTelemetry from "./OpenTelemetry.ts"
import { defaultBatch, type TraceSettings } from "./TraceSettings.ts"

const settings: TraceSettings = {
  exporters: ["otlp"],
  protocol: "http/protobuf",
  ratio: 0,
  parentBased: true,
  batch: { ...defaultBatch, maxQueueSize: 100, maxExportBatchSize: 100, scheduledDelayMillis: 1 }
}

class TooFar extends Data.TaggedError("TooFar")<{ readonly message: string }> {}

let opened: ReadonlyArray<OpenTelemetry.Pipeline> = []
const variables = { ...process.env }

afterEach(() => {
  // A pipeline with a silent exporter fails after half a minute.
  for (const pipeline of opened) pipeline.shutdown().catch(() => {})
  opened = []
  for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name]
})

/** A pipeline, and its reports. */
const open = (ways: ReadonlyArray<OpenTelemetry.Way> | undefined, environment: Record<string, string> = {}) => {
  // The SDK reads the environment of the process.
  Object.assign(process.env, environment)
  const reports: Array<readonly [string, unknown]> = []
  const pipeline = OpenTelemetry.open({
    settings,
    environment,
    resource: { "service.name": "homeostat", "k8s.pod.name": "homeostat-0" },
    reports: {
      exported: (spans) => void reports.push(["exported", spans]),
      failed: (spans, error) => void reports.push(["failed", [spans, error?.message]]),
      warned: (message) => void reports.push(["warned", message])
    },
    ways
  })
  opened = [...opened, pipeline]
  return { pipeline, reports }
}

/** The exported spans of a recording. */
const exported = async (
  recording: Recording.Recording,
  environment?: Record<string, string>
): Promise<ReadonlyArray<ReadableSpan>> => {
  const memory = new InMemorySpanExporter()
  const { pipeline, reports } = open([{ exporter: memory, batched: false }], environment)
  pipeline.write(recording)
  await Bun.sleep(0)
  expect(reports.filter(([what]) => what === "warned")).toEqual([])
  const spans = memory.getFinishedSpans().slice()
  await pipeline.shutdown()
  return spans
}

const start = 1_790_000_000_123_456_789n

const root = (over: Partial<Parameters<typeof Recording.root>[1]> = {}) =>
  Recording.root("reconcile widgets", { startTime: start, kind: "consumer", ...over })

const child = (parent: Recording.Span, name: string, at: bigint, kind: Tracer.SpanKind = "internal") =>
  parent.recording.span(name, Option.some(parent), at, kind)

describe("OpenTelemetry exports", () => {
  test("the ids, parents and kinds of spans", async () => {
    const top = root()
    const step = child(top, "step", start)
    const request = child(step, "GET /x", start, "client")
    for (const span of [request, step, top]) span.end(start + 1n, Exit.void)
    const spans = await exported(top.recording)
    expect(
      spans.map((span) => [span.name, span.spanContext().spanId, span.parentSpanContext?.spanId, span.kind])
    ).toEqual([
      ["reconcile widgets", top.spanId, undefined, SpanKind.CONSUMER],
      ["step", step.spanId, top.spanId, SpanKind.INTERNAL],
      ["GET /x", request.spanId, step.spanId, SpanKind.CLIENT]
    ])
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([top.traceId]))
  })

  test("times to the nanosecond", async () => {
    const top = root()
    top.event("looked", start + 5n)
    top.end(start + 1_000_000_011n, Exit.void)
    const [span] = await exported(top.recording)
    expect(span?.startTime).toEqual([1_790_000_000, 123_456_789])
    expect(span?.endTime).toEqual([1_790_000_001, 123_456_800])
    expect(span?.events[0]?.time).toEqual([1_790_000_000, 123_456_794])
  })

  test("attributes, with unsupported types as text", async () => {
    const top = root()
    const given = {
      text: "a",
      number: 1.5,
      truth: false,
      list: ["a", "b"],
      numbers: [1, 2],
      mixed: ["a", 1],
      big: 12n,
      object: { a: [1] },
      nothing: undefined,
      none: null
    }
    for (const [name, value] of Object.entries(given)) top.attribute(name, value)
    top.end(start, Exit.void)
    const [span] = await exported(top.recording)
    expect(span?.attributes).toEqual({
      text: "a",
      number: 1.5,
      truth: false,
      list: ["a", "b"],
      numbers: [1, 2],
      mixed: ["a", "1"],
      big: "12",
      object: '{"a":[1]}'
    })
  })

  test("no values of secret attributes, events and links", async () => {
    const top = root()
    const secret = { token: "abc", "http.request.header.authorization": ["hunter2"], tokens: 3 }
    for (const [name, value] of Object.entries(secret)) top.attribute(name, value)
    top.event("asked", start, secret)
    top.addLinks([{ span: root(), attributes: secret }])
    top.end(start, Exit.void)
    const [span] = await exported(top.recording)
    const shown = { token: "<redacted>", "http.request.header.authorization": "<redacted>", tokens: 3 }
    expect([span?.attributes, span?.events[0]?.attributes, span?.links[0]?.attributes]).toEqual([shown, shown, shown])
  })

  test("links with their attributes, within the process and to other processes", async () => {
    const top = root()
    const before = root()
    const beyond = Tracer.externalSpan({ traceId: "a".repeat(32), spanId: "b".repeat(16), sampled: false })
    top.addLinks([
      { span: before, attributes: { "link.relation": "retry_of" } },
      { span: beyond, attributes: {} }
    ])
    top.end(start, Exit.void)
    const [span] = await exported(top.recording)
    expect(span?.links.map(({ attributes, context }) => ({ attributes, context }))).toEqual([
      {
        context: { traceId: before.traceId, spanId: before.spanId, traceFlags: 1 },
        attributes: { "link.relation": "retry_of" }
      },
      { context: { traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 0, isRemote: true }, attributes: {} }
    ])
  })

  test("events with their attributes", async () => {
    const top = root()
    top.event("hot_loop.suspected", start, { field: ".spec.replicas", writes: 10 })
    top.end(start, Exit.void)
    const [span] = await exported(top.recording)
    expect(span?.events).toMatchObject([
      { name: "hot_loop.suspected", attributes: { field: ".spec.replicas", writes: 10 } }
    ])
  })

  test("a remote parent", async () => {
    const parent = Tracer.externalSpan({ traceId: "a".repeat(32), spanId: "b".repeat(16) })
    const top = root({ parent })
    top.end(start, Exit.void)
    const [span] = await exported(top.recording)
    expect(span?.spanContext()).toMatchObject({ traceId: parent.traceId, spanId: top.spanId })
    expect(span?.parentSpanContext).toMatchObject({ spanId: parent.spanId, isRemote: true })
  })

  const endings: ReadonlyArray<readonly [string, Exit.Exit<unknown, unknown>, object, ReadonlyArray<object>]> = [
    ["a success", Exit.void, { code: SpanStatusCode.UNSET }, []],
    [
      "a failure",
      Exit.fail(new TooFar({ message: "too far" })),
      { code: SpanStatusCode.ERROR, message: "too far" },
      [{ "exception.type": "TooFar", "exception.message": "too far" }]
    ],
    [
      "an interruption",
      Exit.failCause(Cause.interrupt(Cause.empty as never)),
      { code: SpanStatusCode.ERROR, message: "interrupted" },
      []
    ],
    [
      "a defect, with its stack",
      Exit.die(new RangeError("too far")),
      { code: SpanStatusCode.ERROR, message: "too far" },
      [
        {
          "exception.type": "RangeError",
          "exception.message": "too far",
          "exception.stacktrace": expect.stringContaining("OpenTelemetry.test.ts")
        }
      ]
    ]
  ]
  for (const [name, exit, status, events] of endings) {
    test(name, async () => {
      const top = root()
      top.end(start, exit)
      const [span] = await exported(top.recording)
      expect(span?.status).toEqual(status as never)
      expect(span?.events.map(({ attributes, name }) => [name, attributes])).toEqual(
        events.map((event) => ["exception", event]) as never
      )
    })
  }

  test("unfinished spans with the end of the reconcile", async () => {
    const top = root()
    child(top, "left behind", start + 1n)
    child(top, "begun later", start + 9n)
    top.end(start + 5n, Exit.void)
    const [, left, late] = await exported(top.recording)
    expect([left?.endTime, late?.endTime]).toEqual([
      [1_790_000_000, 123_456_794],
      [1_790_000_000, 123_456_798]
    ])
  })
})

describe("The resource of exported spans", () => {
  const resourceOf = async (environment?: Record<string, string>) => {
    const top = root()
    top.end(start, Exit.void)
    return (await exported(top.recording, environment))[0]?.resource.attributes
  }
  test("has the name of the program and of its pod", async () => {
    expect(await resourceOf()).toMatchObject({ "service.name": "homeostat", "k8s.pod.name": "homeostat-0" })
  })
  test("has the attributes of the environment", async () => {
    const resource = await resourceOf({
      OTEL_SERVICE_NAME: "mine",
      OTEL_RESOURCE_ATTRIBUTES: "k8s.cluster.name=east,k8s.pod.name=other"
    })
    expect(resource).toMatchObject({ "service.name": "mine", "k8s.cluster.name": "east", "k8s.pod.name": "other" })
  })
  test("contains the command line only if the process detector is enabled", async () => {
    expect(await resourceOf()).not.toHaveProperty(["process.command_args"])
    expect(await resourceOf({ OTEL_NODE_RESOURCE_DETECTORS: "process" })).toHaveProperty(["process.command_args"])
  })
})

test("OpenTelemetry applies the SDK's limits of attributes", async () => {
  const top = root()
  for (const name of ["a", "b", "c"]) top.attribute(name, "long text")
  top.end(start, Exit.void)
  const [span] = await exported(top.recording, {
    OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: "2",
    OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: "4"
  })
  expect(span?.attributes).toEqual({ a: "long", b: "long" })
})

describe("Spans in flight", () => {
  type Answer = (result: ExportResult) => void

  /** An exporter that responds when the test does; `answer` waits until the next batch has arrived. */
  const slow = () => {
    const batches: Array<PromiseWithResolvers<Answer>> = []
    const at = (index: number) => (batches[index] ??= Promise.withResolvers())
    let [arrived, asked] = [0, 0]
    const exporter: SpanExporter = {
      export: (_, done) => at(arrived++).resolve(done),
      shutdown: () => Promise.resolve()
    }
    return { exporter, answer: async (result: ExportResult) => (await at(asked++).promise)(result) }
  }
  const recording = (spans: number) => {
    const top = root()
    for (let index = 1; index < spans; index++) child(top, "step", start)
    top.end(start, Exit.void)
    return top.recording
  }

  test("are counted until they are exported or have failed", async () => {
    const { answer, exporter } = slow()
    const { pipeline, reports } = open([{ exporter, batched: true }])
    pipeline.write(recording(3))
    expect([pipeline.inFlight(), pipeline.room()]).toEqual([3, 97])
    await answer({ code: ExportResultCode.SUCCESS })
    expect([pipeline.inFlight(), pipeline.room()]).toEqual([0, 100])
    pipeline.write(recording(2))
    await answer({ code: ExportResultCode.FAILED, error: new Error("refused") })
    expect(pipeline.inFlight()).toBe(0)
    expect(reports.slice(0, 2)).toEqual([
      ["exported", 3],
      ["failed", [2, "refused"]]
    ])
    // The SDK's own message comes after ours, and without the stack.
    while (reports.length < 3) await Bun.sleep(1)
    expect(reports.slice(2)).toEqual([["warned", "refused"]])
  })

  test("that cannot be converted are counted as failed, and take no room", async () => {
    const { exporter } = slow()
    const { pipeline, reports } = open([{ exporter, batched: true }])
    const broken = recording(4)
    Object.defineProperty(broken.spans[2], "events", {
      get: () => {
        throw new Error("broken")
      }
    })
    pipeline.write(broken)
    expect([pipeline.inFlight(), reports]).toEqual([2, [["failed", [2, "broken"]]]])
    const unended = root().recording
    pipeline.write(unended)
    expect(pipeline.inFlight()).toBe(2)
  })

  test("are counted until the slowest exporter has finished", async () => {
    const { exporter } = slow()
    const finished = Promise.withResolvers<void>()
    let left = 3
    const fast: SpanExporter = {
      export: (spans, done) => {
        done({ code: ExportResultCode.SUCCESS })
        left -= spans.length
        if (left === 0) finished.resolve()
      },
      shutdown: () => Promise.resolve()
    }
    const { pipeline } = open([
      { exporter, batched: true },
      { exporter: fast, batched: false }
    ])
    pipeline.write(recording(3))
    await finished.promise
    expect(pipeline.inFlight()).toBe(3)
  })
})

test("The certificate of a collector is verified even with NODE_TLS_REJECT_UNAUTHORIZED=0", async () => {
  const authority = await Effect.runPromise(Certificates.authority)
  const pair = await Effect.runPromise(authority.server({ dns: ["localhost"], ip: ["127.0.0.1"] }))
  let requests = 0
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: pair.certificate, key: pair.key },
    fetch: () => {
      requests++
      return new Response()
    }
  })
  const { pipeline, reports } = open(undefined, {
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    OTEL_EXPORTER_OTLP_ENDPOINT: `https://127.0.0.1:${server.port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: "500"
  })
  const top = root()
  top.end(start + 1n, Exit.void)
  pipeline.write(top.recording)
  await pipeline.shutdown().catch(() => {})
  await server.stop(true)
  expect(requests).toBe(0)
  expect(reports.map(([what]) => what)).toContain("failed")
})
