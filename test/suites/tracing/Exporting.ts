/** The compiled program reconciles WebApps with a healthy or a failing collector. Counts the costs of the export. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Endpoint from "../binary/Endpoint.ts"
import type * as Running from "../binary/Running.ts"
import * as Managed from "../Managed.ts"
import type * as Collector from "./Collector.ts"

/** Starts the program in a namespace with the collector as its endpoint. */
export const start = (
  cluster: ControlPlane,
  namespace: string,
  collector: Collector.Collector,
  environment: Running.Environment = {}
) =>
  Binary.start(["run", `--kubeconfig=${cluster.admin.kubeconfigPath}`, `--namespace=${namespace}`, "--workers=8"], {
    ...Binary.probed(cluster.directory),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    // Shorter than the defaults: the program exports ten times per second, with a timeout of one second.
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
    OTEL_BSP_MAX_QUEUE_SIZE: "512",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "256",
    ...environment
  })

/** Creates a WebApp. */
export const create = (namespace: string, name: string) =>
  Client.create(WebApp, { metadata: { namespace, name }, spec: { image: "registry.test/web:0", replicas: 1 } })

/** The failures of a collector. */
export const sick = ["killed", "hanging", "refusing"] as const satisfies ReadonlyArray<Collector.Mode>

/** A namespace with WebApps, the program that reconciles them, and its collector. */
export interface Place {
  readonly namespace: string
  readonly names: ReadonlyArray<string>
  readonly program: Running.Running
  readonly collector: Collector.Collector
}

/** The counters of the program: CPU seconds, reconciles, and exported and dropped spans. */
export const counts = ({ program }: Place) =>
  Effect.all({
    cpu: Endpoint.metric(program, "process_cpu_seconds_total"),
    reconciles: Endpoint.metric(program, "controller_runtime_reconcile_total"),
    exported: Endpoint.metric(program, "homeostat_spans_exported_total"),
    lost: Endpoint.metric(program, "homeostat_spans_dropped_total")
  })

/** Changes every WebApp, and waits until the program has reconciled all of them. */
export const change = ({ names, namespace }: Place, image: string) =>
  Effect.gen(function* () {
    yield* Effect.forEach(
      names,
      (name) => Client.patch(WebApp, { namespace, name }, Patch.merge({ spec: { image: `registry.test/${image}` } })),
      { concurrency: 8, discard: true }
    )
    yield* Managed.eventually(
      "the changes",
      Client.list(WebApp, { namespace }),
      ({ items }) => items.every(({ metadata, status }) => status?.observedGeneration === metadata.generation),
      "90 seconds"
    )
  })
