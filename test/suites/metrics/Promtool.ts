/** Runs queries with promtool over the series of metrics pages. */
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, type Scope } from "effect"
import type { Query } from "./Monitoring.ts"

export interface Series {
  readonly name: string
  readonly labels: { readonly [label: string]: string }
  /** The values of each minute in promtool's notation. */
  readonly values: string
}

interface Sample extends Omit<Series, "values"> {
  readonly value: number
}

/** The samples of a page in the text format. */
export const seriesOf = (page: string): ReadonlyArray<Sample> =>
  page
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", labels = "", value = ""] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      return {
        name,
        labels: Object.fromEntries(
          Array.from(labels.matchAll(/(\w+)="((?:\\.|[^"\\])*)"/g), ([, label = "", text = ""]) => [label, text])
        ),
        value: value === "+Inf" ? Number.MAX_SAFE_INTEGER : Number(value)
      }
    })

/** The target labels of the ServiceMonitor. A label of the metric overrides them. */
const target = { job: "homeostat", namespace: "homeostat-system", pod: "homeostat-0", instance: "10.0.0.1:8080" }

const label = (labels: Series["labels"]): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(",")

/** Series that go from the earlier to the later page in ten minutes. */
export const between = (earlier: string, later: string): ReadonlyArray<Series> => {
  const key = ({ labels, name }: Sample): string => `${name}{${label(labels)}}`
  const before = new Map(seriesOf(earlier).map((sample) => [key(sample), sample.value]))
  return seriesOf(later).map((sample) => {
    const from = before.get(key(sample)) ?? 0
    const step = (sample.value - from) / 10
    return {
      name: sample.name,
      labels: { ...target, ...sample.labels },
      values: `${from.toFixed(9)}${step < 0 ? "-" : "+"}${Math.abs(step).toFixed(9)}x10`
    }
  })
}

/** Returns the places of queries that promtool cannot read, or that return no series. */
export const withoutSeries = (
  queries: ReadonlyArray<Query>,
  series: ReadonlyArray<Series>
): Effect.Effect<ReadonlyArray<string>, Assets.MissingAsset, Scope.Scope> =>
  Effect.gen(function* () {
    const promtool = yield* Assets.find("promtool")
    const file = join(yield* Directory.make, "queries.yaml")
    const tests = {
      evaluation_interval: "1m",
      tests: [
        {
          interval: "1m",
          input_series: series.map(({ labels, name, values }) => ({ series: `${name}{${label(labels)}}`, values })),
          promql_expr_test: queries.map(({ expr }) => ({
            expr: `count(${expr}) > bool 0`,
            eval_time: "10m",
            exp_samples: [{ labels: "{}", value: 1 }]
          }))
        }
      ]
    }
    // promtool reads YAML, which includes JSON.
    yield* Effect.promise(() => Bun.write(file, JSON.stringify(tests)))
    const { exitCode, stderr, stdout } = yield* Process.run(promtool, ["test", "rules", file])
    const output = `${stdout}${stderr}`
    if (exitCode === 0) return []
    const empty = queries.filter(({ expr }) => output.includes(`expr: ${JSON.stringify(`count(${expr}) > bool 0`)}`))
    return empty.length === 0 ? [output] : empty.map(({ expr, where }) => `${where}: ${expr}`)
  })
