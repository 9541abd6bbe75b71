import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Crds from "@homeostat/runtime/manager/Crds"
import { CustomResourceDefinition } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import { Effect, Schema } from "effect"
import * as Managed from "../Managed.ts"
import { Chore, create, placed } from "./Chore.ts"
import * as Counted from "./Counted.ts"

/** A kind for this test alone, because the test deletes the CRD. */
const Fleeting = CustomResource.make({
  group: "suites.homeostat.dev",
  version: "v1",
  kind: "Fleeting",
  spec: Schema.Struct({})
})

const crd = { name: Crd.of(Fleeting).metadata.name ?? "" }

describe("A kind whose definition is deleted", () => {
  placed("causes a warning, stops no other kind, and is served again with a new definition", (place) =>
    Effect.gen(function* () {
      const { cluster, namespace } = place
      const seen: Array<string> = []
      const note = (name: string) =>
        Effect.sync(() => {
          seen.push(name)
          return Result.done
        })
      const fleeting = Controller.make("fleeting", {
        for: Fleeting,
        reconcile: ({ metadata }) => note(metadata.name)
      })
      const chores = Controller.make("chores", { for: Chore, reconcile: ({ metadata }) => note(metadata.name) })
      const sees = (name: string) =>
        Managed.eventually(
          `a reconcile of ${name}`,
          Effect.sync(() => seen),
          (names) => names.includes(name)
        )

      yield* Crds.install([Fleeting])
      yield* Effect.addFinalizer(() => Effect.ignore(Client.delete(CustomResourceDefinition, crd)))
      yield* Client.create(Fleeting, { metadata: { namespace, name: "one" }, spec: {} })
      const manager = yield* Counted.start(cluster.admin, [fleeting, chores], { namespaces: [namespace] })
      const [informer] = manager.runners[0]?.informers ?? []
      const state = Effect.sync(() => ({ status: informer?.state().status, size: informer?.store.size() }))
      yield* sees("one")

      yield* Client.delete(CustomResourceDefinition, crd)
      yield* Managed.eventually(
        "a missing kind without objects",
        state,
        ({ size, status }) => status === "missing" && size === 0
      )
      expect(manager.warnings).toContain(
        `cannot watch fleetings.suites.homeostat.dev in namespace ${namespace}: the API server does not serve suites.homeostat.dev/v1 Fleeting; install its CustomResourceDefinition`
      )
      yield* create(place, "meanwhile")
      yield* sees("meanwhile")

      yield* Crds.install([Fleeting])
      yield* Client.create(Fleeting, { metadata: { namespace, name: "two" }, spec: {} })
      yield* sees("two")
      expect(yield* state).toEqual({ status: "synced", size: 1 })
      expect(seen.toSorted()).toEqual(["meanwhile", "one", "two"])
    })
  )
})
