/** Managers that were down while Backups were due, or die while they create a Job. Restart.test.ts has the orderly restarts. */
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"
import type { Fate } from "./VirtualManager.ts"

const isStatusOf = (kind: string) => (request: { readonly method: string; readonly path: string }) =>
  request.method !== "GET" && new RegExp(`/${kind}/[^/]+/status`).test(request.path)

const isJob = ({ method, path }: { readonly method: string; readonly path: string }) =>
  method === "POST" && /\/jobs(\?|$)/.test(path)

describe("After the manager was down for three scheduled times,", () => {
  Virtual.test("one run replaces the missed ones", (world) =>
    Effect.gen(function* () {
      const first = yield* world.manage()
      yield* Virtual.create("shop", { schedule: "*/10 * * * *" })
      yield* Virtual.rests("shop")
      yield* first.stop
      yield* world.until("2026-11-20T00:35:00Z")
      expect(world.begun()).toHaveLength(1)
      yield* world.manage()
      yield* world.until("2026-11-20T00:39:00Z")
      expect(world.begun()).toHaveLength(2)
      expect(yield* Virtual.status("shop")).toMatchObject({
        phase: "Completed",
        lastScheduleTime: "2026-11-20T00:30:00Z",
        nextBackupTime: "2026-11-20T00:40:00Z"
      })
      expect(world.eventReasons("shop")).not.toContain("MissedSchedule")
      yield* world.until("2026-11-20T00:42:00Z")
      expect(world.begun()).toHaveLength(3)
    })
  )

  Virtual.test("no run replaces them after startingDeadlineSeconds, which is reported once", (world) =>
    Effect.gen(function* () {
      const first = yield* world.manage()
      yield* Virtual.create("shop", { schedule: "*/10 * * * *", startingDeadlineSeconds: 60 })
      yield* Virtual.rests("shop")
      yield* first.stop
      yield* world.until("2026-11-20T00:35:00Z")
      const second = yield* world.manage()
      yield* world.until("2026-11-20T00:36:00Z")
      yield* second.stop
      yield* world.manage()
      yield* world.until("2026-11-20T00:39:00Z")
      expect(world.begun()).toHaveLength(1)
      expect(world.notes("shop", "MissedSchedule")).toEqual([
        "The run of 2026-11-20T00:30:00Z was skipped because it could not start within 60 seconds (startingDeadlineSeconds)"
      ])
      expect(yield* Virtual.status("shop")).toMatchObject({
        phase: "Completed",
        lastScheduleTime: "2026-11-20T00:00:00Z",
        lastMissedTime: "2026-11-20T00:30:00Z"
      })
      yield* world.until("2026-11-20T00:42:00Z")
      expect(world.begun()).toHaveLength(2)
    })
  )

  Virtual.test("one run also replaces more than a hundred missed ones, with a warning", (world) =>
    Effect.gen(function* () {
      const first = yield* world.manage()
      yield* Virtual.create("shop", { schedule: "* * * * *" })
      yield* world.pass("90 seconds")
      yield* first.stop
      yield* world.until("2026-11-20T02:05:10Z")
      const before = world.begun().length
      yield* world.manage()
      yield* world.until("2026-11-20T02:05:50Z")
      expect(world.begun().length).toBe(before + 1)
      expect(world.eventReasons("shop").filter((reason) => reason === "TooManyMissedTimes")).toHaveLength(1)
    })
  )
})

describe("A manager that is killed after it created a Job", () => {
  for (const [what, fate] of [
    ["before its status was written", "silent"],
    ["while it waited for the answer to its status", "lost"]
  ] as const satisfies ReadonlyArray<readonly [string, Fate]>) {
    Virtual.test(`${what} leaves the Job to the next manager, which creates no other one for that time`, (world) =>
      Effect.gen(function* () {
        const first = yield* world.manage()
        world.movers((mover) => PretendedMover.succeeds(mover, "3 minutes"))
        yield* Virtual.create("shop", { schedule: "*/10 * * * *", startPolicy: "OnSchedule" })
        yield* world.until("2026-11-20T00:09:00Z")
        first.cut((request) => (isStatusOf("backups")(request) ? fate : "pass"))
        yield* world.until("2026-11-20T00:10:05Z")
        const [job, ...more] = yield* Virtual.jobs
        expect(more).toEqual([])
        expect((yield* Virtual.status("shop")).active === undefined).toBe(fate === "silent")
        yield* first.kill
        yield* world.manage()
        yield* world.until("2026-11-20T00:15:00Z")
        expect((yield* Virtual.jobs).map(({ metadata }) => metadata.uid)).toEqual([job?.metadata.uid ?? ""])
        expect(yield* Virtual.status("shop")).toMatchObject({
          phase: "Completed",
          lastScheduleTime: "2026-11-20T00:10:00Z",
          lastRun: { job: job?.metadata.name, trigger: "schedule", reason: "Succeeded" }
        })
        expect(world.begun()).toHaveLength(1)
      })
    )
  }

  Virtual.test("without an answer leaves the Job to the next manager", (world) =>
    Effect.gen(function* () {
      const first = yield* world.manage()
      first.cut((request) => (isJob(request) ? "lost" : "pass"))
      yield* Virtual.create("shop")
      yield* world.pass("5 seconds")
      expect(yield* Virtual.jobs).toHaveLength(1)
      yield* first.kill
      yield* world.manage()
      yield* world.pass("2 minutes")
      expect(yield* Virtual.jobs).toHaveLength(1)
      expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed", lastRun: { trigger: "start" } })
    })
  )

  for (const [what, exitCode, reason] of [
    ["well", 0, "Succeeded"],
    ["badly", 44, "ResticFailed"]
  ] as const) {
    Virtual.test(`that ended ${what} in the meantime has its result read, with the time of its end`, (world) =>
      Effect.gen(function* () {
        const first = yield* world.manage()
        world.movers((mover) =>
          exitCode === 0 ? undefined : PretendedMover.ends(exitCode, { reason, message: `no luck for ${mover.tag}` })
        )
        yield* Virtual.create("shop", { schedule: "0 * * * *", startPolicy: "OnSchedule", backoffLimit: 0 })
        yield* world.until("2026-11-20T00:59:00Z")
        first.cut((request) => (isStatusOf("backups")(request) ? "silent" : "pass"))
        yield* world.until("2026-11-20T01:00:05Z")
        yield* first.kill
        yield* world.until("2026-11-20T01:30:00Z")
        expect((yield* Virtual.status("shop")).lastRun).toBeUndefined()
        yield* world.manage()
        yield* world.pass("1 minute")
        expect(yield* Virtual.status("shop")).toMatchObject({
          lastScheduleTime: "2026-11-20T01:00:00Z",
          nextBackupTime: "2026-11-20T02:00:00Z",
          lastRun: { trigger: "schedule", reason, startTime: "2026-11-20T01:00:00Z" }
        })
        expect((yield* Virtual.status("shop")).lastRun?.completionTime).toMatch(/^2026-11-20T01:01:0[0-3]Z$/)
        // The first retry of a failed run is due by then.
        expect(world.begun()).toHaveLength(exitCode === 0 ? 1 : 2)
      })
    )
  }
})
