import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as Result from "effect/Result"
import * as FastCheck from "fast-check"
import vectors from "./cron-vectors.fixture.json"
import * as Schedule from "./Schedule.ts"

const at = (text: string): number => Date.parse(text)
const iso = (millis: number | undefined): string | undefined =>
  millis === undefined ? undefined : new Date(millis).toISOString().replace(".000Z", "Z")
const hour = 3_600_000
const day = 24 * hour

const table = (schedule: string, timeZone?: string): Schedule.Timetable =>
  Result.getOrThrowWith(Schedule.parse(schedule, { of: "shop/cart", timeZone }), ({ message }) => new Error(message))

const daily = table("0 2 * * *")
const spec = (over: Partial<Schedule.Spec> = {}): Schedule.Spec => ({
  table: daily,
  suspend: false,
  startPolicy: "Immediately",
  startingDeadlineSeconds: undefined,
  ...over
})
const past = (over: Partial<Schedule.Past> = {}): Schedule.Past => ({
  createdAt: at("2026-11-01T00:00:00Z"),
  lastScheduleTime: undefined,
  newestRun: undefined,
  lastMissedTime: undefined,
  ...over
})

describe("Schedule.mostRecent counts missed runs as the CronJob controller does for", () => {
  for (const vector of vectors.mostRecent) {
    const { Spec, LastSchedule, Created, Now, Deadline } = vector
    test(`${Spec} since ${LastSchedule || Created}, at ${Now}, deadline ${Deadline}`, () => {
      if (vector.Err !== "") {
        expect(Result.isFailure(Schedule.parse(Spec, { of: "a/b" }))).toBe(true)
        return
      }
      const timetable = table(Spec, vector.TZ || undefined)
      const anchor = at(LastSchedule || Created)
      const now = at(Now)
      const recent = Schedule.mostRecent(
        timetable,
        Deadline < 0 ? anchor : Math.max(anchor, now - Deadline * 1000),
        now
      )
      expect<unknown>({ at: iso(recent?.at) ?? "", missed: recent?.missed ?? "none" }).toEqual({
        at: vector.MostRecent,
        missed: vector.Missed
      })
      // CronJob adds 100 ms, so that it does not wake too early.
      expect((Schedule.following(timetable, anchor, now) ?? 0) + 100).toBe(at(vector.RequeueNext))
    })
  }
})

describe("Schedule.parse", () => {
  test("rejects an invalid schedule with InvalidSchedule", () =>
    expect(Schedule.parse("61 * * * *", { of: "a/b" })).toEqual(
      Result.fail({
        reason: "InvalidSchedule",
        message: 'invalid schedule: "61 * * * *" (minute "61" must be 0 to 59, as * or 1,2 or 1-5 or */2)'
      })
    ))
  test("rejects a schedule that never runs with InvalidSchedule", () =>
    expect(Schedule.parse("0 0 30,31 feb *", { of: "a/b" })).toEqual(
      Result.fail({
        reason: "InvalidSchedule",
        message: 'invalid schedule: "0 0 30,31 feb *" (must have a day of month that occurs in one of its months)'
      })
    ))
  test("accepts 29 February, and a date that never occurs together with a weekday", () => {
    expect(iso(Schedule.following(table("0 0 29 2 *"), at("2026-11-20T00:00:00Z"), at("2026-11-20T00:00:00Z")))).toBe(
      "2028-02-29T00:00:00Z"
    )
    expect(Result.isSuccess(Schedule.parse("0 0 31 2 1", { of: "a/b" }))).toBe(true)
  })
  test("rejects an unknown time zone with UnknownTimeZone", () =>
    expect(Schedule.parse("@daily", { of: "a/b", timeZone: "Berlin" })).toEqual(
      Result.fail({
        reason: "UnknownTimeZone",
        message:
          'unknown timeZone: "Berlin" (must be a name of the IANA database, such as Europe/Berlin; the default is UTC)'
      })
    ))
})

describe("The first run", () => {
  const now = at("2026-11-01T00:00:05Z")
  test("is due at creation", () =>
    expect(Schedule.decide(spec(), past(), now)).toEqual({
      due: { at: at("2026-11-01T00:00:00Z"), missed: "none" },
      next: at("2026-11-01T02:00:00Z"),
      missed: undefined,
      lastScheduleTime: undefined
    }))
  test("is due at the first scheduled time with startPolicy OnSchedule", () => {
    const onSchedule = spec({ startPolicy: "OnSchedule" })
    expect(Schedule.decide(onSchedule, past(), now).due).toBeUndefined()
    expect(Schedule.decide(onSchedule, past(), at("2026-11-01T02:00:00Z")).due?.at).toBe(at("2026-11-01T02:00:00Z"))
  })
  test("is a single run if a scheduled time has passed since the creation", () => {
    const later = at("2026-11-03T10:00:00Z")
    const { due } = Schedule.decide(spec(), past(), later)
    expect(iso(due?.at)).toBe("2026-11-03T02:00:00Z")
    expect(Schedule.decide(spec(), past({ lastScheduleTime: due?.at }), later).due).toBeUndefined()
  })
  test("has no deadline", () =>
    expect(
      Schedule.decide(spec({ startingDeadlineSeconds: 60 }), past(), at("2026-11-03T10:00:00Z")).due
    ).toBeDefined())
  test("is the only run without a schedule", () => {
    const once = spec({ table: undefined })
    expect(Schedule.decide(once, past(), now).due?.at).toBe(at("2026-11-01T00:00:00Z"))
    const ran = past({ lastScheduleTime: at("2026-11-01T00:00:00Z") })
    expect(Schedule.decide(once, ran, now + 400 * day)).toEqual({
      due: undefined,
      next: undefined,
      missed: undefined,
      lastScheduleTime: undefined
    })
    expect(Schedule.decide(spec({ table: undefined, startPolicy: "OnSchedule" }), past(), now).due).toBeUndefined()
  })
})

describe("Missed runs", () => {
  const ran = past({ lastScheduleTime: at("2026-11-17T02:00:00Z") })
  const now = at("2026-11-20T10:00:00Z")
  test("are replaced by one run", () => {
    const { due } = Schedule.decide(spec(), ran, now)
    expect(due).toEqual({ at: at("2026-11-20T02:00:00Z"), missed: "few" })
    expect(Schedule.decide(spec(), { ...ran, lastScheduleTime: due?.at }, now).due).toBeUndefined()
  })
  test("above the limit are replaced by one run that reports it", () =>
    expect(
      Schedule.decide(spec({ table: table("* * * * *") }), past({ lastScheduleTime: now - 365 * day }), now).due
    ).toEqual({ at: now, missed: "many" }))
  test("past the deadline are reported once", () => {
    const strict = spec({ startingDeadlineSeconds: 3600 })
    const decision = Schedule.decide(strict, ran, now)
    expect(decision.due).toBeUndefined()
    expect(iso(decision.missed)).toBe("2026-11-20T02:00:00Z")
    expect(iso(decision.next)).toBe("2026-11-21T02:00:00Z")
    expect(Schedule.decide(strict, { ...ran, lastMissedTime: decision.missed }, now).missed).toBeUndefined()
  })
  test("within the deadline are started", () =>
    expect(Schedule.decide(spec({ startingDeadlineSeconds: 8 * 3600 + 1 }), ran, now).due?.at).toBe(
      at("2026-11-20T02:00:00Z")
    ))
  test("are started until one millisecond before the deadline", () => {
    const strict = spec({ startingDeadlineSeconds: 3600 })
    const deadline = at("2026-11-20T03:00:00Z")
    const before = Schedule.decide(strict, ran, deadline - 1)
    expect([iso(before.due?.at), before.missed]).toEqual(["2026-11-20T02:00:00Z", undefined])
    const late = Schedule.decide(strict, ran, deadline)
    expect([late.due, iso(late.missed)]).toEqual([undefined, "2026-11-20T02:00:00Z"])
  })
  test("are found even if the first two scheduled times are close together", () =>
    expect(
      Schedule.decide(
        spec({ table: table("0,1 2 * * *") }),
        past({ lastScheduleTime: at("2026-11-19T02:01:00Z") }),
        now
      ).due
    ).toEqual({ at: at("2026-11-20T02:01:00Z"), missed: "few" }))
})

describe("A suspended Backup", () => {
  const ran = past({ lastScheduleTime: at("2026-11-17T02:00:00Z") })
  const now = at("2026-11-20T10:00:00Z")
  test("has no due and no next run", () =>
    expect(Schedule.decide(spec({ suspend: true }), ran, now)).toEqual({
      due: undefined,
      next: undefined,
      missed: undefined,
      lastScheduleTime: undefined
    }))
  test("runs at most once when it is resumed", () => {
    const { due } = Schedule.decide(spec(), ran, now)
    expect(due).toBeDefined()
    expect(Schedule.decide(spec(), { ...ran, lastScheduleTime: due?.at }, now).due).toBeUndefined()
  })
})

describe("A lastScheduleTime in the future", () => {
  const now = at("2026-11-20T10:00:00Z")
  const ahead = past({ lastScheduleTime: at("2026-12-01T02:00:00Z") })
  test("is reset to the newest run, and does not delay the next run", () => {
    const decision = Schedule.decide(spec(), { ...ahead, newestRun: at("2026-11-20T02:00:00Z") }, now)
    expect(iso(decision.lastScheduleTime)).toBe("2026-11-20T02:00:00Z")
    expect(iso(decision.next)).toBe("2026-11-21T02:00:00Z")
    expect(decision.due).toBeUndefined()
  })
  test("is reset to now if the newest run is in the future, too", () => {
    const decision = Schedule.decide(spec(), { ...ahead, newestRun: ahead.lastScheduleTime }, now)
    expect(decision.lastScheduleTime).toBe(now)
    expect(decision.due).toBeUndefined()
    expect(iso(decision.next)).toBe("2026-11-21T02:00:00Z")
  })
  test("is reset while the Backup is suspended", () =>
    expect(Schedule.decide(spec({ suspend: true }), ahead, now).lastScheduleTime).toBe(at("2026-11-01T00:00:00Z")))
  test("by less than a minute is accepted as a clock difference", () =>
    expect(Schedule.decide(spec(), past({ lastScheduleTime: now + 30_000 }), now).lastScheduleTime).toBeUndefined())
  test("like a creation slightly in the future announces only scheduled times that will start a run", () => {
    const now = at("2026-11-20T01:59:59.999Z")
    const of = { table: table("0 * * * *"), startPolicy: "OnSchedule" } as const
    const state = past({ createdAt: at("2026-11-20T02:00:00Z") })
    const { next = 0 } = Schedule.decide(spec(of), state, now)
    expect(next).toBe(at("2026-11-20T03:00:00Z"))
    expect(Schedule.decide(spec(of), state, next).due?.at).toBe(next)
  })
  test("like a creation in the future does not delay the first run", () =>
    expect(Schedule.decide(spec(), past({ createdAt: now + 400 * day }), now).due).toEqual({ at: now, missed: "none" }))
})

describe("Schedule.overlap", () => {
  test("skips the scheduled time with Forbid", () => expect(Schedule.overlap("Forbid", undefined)).toBe("skip"))
  test("waits with Forbid and a deadline", () => expect(Schedule.overlap("Forbid", 600)).toBe("wait"))
  test("replaces the previous run with Replace", () => expect(Schedule.overlap("Replace", 600)).toBe("replace"))
})

describe("Schedule.wakeAfter", () => {
  test("returns the time until the next run", () => expect(Schedule.wakeAfter(1_000_500, 1_000_000)).toBe(500))
  test("returns at most an hour, also without a next run", () => {
    expect(Schedule.wakeAfter(400 * day, 0)).toBe(hour)
    expect(Schedule.wakeAfter(undefined, 0)).toBe(hour)
  })
  test("returns at least 1 ms", () => expect(Schedule.wakeAfter(5, 10)).toBe(1))
})

const tables = ["*/7 * * * *", "0 2 * * *", "30 6-16/4 * * 1-5", "0,1 2 * * *", "@every 95m", "@hourly", "0 0 1 * *"]
  .flatMap((schedule) =>
    ["UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"].map((zone) => ({ schedule, zone }))
  )
  .map(({ schedule, zone }) => ({ name: `${schedule} in ${zone}`, table: table(schedule, zone) }))
const anyTable = FastCheck.constantFrom(...tables)
const moment = FastCheck.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2027-12-31T00:00:00Z") })

describe("For any times,", () => {
  test("the next run is strictly later than now, and no scheduled time is in between", () =>
    FastCheck.assert(
      FastCheck.property(anyTable, moment, moment, moment, FastCheck.boolean(), (of, created, last, now, ran) => {
        const decision = Schedule.decide(
          spec({ table: of.table, startPolicy: "OnSchedule" }),
          past({ createdAt: created, lastScheduleTime: ran ? last : undefined }),
          now
        )
        expect(decision.next).toBeGreaterThan(now)
        if (decision.due !== undefined) expect(decision.due.at).toBeLessThanOrEqual(now)
        if (of.table.cron._tag === "Fields") {
          // Up to a minute ahead counts as a clock difference: no tick comes before that.
          const from = ran ? last : created
          const after = from <= now + 60_000 ? Math.max(from, now) : now
          expect(Schedule.mostRecent(of.table, after, (decision.next ?? 0) - 1)).toBeUndefined()
        }
      }),
      { numRuns: 300, seed: Seed.current() }
    ))

  test("a clock that jumps starts at most one run, at a scheduled time that it passed", () =>
    FastCheck.assert(
      FastCheck.property(
        anyTable,
        FastCheck.array(
          FastCheck.oneof(
            FastCheck.integer({ min: 0, max: 2 * day }),
            FastCheck.integer({ min: -400 * day, max: 400 * day })
          ),
          {
            minLength: 5,
            maxLength: 20
          }
        ),
        (of, steps) => {
          const start = at("2026-06-01T00:00:00Z")
          let state = past({ createdAt: start })
          let now = start
          let before = start
          let runs = 0
          for (const step of [0, ...steps]) {
            now = Math.max(at("1990-01-01T00:00:00Z"), now + step)
            // Repeated at one moment, as each event of the Backup does; the status reports a run.
            let here = 0
            for (let round = 0; round < 3; round += 1) {
              const decision = Schedule.decide(spec({ table: of.table }), state, now)
              if (decision.lastScheduleTime !== undefined)
                state = { ...state, lastScheduleTime: decision.lastScheduleTime }
              if (decision.due !== undefined) {
                here += 1
                state = { ...state, lastScheduleTime: decision.due.at, newestRun: decision.due.at }
              }
            }
            if (runs === 0 && here === 1) expect(step).toBe(0)
            else expect(here).toBeLessThanOrEqual(now > before ? 1 : 0)
            runs += here
            before = now
          }
          // Finally, the next tick runs on time.
          const next = Schedule.decide(spec({ table: of.table }), state, now).next ?? Number.NaN
          expect(Schedule.decide(spec({ table: of.table }), state, next).due?.at).toBe(next)
        }
      ),
      { numRuns: 60, seed: Seed.current() }
    ))

  test("a restart does not change the decision", () =>
    FastCheck.assert(
      FastCheck.property(FastCheck.integer({ min: 0, max: tables.length - 1 }), moment, moment, (index, last, now) => {
        const [schedule = "", zone = ""] = tables[index]?.name.split(" in ") ?? []
        const state = past({ lastScheduleTime: Math.floor(last / 1000) * 1000 })
        const stored: Schedule.Past = { ...past(), ...JSON.parse(JSON.stringify(state)) }
        expect(Schedule.decide(spec({ table: table(schedule, zone) }), stored, now)).toEqual(
          Schedule.decide(spec({ table: tables[index]?.table }), state, now)
        )
      }),
      { numRuns: 100, seed: Seed.current() }
    ))
})
