/** The tests of WebApps behind a connection with every kind of fault, by seed. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Faults from "@homeostat/testkit/Faults"
import * as Harness from "@homeostat/testkit/Harness"
import { live } from "@homeostat/testkit/Test"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"

const key = (name: string) => ({ namespace: "default", name })

const phase = (name: string, wanted: string, image: string) =>
  Eventually.eventually(
    `${name} is ${wanted} with ${image}`,
    Client.get(WebApp, key(name)),
    ({ metadata, status }) => status?.phase === wanted && status.observedGeneration === metadata.generation,
    "10 minutes"
  )

const imageOf = (name: string) =>
  Effect.map(Client.get(Deployment, key(name)), ({ spec }) => spec?.template.spec?.containers[0]?.image)

const course = (faults: Faults.Faults) =>
  Effect.gen(function* () {
    for (const name of ["shop", "blog"]) {
      yield* Client.create(WebApp, { metadata: key(name), spec: { image: "registry.test/web:1", replicas: 2 } })
    }
    for (const name of ["shop", "blog"]) yield* phase(name, "Running", "web:1")
    yield* Client.patch(WebApp, key("shop"), Patch.merge({ spec: { image: "registry.test/web:2" } }))
    yield* faults.breakWatches()
    yield* Client.delete(WebApp, key("blog"))
    // The manager restores a deleted Service.
    yield* Client.delete(Service, key("shop"))
    yield* phase("shop", "Running", "web:2")
    yield* Eventually.eventually("the Service is back", Client.get(Service, key("shop")), () => true, "10 minutes")
    yield* Eventually.eventually(
      "the new image",
      imageOf("shop"),
      (image) => image === "registry.test/web:2",
      "10 minutes"
    )
    const within = { namespace: "default" }
    const namesOf = Effect.map(
      Effect.all([Client.list(Deployment, within), Client.list(Service, within)]),
      ([deployments, services]) => [...deployments.items, ...services.items].map(({ metadata }) => metadata.name)
    )
    yield* Eventually.eventually(
      "no other Deployment and Service",
      namesOf,
      (names) => names.toSorted().join() === "kubernetes,shop,shop",
      "10 minutes"
    )
  })

/** Declares the test for each of these seeds. */
export const test = (seeds: ReadonlyArray<number>): void => {
  for (const seed of seeds) {
    live(
      `WebApps reach their state under lag and faults, with seed ${seed}`,
      () =>
        Harness.run(
          { seed, crds: [Crd.of(WebApp)], as: Rbac.of([controller]), manager: Manager.launch([controller]) },
          ({ faults }) =>
            Effect.gen(function* () {
              const rules = Faults.chaos(faults, { chance: 0.15 })
              yield* course(faults)
              const hits = rules.map((rule) => rule.hits())
              // Most faults are delays.
              expect(hits[0]).toBeGreaterThan(30)
              expect(hits.slice(1).filter((count) => count > 0).length).toBeGreaterThan(1)
            })
        ),
      120_000
    )
  }
}
