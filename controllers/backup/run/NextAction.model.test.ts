import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import * as Names from "../kinds/Names.ts"
import * as Occurrence from "../schedule/Occurrence.ts"
import type * as Schedule from "../schedule/Schedule.ts"
import { at, backup, understood } from "./Backups.fixture.ts"
import * as World from "./World.fixture.ts"

const start = at("2026-03-20T10:00:00Z")
const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

type Action =
  | { readonly _tag: "pass" | "set"; readonly millis: number }
  | { readonly _tag: "finish"; readonly exitCode: number }
  | { readonly _tag: "vanish" | "stick" | "suspend" }
  | { readonly _tag: "run" | "unlock"; readonly token: string }
/** An action, followed by managers that crash, and one that does not; or by no manager. */
type Move = { readonly action: Action; readonly managers: ReadonlyArray<World.Crash> }

const passing = FastCheck.oneof(
  FastCheck.integer({ min: 1000, max: 30 * minute }),
  FastCheck.integer({ min: hour, max: 3 * day }),
  FastCheck.constant(31 * minute)
).map((millis): Action => ({ _tag: "pass", millis }))
const setting = FastCheck.oneof(
  FastCheck.integer({ min: -2 * hour, max: 2 * hour }),
  FastCheck.constantFrom(365 * day, -365 * day, day, -day)
).map((millis): Action => ({ _tag: "set", millis }))
const doing: FastCheck.Arbitrary<Action> = FastCheck.oneof(
  FastCheck.constantFrom(0, 0, 0, 3, 40, 41, 41, 43, 44, 143).map((exitCode): Action => ({ _tag: "finish", exitCode })),
  FastCheck.constantFrom<Action>({ _tag: "vanish" }, { _tag: "stick" }, { _tag: "suspend" }),
  FastCheck.record({
    _tag: FastCheck.constantFrom("run" as const, "unlock" as const),
    token: FastCheck.constantFrom("T", "U", "V")
  })
)
const looks = FastCheck.oneof(
  FastCheck.constant<ReadonlyArray<World.Crash>>(["never"]),
  FastCheck.constant<ReadonlyArray<World.Crash>>([]),
  FastCheck.array(
    FastCheck.constantFrom<World.Crash>("before the Job", "before the status", "after the status", "never"),
    { minLength: 1, maxLength: 3 }
  )
)
const moves = (...actions: ReadonlyArray<FastCheck.Arbitrary<Action>>) =>
  FastCheck.array(FastCheck.record({ action: FastCheck.oneof(...actions), managers: looks }), {
    minLength: 1,
    maxLength: 40,
    size: "max"
  })

const schedules = ["*/7 * * * *", "0 2 * * *", "@hourly", "@every 95m", undefined]
const specs = FastCheck.record({
  schedule: FastCheck.constantFrom(...schedules),
  timeZone: FastCheck.constantFrom(undefined, undefined, undefined, "Europe/Berlin"),
  concurrencyPolicy: FastCheck.constantFrom("Forbid", "Replace"),
  startPolicy: FastCheck.constantFrom("Immediately", "OnSchedule"),
  startingDeadlineSeconds: FastCheck.constantFrom(undefined, undefined, 600),
  successfulRunsHistoryLimit: FastCheck.constantFrom(0, 1, 3),
  failedRunsHistoryLimit: FastCheck.constantFrom(0, 1, 3)
})
const places = FastCheck.record({ nodes: FastCheck.constantFrom(1, 1, 3), oneClock: FastCheck.boolean() })

/** No test starts more runs than this. */
const most = 150

const ticks = (table: Schedule.Timetable | undefined, from: number, until: number): number =>
  table === undefined || until <= from ? 0 : Occurrence.count(table.cron, table.zone, from, until, most) + 1

/** Plays all moves, and returns the possible runs. */
const play = (world: World.World, spec: { readonly schedule: string | undefined }, all: ReadonlyArray<Move>) => {
  const table = understood(backup(JSON.parse(JSON.stringify(spec)))).table
  let ticksPassed = 0
  let wishes = 0
  let clocksSet = 0
  const look = (crash: World.Crash) => {
    world.reconcile(crash)
    expect(world.open().filter(({ metadata }) => metadata.deletionTimestamp === undefined).length).toBeLessThanOrEqual(
      1
    )
    expect(world.open().length).toBeLessThanOrEqual(1)
  }
  look("never")
  for (const { action, managers } of all) {
    const before = world.now()
    act(world, action)
    if (action._tag === "set") clocksSet += 1
    if (action._tag === "run" || action._tag === "unlock") wishes += 1
    ticksPassed += ticks(table, before, world.now())
    for (const crash of managers) look(crash)
  }
  return { most: () => 1 + ticksPassed + wishes + clocksSet, look }
}

/** Ends all active Jobs, until only waiting is left. */
const settle = (world: World.World, look: (crash: World.Crash) => void) => {
  for (let before = ""; before !== JSON.stringify(world.status()); ) {
    before = JSON.stringify(world.status())
    look("never")
    world.finish(0)
    // Only removes deleted Jobs, without a tick.
    world.pass(0)
    look("never")
  }
}

const failing = (reason: string) => reason !== "Succeeded"

describe("For any history of a Backup, its Jobs, its clock and its managers,", () => {
  const run = (spec: Parameters<typeof World.make>[0], place: { readonly nodes: number; readonly oneClock: boolean }) =>
    World.make(spec, { start, ...place })

  test("each scheduled time starts at most one run, and each run is reported once", () =>
    FastCheck.assert(
      FastCheck.property(specs, places, moves(passing, passing, doing, doing, setting), (spec, place, all) => {
        const world = run(spec, place)
        const { look, most } = play(world, spec, all)
        const ticked = world
          .history()
          .begun.flatMap(({ epoch, tick }) => (tick === undefined ? [] : [`${epoch} ${tick}`]))
        expect(new Set(ticked).size).toBe(ticked.length)
        const retried = new Set(["RepositoryLocked", "BackupFailed"])
        const retries = world.history().events.filter((reason) => retried.has(reason)).length
        expect(world.history().begun.length).toBeLessThanOrEqual(most() + retries)

        settle(world, look)
        const { begun, reported } = world.history()
        expect(new Set(begun.map(({ job }) => job)).size).toBe(begun.length)
        expect(reported.length).toBe(begun.length)
        expect(new Set(reported).size).toBe(reported.length)
      }),
      { numRuns: 80, seed: Seed.current() }
    ))

  test("the last request of a user is carried out, and the next scheduled time starts a run", () =>
    FastCheck.assert(
      FastCheck.property(specs, places, moves(passing, doing, doing, setting), (spec, place, all) => {
        const world = run(spec, place)
        const { look } = play(world, spec, all)
        world.edit({ suspend: false })
        settle(world, look)
        const wishes = all.map(({ action }) => action)
        const last = (tag: "run" | "unlock") =>
          wishes.flatMap((action) => (action._tag === tag ? [action.token] : [])).at(-1)
        if (last("run") !== undefined) expect(world.status().lastManualTrigger).toBe(last("run") ?? "")
        if (last("unlock") !== undefined) expect(world.status().lastUnlockTrigger).toBe(last("unlock") ?? "")
        const { next } = world.decide().decision
        if (spec.schedule === undefined) return expect(next).toBeUndefined()
        const before = world.history().begun.length
        expect(next).toBeGreaterThan(world.now())
        world.pass((next ?? 0) - world.now())
        look("never")
        expect(
          world
            .history()
            .begun.slice(before)
            .map(({ tick }) => tick)
        ).toEqual([next])
        return undefined
      }),
      { numRuns: 50, seed: Seed.current() }
    ))

  test("managers that crash start the same runs as a manager that does not", () =>
    FastCheck.assert(
      FastCheck.property(specs, places, moves(passing, passing, doing, doing), (spec, place, all) => {
        // A manager that does not crash follows each crash, while the request still exists.
        const rest = Array.from({ length: 3 }, () => "never" as const)
        const crashing = all.map(({ action, managers }) => ({ action, managers: [...managers, ...rest] }))
        const steady = all.map(({ action }) => ({ action, managers: rest }))
        const one = run(spec, place)
        const other = run(spec, place)
        const first = play(one, spec, crashing)
        const second = play(other, spec, steady)
        settle(one, first.look)
        settle(other, second.look)
        expect(one.history().begun).toEqual(other.history().begun)
        expect(one.history().reported).toEqual(other.history().reported)
        expect(one.status()).toEqual(other.status())
      }),
      { numRuns: 25, seed: Seed.current() }
    ))

  test("consecutive failures are counted, and an idle reconcile changes nothing", () =>
    FastCheck.assert(
      FastCheck.property(specs, places, moves(passing, doing, setting), (spec, place, all) => {
        const world = run(spec, place)
        let failures = 0
        let known = ""
        world.reconcile()
        for (const { action } of all) {
          act(world, action)
          world.reconcile()
          const { consecutiveFailures = 0, lastBackupTime, lastRun } = world.status()
          const identity = JSON.stringify(lastRun)
          if (lastRun !== undefined && identity !== known) {
            known = identity
            if (lastRun.reason !== "Replaced") failures = failing(lastRun.reason) ? failures + 1 : 0
            if (!failing(lastRun.reason)) expect(lastBackupTime).toBe(lastRun.completionTime)
          }
          expect(consecutiveFailures).toBe(failures)
          const status = world.status()
          const { events } = world.history()
          const length = events.length
          // The deleted Job is gone.
          world.pass(0)
          world.reconcile()
          if (JSON.stringify(world.status().active) === JSON.stringify(status.active)) {
            expect(world.status()).toEqual(status)
            expect(world.history().events.length).toBe(length)
          }
        }
      }),
      { numRuns: 60, seed: Seed.current() }
    ))
})

const act = (world: World.World, action: Action): void => {
  if (action._tag === "pass") world.pass(action.millis)
  if (action._tag === "set") world.set(action.millis)
  if (action._tag === "finish") world.finish(action.exitCode)
  if (action._tag === "vanish") world.vanish()
  if (action._tag === "stick") world.stick()
  if (action._tag === "suspend") world.edit({ suspend: !world.spec().suspend })
  if (action._tag === "run") world.annotate(Names.runAnnotation, action.token)
  if (action._tag === "unlock") world.annotate(Names.unlockAnnotation, action.token)
}
