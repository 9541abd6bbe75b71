/** WebApps behind a connection with every kind of fault, by seed. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Faults from "@homeostat/testkit/Faults"
import { live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Logger, LogLevel, Random } from "effect"

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

const course = (cluster: EmbeddedCluster.EmbeddedCluster) =>
  Effect.gen(function* () {
    for (const name of ["shop", "blog"]) {
      yield* Client.create(WebApp, { metadata: key(name), spec: { image: "registry.test/web:1", replicas: 2 } })
    }
    for (const name of ["shop", "blog"]) yield* phase(name, "Running", "web:1")
    yield* Client.patch(WebApp, key("shop"), Patch.merge({ spec: { image: "registry.test/web:2" } }))
    cluster.faults.breakWatches()
    yield* Client.delete(WebApp, key("blog"))
    // The manager restores what somebody deletes.
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

for (let seed = 1; seed <= 50; seed++) {
  live(
    `WebApps reach their state under lag and faults, with seed ${seed}`,
    () =>
      Effect.suspend(() => {
        const time = VirtualTime.make(Date.parse("2026-11-20T00:00:00Z"))
        return Effect.gen(function* () {
          const cluster = yield* EmbeddedCluster.make({ seed, crds: [Crd.of(WebApp)] })
          const rules = Faults.chaos(cluster.faults)
          const ended = Effect.scoped(
            Effect.gen(function* () {
              yield* Effect.provide(Manager.launch([controller]), cluster.transport)
              yield* Effect.provide(course(cluster), cluster.client)
            })
          )
          yield* time.during(ended)
          const hits = rules.map((rule) => rule.hits())
          // Most are delays.
          expect(hits[0]).toBeGreaterThan(50)
          expect(hits.slice(1).filter((count) => count > 0).length).toBeGreaterThan(1)
        }).pipe(
          Effect.scoped,
          Effect.withRandom(Random.make(seed)),
          Effect.withClock(time.clock),
          Logger.withMinimumLogLevel(LogLevel.None)
        )
      }),
    120_000
  )
}
