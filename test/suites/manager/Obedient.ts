/** A controller that makes of each Chore what that says, and an election for those who run it. */
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import { Effect, Either, Schedule } from "effect"
import * as Chore from "../runtime/Chore.ts"

/** Each Chore says what is to come of it. */
export const controller: Controller.Controller<Manager.Runtime> = Controller.make("chores", {
  for: Chore.Chore,
  concurrency: 3,
  timeout: "300 millis",
  retry: Schedule.recurs(0),
  reconcile: (chore) =>
    Effect.gen(function* () {
      switch (chore.spec.what) {
        case "fail":
          return yield* Effect.fail("as it was told")
        case "never":
          return yield* new TerminalError({ message: "as it was told" })
        case "die":
          return yield* Effect.die("as it was told")
        case "hang":
          return yield* Effect.never
        case "later":
          return Result.requeueAfter("1 hour")
        case "tell":
          yield* EventRecorder.record({ regarding: chore, type: "Normal", reason: "Told", note: "x" })
          yield* Chore.tell(chore.metadata, "told")
          return Result.done
        default:
          return Result.done
      }
    })
})

/** In the namespace of a test. */
export const election = ({ namespace }: Chore.Place) =>
  Either.getOrThrow(LeaderElection.make({ namespace, name: "chores", identity: crypto.randomUUID() }))
