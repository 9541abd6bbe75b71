/** The compiled program with a collector that fails. */
import { describe, expect } from "bun:test"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Endpoint from "../binary/Endpoint.ts"
import type * as Running from "../binary/Running.ts"
import { definitions } from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"
import * as Collector from "./Collector.ts"
import * as Exporting from "./Exporting.ts"

/** The number of warnings of the program about spans that did not arrive. */
const complaints = (program: Running.Running): number =>
  program.stderr().match(/Could not export spans|Traces are dropped|OpenTelemetry:/g)?.length ?? 0

describe("While a collector is killed, hangs or rejects requests,", () => {
  Shared.real(
    "all WebApps are reconciled, lost spans are counted, and the log has a line a minute about them",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("collector")
        const collector = yield* Collector.start()
        const program = yield* Exporting.start(cluster, namespace, collector)
        const startedAt = performance.now()
        const names = Array.from({ length: 20 }, (_, index) => `app-${index}`)
        yield* Effect.forEach(names, (name) => Exporting.create(namespace, name), { concurrency: 8, discard: true })
        const place = { namespace, names, program, collector }
        yield* Exporting.change(place, "healthy:1")
        const counts = Exporting.counts(place)
        const { exported, lost } = yield* Managed.eventually("the export", counts, ({ exported }) => exported > 0)
        expect(lost).toBe(0)
        for (const mode of Exporting.sick) {
          const { lost } = yield* counts
          yield* collector.become(mode)
          yield* Exporting.change(place, `${mode}:1`)
          yield* Managed.eventually(`the loss while it is ${mode}`, counts, (after) => after.lost > lost)
        }
        yield* collector.become("healthy")
        yield* Exporting.change(place, "healthy:2")
        yield* Managed.eventually("the next export", counts, (after) => after.exported > exported)
        const minutes = (performance.now() - startedAt) / 60_000
        expect(complaints(program)).toBeGreaterThan(0)
        expect(complaints(program)).toBeLessThanOrEqual(1 + minutes)
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client)))
  )

  for (const mode of Exporting.sick) {
    Shared.real(`SIGTERM ends the program in time: ${mode}`, (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("collector")
        const collector = yield* Collector.start()
        yield* collector.become(mode)
        const program = yield* Exporting.start(cluster, namespace, collector, {
          // Longer than the test waits for the end of the program.
          OTEL_EXPORTER_OTLP_TIMEOUT: "60000"
        })
        yield* Exporting.create(namespace, "shop")
        yield* Managed.eventually(
          "the reconcile",
          Endpoint.metric(program, "homeostat_traces_total", "wrote"),
          (wrote) => wrote > 0
        )
        yield* program.signal("SIGTERM")
        // Much shorter than the timeout of an export.
        const end = yield* program.ended("20 seconds")
        expect(end.code).toBe(0)
        expect(end.stderr).toContain("Ends without having exported all spans")
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client)))
    )
  }
})
