/** The events of own writes: each leads to one more reconcile, unless the reconcile backs off. */
import { expect } from "bun:test"
import { BuiltIn, Cache, Client, Controller, CustomResource, Owned, Result, Status } from "@homeostat/runtime"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect, Schema } from "effect"
import * as TestClock from "effect/testing/TestClock"

const Run = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Run",
  spec: Schema.Struct({}),
  status: Schema.Struct({ active: Schema.Int })
})

const key = { namespace: "default", name: "one" }

/** Writes the status before it creates the child, so that only the event of the child completes the status. */
const controllerOf = (result: Result.Result, began: () => void) =>
  Controller.make("run", {
    for: Run,
    owns: [BuiltIn.ConfigMap],
    reconcile: (run) =>
      Effect.gen(function* () {
        began()
        const { items } = yield* Cache.byOwner(BuiltIn.ConfigMap, run)
        yield* Status.update(run, { active: items.length })
        // Two stages, each of which needs the event of the stage before it.
        const name = `${run.metadata.name}-${items.length}`
        if (items.length < 2) yield* Owned.apply(run, BuiltIn.ConfigMap, { metadata: { name } })
        return result
      })
  })

for (const [name, result] of [
  ["done", Result.done],
  ["requeueAfter of an hour", Result.requeueAfter("1 hour")],
  ["requeueAfter of forever", Result.requeueAfter(Number.POSITIVE_INFINITY)]
] as const) {
  let runs = 0
  Harness.of([controllerOf(result, () => runs++)])(
    `with ${name}, the status counts children that the reconcile created after it, and then the reconcile rests`,
    () =>
      Effect.gen(function* () {
        runs = 0
        yield* Client.create(Run, { metadata: key, spec: {} })
        yield* TestClock.adjust("20 minutes")
        expect((yield* Client.get(Run, key)).status?.active).toBe(2)
        expect(runs).toBeLessThan(9)
        const before = runs
        yield* TestClock.adjust("30 minutes")
        expect(runs).toBe(before)
      })
  )
}
