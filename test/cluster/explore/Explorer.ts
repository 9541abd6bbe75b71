/** Plays the schedules of a story, and compares each end with that of the run without faults. */

import { createHash } from "node:crypto"
import type * as Store from "@homeostat/apiserver/storage/Store"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Fault, identifier, type Planned, type Schedule } from "./Fault.ts"
import * as Foreign from "./Foreign.ts"
import * as Picture from "./Picture.ts"
import {
  atRest,
  changesOf,
  play as playReference,
  playStep,
  type Reference,
  restarted,
  restartMessage,
  seedOf,
  type Violation
} from "./Reference.ts"
import * as Refused from "./Refused.ts"
import * as Schedules from "./Schedules.ts"
import type { Story } from "./Story.ts"
import * as Trace from "./Trace.ts"
import * as Wire from "./Wire.ts"
import * as World from "./World.ts"

/** The result of an exploration. */
export interface Report {
  readonly violations: ReadonlyArray<Violation>
  /** The number of schedules that ran. */
  readonly schedules: number
  /** The number of schedules without a run, because their state was already explored. */
  readonly pruned: number
  /** The schedules whose faults did not happen. */
  readonly unreached: ReadonlyArray<Schedule>
  /** The numbers of tries of each fault, by the kind of request (`PATCH apps/v1/deployments`) or the watch. */
  readonly tried: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** The requests and attempts of the last schedule, a line each. */
  readonly trace: ReadonlyArray<string>
}

/** The selection of schedules. */
export interface Options {
  readonly isTried: (fault: Fault) => boolean
  readonly depth: 1 | 2
  /** The number of schedules with two faults. */
  readonly pairs: number
  readonly seed: number
  /** The identifier of the only schedule that runs. Default: all. */
  readonly only?: string | undefined
}

interface Ended {
  readonly rested: boolean
  readonly fired: boolean
  readonly saved: Store.Saved
  readonly moment: World.Moment
  readonly changes: string
  readonly seen: ReadonlyArray<World.Seen>
  readonly undone: ReadonlyArray<string>
  readonly unreported: ReadonlyArray<string>
  readonly trace: ReadonlyArray<string>
}

/** Plays one schedule to its end. */
const play = (story: Story, { steps }: Reference, schedule: Schedule, seed: number): Effect.Effect<Ended> => {
  const { faults, step } = schedule
  const course = steps[step]
  if (course === undefined) return Effect.dieMessage(`step ${step}: not found`)
  const [first, ...others] = faults
  const fork =
    first?.fault._tag === "Crash" && first.point._tag === "Request"
      ? course.moments.find(
          ({ request, when }) => request === first.point.at && first.fault._tag === "Crash" && when === first.fault.when
        )
      : undefined
  const ended = (
    world: World.World,
    rested: boolean,
    before: ReadonlyArray<Wire.Sent>,
    planned: ReadonlyArray<Planned>,
    since: number
  ): Ended => {
    const moment = world.moment()
    return {
      rested,
      fired: world.director.fired() === planned.length,
      saved: moment.saved,
      moment,
      changes: changesOf([...before, ...world.director.sent]),
      seen: world.seen,
      unreported: Refused.unreported(world.attempts, moment.saved),
      undone: world.foreign.flatMap((written) => Foreign.undone(written, Foreign.stored(moment.saved, written)) ?? []),
      trace: Trace.of(world, since)
    }
  }
  if (fork !== undefined && first !== undefined) {
    const { passes = 0 } = story.steps[step] ?? {}
    const until = course.actedAt + Duration.toMillis(passes)
    // The uids of the first part exist already.
    return World.run(story, { from: fork.moment, seed: seed + 1000 + first.point.at }, (world) =>
      Effect.gen(function* () {
        world.director.arm(others)
        yield* world.start
        yield* world.time.pass(Math.max(0, until - fork.moment.at))
        const rested = yield* world.settle(passes)
        return ended(
          world,
          rested,
          course.sent.slice(0, fork.when === "after" ? fork.request + 1 : fork.request),
          others,
          fork.moment.at
        )
      })
    )
  }
  const elected = faults.some(({ fault }) => fault._tag === "SecondLeader")
  return World.run(story, { from: course.start, seed: seedOf(seed, step), elected }, (world) =>
    Effect.gen(function* () {
      yield* world.start
      if (elected) yield* world.start
      yield* world.settle()
      const since = world.moment().at
      const { rested } = yield* playStep(world, story, step, faults)
      return ended(world, rested, [], faults, since)
    })
  )
}

const showChanges = (changes: string): string => (changes === "" ? "nothing" : changes)

/** The promises that the end of a schedule broke. */
const judge = (story: Story, { steps, view }: Reference, schedule: Schedule, end: Ended): ReadonlyArray<Violation> => {
  const course = steps[schedule.step]
  const violations: Array<Violation> = []
  const { trace } = end
  const violate = (oracle: string, message: string) => violations.push({ schedule, oracle, message, trace })
  for (const { message, oracle } of end.seen) violate(oracle, message)
  for (const message of end.unreported) violate(Refused.oracle, message)
  for (const message of end.undone) violate("other clients keep what they wrote", message)
  if (!end.rested) violate(atRest, "the cluster does not come to rest")
  const hows = schedule.faults.flatMap(({ fault }) => (fault._tag === "ForeignWrite" ? [fault.how] : []))
  // The name belongs to another client, so the end cannot be the same.
  if (course === undefined || hows.includes("taken")) return violations
  const differences = Picture.differences(course.picture, Picture.of(end.saved, view), story.ignore)
  if (differences.length > 0) {
    violate("the end is that of the run without a fault", Picture.show(differences))
  } else if (!hows.includes("deleted") && end.changes !== course.changes) {
    violate(
      "each object is created and deleted as often as in the run without a fault",
      `${showChanges(end.changes)} instead of ${showChanges(course.changes)}`
    )
  }
  return violations
}

/** The digest of a state with all its fields: thousands of states as text would not fit into memory. */
const strictly = (saved: Store.Saved, view: Picture.View): string =>
  createHash("sha256")
    .update(JSON.stringify([...Picture.of(saved, { ...view, strict: true })]))
    .digest("base64")

/** Explores a story. */
export const explore = (story: Story, options: Options): Effect.Effect<Report> =>
  Effect.gen(function* () {
    const { depth, isTried, only, seed } = options
    const known = yield* playReference(story, seed)
    const violations = [...known.violations]
    const all = (known.rested ? Schedules.single(known) : []).filter(({ faults }) =>
      faults.every(({ fault }) => isTried(fault))
    )
    const chosen = (depth === 1 ? all : Schedules.pairs(all, options.pairs, seed)).filter(
      (schedule) => only === undefined || identifier(schedule) === only
    )
    if (only !== undefined && chosen.length === 0) {
      return yield* Effect.dieMessage(`schedule not found: ${JSON.stringify(only)} (it must be one of this story)`)
    }
    const unreached: Array<Schedule> = []
    const tried = new Map<string, Map<string, number>>()
    const states = new Set<string>()
    const rested = new Set(known.steps.map(({ end }) => strictly(end.saved, known.view)))
    let schedules = 0
    let pruned = 0
    let trace: ReadonlyArray<string> = []
    for (const schedule of chosen) {
      const state = Schedules.stateOf(known, schedule)
      if (state !== undefined) {
        if (states.has(state)) {
          pruned++
          continue
        }
        states.add(state)
      }
      schedules++
      const end = yield* play(story, known, schedule, seed)
      for (const { fault, point } of schedule.faults) {
        const place = point._tag === "Request" ? point.site : `WATCH ${Wire.resourceOf(point.watch)}`
        const counts = tried.get(place) ?? new Map<string, number>()
        tried.set(place, counts)
        counts.set(fault._tag, (counts.get(fault._tag) ?? 0) + 1)
      }
      if (!end.fired) unreached.push(schedule)
      trace = end.trace
      const found = judge(story, known, schedule, end)
      violations.push(...found)
      if (found.length > 0 || !end.rested) continue
      const strict = strictly(end.saved, known.view)
      if (rested.has(strict)) continue
      rested.add(strict)
      const sent = yield* restarted(story, end.moment, seed + 1_000_000)
      if (sent.length > 0) violations.push({ schedule, oracle: atRest, message: restartMessage(sent) })
    }
    return { violations, schedules, pruned, unreached, tried, trace }
  })
