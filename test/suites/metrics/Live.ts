/** The binary on a real control plane: it leads, exports traces and reconciles a WebApp. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, type Scope } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Endpoint from "../binary/Endpoint.ts"
import * as Scene from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"

export interface Pages {
  /** Pages in the text format, some seconds apart. */
  readonly first: string
  readonly second: string
  /** A page in OpenMetrics. */
  readonly open: string
}

/** Starts a collector of traces, and returns its URL. */
const collector: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })),
  (server) => Effect.promise(() => server.stop(true))
).pipe(Effect.map(({ url }) => url.origin))

/** The Accept header of Prometheus 3, which prefers protobuf. */
const accept =
  "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"

/** Runs the binary on the namespace until its pages have all metrics. */
export const pages = (cluster: ControlPlane, namespace: string) =>
  Effect.gen(function* () {
    const program = yield* Binary.start(
      [
        ...["run", "--kubeconfig", cluster.admin.kubeconfigPath, "--namespace", namespace],
        ...[
          "--leader-elect",
          "--leader-elect-resource-namespace",
          namespace,
          "--leader-elect-resource-name",
          "homeostat"
        ]
      ],
      {
        ...Binary.probed(cluster.directory),
        OTEL_TRACES_EXPORTER: "otlp",
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
        OTEL_EXPORTER_OTLP_ENDPOINT: yield* collector
      }
    )
    const page = Effect.map(Endpoint.get(program, "/metrics"), ({ body }) => body)
    const open = Effect.map(Endpoint.get(program, "/metrics", { accept }), ({ body }) => body)
    const leads = (page: string) => /^leader_election_master_status\{.*\} 1$/m.test(page)
    yield* Managed.eventually("leadership", page, leads)
    yield* Scene.createApp(namespace, "shop")
    // A value of this histogram shows that the cache has the write of a reconcile.
    const seen = (page: string) => /^homeostat_freshness_seen_seconds_count\{controller="webapp"\} [1-9]/m.test(page)
    const first = yield* Managed.eventually("a seen write", page, seen)
    yield* Client.patch(WebApp, { namespace, name: "shop" }, Patch.merge({ spec: { image: "registry.test/web:2" } }))
    const traced = (page: string) =>
      ["controller_runtime_reconcile_time", "homeostat_freshness_finished", "homeostat_freshness_seen"].every((name) =>
        new RegExp(`^${name}_seconds_bucket\\{controller="webapp",.*\\} \\d+ # \\{trace_id=`, "m").test(page)
      )
    const last = yield* Managed.eventually("buckets with traces", open, traced)
    return { first, second: yield* page, open: last } satisfies Pages
  })
