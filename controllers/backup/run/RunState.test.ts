import { describe, expect, test } from "bun:test"
import * as Duration from "effect/Duration"
import { at, backup, job, report, run, saved } from "./Backups.fixture.ts"
import * as JobProgress from "./JobProgress.ts"
import * as RunPlan from "./RunPlan.ts"
import * as RunState from "./RunState.ts"

const ended = at("2026-11-20T02:05:00Z")
const mover = job("cart-29393880", { uid: "u" })
const active = backup({}, { status: { active: run({ uid: "u" }) } })
const minute = 60_000

/** The mover has ended with this exit code, and a sidecar of its pod has not. */
const beside = (exitCode: number): JobProgress.Progress => ({
  _tag: "Running",
  message: "The mover has ended",
  ended: { ending: { _tag: "Exited", exitCode, text: report(exitCode === 0 ? saved : {}) }, at: ended }
})
const standing = (progress: JobProgress.Progress, now: number) =>
  RunState.of(
    active,
    { job: mover, progress: JobProgress.settled(progress, now) },
    { now, startTimeout: Duration.minutes(10) }
  )

describe("A run whose mover has ended, but not the sidecar of its pod,", () => {
  test("continues for a minute, because the Job controller may not have counted it", () =>
    expect(standing(beside(0), ended + minute - 1)).toMatchObject({ job: mover, deadline: ended + minute }))
  for (const [exitCode, reason] of [
    [0, "Succeeded"],
    [42, "WrongPassword"]
  ] as const) {
    test(`ends with the result of the mover after that: ${reason}`, () => {
      const { draft, job } = standing(beside(exitCode), ended + minute)
      expect(job).toBeUndefined()
      expect(draft.status).toMatchObject({ lastRun: { reason, completionTime: "2026-11-20T02:05:00Z" } })
      expect(draft.status.active).toBeUndefined()
      expect(RunPlan.abandoned(draft.status, [mover])).toEqual([mover])
    })
  }
})
