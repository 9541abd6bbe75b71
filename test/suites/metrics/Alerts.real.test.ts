/** promtool checks and tests the alerts. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Alerts from "./Alerts.ts"
import * as Monitoring from "./Monitoring.ts"

/** Runs promtool with the path of the first file as the last argument. */
const promtool = (args: ReadonlyArray<string>, files: { readonly [name: string]: unknown }) =>
  Effect.gen(function* () {
    const program = yield* Assets.find("promtool")
    const folder = yield* Directory.make
    const paths = Object.keys(files).map((name) => join(folder, name))
    // Prometheus reads these files as YAML, which includes JSON.
    for (const [name, content] of Object.entries(files)) {
      yield* Effect.promise(() => Bun.write(join(folder, name), JSON.stringify(content)))
    }
    const { exitCode, stderr, stdout } = yield* Process.run(program, [...args, ...paths.slice(0, 1)])
    return { exitCode, output: `${stdout}${stderr}` }
  })

const test = (trouble: Alerts.Trouble, alert: string, fires: boolean) => ({
  name: alert,
  interval: "1m",
  input_series: Object.entries(trouble.series).map(([series, values]) => ({ series, values })),
  promql_expr_test: [
    {
      // The query counts the firing alerts, so that their labels do not matter.
      expr: fires
        ? `count by (alertname) (ALERTS{alertname="${alert}",alertstate="firing"})`
        : 'count by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: `${trouble.at}m`,
      exp_samples: fires ? [{ labels: `{alertname="${alert}"}`, value: 1 }] : []
    }
  ]
})

const tests = (all: ReadonlyArray<unknown>) => ({
  "tests.yaml": { rule_files: ["rules.yaml"], evaluation_interval: "1m", tests: all },
  "rules.yaml": Monitoring.rules.spec
})

describe("The alerts", () => {
  live("pass the lint of promtool", () =>
    Effect.gen(function* () {
      const checked = yield* promtool(["check", "rules", "--lint=all", "--lint-fatal"], {
        "rules.yaml": Monitoring.rules.spec
      })
      expect(checked).toEqual({
        exitCode: 0,
        output: expect.stringContaining(`SUCCESS: ${Monitoring.alerts.length} rules found`)
      })
    })
  )

  live("fire for the series of each trouble", () =>
    Effect.gen(function* () {
      expect(Object.keys(Alerts.troubles).sort()).toEqual(Monitoring.alerts.map(({ alert }) => alert).sort())
      const all = Object.entries(Alerts.troubles).flatMap(([alert, troubles]) =>
        [troubles].flat().map((trouble) => test(trouble, alert, true))
      )
      expect(yield* promtool(["test", "rules"], tests(all))).toEqual({
        exitCode: 0,
        output: expect.stringContaining("SUCCESS")
      })
    })
  )

  live("do not fire on a healthy manager, from its start with many objects", () =>
    Effect.gen(function* () {
      const healthy = [5, 12, 20, 47, Alerts.health.at].map((at) => test({ ...Alerts.health, at }, "health", false))
      expect(yield* promtool(["test", "rules"], tests(healthy))).toEqual({
        exitCode: 0,
        output: expect.stringContaining("SUCCESS")
      })
    })
  )
})
