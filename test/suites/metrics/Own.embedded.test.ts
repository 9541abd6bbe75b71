import { describe, expect } from "bun:test"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import { keyString } from "@homeostat/runtime/resource/KubernetesObject"
import * as Metric from "@homeostat/runtime/telemetry/Metric"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import { Context, Effect } from "effect"
import * as Managed from "../Managed.ts"
import { election } from "../manager/Obedient.ts"
import * as Served from "../manager/Served.ts"
import * as Chore from "../runtime/Chore.ts"

const letters = Metric.gauge("suites_chore_letters", "Letters in a Chore.", ["namespace", "name"])
const reconciled = Metric.histogram(
  "suites_chore_seen_letters",
  "Letters per reconcile.",
  [1, 10],
  ["namespace", "name"]
)

const metrics = Metrics.once((registry, services: Context.Context<Cache.Cache>) => {
  const known = new Map<string, Metric.Labels<"namespace" | "name">>()
  const { informers } = Context.get(services, Cache.Cache)
  registry.onCollect(() => {
    for (const [key, labels] of known) {
      if (informers().some(({ store }) => store.get(key) !== undefined)) continue
      known.delete(key)
      for (const metric of [letters, reconciled]) registry.remove(metric, labels)
    }
  })
  return ({ metadata, spec }: Chore.Chore): void => {
    const { name, namespace = "" } = metadata
    known.set(keyString(metadata), { namespace, name })
    registry.gauge(letters, { namespace, name }).set(spec.what.length)
    registry.histogram(reconciled, { namespace, name }).observe(spec.what.length)
  }
})

const controller: Controller.Controller<Manager.Runtime> = Controller.make("letters", {
  for: Chore.Chore,
  reconcile: (chore) =>
    Effect.map(metrics, (update) => {
      update(chore)
      return Result.done
    })
})

describe("A controller's own metrics", () => {
  Chore.placed("are on the page of its manager while their objects exist", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const served = yield* Served.open
      const settings = { namespaces: [namespace], leaderElection: election(place) }
      yield* served.start(place.cluster.admin, [controller], settings)
      yield* Chore.create(place, "long", { what: "abcdef" })
      yield* Chore.create(place, "short", { what: "ab" })
      const of = (name: string) => `{namespace="${namespace}",name="${name}"}`
      const page = yield* Managed.eventually(
        "the series of both",
        served.metrics,
        (page) => page.includes(`suites_chore_letters${of("long")} 6\n`) && page.includes(of("short"))
      )
      expect(page).toContain("# TYPE suites_chore_letters gauge\n")
      expect(page).toMatch(/^suites_chore_seen_letters_bucket\{.*name="short",le="10"\} [1-9]/m)
      yield* Client.delete(Chore.Chore, { namespace, name: "long" })
      const after = yield* Managed.eventually(
        "no series of the deleted Chore",
        served.metrics,
        (page) => !page.includes('name="long"')
      )
      expect(after).toContain(`suites_chore_letters${of("short")} 2\n`)
    })
  )
})
