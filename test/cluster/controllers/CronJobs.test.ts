import { describe, expect, test } from "bun:test"
import { at, type JsonObject, objects } from "@homeostat/apiserver/model/Json"
import { annotationsOf, nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import vectors from "../../../controllers/backup/schedule/cron-vectors.fixture.json"
import { effect } from "../Test.ts"
import * as CronSchedule from "./CronSchedule.ts"
import * as Running from "./Running.fixture.ts"

const time = (millis: number | undefined) =>
  millis === undefined ? "" : new Date(millis).toISOString().replace(".000Z", "Z")

const utc: CronSchedule.TimeZone = () => 0

describe("The times of a schedule are those of robfig/cron", () => {
  // robfig/cron loses a run on the days on which the clocks of Lord Howe change by half an hour.
  const valid = vectors.next.filter(({ Err, TZ }) => Err === "" && TZ !== "Australia/Lord_Howe")

  test("for enough examples", () => {
    expect(valid.length).toBeGreaterThan(30)
  })

  test.each(valid.map((one) => [one.Spec, one.TZ, one] as const))("%s %s", (spec, zoneName, { After, Next }) => {
    const schedule = CronSchedule.parse(spec)
    const zone = CronSchedule.zone(zoneName) ?? utc
    let after = Date.parse(After)
    for (const expected of Next ?? []) {
      const next = CronSchedule.next(schedule, zone, after)
      expect(next === undefined ? "never" : time(next)).toBe(expected)
      if (next === undefined) return
      after = next
    }
  })
})

test.each(vectors.mostRecent.map((one) => [one.Spec, one.Now, one] as const))(
  "the latest time of %s at %s is that of a real CronJob",
  (spec, Now, { Created, Deadline, Err, LastSchedule, Missed, MostRecent }) => {
    const now = Date.parse(Now)
    const last = Date.parse(LastSchedule === "" ? Created : LastSchedule)
    const earliest = Deadline < 0 ? last : Math.max(last, now - Deadline * 1000)
    const recent = CronSchedule.mostRecent(CronSchedule.parse(spec), utc, earliest, now)
    expect({ at: time(recent.at), missed: recent.missed, isInvalid: recent.isInvalid }).toEqual({
      at: MostRecent,
      missed: Missed as CronSchedule.Missed,
      isInvalid: Err !== ""
    })
  }
)

const cronJob = (spec: JsonObject): JsonObject => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name: "c", namespace: Running.namespace },
  spec: {
    jobTemplate: { spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } } },
    ...spec
  }
})

/** Advances the clock. */
const pass = (running: Running.Running, minutes: number) =>
  Effect.andThen(TestClock.adjust(Duration.minutes(minutes)), running.idle)

const jobs = (running: Running.Running) => running.store.list("batch/jobs")

const reasons = (running: Running.Running) =>
  running.store
    .list("/events")
    .filter((one) => at(one, "involvedObject", "kind") === "CronJob")
    .map(({ message, reason }) => `${reason}: ${message}`)

describe("A CronJob", () => {
  effect("runs at the local time of its time zone, which is an annotation of the Job", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      running.make(cronJob({ schedule: "15 12 * * *", timeZone: "Europe/Berlin" }))
      yield* pass(running, 74)
      expect(jobs(running)).toEqual([])
      yield* pass(running, 2)
      const [job] = jobs(running)
      const scheduled = Date.parse("2026-11-21T11:15:00Z")
      expect(nameOf(job ?? {})).toBe(`c-${scheduled / 60_000}`)
      expect(annotationsOf(job ?? {})["batch.kubernetes.io/cronjob-scheduled-timestamp"]).toBe(
        "2026-11-21T12:15:00+01:00"
      )
      expect(at(running.find("batch/v1", "CronJob", "c"), "status", "lastScheduleTime")).toBe("2026-11-21T11:15:00Z")
    })
  )

  effect("creates one Job for the times that it missed while it was suspended", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      running.make(cronJob({ schedule: "* * * * *", suspend: true }))
      yield* TestClock.adjust("3 hours")
      running.merge("batch/v1", "CronJob", "c", { spec: { suspend: false } })
      yield* running.idle
      expect(jobs(running).length).toBe(1)
      expect(reasons(running)).toContain(
        "TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
      )
    })
  )

  effect("does not start a missed time after its deadline", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      running.make(cronJob({ schedule: "30 10 * * *", suspend: true, startingDeadlineSeconds: 60 }))
      yield* TestClock.adjust("32 minutes")
      running.merge("batch/v1", "CronJob", "c", { spec: { suspend: false } })
      yield* running.idle
      expect(jobs(running)).toEqual([])
    })
  )

  effect("waits for the next time after a change of its schedule", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      running.make(cronJob({ schedule: "0 0 1 1 *" }))
      yield* pass(running, 45)
      running.merge("batch/v1", "CronJob", "c", { spec: { schedule: "30 * * * *" } })
      yield* running.idle
      expect(jobs(running)).toEqual([])
      yield* pass(running, 46)
      expect(jobs(running).map(nameOf)).toEqual([`c-${Date.parse("2026-11-21T11:30:00Z") / 60_000}`])
    })
  )

  effect("keeps as many Jobs as its history limits", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      running.make(cronJob({ schedule: "* * * * *", successfulJobsHistoryLimit: 2 }))
      for (let count = 0; count < 4; count++) {
        yield* pass(running, 1)
        yield* TestClock.adjust("200 millis")
        yield* running.idle
        for (const pod of running.store.list("/pods")) {
          running.merge("v1", "Pod", nameOf(pod), { status: { phase: "Succeeded" } }, "status")
        }
        yield* running.idle
      }
      expect(jobs(running).length).toBe(2)
      expect(objects(at(running.find("batch/v1", "CronJob", "c"), "status", "active"))).toEqual([])
    })
  )
})
