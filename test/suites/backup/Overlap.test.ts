/** Runs that are due while the previous run is active. */
import { expect } from "bun:test"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

/** The start times of runs, each with its scheduled time. */
const runs = (world: Virtual.Virtual) =>
  Effect.map(Virtual.jobs, (jobs) => {
    const short = (time: string | undefined) => (time ?? "").slice(11, 19)
    return world.begun().map(({ job, pod }) => {
      const annotations = jobs.find(({ metadata }) => metadata.name === job)?.metadata.annotations
      return [short(pod.metadata.creationTimestamp), short(annotations?.["backup.example.com/scheduled-at"])]
    })
  })

Virtual.test("Forbid skips the times that pass during a run, with one Event each", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "25 minutes"))
    yield* Virtual.create("shop", { schedule: "*/10 * * * *" })
    yield* world.until("2026-11-20T00:21:00Z")
    expect(yield* Virtual.status("shop")).toMatchObject({
      phase: "Running",
      lastScheduleTime: "2026-11-20T00:20:00Z",
      nextBackupTime: "2026-11-20T00:30:00Z"
    })
    yield* world.until("2026-11-20T00:31:00Z")
    expect(yield* runs(world)).toEqual([
      ["00:00:00", "00:00:00"],
      ["00:30:00", "00:30:00"]
    ])
    expect(world.notes("shop", "RunSkipped")).toEqual([
      expect.stringContaining("The run of 2026-11-20T00:10:00Z was skipped"),
      expect.stringContaining("The run of 2026-11-20T00:20:00Z was skipped")
    ])
    expect(world.eventReasons("shop")).not.toContain("MissedSchedule")
  })
)

Virtual.test("Forbid lets a run wait for up to startingDeadlineSeconds", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "14 minutes"))
    yield* Virtual.create("shop", { schedule: "*/10 * * * *", startingDeadlineSeconds: 300 })
    // The second run starts late, at 00:14, and ends at 00:28. The third run must start by 00:25.
    yield* world.until("2026-11-20T00:31:00Z")
    expect(yield* runs(world)).toEqual([
      ["00:00:00", "00:00:00"],
      ["00:14:00", "00:10:00"],
      ["00:30:00", "00:30:00"]
    ])
    expect(world.eventReasons("shop").filter((reason) => reason.startsWith("RunSkipped"))).toEqual([])
    expect(world.notes("shop", "MissedSchedule")).toEqual([
      "The run of 2026-11-20T00:20:00Z was skipped because it could not start within 300 seconds (startingDeadlineSeconds)"
    ])
  })
)

Virtual.test("Replace stops the previous run, and starts the next one when its pod is gone", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers((mover) => ({
      ...PretendedMover.succeeds(mover, "25 minutes"),
      stopped: PretendedMover.stopped("30 seconds")
    }))
    yield* Virtual.create("shop", { schedule: "*/10 * * * *", concurrencyPolicy: "Replace" })
    yield* world.until("2026-11-20T00:10:15Z")
    const ending = yield* Virtual.status("shop")
    expect(ending.lastRun).toMatchObject({ reason: "Replaced", completionTime: "2026-11-20T00:10:00Z" })
    expect([ending.active, ending.lastScheduleTime]).toEqual([undefined, "2026-11-20T00:00:00Z"])
    expect(ending.message).toContain("A run is due and waits")
    expect(yield* Virtual.pods).toHaveLength(1)
    yield* world.until("2026-11-20T00:11:00Z")
    const [job, ...more] = yield* Virtual.jobs
    expect([job?.metadata.annotations?.["backup.example.com/scheduled-at"], more]).toEqual(["2026-11-20T00:10:00Z", []])
    const [begun = ""] = (yield* Virtual.pods).map(({ metadata }) => metadata.creationTimestamp)
    expect(Date.parse(begun)).toBeGreaterThanOrEqual(Date.parse("2026-11-20T00:10:30Z"))
    expect(Date.parse(begun)).toBeLessThanOrEqual(Date.parse("2026-11-20T00:10:33Z"))
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Running", consecutiveFailures: 0 })

    world.movers(() => undefined)
    yield* world.until("2026-11-20T00:25:00Z")
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed", lastRun: { reason: "Succeeded" } })
    expect(world.eventReasons("shop").filter((reason) => reason === "RunReplaced")).toHaveLength(2)
  })
)

Virtual.test("A manual run that is requested during another run starts after it", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "3 minutes"))
    yield* Virtual.create("shop")
    yield* Virtual.runs("shop")
    yield* Virtual.annotate("shop", "run", "T")
    yield* world.until("2026-11-20T00:03:10Z")
    expect(world.begun()).toHaveLength(2)
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Running", active: { trigger: "manual", token: "T" } })
    yield* world.pass("5 minutes")
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed", lastManualTrigger: "T" })
  })
)
