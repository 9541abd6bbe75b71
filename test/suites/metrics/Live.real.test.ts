/**
 * What others say of a live manager's metrics: promtool of the text, the reference parser of the OpenMetrics; and Prometheus'
 * own engine, in promtool, of what the dashboard and the alerts ask for.
 */
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

/** A family as the reference parser tells it. */
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

/** A series by its name and labels. Bounds are told as numbers: each format writes them in its own way. */
const identity = (name: string, labels: { readonly [label: string]: string }): string =>
  `${name} ${Object.entries(labels)
    .map(([label, value]) => `${label}=${label === "le" ? Number(value.replace("+Inf", "Infinity")) : value}`)
    .sort()
    .join(" ")}`

let looked: Promise<Live.Pages> | undefined

/** What the program shows, looked at once for all of these tests. */
const pages = (cluster: ControlPlane, namespace: string) =>
  Effect.flatMap(Effect.context<Client.Client>(), (client) =>
    Effect.promise(() => {
      looked ??= Live.pages(cluster, namespace).pipe(Effect.provide(client), Effect.scoped, Effect.runPromise)
      return looked
    })
  )

const asked = [...Monitoring.queries, ...Monitoring.variables]

/** What controller-runtime does not have, or not unless it is told to. */
const special = /homeostat_|rest_client_(request_duration|request_size|response_size)/

describe("A live manager's metrics", () => {
  Scene.real("have nothing in the text format that promtool objects to", (cluster, namespace) =>
    Effect.gen(function* () {
      const { second } = yield* pages(cluster, namespace)
      const [, ofBackup] = Backups.pages()
      const lint = yield* Process.run(yield* Assets.find("promtool"), ["check", "metrics"], {
        stdin: `${second}${ofBackup}`
      })
      expect(lint).toEqual({ exitCode: 0, stdout: "", stderr: "" })
    })
  )

  Scene.real(
    "are OpenMetrics for its reference parser, the same series, with traces in their buckets",
    (cluster, namespace) =>
      Effect.gen(function* () {
        const { open, second } = yield* pages(cluster, namespace)
        const parsed = yield* Process.run(yield* Assets.find("openmetrics-check"), [], { stdin: open })
        expect({ exitCode: parsed.exitCode, stderr: parsed.stderr }).toEqual({ exitCode: 0, stderr: "" })
        const families: ReadonlyArray<Family> = JSON.parse(parsed.stdout)
        const samples = families.flatMap(({ samples }) => samples)
        const shown = new Set(samples.map(({ labels, name }) => identity(name, labels)))
        // The text was read a moment later: a request may have had a new code by then.
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
    "have series for each query of the dashboard, and for each metric that an alert reads, with those of a Backup that ran",
    (cluster, namespace) =>
      Effect.gen(function* () {
        const { first, second } = yield* pages(cluster, namespace)
        const series = [...Promtool.between(first, second), ...Promtool.between(...Backups.pages())]
        expect(yield* Promtool.withoutSeries(asked, series)).toEqual([])
        const names = new Set(["up", ...series.map(({ name }) => name)])
        const read = Monitoring.alerts.flatMap(({ alert, expr }) => Monitoring.metricsOf({ where: alert, expr }))
        expect(read.filter((name) => !names.has(name))).toEqual([])
      })
  )

  Scene.real(
    "are enough for the dashboard's general queries if they are only what any controller-runtime has",
    (cluster, namespace) =>
      Effect.gen(function* () {
        const { first, second } = yield* pages(cluster, namespace)
        // Queues of older versions are told by their name alone.
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

  Scene.real("would not do for a query of what there is not, nor for one that can't be read", (cluster, namespace) =>
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
