/** A whole day with one backup. */
import { expect } from "bun:test"
import { Effect } from "effect"
import * as Virtual from "./Virtual.ts"

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
        // The run: it begins, its pod starts, its pod runs, it ends and the maintenance begins, and the maintenance ends. The echo of a
        // status shows one more moment of the start.
        "PATCH backups/shop/status": 7,
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
