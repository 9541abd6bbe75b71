/**
 * Exports recorded spans with OpenTelemetry's SDK.
 *
 * Load this module only if traces are exported, because the SDK takes longer to load than the rest of a program.
 */
import type { Recording } from "@homeostat/runtime/telemetry/Recording"
import { context, type DiagLogger, DiagLogLevel, diag, logs, trace } from "@opentelemetry/api"
import { type ExportResult, ExportResultCode } from "@opentelemetry/core"
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { defaultResource, envDetector, resourceFromAttributes } from "@opentelemetry/resources"
import { NodeSDK } from "@opentelemetry/sdk-node"
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  SimpleSpanProcessor,
  type SpanExporter,
  type SpanProcessor
} from "@opentelemetry/sdk-trace"
import * as GrpcCredentials from "./GrpcCredentials.ts"
import * as Replay from "./Replay.ts"
import type { Environment, Exporter, Protocol, TraceSettings } from "./TraceSettings.ts"

/** The reports of an export. */
export interface Reports {
  /** This many spans arrived. */
  readonly exported: (spans: number) => void
  /** This many spans were lost. */
  readonly failed: (spans: number, error: Error | undefined) => void
  /** A warning of the SDK. */
  readonly warned: (message: string) => void
}

/** The export of spans. */
export interface Pipeline {
  /** The free places in the buffer, in spans. */
  readonly room: () => number
  /** The accepted spans that have not arrived yet. */
  readonly inFlight: () => number
  /** Exports a recording. Check `room` before. Spans that cannot be converted are reported as failed. */
  readonly write: (recording: Recording) => void
  /** Exports the remaining spans without a timeout, and accepts none after that. */
  readonly shutdown: () => Promise<void>
}

/** An exporter, and whether it exports spans in batches. */
export interface Way {
  readonly exporter: SpanExporter
  readonly batched: boolean
}

/** Bun's bundler finds gRPC only in the CommonJS form of this package. The call loads it only if it is used. */
const grpcExporter = (environment: Environment, { warned }: Reports): SpanExporter => {
  const {
    OTLPTraceExporter
  }: typeof import("@opentelemetry/exporter-trace-otlp-grpc") = require("@opentelemetry/exporter-trace-otlp-grpc")
  const credentials = GrpcCredentials.of(environment, warned)
  return new OTLPTraceExporter(credentials === undefined ? {} : { credentials })
}

const otlp: { readonly [protocol in Protocol]: (environment: Environment, reports: Reports) => SpanExporter } = {
  "http/protobuf": () => new ProtobufExporter(),
  "http/json": () => new JsonExporter(),
  grpc: grpcExporter
}

type Open = Pick<Parameters<typeof open>[0], "settings" | "environment" | "reports">

const ways: { readonly [exporter in Exporter]: (options: Open) => Way } = {
  otlp: ({ environment, reports, settings }) => ({
    exporter: otlp[settings.protocol](environment, reports),
    batched: true
  }),
  console: () => ({ exporter: new ConsoleSpanExporter(), batched: false })
}

/** The exporter, with the number of spans that it is exporting. */
const counted = (exporter: SpanExporter, reports: Reports) => {
  let inFlight = 0
  const counting: SpanExporter = {
    export: (spans, done) => {
      let isDone = false
      const settle = (result: ExportResult): void => {
        if (isDone) return
        isDone = true
        inFlight -= spans.length
        if (result.code === ExportResultCode.SUCCESS) reports.exported(spans.length)
        else reports.failed(spans.length, result.error)
        done(result)
      }
      exporter.export(spans, settle)
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush !== undefined && { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() })
  }
  return {
    counting,
    inFlight: () => inFlight,
    took: (): void => {
      inFlight++
    }
  }
}

/** One line of an SDK message: errors arrive as JSON with their stack. */
const lineOf = (message: string): string => {
  try {
    const parsed: unknown = JSON.parse(message)
    if (typeof parsed === "object" && parsed !== null && "message" in parsed) return String(parsed.message)
  } catch {
    // The text is not JSON.
  }
  return message.split("\n", 1)[0] ?? ""
}

const loggerTo = (reports: Reports): DiagLogger => {
  const warn = (message: string): void => reports.warned(lineOf(message))
  const nothing = (): void => {}
  return { error: warn, warn, info: nothing, debug: nothing, verbose: nothing }
}

/** Opens the exporters of the settings, or the given ones. */
export const open = (options: {
  readonly settings: TraceSettings
  readonly environment: Environment
  readonly resource: Readonly<Record<string, string>>
  readonly reports: Reports
  readonly ways?: ReadonlyArray<Way> | undefined
}): Pipeline => {
  const { environment, settings, reports } = options
  // The SDK's exporters do not set this option, so Bun would use the variable.
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED === "0") process.env.NODE_TLS_REJECT_UNAUTHORIZED = "1"
  // With a log level in the environment, OpenTelemetry writes its own log.
  if ((environment.OTEL_LOG_LEVEL ?? "") === "") {
    diag.setLogger(loggerTo(reports), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  }
  const chosen = (options.ways ?? settings.exporters.map((exporter) => ways[exporter](options))).map(
    ({ batched, exporter }) => ({ batched, ...counted(exporter, reports) })
  )
  const replay = Replay.make()
  const sdk = new NodeSDK({
    resource: defaultResource().merge(resourceFromAttributes({ ...options.resource })),
    // The process detector would report Node instead of Bun, and export the command line.
    ...((environment.OTEL_NODE_RESOURCE_DETECTORS ?? "") === "" && { resourceDetectors: [envDetector] }),
    // The decision to export was made before, and the IDs must stay.
    sampler: new AlwaysOnSampler(),
    idGenerator: replay.ids,
    spanProcessors: chosen.map(
      ({ batched, counting }): SpanProcessor =>
        batched
          ? new BatchSpanProcessor({ ...settings.batch, exporter: counting })
          : new SimpleSpanProcessor({ exporter: counting })
    ),
    // Traces only: Prometheus scrapes metrics, and logs go to standard error.
    metricReaders: [],
    logRecordProcessors: [],
    textMapPropagator: null
  })
  sdk.start()
  const tracer = trace.getTracer("@homeostat/observability")
  const inFlight = (): number => Math.max(0, ...chosen.map((way) => way.inFlight()))
  return {
    room: () => settings.batch.maxQueueSize - inFlight(),
    inFlight,
    write: (recording) => {
      let handed = 0
      try {
        replay.play(recording, tracer, () => {
          handed++
          for (const way of chosen) way.took()
        })
      } catch (error) {
        reports.failed(recording.spans.length - handed, error instanceof Error ? error : new Error(String(error)))
      }
    },
    shutdown: () => {
      // A process may open another pipeline, and the SDK warns about a second registration.
      for (const api of [trace, context, logs]) api.disable()
      return sdk.shutdown()
    }
  }
}
