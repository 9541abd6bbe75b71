import { describe, expect, test } from "bun:test"
import * as Recording from "@homeostat/runtime/telemetry/Recording"
import * as TraceParent from "@homeostat/runtime/telemetry/TraceParent"
import type { Call } from "@homeostat/runtime/webhook/Call"
import { admission, answer, call } from "@homeostat/runtime/webhook/Call.fixture"
import { SpanKind } from "@opentelemetry/api"
import { InMemorySpanExporter } from "@opentelemetry/sdk-trace"
import * as Exit from "effect/Exit"
import * as CallTrace from "./CallTrace.ts"
import * as OpenTelemetry from "./OpenTelemetry.ts"
import { defaultBatch } from "./TraceSettings.ts"

const parent = TraceParent.parse(`00-${"a".repeat(32)}-${"b".repeat(16)}-01`)

/** A traced request. */
const traced = (over: Partial<Call>): Call => {
  const root = Recording.root("POST /validate-v1-configmap", { startTime: 0n, kind: "server", parent })
  root.end(5_000_000n, Exit.void)
  return call({ root, ...over })
}

/** The exported span of a request. */
const exported = async (over: Partial<Call>) => {
  const memory = new InMemorySpanExporter()
  const pipeline = OpenTelemetry.open({
    settings: { exporters: ["otlp"], protocol: "http/protobuf", ratio: 0, parentBased: true, batch: defaultBatch },
    environment: {},
    resource: {},
    reports: { exported: () => {}, failed: () => {}, warned: () => {} },
    ways: [{ exporter: memory, batched: false }]
  })
  const recording = CallTrace.complete(traced(over))
  if (recording !== undefined) pipeline.write(recording)
  await Bun.sleep(0)
  const [span, ...more] = memory.getFinishedSpans()
  await pipeline.shutdown()
  if (span === undefined || more.length > 0) throw new Error("not one span")
  return span
}

const http = {
  "http.request.method": "POST",
  "http.route": "/validate-v1-configmap",
  "url.path": "/validate-v1-configmap",
  "url.scheme": "https",
  "http.response.status_code": 200
}
const object = {
  "k8s.object.kind": "ConfigMap",
  "k8s.object.api_version": "v1",
  "k8s.namespace.name": "default",
  "k8s.object.name": "page",
  "k8s.object.uid": "u",
  "admission.uid": "review",
  "admission.operation": "CREATE",
  "admission.dry_run": false
}

describe("The span of a request to a webhook", () => {
  test("is a SERVER span, and a child of the remote span of the API server", async () => {
    const span = await exported({ admission: admission() })
    expect(span.kind).toBe(SpanKind.SERVER)
    expect(span.spanContext().traceId).toBe("a".repeat(32))
    expect(span.parentSpanContext).toMatchObject({ spanId: "b".repeat(16), isRemote: true })
    expect(span.duration).toEqual([0, 5_000_000])
    expect(span.attributes).toEqual({ ...http, ...object, "admission.allowed": true })
  })

  test("has the denial, the warnings and the changed fields, without values and secrets", async () => {
    const patch = [
      { op: "add", path: "/data/theme", value: "light" },
      { op: "remove", path: "/metadata/labels/example.com~1a" }
    ] as const
    const full = answer({ denial: "no: password=hunter2", warnings: ["one", "token=hunter2"], patch })
    const { attributes } = await exported({ admission: admission({ answer: full, dryRun: true, operation: "UPDATE" }) })
    expect(attributes).toEqual({
      ...http,
      ...object,
      "admission.operation": "UPDATE",
      "admission.dry_run": true,
      "admission.allowed": false,
      "admission.message": "no: password=<redacted>",
      "admission.warnings": ["one", "token=<redacted>"],
      "admission.fields": ["data.theme", "metadata.labels[example.com/a]"]
    })
  })

  test("has no answer if the webhook failed, and has the type of the error", async () => {
    const failed = { admission: admission({ answer: undefined }), status: 500, problem: "no database" }
    expect((await exported(failed)).attributes).toEqual({
      ...http,
      ...object,
      "http.response.status_code": 500,
      "error.type": "500"
    })
    expect((await exported({ panicked: true })).attributes["error.type"]).toBe("InternalError")
    const { "http.response.status_code": _, ...closed } = http
    expect((await exported({ status: undefined })).attributes).toEqual({ ...closed, "error.type": "Interrupted" })
    expect((await exported({ status: 400 })).attributes["error.type"]).toBeUndefined()
  })

  test("has the versions and the failure of a conversion", async () => {
    const conversion = { uid: "8", desired: "example.com/v2", objects: 2, kind: "Box", failure: "no" }
    expect((await exported({ conversion })).attributes).toEqual({
      ...http,
      "k8s.object.kind": "Box",
      "conversion.uid": "8",
      "conversion.desired_version": "example.com/v2",
      "conversion.objects": 2,
      "conversion.message": "no"
    })
  })

  test("has the number of dropped spans", async () => {
    const one = traced({})
    if (one.root !== undefined) one.root.recording.dropped = 3
    expect(CallTrace.complete(one)?.spans[0]?.attributes.get("reconcile.dropped_spans")).toBe(3)
  })

  test("does not exist without tracing", () => expect(CallTrace.complete(call())).toBeUndefined())
})
