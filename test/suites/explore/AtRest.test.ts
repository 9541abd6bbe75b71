/** The end of a Harness test waits for retries that are due. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Harness from "@homeostat/testkit/Harness"
import { Clock, Data, Effect, Schedule } from "effect"
import { key, Volume } from "./Mutant.ts"

class TooEarly extends Data.TaggedError("TooEarly") {}

/** A controller that fails in its first four seconds. */
const late = Controller.make("late", {
  for: Volume,
  owns: [ConfigMap],
  retry: Schedule.spaced("20 seconds"),
  reconcile: (volume) =>
    Effect.gen(function* () {
      if ((yield* Clock.currentTimeMillis) < 4_000) return yield* new TooEarly()
      yield* Owned.apply(volume, ConfigMap, { metadata: { name: volume.metadata.name } })
      return Result.done
    })
})

const test = Harness.of([late], { kubelet: false, controllers: ["garbage-collector-controller"] })

test("the check at the end waits for the retry of a failed reconcile", () =>
  Client.create(Volume, { metadata: key, spec: { size: 3 } }))
