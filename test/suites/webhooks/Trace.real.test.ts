/** The spans of webhooks in the traces of a real kube-apiserver, as Jaeger shows them, and `why` about the same requests. */
import { expect } from "bun:test"
import { join } from "node:path"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Endpoint from "../binary/Endpoint.ts"
import * as Jaeger from "../tracing/Jaeger.ts"
import * as Scene from "./Scene.ts"

/** The settings of kube-apiserver's tracing, with all requests. */
const configuration = (endpoint: string) =>
  Effect.gen(function* () {
    const path = join(yield* Directory.make, "tracing.yaml")
    const lines = ["apiVersion: apiserver.config.k8s.io/v1", "kind: TracingConfiguration", `endpoint: ${endpoint}`]
    yield* Effect.promise(() => Bun.write(path, `${lines.join("\n")}\nsamplingRatePerMillion: 1000000\n`))
    return path
  })

live(
  "A request that kube-apiserver traces has the webhook in its trace, and why shows the denial",
  () =>
    Effect.gen(function* () {
      const jaeger = yield* Jaeger.start
      const collector = jaeger.grpc.replace(/^https?:\/\//, "")
      const cluster = yield* Envtest.start({
        apiServerFlags: [`--tracing-config-file=${yield* configuration(collector)}`]
      })
      const replica = yield* Scene.replica(cluster, yield* Scene.freePort, [], {
        OTEL_EXPORTER_OTLP_ENDPOINT: jaeger.http,
        OTEL_BSP_SCHEDULE_DELAY: "100"
      })
      yield* Scene.ready(replica)
      const backup = {
        apiVersion: "backup.example.com/v1",
        kind: "Backup",
        metadata: { namespace: "default", name: "shop" },
        spec: { source: "pvc/data", schedule: "61 * * * *", destination: "s3://bucket" }
      }
      const { stderr } = yield* Eventually.eventually(
        "the denial",
        Scene.kubectl(cluster, ["create", "-f", "-"], backup),
        ({ exitCode, stderr }) => exitCode !== 0 && stderr.includes("spec.schedule")
      )
      expect(stderr).toContain('minute "61" must be 0 to 59')

      // The programs export their spans at different times.
      const found = (spans: ReadonlyArray<Jaeger.Span>) => {
        const parentOf = (span: Jaeger.Span | undefined) => spans.find(({ spanID }) => spanID === span?.parent)
        const webhook = spans.find(({ tags }) => tags[Attribute.admissionAllowed] === false)
        const call = parentOf(webhook)
        return { webhook, call, caller: parentOf(call) }
      }
      const traces = yield* Eventually.eventually(
        "the trace of both programs",
        Effect.orElseSucceed(jaeger.traces("homeostat"), () => []),
        (traces) => traces.some(({ spans }) => found(spans).caller !== undefined)
      )
      const trace = traces.find(({ spans }) => found(spans).caller !== undefined)
      const { call, caller, webhook } = found(trace?.spans ?? [])
      expect(webhook?.operationName).toMatch(/^POST \/validate-.*backup/)
      expect(webhook?.tags).toMatchObject({
        "span.kind": "server",
        [Attribute.httpRoute]: webhook?.operationName.replace("POST ", ""),
        [Attribute.httpStatus]: 200,
        [Attribute.objectKind]: "Backup",
        [Attribute.objectName]: "shop",
        [Attribute.namespace]: "default",
        [Attribute.admissionOperation]: "CREATE",
        [Attribute.admissionDryRun]: false,
        [Attribute.admissionMessage]: expect.stringContaining('spec.schedule: Invalid value: "61 * * * *"')
      })
      expect([call?.operationName, call?.tags["span.kind"]]).toEqual(["HTTP POST", "client"])
      expect(caller?.operationName).toBe("Call validating webhook")

      const why = yield* Endpoint.get(replica, "/why?kind=backup&namespace=default&name=shop")
      expect(why.body).toMatch(
        /^Backup default\/shop does not exist: a webhook of this program denied its creation .*spec\.schedule: Invalid value/
      )
      expect(why.body).toMatch(new RegExp(`\\nWebhook .*denied.*create by .*trace ${trace?.traceID}`))
    }),
  180_000
)
