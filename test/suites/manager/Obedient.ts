import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import { Effect, Result as EffectResult, Schedule } from "effect"
import * as Chore from "../runtime/Chore.ts"
import type * as Served from "./Served.ts"

/** A controller that ends each reconcile as the Chore requires. */
export const controller: Controller.Controller<Manager.Runtime> = Controller.make("chores", {
  for: Chore.Chore,
  concurrency: 3,
  timeout: "300 millis",
  retry: Schedule.recurs(0),
  reconcile: (chore) =>
    Effect.gen(function* () {
      switch (chore.spec.what) {
        case "fail":
          return yield* Effect.fail("required by the Chore")
        case "never":
          return yield* new TerminalError({ message: "required by the Chore" })
        case "die":
          return yield* Effect.die("required by the Chore")
        case "hang":
          return yield* Effect.never
        case "later":
          return Result.requeueAfter("1 hour")
        case "update":
          yield* EventRecorder.record({ regarding: chore, type: "Normal", reason: "Updated", note: "x" })
          yield* Chore.report(chore.metadata, "done")
          return Result.done
        default:
          return Result.done
      }
    })
})

/** A leader election in the namespace of the test. */
export const election = ({ namespace }: Chore.Place) =>
  EffectResult.getOrThrow(LeaderElection.make({ namespace, name: "chores", identity: crypto.randomUUID() }))

/** Starts a replica of the manager. */
export const start = (place: Chore.Place, served: Served.Served) =>
  served.start(place.cluster.admin, [controller], { namespaces: [place.namespace], leaderElection: election(place) })

/** Starts a manager, and waits until it leads. */
export const lead = (place: Chore.Place, served: Served.Served) =>
  Effect.flatMap(start(place, served), ([runner]) => runner?.started ?? Effect.void)
