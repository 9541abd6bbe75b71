/** Traces of the compiled program, as the real Jaeger shows them. */
import { describe, expect } from "bun:test"
import { readFile } from "node:fs/promises"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Event, Lease } from "@homeostat/runtime/resource/BuiltIn"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import * as SpanName from "@homeostat/runtime/telemetry/SpanName"
import * as Tracing from "@homeostat/runtime/telemetry/Tracing"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Endpoint from "../binary/Endpoint.ts"
import type * as Running from "../binary/Running.ts"
import { definitions } from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"
import * as Collector from "./Collector.ts"
import * as Jaeger from "./Jaeger.ts"

/** Starts the program in a namespace. It sends its spans as soon as they exist. */
const homeostat = (
  cluster: ControlPlane,
  namespace: string,
  environment: Running.Environment,
  flags: ReadonlyArray<string> = []
) =>
  Binary.start(
    [
      "run",
      `--kubeconfig=${cluster.admin.kubeconfigPath}`,
      `--namespace=${namespace}`,
      "--workers=32",
      "--log-level=debug",
      ...flags
    ],
    { ...Binary.probed(cluster.directory), OTEL_BSP_SCHEDULE_DELAY: "100", ...environment }
  )

const create = (namespace: string, name: string) =>
  Client.create(WebApp, { metadata: { namespace, name }, spec: { image: "registry.test/web:1", replicas: 1 } })

const imageOf = (namespace: string, name: string) =>
  Effect.map(
    Client.get(Deployment, { namespace, name }),
    ({ spec }) => spec?.template.spec?.containers[0]?.image ?? "none"
  )

const deploymentPatch = SpanName.request("PATCH", "/apis/apps/v1/namespaces/{ns}/deployments/{name}")
const statusPatch = SpanName.request("PATCH", "/apis/apps.kubedojo.io/v1beta1/namespaces/{ns}/webapps/{name}/status")

/** The only span of a trace with this name. Throws if there is not exactly one. */
const spanOf = (trace: Jaeger.Trace, name: string): Jaeger.Span => {
  const [span, ...more] = trace.spans.filter(({ operationName }) => operationName === name)
  if (span === undefined || more.length > 0) throw new Error(`not one ${name} in ${JSON.stringify(trace.spans)}`)
  return span
}

/** The entries of the audit log by the ids of the requests. */
const auditOf = (cluster: ControlPlane) =>
  Effect.map(
    Effect.promise(() => readFile(cluster.auditLogPath ?? "", "utf8")),
    (text) =>
      new Map(
        text
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line))
          .map((entry) => [entry.auditID, entry])
      )
  )

describe("A trace in Jaeger", () => {
  Shared.real(
    "shows the consequences of a change of a WebApp, and is linked from the Event, the log and the audit log",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("tracing")
        const jaeger = yield* Jaeger.start
        const program = yield* homeostat(cluster, namespace, {
          OTEL_EXPORTER_OTLP_ENDPOINT: jaeger.http,
          POD_NAME: "homeostat-0",
          POD_NAMESPACE: "system"
        })
        const about = { namespace, name: "shop" }
        yield* create(namespace, "shop")
        const image = imageOf(namespace, "shop")
        yield* Managed.eventually("the Deployment", image, (image) => image === "registry.test/web:1")
        yield* Client.patch(WebApp, about, Patch.merge({ spec: { image: "registry.test/web:2" } }))
        yield* Managed.eventually("the new image", image, (image) => image === "registry.test/web:2")

        const isOfChange = ({ spans }: Jaeger.Trace): boolean =>
          spans.some(
            ({ operationName, tags }) => operationName === deploymentPatch && tags[Attribute.httpStatus] === 200
          )
        const found = yield* Managed.eventually("the trace", jaeger.traces("homeostat"), (traces) =>
          traces.some(isOfChange)
        )
        const trace = found.find(isOfChange) ?? { traceID: "", spans: [], process: {} }
        expect(trace.process).toMatchObject({
          [Attribute.serviceVersion]: expect.any(String),
          [Attribute.podName]: "homeostat-0",
          [Attribute.namespace]: "system"
        })

        const root = spanOf(trace, SpanName.reconcile("webapp"))
        expect(root.parent).toBeUndefined()
        expect(root.tags).toMatchObject({
          "span.kind": "consumer",
          [Attribute.controllerName]: "webapp",
          [Attribute.objectKind]: "WebApp",
          [Attribute.objectName]: "shop",
          [Attribute.namespace]: namespace,
          [Attribute.generation]: 2,
          [Attribute.result]: "success",
          [Attribute.writes]: 2
        })
        // One link for each trigger. The events of the wait's span describe the triggers.
        const wait = spanOf(trace, SpanName.queueWait)
        expect(wait.parent).toBe(root.spanID)
        expect(root.links).toHaveLength(Number(root.tags[Attribute.triggerCount]))
        expect(wait.events).toHaveLength(root.links.length)
        expect(wait.events).toContainEqual(
          expect.objectContaining({
            event: "watch.modified",
            [Attribute.sourceKind]: "WebApp",
            [Attribute.sourceName]: "shop"
          })
        )

        const patch = spanOf(trace, deploymentPatch)
        const status = spanOf(trace, statusPatch)
        for (const request of [patch, status]) {
          expect(request.tags).toMatchObject({
            "span.kind": "client",
            [Attribute.httpMethod]: "PATCH",
            [Attribute.httpStatus]: 200,
            [Attribute.serverAddress]: "127.0.0.1",
            [Attribute.objectName]: "shop",
            [Attribute.fieldManager]: "webapp-controller",
            [Attribute.resourceVersionBefore]: expect.stringMatching(/^\d+$/),
            [Attribute.resourceVersionAfter]: expect.stringMatching(/^\d+$/),
            [Attribute.changed]: true
          })
          expect(request.startTime).toBeGreaterThanOrEqual(root.startTime)
          expect(request.startTime + request.duration).toBeLessThanOrEqual(root.startTime + root.duration)
        }

        const audit = yield* auditOf(cluster)
        for (const [request, resource] of [
          [patch, { resource: "deployments" }],
          [status, { resource: "webapps", subresource: "status" }]
        ] as const) {
          expect(request.tags[Attribute.auditId]).toStartWith(`${trace.traceID}-`)
          expect(audit.get(request.tags[Attribute.auditId])).toMatchObject({
            verb: "patch",
            objectRef: { namespace, name: "shop", ...resource },
            responseStatus: { code: 200 }
          })
        }

        yield* Managed.eventually("the Event", Client.list(Event, { namespace }), ({ items }) =>
          items.some(
            ({ metadata, reason }) =>
              reason === "DeploymentUpdated" &&
              metadata.annotations?.[Tracing.annotation]?.includes(trace.traceID) === true
          )
        )
        yield* program.written(new RegExp(`Reconciled.*"trace_id":"${trace.traceID}"`))
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
    { controllers: true, scheduler: true, kwok: true, audit: true }
  )

  const protocols = [
    ["http/json", "http"],
    ["grpc", "grpc"]
  ] as const
  for (const [protocol, port] of protocols) {
    Shared.real(`also arrives over ${protocol}`, (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("tracing")
        const jaeger = yield* Jaeger.start
        const program = yield* homeostat(cluster, namespace, {
          OTEL_EXPORTER_OTLP_ENDPOINT: jaeger[port],
          OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
          OTEL_SERVICE_NAME: "another"
        })
        yield* create(namespace, "shop")
        yield* Managed.eventually("the trace", jaeger.traces("another"), (traces) => traces.length > 0)
        expect(yield* Endpoint.metric(program, "homeostat_spans_dropped_total")).toBe(0)
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client)))
    )
  }

  Shared.real("from the shutdown arrives before the program ends", (cluster) =>
    Effect.gen(function* () {
      yield* cluster.install(...definitions)
      const namespace = yield* cluster.namespace("tracing")
      const jaeger = yield* Jaeger.start
      const program = yield* homeostat(cluster, namespace, {
        OTEL_TRACES_EXPORTER: "otlp,console",
        OTEL_EXPORTER_OTLP_ENDPOINT: jaeger.http,
        OTEL_BSP_SCHEDULE_DELAY: "600000"
      })
      yield* create(namespace, "shop")
      yield* Managed.eventually(
        "the reconcile",
        Endpoint.metric(program, "homeostat_traces_total", "wrote"),
        (wrote) => wrote > 0
      )
      expect(yield* jaeger.traces("homeostat")).toEqual([])
      yield* program.signal("SIGTERM")
      const end = yield* program.ended("10 seconds")
      expect(end.code).toBe(0)
      const traces = yield* Managed.eventually("the traces", jaeger.traces("homeostat"), (traces) => traces.length > 0)
      for (const { traceID } of traces) expect(end.stdout).toContain(traceID)
    }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client)))
  )
})

describe("At the end", () => {
  Shared.real(
    "spans are sent when the Lease is released and the Events are written",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("tracing")
        const apiServer = yield* cluster.process("kube-apiserver")
        let isSilent = false
        const seen: Array<unknown> = []
        const collector = yield* Collector.start(
          Effect.gen(function* () {
            // The responses arrive after the server continues, so the test compares the arrival of the spans.
            const early = isSilent
            const leases = yield* Client.list(Lease, { namespace })
            const events = yield* Client.list(Event, { namespace })
            seen.push({
              holders: leases.items.map(({ spec }) => spec?.holderIdentity ?? ""),
              early,
              reasons: events.items.map(({ reason }) => reason).toSorted()
            })
          })
        )
        const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: "600000" }
        const program = yield* homeostat(cluster, namespace, environment, [
          "--leader-elect",
          "--leader-elect-resource-name=homeostat",
          `--leader-elect-resource-namespace=${namespace}`
        ])
        yield* create(namespace, "shop")
        yield* Managed.eventually(
          "the reconcile",
          Endpoint.metric(program, "homeostat_traces_total", "wrote"),
          (wrote) => wrote > 0
        )
        // During this time, the program cannot release the Lease yet.
        isSilent = true
        yield* Effect.ensuring(
          apiServer.pause.pipe(Effect.andThen(program.signal("SIGTERM")), Effect.andThen(Effect.sleep("1 second"))),
          Effect.andThen(
            Effect.sync(() => {
              isSilent = false
            }),
            apiServer.resume
          )
        )
        yield* program.ended("10 seconds")
        expect(seen).toEqual([
          {
            holders: [""],
            early: false,
            reasons: ["ChildrenCreated", "LeaderElection", "LeaderElection"]
          }
        ])
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
    // The test pauses the API server.
    { alone: true }
  )
})

describe("After a restart", () => {
  Shared.real(
    "no unchanged WebApp of two hundred is traced, and all are counted",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("tracing")
        const names = Array.from({ length: 200 }, (_, index) => `app-${index}`)
        yield* Effect.forEach(names, (name) => create(namespace, name), { concurrency: 16, discard: true })

        const first = yield* homeostat(cluster, namespace, {})
        const reconciled = (program: Running.Running) =>
          Endpoint.metric(program, "controller_runtime_reconcile_total", `result="success"`)
        yield* Managed.eventually(
          "that all are observed",
          Client.list(WebApp, { namespace }),
          ({ items }) => items.every(({ status }) => status?.observedGeneration === 1),
          "180 seconds"
        )
        // Waits for the events of the last writes.
        yield* Managed.stays("the reconciles", reconciled(first))
        yield* first.signal("SIGTERM")
        yield* first.ended("10 seconds")

        const jaeger = yield* Jaeger.start
        const second = yield* homeostat(cluster, namespace, { OTEL_EXPORTER_OTLP_ENDPOINT: jaeger.http })
        yield* Managed.eventually("the first pass", reconciled(second), (count) => count >= names.length)
        const count = yield* Managed.stays("the reconciles", reconciled(second))
        expect(yield* Endpoint.metric(second, "homeostat_traces_total", "quiet")).toBe(count)
        expect(yield* Endpoint.metric(second, "homeostat_traces_total")).toBe(count)
        expect(yield* Endpoint.metric(second, "homeostat_spans_exported_total")).toBe(0)
        expect(yield* jaeger.traces("homeostat")).toEqual([])
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
    { timeoutMillis: 300_000 }
  )
})
