/** promtool and the reference parser of OpenMetrics check the metrics, dashboard and alerts of a live manager. */
import { describe, expect } from "bun:test"
import type * as Client from "@homeostat/runtime/client/Client"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect } from "effect"
import * as Scene from "../binary/Scene.ts"
import * as Backups from "./Backups.ts"
import * as Live from "./Live.ts"
import * as Monitoring from "./Monitoring.ts"
import * as Promtool from "./Promtool.ts"
import * as Webhooks from "./Webhooks.ts"

/** A family in the output of the reference parser. */
interface Family {
  readonly name: string
  readonly type: string
  readonly unit: string
  readonly samples: ReadonlyArray<{
    readonly name: string
    readonly labels: { readonly [label: string]: string }
    readonly value: string
    readonly exemplar?: { readonly labels: { readonly [label: string]: string }; readonly value: number }
  }>
}

/** A series by its name and labels. Bounds become numbers, because each format writes them differently. */
const identity = (name: string, labels: { readonly [label: string]: string }): string =>
  `${name} ${Object.entries(labels)
    .map(([label, value]) => `${label}=${label === "le" ? Number(value.replace("+Inf", "Infinity")) : value}`)
    .sort()
    .join(" ")}`

let read: Promise<Live.Pages> | undefined

/** The pages of one program, which all tests share. */
const pages = (cluster: ControlPlane, namespace: string) =>
  Effect.flatMap(Effect.context<Client.Client>(), (client) =>
    Effect.promise(() => {
      read ??= Live.pages(cluster, namespace).pipe(Effect.provide(client), Effect.scoped, Effect.runPromise)
      return read
    })
  )

const asked = [...Monitoring.queries, ...Monitoring.variables]

/** The metrics that controller-runtime does not have by default. */
const special = /homeostat_|rest_client_(request_duration|request_size|response_size)/

describe("A live manager's metrics", () => {
  Scene.real("pass the lint of promtool in the text format", (cluster, namespace) =>
    Effect.gen(function* () {
      const { second } = yield* pages(cluster, namespace)
      const [, ofBackup] = Backups.pages()
      const [, ofWebhooks] = Webhooks.pages()
      const lint = yield* Process.run(yield* Assets.find("promtool"), ["check", "metrics"], {
        stdin: `${second}${ofBackup}${ofWebhooks}`
      })
      expect(lint).toEqual({ exitCode: 0, stdout: "", stderr: "" })
    })
  )

  Scene.real(
    "pass the reference parser of OpenMetrics, with the same series and with traces in buckets",
    (cluster, namespace) =>
      Effect.gen(function* () {
        const { open, second } = yield* pages(cluster, namespace)
        const parsed = yield* Process.run(yield* Assets.find("openmetrics-check"), [], { stdin: open })
        expect({ exitCode: parsed.exitCode, stderr: parsed.stderr }).toEqual({ exitCode: 0, stderr: "" })
        const families: ReadonlyArray<Family> = JSON.parse(parsed.stdout)
        const samples = families.flatMap(({ samples }) => samples)
        const shown = new Set(samples.map(({ labels, name }) => identity(name, labels)))
        // A request after the first page may add a series for its code.
        const known = Promtool.seriesOf(second).filter(({ name }) => !name.startsWith("rest_client_"))
        expect(known.map(({ labels, name }) => identity(name, labels)).filter((series) => !shown.has(series))).toEqual(
          []
        )
        const ofCpu = families.find(({ name }) => name === "process_cpu_seconds")
        expect(ofCpu).toMatchObject({ type: "counter", unit: "seconds" })
        const exemplars = samples.flatMap(({ exemplar }) => (exemplar === undefined ? [] : [exemplar.labels]))
        expect(exemplars.length).toBeGreaterThan(0)
        for (const labels of exemplars) {
          expect(labels).toEqual({
            trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
            span_id: expect.stringMatching(/^[0-9a-f]{16}$/)
          })
        }
      })
  )

  Scene.real(
    "have series for each query of the dashboard and for each metric of an alert, with those of a finished Backup",
    (cluster, namespace) =>
      Effect.gen(function* () {
        const { first, second } = yield* pages(cluster, namespace)
        const series = [
          ...Promtool.between(first, second),
          ...Promtool.between(...Backups.pages()),
          ...Promtool.between(...Webhooks.pages())
        ]
        expect(yield* Promtool.withoutSeries(asked, series)).toEqual([])
        const names = new Set(["up", ...series.map(({ name }) => name)])
        const read = Monitoring.alerts.flatMap(({ alert, expr }) => Monitoring.metricsOf({ where: alert, expr }))
        expect(read.filter((name) => !names.has(name))).toEqual([])
      })
  )

  Scene.real("of controller-runtime alone answer the general queries of the dashboard", (cluster, namespace) =>
    Effect.gen(function* () {
      const { first, second } = yield* pages(cluster, namespace)
      // The metrics of older versions' queues have only the label `name`.
      const theirs = Promtool.between(first, second)
        .filter(({ name }) => !special.test(name))
        .map(({ labels: { controller, ...labels }, name, values }) => ({
          name,
          values,
          labels: name.startsWith("workqueue_") || controller === undefined ? labels : { ...labels, controller }
        }))
      const general = asked.filter(({ expr }) => !special.test(expr))
      expect(general.length).toBeGreaterThan(20)
      expect(yield* Promtool.withoutSeries(general, theirs)).toEqual([])
    })
  )

  Scene.real("do not answer a query of unknown series, nor an invalid query", (cluster, namespace) =>
    Effect.gen(function* () {
      const { first, second } = yield* pages(cluster, namespace)
      const series = Promtool.between(first, second)
      const empty = { where: "nowhere", expr: 'sum by (code) (rest_client_requests_total{code="418"})' }
      const good = { where: "here", expr: "process_open_fds" }
      expect(yield* Promtool.withoutSeries([good, empty], series)).toEqual([`nowhere: ${empty.expr}`])
      const broken = yield* Promtool.withoutSeries([good, { where: "nowhere", expr: "sum by code (" }], series)
      expect(broken).toEqual(["nowhere: sum by code ("])
    })
  )
})
