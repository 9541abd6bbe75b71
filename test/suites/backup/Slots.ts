/** The test of many Backups that are due at once and share a few slots, and the count of unfinished Jobs. */
import { expect } from "bun:test"
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Storages from "@homeostat/testkit/controllers/Storages"
import { Effect } from "effect"
import * as Virtual from "./Virtual.ts"

const isOver = ({ status }: Pick<Job, "status">): boolean =>
  status?.conditions?.some(({ status, type }) => status === "True" && (type === "Complete" || type === "Failed")) ===
  true

/** Counts the unfinished Jobs at each moment from now on. */
export const counting = ({ cluster: { server } }: Virtual.Virtual) =>
  Effect.gen(function* () {
    const open = new Set<string>()
    let most = 0
    const stop = server.store.subscribe(({ object, type }) => {
      // The object has the format that the API server serves.
      const job = object as unknown as Job
      if (type === "DELETED" || isOver(job)) open.delete(job.metadata.uid)
      else open.add(job.metadata.uid)
      most = Math.max(most, open.size)
    }, Storages.jobs)
    yield* Effect.addFinalizer(() => Effect.sync(stop))
    return () => most
  })

/** Declares the test for this number of Backups. */
export const test = (count: number): void =>
  Virtual.test(
    `Five of ${count} Backups that are due at once run at a time, and all of them finish`,
    (world) =>
      Effect.gen(function* () {
        yield* world.manage({ settings: { maxJobs: 5 } })
        const names = Array.from({ length: count }, (_, index) => `shop-${index}`)
        for (const name of names) yield* Virtual.create(name, { schedule: "0 1 * * *", startPolicy: "OnSchedule" })
        yield* world.until("2026-11-20T00:59:00Z")
        expect(world.begun()).toEqual([])
        const most = yield* counting(world)
        yield* world.until("2026-11-20T01:00:30Z")
        expect((yield* Virtual.jobs).length).toBe(5)
        yield* world.until("2026-11-20T01:30:00Z")
        expect(most()).toBe(5)
        expect(
          world
            .begun()
            .map(({ tag }) => tag)
            .sort()
        ).toEqual(names.map((name) => `shop/${name}`).sort())
        for (const name of names) {
          expect(yield* Virtual.status(name)).toMatchObject({
            phase: "Completed",
            lastScheduleTime: "2026-11-20T01:00:00Z",
            message: "1 volume saved"
          })
          expect(world.eventReasons(name)).toEqual(["BackupScheduled", "BackupStarted", "BackupCompleted"])
        }
      }),
    180_000
  )
