/** Managers that restart or take over while Backups are due, run and end. */
import { expect } from "bun:test"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

Virtual.test("A manager that is stopped leaves the mover running, and the next manager reads its result", (world) =>
  Effect.gen(function* () {
    const first = yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "10 minutes"))
    yield* Virtual.create("shop")
    yield* Virtual.runs("shop")
    yield* first.stop
    yield* world.until("2026-11-20T00:20:00Z")
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Running" })
    yield* world.manage()
    yield* world.pass("5 seconds")
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed", lastRun: { reason: "Succeeded" } })
    expect((yield* Virtual.status("shop")).lastRun?.completionTime).toMatch(/^2026-11-20T00:10:0[0-3]Z$/)
    expect(world.begun()).toHaveLength(1)
  })
)

Virtual.test("Only the leader of two managers runs Backups, and the other one takes them over", (world) =>
  Effect.gen(function* () {
    const first = yield* world.manage({ name: "first", elected: true })
    yield* world.pass("1 second")
    expect(first.leads()).toBe(true)
    const second = yield* world.manage({ name: "second", elected: true })
    world.movers((mover) => PretendedMover.succeeds(mover, "3 minutes"))
    yield* Virtual.create("shop", { schedule: "*/10 * * * *" })
    yield* world.until("2026-11-20T00:11:00Z")
    const writes = () => second.sent.filter(({ method, path }) => method !== "GET" && !path.includes("/leases"))
    expect(writes()).toEqual([])
    yield* first.kill
    yield* world.until("2026-11-20T00:29:00Z")
    expect([second.leads(), writes().length > 0]).toEqual([true, true])
    expect(yield* Virtual.status("shop")).toMatchObject({
      phase: "Completed",
      lastScheduleTime: "2026-11-20T00:20:00Z",
      consecutiveFailures: 0
    })
    expect(world.begun()).toHaveLength(3)
    expect((yield* Virtual.jobs).map(({ metadata }) => metadata.creationTimestamp.slice(11, 16))).toEqual([
      "00:00",
      "00:10",
      "00:20"
    ])
    expect(world.eventReasons("shop").filter((reason) => reason === "BackupCompleted")).toHaveLength(3)
  })
)
