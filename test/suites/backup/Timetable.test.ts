/** The start of runs: by schedule, by time zone, and on a user's request. */
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

/** The scheduled times of the runs that have started, without their date. */
const times = (world: Virtual.Virtual) =>
  world.begun().map(({ pod }) => (pod.metadata.creationTimestamp ?? "").slice(11, 16))

describe("An invalid schedule", () => {
  for (const schedule of ["61 * * * *", "0 0 * * 7", "0 0 30 2 *"]) {
    Virtual.test(`such as ${schedule} is reported once, and other Backups run`, (world) =>
      Effect.gen(function* () {
        yield* world.manage()
        yield* Virtual.create("bad", { schedule })
        yield* Virtual.create("good", { schedule: "*/5 * * * *" })
        const bad = yield* Virtual.until("bad", "it is refused", ({ phase }) => phase === "Failed")
        expect(Virtual.condition(bad, "Ready")).toMatchObject({ status: "False", reason: "InvalidSchedule" })
        expect(Virtual.condition(bad, "Stalled")).toMatchObject({ status: "True", reason: "InvalidSchedule" })
        // The annotation makes the manager reconcile this Backup again.
        yield* Virtual.annotate("bad", "note", "1")
        yield* world.until("2026-11-20T00:12:00Z")
        expect(world.eventReasons("bad")).toEqual(["InvalidSchedule"])
        expect(times(world)).toEqual(["00:00", "00:05", "00:10"])
        expect((yield* Virtual.status("good")).phase).toBe("Completed")

        yield* Virtual.change("bad", { spec: { schedule: "*/5 * * * *" } })
        const mended = yield* Virtual.rests("bad")
        expect([mended.status?.phase, Virtual.condition(mended, "Stalled")]).toEqual(["Completed", undefined])
      })
    )
  }

  Virtual.test("is rejected by the API server if its format is wrong", () =>
    Effect.gen(function* () {
      for (const schedule of ["61 * *", "* * * * * *", "@fortnightly", "TZ=UTC 0 2 * * *", ""]) {
        const error = yield* Effect.flip(Virtual.create("bad", { schedule }))
        expect([schedule, error._tag, error.message]).toEqual([
          schedule,
          "Invalid",
          expect.stringContaining("schedule")
        ])
      }
    })
  )
})

describe("The first run", () => {
  Virtual.test("is at creation, and the next one by the schedule", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* world.until("2026-11-20T00:07:00Z")
      yield* Virtual.create("shop", { schedule: "*/10 * * * *" })
      yield* world.until("2026-11-20T00:22:00Z")
      expect(times(world)).toEqual(["00:07", "00:10", "00:20"])
      expect(world.notes("shop", "BackupStarted").map((note) => note.replace(/^.*: /, ""))).toEqual([
        "the first run",
        "its scheduled time",
        "its scheduled time"
      ])
    })
  )

  Virtual.test("is at the first scheduled time with startPolicy OnSchedule", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* world.until("2026-11-20T00:07:00Z")
      yield* Virtual.create("shop", { schedule: "*/10 * * * *", startPolicy: "OnSchedule" })
      yield* world.until("2026-11-20T00:09:59Z")
      expect(yield* Virtual.status("shop")).toMatchObject({
        phase: "Pending",
        message: "Scheduled: */10 * * * * (UTC).",
        nextBackupTime: "2026-11-20T00:10:00Z"
      })
      expect(times(world)).toEqual([])
      yield* world.until("2026-11-20T00:22:00Z")
      expect(times(world)).toEqual(["00:10", "00:20"])
    })
  )

  Virtual.test("is the only one without a schedule, and only on request with OnSchedule", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("once")
      yield* Virtual.create("never", { startPolicy: "OnSchedule" })
      yield* world.pass("3 hours")
      expect(world.begun().map(({ tag }) => tag)).toEqual(["shop/once"])
      const { nextBackupTime, phase } = yield* Virtual.status("once")
      expect([phase, nextBackupTime]).toEqual(["Completed", undefined])
      expect((yield* Virtual.status("never")).message).toContain("backup.example.com/run")
    })
  )
})

Virtual.test("A suspended Backup runs only on request, and one run replaces all missed ones", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop", { schedule: "*/10 * * * *" })
    yield* Virtual.rests("shop")
    yield* Virtual.change("shop", { spec: { suspend: true } })
    yield* world.until("2026-11-20T00:45:00Z")
    const suspended = yield* Virtual.get("shop")
    expect([suspended.status?.phase, suspended.status?.nextBackupTime]).toEqual(["Completed", undefined])
    expect(Virtual.condition(suspended, "Ready")).toMatchObject({ status: "True", reason: "Suspended" })
    yield* Virtual.annotate("shop", "run", "now")
    yield* world.until("2026-11-20T00:53:00Z")
    expect(times(world)).toEqual(["00:00", "00:45"])
    yield* Virtual.change("shop", { spec: { suspend: false } })
    yield* world.until("2026-11-20T01:11:00Z")
    expect(times(world)).toEqual(["00:00", "00:45", "00:53", "01:00", "01:10"])
    expect(world.eventReasons("shop")).not.toContain("RunSkipped")
  })
)

Virtual.test(
  "A token of the run annotation starts one run, another token starts another run, and the first token can be used again",
  (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("shop", { startPolicy: "OnSchedule" })
      for (const [token, count] of [
        ["T", 1],
        ["T", 1],
        ["U", 2],
        ["T", 3]
      ] as const) {
        yield* Virtual.annotate("shop", "run", token)
        // Another field changes, too.
        yield* Virtual.annotate("shop", "note", `${count}`)
        yield* world.pass("5 minutes")
        expect([token, world.begun().length]).toEqual([token, count])
        expect((yield* Virtual.status("shop")).lastManualTrigger).toBe(token)
      }
      expect(new Set(world.begun().map(({ job }) => job)).size).toBe(3)
      expect((yield* Virtual.status("shop")).lastRun?.trigger).toBe("manual")
    })
)

describe("The time zone", () => {
  Virtual.test("Europe/Berlin skips the missing hour, and runs in both repeated hours", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      const nexts: Array<readonly [string, string | undefined]> = []
      for (const [name, now] of [
        ["winter", "2027-03-26T12:00:00Z"],
        ["gap", "2027-03-27T12:00:00Z"],
        ["summer", "2027-10-30T12:00:00Z"],
        ["again", "2027-10-31T00:30:00Z"],
        ["after", "2027-10-31T01:30:00Z"]
      ] as const) {
        yield* world.setClock(now)
        yield* Virtual.create(name, { schedule: "30 2 * * *", timeZone: "Europe/Berlin", startPolicy: "OnSchedule" })
        const { status } = yield* Virtual.until(
          name,
          "it is armed",
          ({ nextBackupTime }) => nextBackupTime !== undefined
        )
        nexts.push([name, status?.nextBackupTime])
      }
      expect(nexts).toEqual([
        ["winter", "2027-03-27T01:30:00Z"],
        ["gap", "2027-03-29T00:30:00Z"],
        ["summer", "2027-10-31T00:30:00Z"],
        ["again", "2027-10-31T01:30:00Z"],
        ["after", "2027-11-01T01:30:00Z"]
      ])
    })
  )

  Virtual.test("has a run at each of the two repeated times", (world) =>
    Effect.gen(function* () {
      yield* world.setClock("2027-10-31T00:00:00Z")
      yield* world.manage()
      yield* Virtual.create("shop", { schedule: "30 2 * * *", timeZone: "Europe/Berlin", startPolicy: "OnSchedule" })
      yield* world.until("2027-10-31T02:00:00Z")
      expect(times(world)).toEqual(["00:30", "01:30"])
    })
  )

  Virtual.test("is rejected with its name if it is unknown, and other Backups run", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("bad", { schedule: "@hourly", timeZone: "Europe/Atlantis" })
      yield* Virtual.create("good", { schedule: "@hourly" })
      const bad = yield* Virtual.until("bad", "it is refused", ({ phase }) => phase === "Failed")
      expect(Virtual.condition(bad, "Ready")).toMatchObject({
        status: "False",
        reason: "UnknownTimeZone",
        message: expect.stringContaining("Europe/Atlantis")
      })
      yield* Virtual.rests("good")
      expect(world.begun().map(({ tag }) => tag)).toEqual(["shop/good"])
    })
  )
})

Virtual.test("A spec change during a run applies to the next run, and the status observes it at once", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "4 minutes"))
    yield* Virtual.create("shop", { schedule: "*/10 * * * *", retentionPolicy: "30d", excludes: ["*.tmp"] })
    yield* Virtual.runs("shop")
    const [before] = yield* Virtual.jobs
    yield* Virtual.change("shop", { spec: { schedule: "*/6 * * * *", retentionPolicy: "", excludes: ["cache/**"] } })
    yield* world.pass("1 second")
    const changed = yield* Virtual.get("shop")
    expect(changed.status).toMatchObject({
      phase: "Running",
      observedGeneration: changed.metadata.generation,
      nextBackupTime: "2026-11-20T00:06:00Z",
      active: { job: before?.metadata.name }
    })
    yield* world.until("2026-11-20T00:11:00Z")
    const [first, second, ...more] = yield* Virtual.jobs
    expect([first?.metadata.uid, first?.spec, more]).toEqual([before?.metadata.uid, before?.spec, []])
    // The later runs delete no snapshots.
    expect(world.begun().map(({ env, operations }) => [env.EXCLUDES, operations.join(" ")])).toEqual([
      ["*.tmp", "preflight backup"],
      ["cache/**", "preflight backup"]
    ])
    expect(second?.metadata.creationTimestamp).toBe("2026-11-20T00:06:00Z")
    expect((yield* Virtual.status("shop")).phase).toBe("Completed")
  })
)
