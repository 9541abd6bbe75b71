/** The real Jaeger with its storage in memory: its endpoints for spans, and its API for queries. */
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Port from "@homeostat/testkit/envtest/Port"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Data, Effect, type Scope } from "effect"

/** A tag of a span or of a span's event. */
interface Tag {
  readonly key: string
  readonly value: unknown
}

/** A span in the format of Jaeger's API. */
interface JaegerSpan {
  readonly traceID: string
  readonly spanID: string
  readonly operationName: string
  readonly references: ReadonlyArray<{
    readonly refType: "CHILD_OF" | "FOLLOWS_FROM"
    readonly traceID: string
    readonly spanID: string
  }>
  /** Microseconds since 1970. */
  readonly startTime: number
  /** Microseconds. */
  readonly duration: number
  readonly tags: ReadonlyArray<Tag>
  readonly logs: ReadonlyArray<{ readonly timestamp: number; readonly fields: ReadonlyArray<Tag> }>
}

/** A span with its tags by name. */
export interface Span extends Pick<JaegerSpan, "traceID" | "spanID" | "operationName" | "startTime" | "duration"> {
  readonly tags: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<Readonly<Record<string, unknown>>>
  /** The id of its parent; absent for the root. */
  readonly parent: string | undefined
  /** The trace and the span of each link. */
  readonly links: ReadonlyArray<{ readonly traceID: string; readonly spanID: string }>
}

/** A trace with its spans in the order of their start times. */
export interface Trace {
  readonly traceID: string
  readonly spans: ReadonlyArray<Span>
  /** The tags of the process that sent the trace. */
  readonly process: Readonly<Record<string, unknown>>
}

/** Jaeger does not respond, or responds with an unexpected body. */
export class Unanswered extends Data.TaggedError("Unanswered")<{ readonly message: string }> {}

/** A running Jaeger. */
export interface Jaeger {
  /** The endpoint of OTLP over HTTP. */
  readonly http: string
  /** The endpoint of OTLP over gRPC. */
  readonly grpc: string
  readonly process: Process.Process
  /** All traces of a service, newest first. */
  readonly traces: (service: string) => Effect.Effect<ReadonlyArray<Trace>, Unanswered>
}

const byKey = (tags: ReadonlyArray<Tag>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(tags.map(({ key, value }) => [key, value]))

const spanOf = ({ logs, references, tags, ...span }: JaegerSpan): Span => ({
  ...span,
  tags: byKey(tags),
  events: logs.map(({ fields }) => byKey(fields)),
  parent: references.find(({ refType }) => refType === "CHILD_OF")?.spanID,
  links: references.flatMap(({ refType, spanID, traceID }) => (refType === "FOLLOWS_FROM" ? [{ traceID, spanID }] : []))
})

interface Answer {
  readonly data: ReadonlyArray<{
    readonly traceID: string
    readonly spans: ReadonlyArray<JaegerSpan>
    readonly processes: Readonly<Record<string, { readonly serviceName: string; readonly tags: ReadonlyArray<Tag> }>>
  }> | null
}

const get = (url: string): Effect.Effect<Answer, Unanswered> =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(url, { headers: { connection: "close" } })
      if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
      // Jaeger's own format, which only this module reads.
      return (await response.json()) as Answer
    },
    catch: (error) => new Unanswered({ message: `Jaeger, ${url}: ${error}` })
  })

/** Starts Jaeger for the lifetime of the Scope. */
export const start: Effect.Effect<Jaeger, Assets.MissingAsset | Process.StartFailed, Scope.Scope> = Effect.gen(
  function* () {
    const executable = yield* Assets.find("jaeger-all-in-one")
    const directory = yield* Directory.make
    const [query, http, grpc] = [yield* Port.free, yield* Port.free, yield* Port.free]
    const unused = `${Port.host}:0`
    const traces = (service: string) =>
      Effect.map(get(`http://${Port.host}:${query}/api/traces?service=${service}&limit=5000`), ({ data }) =>
        (data ?? []).map(
          ({ processes, spans, traceID }): Trace => ({
            traceID,
            spans: spans.map(spanOf).toSorted((one, other) => one.startTime - other.startTime),
            process: byKey(Object.values(processes).flatMap(({ tags }) => tags))
          })
        )
      )
    const process = yield* Process.start({
      name: "jaeger",
      executable,
      args: [
        `--query.http-server.host-port=${Port.host}:${query}`,
        `--collector.otlp.http.host-port=${Port.host}:${http}`,
        `--collector.otlp.grpc.host-port=${Port.host}:${grpc}`,
        ...[
          "query.grpc-server.host-port",
          "collector.grpc-server.host-port",
          "collector.http-server.host-port",
          "admin.http.host-port",
          "http-server.host-port",
          "processor.jaeger-binary.server-host-port",
          "processor.jaeger-compact.server-host-port",
          "processor.zipkin-compact.server-host-port"
        ].map((flag) => `--${flag}=${unused}`)
      ],
      env: { PATH: globalThis.process.env.PATH, HOME: directory },
      log: join(directory, "jaeger.log"),
      ready: Effect.isSuccess(traces("none")),
      atEnd: "kill"
    })
    return { http: `http://${Port.host}:${http}`, grpc: `http://${Port.host}:${grpc}`, process, traces }
  }
)
