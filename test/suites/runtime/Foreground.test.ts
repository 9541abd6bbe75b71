/** An owner that waits for its children to be deleted gets no new ones, even if its controller does not see the deletion yet. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import { ConfigMap, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Faults from "@homeostat/testkit/Faults"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const key = { namespace: "default", name: "shop" }

const child = (name: string) => ({ metadata: { name } })

const controller = Controller.make("pair", {
  for: Service,
  owns: [ConfigMap],
  reconcile: (service) =>
    Effect.gen(function* () {
      if (service.metadata.name !== key.name || service.metadata.deletionTimestamp !== undefined) return Result.done
      yield* Owned.apply(service, ConfigMap, child("shop-a"))
      yield* Owned.apply(service, ConfigMap, child("shop-b"))
      return Result.done
    })
})

Harness.of([controller])("a foreground deletion ends while the watch of the owner is late", ({ faults, server }) =>
  Effect.gen(function* () {
    yield* Client.create(Service, { metadata: key, spec: { ports: [{ port: 80 }] } })
    yield* TestClock.adjust("5 seconds")
    const finalizers = ["example.com/clean-up"]
    yield* Client.patch(ConfigMap, { ...key, name: "shop-b" }, Patch.merge({ metadata: { finalizers } }))
    yield* TestClock.adjust("5 seconds")
    faults.on({ verb: "watch", kind: Service }, Faults.delayed("3 seconds"))
    let created = 0
    server.store.subscribe(({ storage, type }) => {
      if (storage !== "/configmaps" || type !== "ADDED") return
      created++
      // Earlier code created the child in an endless loop, at one virtual instant.
      if (created > 100) throw new Error("the controller creates children without an end")
    })
    yield* Client.delete(Service, key, { propagation: "Foreground" })
    yield* TestClock.adjust("20 seconds")
    expect(created).toBe(0)
    yield* Client.patch(ConfigMap, { ...key, name: "shop-b" }, Patch.merge({ metadata: { finalizers: [] } }))
    yield* TestClock.adjust("5 seconds")
    expect((yield* Client.list(Service, { namespace: "default" })).items.map(({ metadata }) => metadata.name)).toEqual([
      "kubernetes"
    ])
  })
)
