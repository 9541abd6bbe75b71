/** Changes of the system clock, and days without any run. */
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

Virtual.test(
  "On a day with one backup, the manager writes only changes",
  (world) =>
    Effect.gen(function* () {
      const { attempts, sent } = yield* world.manage()
      yield* Virtual.create("shop", { schedule: "0 2 * * *", retentionPolicy: "30d" })
      yield* world.until("2026-11-20T03:00:00Z")
      const [requests, reconciles] = [sent.length, attempts.length]
      yield* world.until("2026-11-21T03:00:00Z")
      const writes = sent.slice(requests).filter(({ method }) => method !== "GET")
      const counts = new Map<string, number>()
      for (const { method, path } of writes) {
        const request = `${method} ${path
          .replace(/^.*\/namespaces\/shop\//, "")
          .replace(/\?.*/, "")
          .replace(/-k[0-9a-f]{8}$/, "-k")}`
        counts.set(request, (counts.get(request) ?? 0) + 1)
      }
      expect(Object.fromEntries(counts)).toEqual({
        // The run: it begins, its pod starts, its pod runs, it ends and the maintenance begins, and the maintenance ends.
        "PATCH backups/shop/status": 6,
        // The Events are BackupStarted, BackupCompleted and SnapshotsPruned.
        "POST events": 3,
        // One Job for the run and one for its maintenance. The controller keeps only the newest Job of a maintenance.
        "POST jobs": 2,
        "DELETE jobs/shop-k": 1
      })
      expect(attempts.length - reconciles).toBeLessThan(60)
      expect(world.saving()).toHaveLength(3)
    }),
  180_000
)
