/**
 * The trace settings of the environment, by OpenTelemetry's names (`OTEL_…`).
 *
 * A program parses the variables that decide whether and where traces are exported, and how they are batched. A value that is not
 * accepted stops the program at start. OpenTelemetry's SDK reads all other variables (`OTEL_EXPORTER_OTLP_…`, `OTEL_SPAN_…_LIMIT`,
 * `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_SERVICE_NAME`, `OTEL_NODE_RESOURCE_DETECTORS`, `OTEL_LOG_LEVEL`).
 *
 * Tracing is on if `OTEL_TRACES_EXPORTER`, `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set. The SDK's
 * own default, a collector on localhost, does not exist in a pod. `OTEL_SDK_DISABLED=true`, `OTEL_TRACES_EXPORTER=none` and
 * `OTEL_TRACES_SAMPLER=always_off` turn tracing off.
 */
import * as Result from "effect/Result"
import * as Struct from "effect/Struct"

/** The environment of a process. */
export type Environment = { readonly [name: string]: string | undefined }

/** The OTLP protocol. */
export type Protocol = (typeof protocols)[number]

const protocols = ["http/protobuf", "http/json", "grpc"] as const

/** The exporters of spans. */
export type Exporter = (typeof exporters)[number]

const exporters = ["otlp", "console"] as const

/** The parsed settings. */
export interface TraceSettings {
  /** At least one, without duplicates. */
  readonly exporters: ReadonlyArray<Exporter>
  readonly protocol: Protocol
  /** The share of traces that are exported without another reason: 0 to 1. */
  readonly ratio: number
  /** Whether a request to a webhook is not exported if its caller does not sample its trace. */
  readonly parentBased: boolean
  /** The batching of spans. */
  readonly batch: Batch
}

/** The options of the SDK's BatchSpanProcessor. */
export interface Batch {
  /** The number of spans that may wait for the exporter or be in flight. */
  readonly maxQueueSize: number
  /** The number of spans in one request. */
  readonly maxExportBatchSize: number
  readonly scheduledDelayMillis: number
  readonly exportTimeoutMillis: number
}

/** The variable of each option. */
const batchVariables = {
  maxQueueSize: "OTEL_BSP_MAX_QUEUE_SIZE",
  maxExportBatchSize: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
  scheduledDelayMillis: "OTEL_BSP_SCHEDULE_DELAY",
  exportTimeoutMillis: "OTEL_BSP_EXPORT_TIMEOUT"
} as const satisfies { readonly [option in keyof Batch]: string }

/** OpenTelemetry's defaults. */
export const defaultBatch: Batch = {
  maxQueueSize: 2048,
  maxExportBatchSize: 512,
  scheduledDelayMillis: 5000,
  exportTimeoutMillis: 30_000
}

const isOneOf = <A extends string>(words: ReadonlyArray<A>, word: string): word is A =>
  words.some((known) => known === word)

/** The accepted samplers with their shares; `off`: no tracing, `arg`: the share is the argument. */
const samplers: { readonly [name: string]: "off" | "arg" | 1 } = {
  always_on: 1,
  always_off: "off",
  traceidratio: "arg",
  parentbased_always_on: 1,
  parentbased_always_off: "off",
  parentbased_traceidratio: "arg"
}

/** The value of a variable. OpenTelemetry treats an empty variable as unset. */
const settingOf = (environment: Environment, name: string): string | undefined => {
  const value = environment[name]?.trim()
  return value === "" ? undefined : value
}

/** The first of these variables with a value. */
const firstOf = (environment: Environment, names: ReadonlyArray<string>): readonly [string, string] | undefined => {
  for (const name of names) {
    const value = settingOf(environment, name)
    if (value !== undefined) return [name, value]
  }
  return undefined
}

const endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const

/** Parses the batch options. A batch is never larger than the queue. */
const batchOf = (environment: Environment): Result.Result<Batch, string> =>
  Result.gen(function* () {
    const parsed = { ...defaultBatch }
    for (const option of Struct.keys(batchVariables)) {
      const name = batchVariables[option]
      const value = settingOf(environment, name)
      if (value === undefined) continue
      if (!(Number(value) > 0)) {
        return yield* Result.fail(`invalid value of ${name}: "${value}" (must be a number above 0)`)
      }
      parsed[option] = Number(value)
    }
    return { ...parsed, maxExportBatchSize: Math.min(parsed.maxExportBatchSize, parsed.maxQueueSize) }
  })

/** Parses the settings: `undefined` if tracing is off, or one line that names the variable and the accepted values. */
export const parse = (environment: Environment): Result.Result<TraceSettings | undefined, string> =>
  Result.gen(function* () {
    const get = (name: string) => settingOf(environment, name)
    const named = get("OTEL_TRACES_EXPORTER")
    const endpoint = firstOf(environment, endpoints)
    if (get("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined
    if (named === undefined && endpoint === undefined) return undefined

    const words = [...new Set((named ?? "otlp").split(",").map((word) => word.trim()))].filter((word) => word !== "")
    if (words.length === 1 && words[0] === "none") return undefined
    const chosen: Array<Exporter> = []
    for (const word of words) {
      if (!isOneOf(exporters, word)) {
        return yield* Result.fail(
          word === "none"
            ? 'invalid value of OTEL_TRACES_EXPORTER: "none" (must be the only exporter)'
            : `invalid value of OTEL_TRACES_EXPORTER: "${word}" (must be one of ${exporters.join(", ")}, none)`
        )
      }
      chosen.push(word)
    }
    if (chosen.length === 0) return undefined

    const sampler = get("OTEL_TRACES_SAMPLER")
    const share = sampler === undefined ? undefined : Object.hasOwn(samplers, sampler) ? samplers[sampler] : "unknown"
    if (share === "unknown") {
      return yield* Result.fail(
        `invalid value of OTEL_TRACES_SAMPLER: "${sampler}" (must be one of ${Object.keys(samplers).join(", ")})`
      )
    }
    if (share === "off") return undefined
    const argument = get("OTEL_TRACES_SAMPLER_ARG")
    const ratio = argument === undefined ? undefined : Number(argument)
    if (ratio !== undefined && !(ratio >= 0 && ratio <= 1)) {
      return yield* Result.fail(
        `invalid value of OTEL_TRACES_SAMPLER_ARG: "${argument}" (must be a number from 0 to 1)`
      )
    }

    const protocol = firstOf(environment, ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"])
    const transport = protocol?.[1] ?? "http/protobuf"
    if (!isOneOf(protocols, transport)) {
      return yield* Result.fail(
        `invalid value of ${protocol?.[0]}: "${transport}" (must be one of ${protocols.join(", ")})`
      )
    }
    // gRPC also accepts a host and port without a scheme.
    if (endpoint !== undefined && transport !== "grpc" && !/^https?:$/.test(URL.parse(endpoint[1])?.protocol ?? "")) {
      return yield* Result.fail(
        `invalid value of ${endpoint[0]}: "${endpoint[1]}" (must be a URL such as http://collector:4318)`
      )
    }
    return {
      exporters: chosen,
      protocol: transport,
      // Without a sampler, such traces are not exported. A sampler without an argument exports all, as OpenTelemetry defines it.
      parentBased: sampler === undefined || sampler.startsWith("parentbased_"),
      ratio: share === 1 ? 1 : (ratio ?? (share === "arg" ? 1 : 0)),
      batch: yield* batchOf(environment)
    }
  })

/** The destination of the spans, for the log. Omits credentials in URLs. */
export const destinationOf = (
  { exporters, protocol }: Pick<TraceSettings, "exporters" | "protocol">,
  environment: Environment
): string =>
  exporters
    .map((exporter) => {
      if (exporter === "console") return "standard output"
      const endpoint = firstOf(environment, endpoints)?.[1]
      const url = endpoint === undefined ? undefined : URL.parse(endpoint)
      return `${url?.host || endpoint?.replace(/^.*@/s, "") || "localhost"} (OTLP, ${protocol})`
    })
    .join(" and ")
