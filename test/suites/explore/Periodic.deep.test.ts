/** A controller that asks for another run by `requeueAfter`: its own events and denials of its writes do not leave an old status. */
import { BuiltIn, Cache, Controller, CustomResource, Owned, Result, Status } from "@homeostat/runtime"
import * as Explore from "@homeostat/testkit/Explore"
import { Effect, Schema } from "effect"

const Run = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Run",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ active: Schema.Int })
})

/** Writes the status before it creates the child, so that only the event of the child completes the status. */
const controller = Controller.make("run", {
  for: Run,
  owns: [BuiltIn.ConfigMap],
  reconcile: (run) =>
    Effect.gen(function* () {
      const { items } = yield* Cache.byOwner(BuiltIn.ConfigMap, run)
      yield* Status.update(run, { active: items.filter(({ data }) => data?.size === String(run.spec.size)).length })
      const { name } = run.metadata
      yield* Owned.apply(run, BuiltIn.ConfigMap, { metadata: { name }, data: { size: String(run.spec.size) } })
      return Result.requeueAfter("1 hour")
    })
})

Explore.kind("a Run whose controller waits an hour survives refusals, crashes and its own events", Run, {
  controllers: [controller],
  specs: [{ size: 1 }, { size: 2 }],
  faults: ["Refused", "Crash"]
})
