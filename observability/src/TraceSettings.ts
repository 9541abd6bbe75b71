/**
 * What the environment says about traces, in OpenTelemetry's words (`OTEL_…`).
 *
 * Read here is what decides whether traces are made and where they go, and refused what makes no sense, because a program that
 * traces to nowhere says so too late otherwise. Everything else that OpenTelemetry knows (`OTEL_EXPORTER_OTLP_…`, `OTEL_BSP_…`,
 * `OTEL_SPAN_…_LIMIT`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_SERVICE_NAME`, `OTEL_NODE_RESOURCE_DETECTORS`, `OTEL_LOG_LEVEL`) is read
 * by its SDK and means what it means anywhere.
 *
 * Tracing is off unless somebody says where traces shall go: by `OTEL_TRACES_EXPORTER`, `OTEL_EXPORTER_OTLP_ENDPOINT` or
 * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`. (The SDK's own default is a collector on this host, which in a pod is nobody.) Off as well:
 * `OTEL_SDK_DISABLED=true`, `OTEL_TRACES_EXPORTER=none`, `OTEL_TRACES_SAMPLER=always_off`.
 */
import * as Either from "effect/Either"

/** The environment of a process. */
export type Environment = { readonly [name: string]: string | undefined }

/** How spans are sent by OTLP. */
export type Protocol = (typeof protocols)[number]

const protocols = ["http/protobuf", "http/json", "grpc"] as const

/** Where spans go. */
export type Exporter = (typeof exporters)[number]

const exporters = ["otlp", "console"] as const

/** What was asked for. */
export interface TraceSettings {
  /** At least one, each once. */
  readonly exporters: ReadonlyArray<Exporter>
  readonly protocol: Protocol
  /** Of traces that nothing speaks for, this share is sent: 0 to 1. */
  readonly ratio: number
  /** Most spans that wait to be sent or are on their way. */
  readonly capacity: number
}

/** OpenTelemetry's default for `OTEL_BSP_MAX_QUEUE_SIZE`. */
export const defaultCapacity = 2048

const isOneOf = <A extends string>(words: ReadonlyArray<A>, word: string): word is A =>
  words.some((known) => known === word)

/** Which values a sampler's variable may have, and the share of each; `off`: no tracing, `arg`: as the argument says. */
const samplers: { readonly [name: string]: "off" | "arg" | 1 } = {
  always_on: 1,
  always_off: "off",
  traceidratio: "arg",
  parentbased_always_on: 1,
  parentbased_always_off: "off",
  parentbased_traceidratio: "arg"
}

/** What is set, and to something: OpenTelemetry takes an empty variable for one that is not set. */
const settingOf = (environment: Environment, name: string): string | undefined => {
  const value = environment[name]?.trim()
  return value === "" ? undefined : value
}

/** The first of these variables that is set. */
const firstOf = (environment: Environment, names: ReadonlyArray<string>): readonly [string, string] | undefined => {
  for (const name of names) {
    const value = settingOf(environment, name)
    if (value !== undefined) return [name, value]
  }
  return undefined
}

const endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const

/** Variables that hold a number above 0. */
const counts = [
  "OTEL_BSP_MAX_QUEUE_SIZE",
  "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
  "OTEL_BSP_SCHEDULE_DELAY",
  "OTEL_BSP_EXPORT_TIMEOUT"
] as const

/** Reads the settings; `undefined` where tracing is off. The refusal is one line that names the variable and what it may be. */
export const parse = (environment: Environment): Either.Either<TraceSettings | undefined, string> =>
  Either.gen(function* () {
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
        return yield* Either.left(
          word === "none"
            ? "OTEL_TRACES_EXPORTER: none stands alone"
            : `OTEL_TRACES_EXPORTER: "${word}" is none of ${exporters.join(", ")}, none`
        )
      }
      chosen.push(word)
    }
    if (chosen.length === 0) return undefined

    const sampler = get("OTEL_TRACES_SAMPLER")
    const share = sampler === undefined ? undefined : Object.hasOwn(samplers, sampler) ? samplers[sampler] : "unknown"
    if (share === "unknown") {
      return yield* Either.left(`OTEL_TRACES_SAMPLER: "${sampler}" is none of ${Object.keys(samplers).join(", ")}`)
    }
    if (share === "off") return undefined
    const argument = get("OTEL_TRACES_SAMPLER_ARG")
    const ratio = argument === undefined ? undefined : Number(argument)
    if (ratio !== undefined && !(ratio >= 0 && ratio <= 1)) {
      return yield* Either.left(`OTEL_TRACES_SAMPLER_ARG: "${argument}" is no ratio: a number from 0 to 1`)
    }

    const protocol = firstOf(environment, ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"])
    const transport = protocol?.[1] ?? "http/protobuf"
    if (!isOneOf(protocols, transport)) {
      return yield* Either.left(`${protocol?.[0]}: "${transport}" is none of ${protocols.join(", ")}`)
    }
    // gRPC takes a bare host and port too.
    if (endpoint !== undefined && transport !== "grpc" && !/^https?:$/.test(URL.parse(endpoint[1])?.protocol ?? "")) {
      return yield* Either.left(`${endpoint[0]}: "${endpoint[1]}" is no URL: write it like http://collector:4318`)
    }
    for (const name of counts) {
      const value = get(name)
      if (value !== undefined && !(Number(value) > 0)) {
        return yield* Either.left(`${name}: "${value}" is no number above 0`)
      }
    }
    return {
      exporters: chosen,
      protocol: transport,
      // Nothing said: none of them. A sampler without an argument takes all, as everywhere.
      ratio: share === 1 ? 1 : (ratio ?? (share === "arg" ? 1 : 0)),
      capacity: Number(get("OTEL_BSP_MAX_QUEUE_SIZE") ?? defaultCapacity)
    }
  })

/** Where the spans go, for the log. Credentials that a URL may have are left out. */
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
