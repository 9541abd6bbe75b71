import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as TraceSettings from "./TraceSettings.ts"

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }

const parse = (environment: TraceSettings.Environment) => TraceSettings.parse(environment)

const defaults: TraceSettings.TraceSettings = {
  exporters: ["otlp"],
  protocol: "http/protobuf",
  ratio: 0,
  parentBased: true,
  batch: TraceSettings.defaultBatch
}

describe("Traces are exported", () => {
  const cases: ReadonlyArray<readonly [string, TraceSettings.Environment, Partial<TraceSettings.TraceSettings>]> = [
    ["to the endpoint", endpoint, {}],
    ["to the endpoint for traces", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://c/v1/traces" }, {}],
    ["to the named exporter", { OTEL_TRACES_EXPORTER: "otlp" }, {}],
    ["to several exporters", { OTEL_TRACES_EXPORTER: "otlp, console,otlp" }, { exporters: ["otlp", "console"] }],
    ["as JSON", { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" }, { protocol: "http/json" }],
    [
      "with the protocol for traces, which overrides the general one",
      { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "grpc" },
      { protocol: "grpc" }
    ],
    [
      "with gRPC to a host and port",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      { protocol: "grpc" }
    ],
    ["with a ratio of the quiet traces", { ...endpoint, OTEL_TRACES_SAMPLER_ARG: "0.25" }, { ratio: 0.25 }],
    [
      "without exception with always_on",
      { ...endpoint, OTEL_TRACES_SAMPLER: "always_on", OTEL_TRACES_SAMPLER_ARG: "0.1" },
      { ratio: 1, parentBased: false }
    ],
    [
      "without exception with traceidratio and no ratio",
      { ...endpoint, OTEL_TRACES_SAMPLER: "traceidratio" },
      { ratio: 1, parentBased: false }
    ],
    [
      "with the ratio of a sampler",
      { ...endpoint, OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" },
      { ratio: 0 }
    ],
    [
      "without exception with a sampler without a ratio",
      { ...endpoint, OTEL_TRACES_SAMPLER: "parentbased_traceidratio" },
      { ratio: 1 }
    ],
    [
      "without exception with parentbased_always_on",
      { ...endpoint, OTEL_TRACES_SAMPLER: "parentbased_always_on" },
      { ratio: 1 }
    ],
    [
      "in batches that fit into a smaller queue",
      { ...endpoint, OTEL_BSP_MAX_QUEUE_SIZE: "100" },
      { batch: { ...TraceSettings.defaultBatch, maxQueueSize: 100, maxExportBatchSize: 100 } }
    ],
    [
      "with the batch settings",
      {
        ...endpoint,
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "7",
        OTEL_BSP_SCHEDULE_DELAY: "8",
        OTEL_BSP_EXPORT_TIMEOUT: "9"
      },
      {
        batch: {
          ...TraceSettings.defaultBatch,
          maxExportBatchSize: 7,
          scheduledDelayMillis: 8,
          exportTimeoutMillis: 9
        }
      }
    ],
    ["with the defaults for empty variables", { ...endpoint, OTEL_TRACES_EXPORTER: "", OTEL_TRACES_SAMPLER: " " }, {}]
  ]
  for (const [name, environment, settings] of cases) {
    test(name, () => expect(parse(environment)).toEqual(Result.succeed({ ...defaults, ...settings })))
  }
})

describe("Tracing is off", () => {
  const cases: Readonly<Record<string, TraceSettings.Environment>> = {
    "without any variable": {},
    "with only other variables": { OTEL_SERVICE_NAME: "x", OTEL_TRACES_SAMPLER: "always_on" },
    "with the exporter none": { ...endpoint, OTEL_TRACES_EXPORTER: "none" },
    "with OTEL_SDK_DISABLED": { ...endpoint, OTEL_SDK_DISABLED: "True" },
    "with the sampler always_off": { ...endpoint, OTEL_TRACES_SAMPLER: "always_off" },
    "with the sampler parentbased_always_off": { ...endpoint, OTEL_TRACES_SAMPLER: "parentbased_always_off" }
  }
  for (const [name, environment] of Object.entries(cases)) {
    test(name, () => expect(parse(environment)).toEqual(Result.succeed(undefined)))
  }
})

describe("An invalid setting is rejected with the accepted values:", () => {
  const cases: ReadonlyArray<readonly [TraceSettings.Environment, string]> = [
    [
      { OTEL_TRACES_EXPORTER: "zipkin" },
      'invalid value of OTEL_TRACES_EXPORTER: "zipkin" (must be one of otlp, console, none)'
    ],
    [
      { OTEL_TRACES_EXPORTER: "otlp,none" },
      'invalid value of OTEL_TRACES_EXPORTER: "none" (must be the only exporter)'
    ],
    [
      { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "http" },
      'invalid value of OTEL_EXPORTER_OTLP_PROTOCOL: "http" (must be one of http/protobuf, http/json, grpc)'
    ],
    [
      { ...endpoint, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "thrift" },
      'invalid value of OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "thrift" (must be one of http/protobuf, http/json, grpc)'
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
      'invalid value of OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" (must be a URL such as http://collector:4318)'
    ],
    [
      { ...endpoint, OTEL_TRACES_SAMPLER: "jaeger_remote" },
      'invalid value of OTEL_TRACES_SAMPLER: "jaeger_remote" (must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio)'
    ],
    [
      { ...endpoint, OTEL_TRACES_SAMPLER: "toString" },
      'invalid value of OTEL_TRACES_SAMPLER: "toString" (must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio)'
    ],
    [
      { ...endpoint, OTEL_TRACES_SAMPLER_ARG: "5%" },
      'invalid value of OTEL_TRACES_SAMPLER_ARG: "5%" (must be a number from 0 to 1)'
    ],
    [
      { ...endpoint, OTEL_TRACES_SAMPLER_ARG: "1.5" },
      'invalid value of OTEL_TRACES_SAMPLER_ARG: "1.5" (must be a number from 0 to 1)'
    ],
    [
      { ...endpoint, OTEL_BSP_MAX_QUEUE_SIZE: "0" },
      'invalid value of OTEL_BSP_MAX_QUEUE_SIZE: "0" (must be a number above 0)'
    ],
    [
      { ...endpoint, OTEL_BSP_SCHEDULE_DELAY: "5s" },
      'invalid value of OTEL_BSP_SCHEDULE_DELAY: "5s" (must be a number above 0)'
    ]
  ]
  for (const [environment, message] of cases) {
    test(message, () => expect(parse(environment)).toEqual(Result.fail(message)))
  }
})

test("TraceSettings.destinationOf returns the hosts of the exporters without credentials", () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://user:secret@collector:4318/otlp?token=secret" }
  expect(TraceSettings.destinationOf({ ...defaults, exporters: ["otlp", "console"] }, environment)).toBe(
    "collector:4318 (OTLP, http/protobuf) and standard output"
  )
  expect(TraceSettings.destinationOf(defaults, {})).toBe("localhost (OTLP, http/protobuf)")
  const bare = { OTEL_EXPORTER_OTLP_ENDPOINT: "me:hunter2@collector:4318" }
  expect(TraceSettings.destinationOf(defaults, bare)).toBe("collector:4318 (OTLP, http/protobuf)")
})
