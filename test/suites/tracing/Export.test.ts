/** The environment and the command line of the program decide if it exports traces. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"

/** The modules that an import of this module loads. */
const loadedWith = async (module: string): Promise<ReadonlyArray<string>> => {
  const path = join(import.meta.dir, "../../..", module)
  const script = `await import(${JSON.stringify(path)}); console.log(Object.keys(require.cache).join("\\n"))`
  const child = Bun.spawn([process.execPath, "-e", script], { stdio: ["ignore", "pipe", "inherit"] })
  return (await new Response(child.stdout).text()).trim().split("\n")
}

test("A program loads OpenTelemetry only to export traces", async () => {
  const isOf = (path: string): boolean => path.includes("@opentelemetry")
  const all = await loadedWith("controllers/main.ts")
  expect(all.some((path) => path.endsWith("observability/src/Traces.ts"))).toBe(true)
  expect(all.filter(isOf)).toEqual([])
  expect((await loadedWith("observability/src/OpenTelemetry.ts")).some(isOf)).toBe(true)
})

describe("An invalid setting of traces causes exit code 2 and one line with its name:", () => {
  const cases: ReadonlyArray<readonly [object, ReadonlyArray<string>, string]> = [
    [
      { OTEL_TRACES_EXPORTER: "jaeger" },
      [],
      'invalid value of OTEL_TRACES_EXPORTER: "jaeger" (must be one of otlp, console, none)'
    ],
    [
      { OTEL_TRACES_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_PROTOCOL: "udp" },
      [],
      'invalid value of OTEL_EXPORTER_OTLP_PROTOCOL: "udp" (must be one of http/protobuf, http/json, grpc)'
    ],
    [
      { OTEL_TRACES_EXPORTER: "otlp", OTEL_TRACES_SAMPLER_ARG: "2" },
      [],
      'invalid value of OTEL_TRACES_SAMPLER_ARG: "2" (must be a number from 0 to 1)'
    ],
    [
      {},
      ["--trace-propagation=child"],
      '--trace-propagation: invalid value: "child" (must be one of off, link, parent)'
    ],
    [
      { HOMEOSTAT_TRACE_PROPAGATION: "child" },
      [],
      'HOMEOSTAT_TRACE_PROPAGATION: invalid value: "child" (must be one of off, link, parent)'
    ],
    [
      {},
      ["--trace-annotation=a/b/c"],
      '--trace-annotation: invalid annotation key: "a/b/c" (write it like tracing.k8s.io/traceparent)'
    ],
    [
      {},
      ["--trace-annotation=Example.com/key"],
      '--trace-annotation: invalid annotation key: "Example.com/key" (write it like tracing.k8s.io/traceparent)'
    ]
  ]
  for (const [environment, flags, message] of cases) {
    live(message, () =>
      Effect.gen(function* () {
        const plain = Binary.plain(yield* Directory.make)
        const end = yield* Binary.run(["run", ...flags], { ...plain, ...environment })
        expect(end).toMatchObject({ code: 2, stdout: "", stderr: `homeostat: ${message}\n` })
      })
    )
  }
})
