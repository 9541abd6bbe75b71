/** The number of series does not depend on the number of objects. */
import { describe, expect } from "bun:test"
import { MetricsText, OpenMetrics } from "@homeostat/observability"
import * as Client from "@homeostat/runtime/client/Client"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import { lead } from "../manager/Obedient.ts"
import * as Served from "../manager/Served.ts"
import * as Chore from "../runtime/Chore.ts"

/** The series of a page, without their values. */
const seriesOf = (page: string): ReadonlySet<string> =>
  new Set(
    page
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => line.replace(/ #.*$/, "").replace(/ \S+$/, ""))
  )

const fates = ["fail", "never", "die", "later", "update", ""]

const concurrency = 16

/** The time limit of the test, which allows for a busy machine. */
const limit = "100 seconds"

describe("The page of metrics", () => {
  Chore.placed(
    "has the same series in both formats before and after 1,000 objects",
    (place) =>
      Effect.gen(function* () {
        const served = yield* Served.open
        yield* lead(place, served)

        /** Creates objects with every result, waits for the controller, and deletes them. */
        const pass = (names: ReadonlyArray<string>) =>
          Effect.gen(function* () {
            const each = <A, E, R>(run: (name: string, index: number) => Effect.Effect<A, E, R>) =>
              Effect.forEach(names, run, { concurrency, discard: true })
            yield* each((name, index) => Chore.create(place, name, { what: fates[index % fates.length] ?? "" }))
            const has = (page: string, objects: number) =>
              page.includes(`homeostat_cache_objects{kind="chores.suites.homeostat.dev"} ${objects}\n`)
            yield* Managed.eventually("all objects", served.metrics, (page) => has(page, names.length), limit)
            yield* each((name) => Client.delete(Chore.Chore, { namespace: place.namespace, name }))
            yield* Managed.eventually(
              "no objects and no reconciles",
              served.metrics,
              (page) => has(page, 0) && page.includes('controller_runtime_active_workers{controller="chores"} 0\n'),
              limit
            )
          })
        const pages = Effect.all([served.metricsAs(MetricsText.format), served.metricsAs(OpenMetrics.format)])

        yield* pass(fates.flatMap((_, index) => [`first-${index}`, `second-${index}`]))
        yield* Managed.eventually("a renewal of the Lease, a PUT", served.metrics, (page) =>
          page.includes('method="PUT"')
        )
        const before = yield* pages
        yield* pass(Array.from({ length: 1000 }, (_, index) => `many-${index}`))
        const after = yield* pages

        for (const [index, page] of after.entries()) {
          const known = seriesOf(before[index] ?? "")
          const now = seriesOf(page)
          // A status write may find its object deleted or time out, which adds a series for the code.
          const added = [...now].filter((series) => !known.has(series))
          expect(added.filter((series) => !/^rest_client_requests_total\{code="(4\d\d|<error>)"/.test(series))).toEqual(
            []
          )
          expect(added.length).toBeLessThan(4)
          expect([...known].filter((series) => !now.has(series))).toEqual([])
          expect(page).not.toContain("many-")
        }
      }),
    300_000
  )
})
