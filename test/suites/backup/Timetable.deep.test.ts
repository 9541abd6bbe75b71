/** The work of many runs one after the other. Timetable.test.ts has the start of runs. */
import { expect } from "bun:test"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

Virtual.test(
  "A separate Job deletes old snapshots after each run, prunes every week and checks the repository every month",
  (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("shop", { retentionPolicy: "30d" })
      yield* Virtual.rests("shop")
      yield* world.pass("5 minutes")
      for (const day of ["26", "27", "28"]) {
        yield* world.setClock(`2026-11-${day}T01:00:00Z`)
        yield* Virtual.annotate("shop", "run", day)
        yield* world.pass("5 minutes")
      }
      for (const day of ["04", "21"]) {
        yield* world.setClock(`2026-12-${day}T02:00:00Z`)
        yield* Virtual.annotate("shop", "run", day)
        yield* world.pass("5 minutes")
      }
      expect(world.begun().map(({ operations }) => operations.join(" "))).toEqual([
        ...["preflight backup", "preflight forget"],
        ...["preflight backup", "preflight forget"],
        ...["preflight backup", "preflight forget prune"],
        ...["preflight backup", "preflight forget"],
        ...["preflight backup", "preflight forget prune"],
        ...["preflight backup", "preflight check forget prune"]
      ])
      expect(yield* Virtual.status("shop")).toMatchObject({
        lastPruneTime: "2026-12-21T02:02:00Z",
        lastCheckTime: "2026-12-21T02:02:00Z",
        snapshots: 3
      })
    })
)

Virtual.test(
  "Three of five successful and one of three failed Jobs are kept, and the status has the last result",
  (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      const kinds = [..."SFSSFSFS"]
      world.movers((mover) =>
        kinds[world.begun().length - 1] === "F"
          ? PretendedMover.ends(44, { reason: "ResticFailed", message: "no" })
          : PretendedMover.succeeds(mover)
      )
      yield* Virtual.create("shop", { startPolicy: "OnSchedule", backoffLimit: 0 })
      for (const [index] of kinds.entries()) {
        yield* Virtual.annotate("shop", "run", `${index}`)
        yield* world.pass("3 minutes")
      }
      expect(world.begun().map(({ job }) => job)).toHaveLength(8)
      const names = world.begun().map(({ job }) => job)
      const kept = (yield* Virtual.jobs).map(({ metadata }) => names.indexOf(metadata.name))
      expect(kept).toEqual([3, 5, 6, 7])
      expect(yield* Virtual.status("shop")).toMatchObject({
        phase: "Completed",
        lastManualTrigger: "7",
        lastRun: { job: names[7], reason: "Succeeded" },
        consecutiveFailures: 0
      })

      yield* Virtual.change("shop", { spec: { successfulRunsHistoryLimit: 0, failedRunsHistoryLimit: 0 } })
      yield* world.pass("1 minute")
      expect(yield* Virtual.jobs).toEqual([])
      expect((yield* Virtual.status("shop")).lastRun?.job).toBe(names[7])
    })
)
