/**
 * OpenTelemetry's SDK, as far as it is used: to send spans that are recorded already.
 *
 * To be loaded where traces are exported and only there: it takes longer to load than all the rest of a program.
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
import * as Replay from "./Replay.ts"
import type { Environment, Exporter, Protocol, TraceSettings } from "./TraceSettings.ts"

/** What is told of the spans' way. */
export interface Told {
  /** So many spans have arrived. */
  readonly exported: (spans: number) => void
  /** So many are lost on the way. */
  readonly failed: (spans: number, error: Error | undefined) => void
  /** What the SDK warns of. */
  readonly warned: (message: string) => void
}

/** The way out of the process. */
export interface Pipeline {
  /** How many more spans it takes. */
  readonly room: () => number
  /** How many spans were taken and have not arrived. */
  readonly inFlight: () => number
  /** Takes a recording, for which there is room. Spans that can't be told are lost, and told of as failed. */
  readonly write: (recording: Recording) => void
  /** Sends what is left, as long as that takes, and takes no more. */
  readonly shutdown: () => Promise<void>
}

/** A way for spans to leave: what takes them, and whether they wait for each other. */
export interface Way {
  readonly exporter: SpanExporter
  readonly batched: boolean
}

/** Bun's bundler finds gRPC only in the CommonJS form of this package, whose load is also left out unless it is used. */
const grpcExporter = (): SpanExporter => {
  const {
    OTLPTraceExporter
  }: typeof import("@opentelemetry/exporter-trace-otlp-grpc") = require("@opentelemetry/exporter-trace-otlp-grpc")
  return new OTLPTraceExporter()
}

const otlp: { readonly [protocol in Protocol]: () => SpanExporter } = {
  "http/protobuf": () => new ProtobufExporter(),
  "http/json": () => new JsonExporter(),
  grpc: grpcExporter
}

const ways: { readonly [exporter in Exporter]: (settings: TraceSettings) => Way } = {
  otlp: ({ protocol }) => ({ exporter: otlp[protocol](), batched: true }),
  console: () => ({ exporter: new ConsoleSpanExporter(), batched: false })
}

/** The exporter, and how many spans it has in hand. */
const counted = (exporter: SpanExporter, told: Told) => {
  let inFlight = 0
  const counting: SpanExporter = {
    export: (spans, done) => {
      let isDone = false
      const settle = (result: ExportResult): void => {
        if (isDone) return
        isDone = true
        inFlight -= spans.length
        if (result.code === ExportResultCode.SUCCESS) told.exported(spans.length)
        else told.failed(spans.length, result.error)
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

/** One line of what the SDK says: an error comes as JSON with its stack. */
const lineOf = (message: string): string => {
  try {
    const parsed: unknown = JSON.parse(message)
    if (typeof parsed === "object" && parsed !== null && "message" in parsed) return String(parsed.message)
  } catch {
    // Not JSON.
  }
  return message.split("\n", 1)[0] ?? ""
}

const loggerTo = (told: Told): DiagLogger => {
  const warn = (message: string): void => told.warned(lineOf(message))
  const nothing = (): void => {}
  return { error: warn, warn, info: nothing, debug: nothing, verbose: nothing }
}

/** Opens the way that the settings describe, or those that are given instead. */
export const open = (options: {
  readonly settings: TraceSettings
  readonly environment: Environment
  readonly resource: Readonly<Record<string, string>>
  readonly told: Told
  readonly ways?: ReadonlyArray<Way> | undefined
}): Pipeline => {
  const { environment, settings, told } = options
  // The SDK's exporters name no choice of their own, so Bun would take this one.
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED === "0") process.env.NODE_TLS_REJECT_UNAUTHORIZED = "1"
  // Who asks for OpenTelemetry's own log gets it, at whatever length.
  if ((environment.OTEL_LOG_LEVEL ?? "") === "") {
    diag.setLogger(loggerTo(told), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  }
  const chosen = (options.ways ?? settings.exporters.map((exporter) => ways[exporter](settings))).map(
    ({ batched, exporter }) => ({ batched, ...counted(exporter, told) })
  )
  const replay = Replay.make()
  const sdk = new NodeSDK({
    resource: defaultResource().merge(resourceFromAttributes({ ...options.resource })),
    // Of the others, the one for processes takes Bun for Node and tells the command line to everybody.
    ...((environment.OTEL_NODE_RESOURCE_DETECTORS ?? "") === "" && { resourceDetectors: [envDetector] }),
    // What is played is decided already, and is to keep its ids.
    sampler: new AlwaysOnSampler(),
    idGenerator: replay.ids,
    spanProcessors: chosen.map(
      ({ batched, counting }): SpanProcessor =>
        batched
          ? new BatchSpanProcessor({ ...settings.batch, exporter: counting })
          : new SimpleSpanProcessor({ exporter: counting })
    ),
    // Traces only: metrics are read from us, and logs go to standard error.
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
        told.failed(recording.spans.length - handed, error instanceof Error ? error : new Error(String(error)))
      }
    },
    shutdown: () => {
      // A process may open another pipeline, and the SDK warns about a second registration.
      for (const api of [trace, context, logs]) api.disable()
      return sdk.shutdown()
    }
  }
}
