import { describe, expect, test } from "bun:test"
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import type { BackupStatus } from "../kinds/Backup.ts"
import * as Names from "../kinds/Names.ts"
import { at, backup, job, run, understood } from "./Backups.fixture.ts"
import * as NextAction from "./NextAction.ts"
import * as Status from "./RunStatus.ts"

const now = at("2026-11-20T02:00:30Z")
const yesterday = "2026-11-19T02:00:00Z"

const decide = (
  status: BackupStatus,
  {
    annotations = {},
    isBetweenJobs = false,
    jobs = [],
    moment = now,
    ...spec
  }: {
    readonly [field: string]: unknown
    readonly annotations?: { readonly [name: string]: string }
    readonly jobs?: ReadonlyArray<Job>
    readonly isBetweenJobs?: boolean
    readonly moment?: number
  } = {}
) => {
  const of = backup(spec, { status, annotations })
  const { draft, ...others } = NextAction.make(of, understood(of), Status.draft(of), {
    jobs,
    isBetweenJobs,
    now: moment
  })
  return { ...others, status: draft.status, events: draft.events.map(({ reason }) => reason) }
}

test("A due run is requested, and the next one is scheduled", () =>
  expect(decide({ lastScheduleTime: yesterday })).toMatchObject({
    request: { trigger: "schedule", tick: at("2026-11-20T02:00:00Z") },
    next: at("2026-11-21T02:00:00Z"),
    again: undefined,
    events: []
  }))

describe("A scheduled time during a run", () => {
  const active = { active: run({ startTime: "2026-11-19T02:00:01Z" }), lastScheduleTime: yesterday }
  test("is skipped once with Forbid", () => {
    const { events, request, status } = decide(active)
    expect([request, events]).toEqual([undefined, ["RunSkipped"]])
    expect(decide(status)).toMatchObject({ request: undefined, events: [], status })
  })
  test("waits with Forbid and a deadline, until the deadline has passed", () => {
    const deadline = { startingDeadlineSeconds: 600 }
    expect(decide(active, deadline)).toMatchObject({ request: undefined, events: [], status: active })
    const late = decide(active, { ...deadline, moment: now + 600_000 })
    expect(late.events).toEqual(["MissedSchedule"])
    expect(decide(late.status, { ...deadline, moment: now + 700_000 }).events).toEqual([])
  })
  test("replaces the run with Replace", () => {
    const { events, request, status } = decide(active, { concurrencyPolicy: "Replace" })
    expect(status).toMatchObject({ lastRun: { job: run().job, reason: "Replaced" } })
    expect(status.active).toBeUndefined()
    expect([request?.tick, events]).toEqual([at("2026-11-20T02:00:00Z"), ["RunReplaced"]])
  })
  test("is ignored between two Jobs of the run", () => {
    for (const concurrencyPolicy of ["Forbid", "Replace"]) {
      expect(decide(active, { concurrencyPolicy, isBetweenJobs: true })).toMatchObject({
        request: undefined,
        status: active
      })
    }
  })
  test("counts as started if a manual run starts at that time", () => {
    const { request } = decide(
      { lastScheduleTime: yesterday },
      { annotations: { [Names.runAnnotation]: "T" }, concurrencyPolicy: "Replace" }
    )
    expect(request).toMatchObject({ trigger: "manual", tick: at("2026-11-20T02:00:00Z") })
  })
})

test("An unreported run is adopted before another run starts", () => {
  // The manager ended the previous run and began this one, and crashed before it wrote either.
  const last = {
    job: "x",
    trigger: "manual",
    startTime: yesterday,
    completionTime: yesterday,
    reason: "Succeeded"
  } as const
  const unknown = job("y", {
    after: "x",
    ended: "Complete",
    tick: "2026-11-19T03:00:00Z",
    made: "2026-11-19T03:00:00Z"
  })
  const found = decide({ lastRun: last, lastScheduleTime: yesterday }, { jobs: [unknown] })
  expect(found).toMatchObject({
    request: undefined,
    again: now,
    events: ["BackupStarted"],
    status: { active: { job: "y" }, lastScheduleTime: "2026-11-19T03:00:00Z" }
  })
})

test("Missed runs are reported when a run replaces them, not before", () => {
  const { events, request } = decide({ lastScheduleTime: "2025-11-19T02:00:00Z" })
  expect(events).toEqual([])
  expect(request?.missed).toBe("many")
})

describe("After the clock was set back,", () => {
  test("lastScheduleTime is corrected once, and no scheduled time is delayed", () => {
    const { events, next, status } = decide(
      { lastScheduleTime: "2027-11-20T02:00:00Z" },
      { moment: at("2026-11-20T01:00:00Z") }
    )
    expect(events).toEqual(["ClockSetBack"])
    expect(next).toBe(at("2026-11-20T02:00:00Z"))
    expect(decide(status, { moment: at("2026-11-20T01:00:00Z") }).events).toEqual([])
  })
  test("a Backup created in the future runs at its next scheduled time", () => {
    const early = { startPolicy: "OnSchedule", moment: at("2026-10-20T01:00:00Z") }
    const { events, request, status } = decide({}, early)
    expect([events, request]).toEqual([["ClockSetBack"], undefined])
    expect(decide(status, { ...early, moment: at("2026-10-20T02:00:00Z") }).request?.tick).toBe(
      at("2026-10-20T02:00:00Z")
    )
  })
})

test("A retry after a lock waits for half an hour", () => {
  const lastRun = { ...run(), completionTime: "2026-11-20T02:00:00Z", reason: "RepositoryLocked" }
  expect(decide({ lastRun, lastScheduleTime: "2026-11-20T02:00:00Z" })).toMatchObject({
    request: undefined,
    again: at("2026-11-20T02:30:00Z")
  })
})
