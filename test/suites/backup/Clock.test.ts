/** Changes of the system clock. The lane deep has a whole day. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Effect } from "effect"
import * as Virtual from "./Virtual.ts"

describe("A clock", () => {
  Virtual.test(
    "that is set a year forward causes one replacement run, and the next one follows the schedule",
    (world) =>
      Effect.gen(function* () {
        yield* world.manage()
        yield* Virtual.create("shop", { schedule: "*/10 * * * *" })
        yield* Virtual.rests("shop")
        yield* world.setClock("2027-11-20T00:02:00Z")
        // A change of the clock does not affect timers. The manager notices the change when the next existing timer fires.
        yield* world.until("2027-11-20T00:19:00Z")
        expect(world.saving()).toHaveLength(2)
        expect(yield* Virtual.status("shop")).toMatchObject({
          phase: "Completed",
          lastScheduleTime: "2027-11-20T00:10:00Z",
          nextBackupTime: "2027-11-20T00:20:00Z"
        })
        expect(world.eventReasons("shop").filter((reason) => reason === "TooManyMissedTimes")).toHaveLength(1)
        yield* world.until("2027-11-20T00:31:30Z")
        expect(world.saving()).toHaveLength(4)
      })
  )

  Virtual.test("that is set back a year causes no burst of runs, and does not delay the next run", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("shop", { schedule: "*/10 * * * *" })
      yield* world.until("2026-11-20T00:12:00Z")
      expect(world.saving()).toHaveLength(2)
      yield* world.setClock("2025-11-20T00:02:00Z")
      yield* world.until("2025-11-20T00:45:00Z")
      const { lastScheduleTime, nextBackupTime, phase } = yield* Virtual.status("shop")
      expect([phase, lastScheduleTime, nextBackupTime]).toEqual([
        "Completed",
        "2025-11-20T00:40:00Z",
        "2025-11-20T00:50:00Z"
      ])
      // The existing timer noticed the change at 00:10.
      const times = ["00:20", "00:30", "00:40"]
      expect(
        world
          .saving()
          .slice(2)
          .map(({ pod }) => pod.metadata.creationTimestamp.slice(11, 16))
      ).toEqual(times)
      expect((yield* Virtual.runJobs).map(({ metadata }) => metadata.creationTimestamp.slice(11, 16))).toEqual(times)
      expect(world.eventReasons("shop").filter((reason) => reason === "BackupCompleted")).toHaveLength(5)
      expect(world.eventReasons("shop").filter((reason) => reason === "ClockSetBack")).toHaveLength(1)
    })
  )

  Virtual.test("that was wrong when a manager wrote lastScheduleTime delays nothing", (world) =>
    Effect.gen(function* () {
      const first = yield* world.manage()
      yield* Virtual.create("shop", { schedule: "0 2 * * *" })
      yield* Virtual.rests("shop")
      yield* first.stop
      yield* Client.status.patch(
        Backup,
        Virtual.key("shop"),
        Patch.merge({ status: { lastScheduleTime: "2026-12-01T02:00:00Z" } })
      )
      yield* world.manage()
      yield* world.until("2026-11-20T00:30:00Z")
      expect(world.saving()).toHaveLength(1)
      expect((yield* Virtual.status("shop")).nextBackupTime).toBe("2026-11-20T02:00:00Z")
      expect(world.notes("shop", "ClockSetBack")).toEqual([
        expect.stringContaining("2026-12-01T02:00:00Z was in the future")
      ])
      yield* world.until("2026-11-20T02:05:00Z")
      expect(world.saving()).toHaveLength(2)
    })
  )
})
