/** The compiled program while whoever takes its traces is not well. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Endpoint from "../binary/Endpoint.ts"
import * as Running from "../binary/Running.ts"
import { definitions } from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"
import * as Collector from "./Collector.ts"

const homeostat = (
  cluster: ControlPlane,
  namespace: string,
  collector: Collector.Collector,
  environment: Running.Environment = {}
) =>
  Binary.start(["run", `--kubeconfig=${cluster.admin.kubeconfigPath}`, `--namespace=${namespace}`, "--workers=8"], {
    ...Binary.probed(cluster.directory),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    // Shorter than by default, so that it all happens within a test: sent ten times a second, waited for a second.
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
    OTEL_BSP_MAX_QUEUE_SIZE: "512",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "256",
    ...environment
  })

const create = (namespace: string, name: string) =>
  Client.create(WebApp, { metadata: { namespace, name }, spec: { image: "registry.test/web:0", replicas: 1 } })

const sick = ["killed", "hanging", "refusing"] as const

/** What the program says of spans that do not arrive. */
const complaints = (program: Running.Running): number =>
  program.stderr().match(/Could not export spans|Traces are dropped|OpenTelemetry:/g)?.length ?? 0

describe("While a collector is killed, hangs or refuses", () => {
  Shared.real(
    "a reconcile costs no more than with a healthy one, memory stays, and what is lost is counted and hardly spoken of",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("collector")
        const collector = yield* Collector.start()
        const program = yield* homeostat(cluster, namespace, collector)
        const startedAt = performance.now()
        const names = Array.from({ length: 100 }, (_, index) => `app-${index}`)
        yield* Effect.forEach(names, (name) => create(namespace, name), { concurrency: 8, discard: true })
        const counts = Effect.all({
          cpu: Endpoint.metric(program, "process_cpu_seconds_total"),
          reconciles: Endpoint.metric(program, "controller_runtime_reconcile_total"),
          exported: Endpoint.metric(program, "homeostat_spans_exported_total"),
          lost: Endpoint.metric(program, "homeostat_spans_dropped_total")
        })

        /** Changes every WebApp, waits until all is done, and says what that cost. */
        const change = (mode: Collector.Mode, round: number) =>
          Effect.gen(function* () {
            yield* collector.become(mode)
            // What is on its way has arrived by then, or was given up.
            yield* Effect.sleep("1500 millis")
            const before = yield* counts
            yield* Effect.forEach(
              names,
              (name) =>
                Client.patch(
                  WebApp,
                  { namespace, name },
                  Patch.merge({ spec: { image: `registry.test/${mode}:${round}` } })
                ),
              { concurrency: 8, discard: true }
            )
            yield* Managed.eventually(
              "the changes",
              Client.list(WebApp, { namespace }),
              ({ items }) => items.every(({ metadata, status }) => status?.observedGeneration === metadata.generation),
              "90 seconds"
            )
            const { reconciles } = yield* Effect.retry(
              Managed.stays(
                "the reconciles",
                Effect.map(counts, ({ reconciles }) => ({ reconciles })),
                "500 millis"
              ),
              { times: 50 }
            )
            const after = yield* counts
            return {
              mode,
              cost: (after.cpu - before.cpu) / (reconciles - before.reconciles),
              exported: after.exported - before.exported,
              lost: after.lost - before.lost,
              resident: yield* Running.residentMiB(program.pid)
            }
          })

        // Until everything is compiled that is used often.
        for (let round = 0; round < 3; round++) yield* change("healthy", -round)
        const seen: Array<Effect.Effect.Success<ReturnType<typeof change>>> = []
        const of = (mode: Collector.Mode) => seen.filter((one) => one.mode === mode)
        // Others on the machine make it dearer and never cheaper: the cheapest of many rounds is what it costs.
        const cost = (mode: Collector.Mode) => Math.min(...of(mode).map(({ cost }) => cost))
        const isDear = (mode: Collector.Mode) => cost(mode) / cost("healthy") >= 1.1
        for (let round = 1; round <= 3 || (round <= 10 && sick.some(isDear)); round++) {
          for (const mode of ["healthy", ...sick] as const) seen.push(yield* change(mode, round))
        }
        const costs = (["healthy", ...sick] as const).map((mode) => `${mode} ${(cost(mode) * 1000).toFixed(2)}`)
        process.stdout.write(`  CPU per reconcile in ms: ${costs.join(", ")}\n`)
        for (const mode of sick) {
          expect([mode, isDear(mode)]).toEqual([mode, false])
          for (const { lost } of of(mode)) expect(lost).toBeGreaterThan(0)
        }
        for (const { exported, lost } of of("healthy")) expect([exported > 0, lost]).toEqual([true, 0])
        const sizes = seen.map(({ resident }) => resident)
        process.stdout.write(`  Resident: ${sizes.map((size) => size.toFixed()).join(", ")} MiB\n`)
        expect(Math.min(...sizes.slice(-4)) - Math.min(...sizes.slice(0, 4))).toBeLessThan(32)
        const minutes = (performance.now() - startedAt) / 60_000
        expect(complaints(program)).toBeGreaterThan(0)
        expect(complaints(program)).toBeLessThanOrEqual(1 + minutes)
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
    { timeoutMillis: 400_000 }
  )

  for (const mode of sick) {
    Shared.real(`SIGTERM ends the program in time: ${mode}`, (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("collector")
        const collector = yield* Collector.start()
        yield* collector.become(mode)
        const program = yield* homeostat(cluster, namespace, collector, {
          // Longer than anybody would wait for the end.
          OTEL_EXPORTER_OTLP_TIMEOUT: "60000"
        })
        yield* create(namespace, "shop")
        yield* Managed.eventually(
          "the reconcile",
          Endpoint.metric(program, "homeostat_traces_total", "wrote"),
          (wrote) => wrote > 0
        )
        const startedAt = performance.now()
        yield* program.signal("SIGTERM")
        const end = yield* program.ended("10 seconds")
        // Half a second for the spans, and what the rest takes on a machine that is busy.
        expect(performance.now() - startedAt).toBeLessThan(500 + 2000)
        expect(end.code).toBe(0)
        expect(end.stderr).toContain("Ends without having exported all spans")
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client)))
    )
  }
})
