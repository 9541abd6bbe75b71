/** A controller's own metrics are on the page of its manager, and those of an object go with it. */
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

const letters = Metric.gauge("suites_chore_letters", "Letters of what a Chore says.", ["namespace", "name"])
const looks = Metric.histogram(
  "suites_chore_seen_letters",
  "Letters, as often as they were seen.",
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
      for (const metric of [letters, looks]) registry.remove(metric, labels)
    }
  })
  return ({ metadata, spec }: Chore.Chore): void => {
    const { name, namespace = "" } = metadata
    known.set(keyString(metadata), { namespace, name })
    registry.gauge(letters, { namespace, name }).set(spec.what.length)
    registry.histogram(looks, { namespace, name }).observe(spec.what.length)
  }
})

const controller: Controller.Controller<Manager.Runtime> = Controller.make("letters", {
  for: Chore.Chore,
  reconcile: (chore) =>
    Effect.map(metrics, (told) => {
      told(chore)
      return Result.done
    })
})

describe("A controller's own metrics", () => {
  Chore.placed("are on its manager's page while their objects are there", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const served = yield* Served.open
      const settings = { namespaces: [namespace], leaderElection: election(place) }
      yield* served.start(place.cluster.admin, [controller], settings)
      yield* Chore.create(place, "long", { what: "abcdef" })
      yield* Chore.create(place, "short", { what: "ab" })
      const of = (name: string) => `{namespace="${namespace}",name="${name}"}`
      const page = yield* Managed.eventually(
        "that both are told of",
        served.metrics,
        (page) => page.includes(`suites_chore_letters${of("long")} 6\n`) && page.includes(of("short"))
      )
      expect(page).toContain("# TYPE suites_chore_letters gauge\n")
      expect(page).toMatch(/^suites_chore_seen_letters_bucket\{.*name="short",le="10"\} [1-9]/m)
      yield* Client.delete(Chore.Chore, { namespace, name: "long" })
      const after = yield* Managed.eventually(
        "that nothing is left of the one that is gone",
        served.metrics,
        (page) => !page.includes('name="long"')
      )
      expect(after).toContain(`suites_chore_letters${of("short")} 2\n`)
    })
  )
})
