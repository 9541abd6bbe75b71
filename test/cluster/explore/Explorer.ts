/** Runs the schedules of a story, and compares each end state with that of the run without faults. */

import { createHash } from "node:crypto"
import type * as Store from "@homeostat/apiserver/storage/Store"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Broken } from "./Broken.ts"
import type { Witness } from "./Evidence.ts"
import { type Fault, type ForeignWrite, identifier, type Planned, type Schedule } from "./Fault.ts"
import * as Foreign from "./Foreign.ts"
import * as Picture from "./Picture.ts"
import {
  changesOf,
  failure,
  play as playReference,
  playStep,
  type Reference,
  recovering,
  restartBroken,
  restarted,
  restless,
  type StepEnd,
  seedOf,
  showChanges
} from "./Reference.ts"
import * as Refused from "./Refused.ts"
import * as Schedules from "./Schedules.ts"
import type { Story } from "./Story.ts"
import * as Trace from "./Trace.ts"
import * as Violations from "./Violations.ts"
import * as Wire from "./Wire.ts"
import * as World from "./World.ts"

/** The result of an exploration. */
export interface Report {
  readonly violations: ReadonlyArray<Violations.Violation>
  /** The number of schedules that ran. */
  readonly schedules: number
  /** The number of schedules without a run, because their state was already explored. */
  readonly pruned: number
  /** The schedules whose faults did not happen. */
  readonly unreached: ReadonlyArray<Schedule>
  /** The numbers of tries of each fault, by the kind of request (`PATCH apps/v1/deployments`) or the watch. */
  readonly tried: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** The requests and attempts of the selected schedule, a line each. Empty if no schedule was selected. */
  readonly trace: ReadonlyArray<string>
}

/** The story does not have the selected schedule. */
export class ScheduleNotFound extends Data.TaggedError("ScheduleNotFound")<{ readonly schedule: string }> {
  override get message(): string {
    return `schedule not found: ${JSON.stringify(this.schedule)} (it must be one of this story)`
  }
}

/** Returns the schedule with an identifier. Fails with ScheduleNotFound if the story does not have it. */
export const find = (known: Reference, schedule: string): Effect.Effect<Schedule, ScheduleNotFound> =>
  Effect.suspend(() => {
    const found = Schedules.find(known, schedule)
    return found === undefined ? new ScheduleNotFound({ schedule }) : Effect.succeed(found)
  })

/** Selects the schedules. */
export interface Options {
  readonly isTried: (fault: Fault) => boolean
  readonly depth: 1 | 2
  /** The number of schedules with two faults. */
  readonly pairs: number
  readonly seed: number
  /** The identifier of the only schedule that runs. Default: all. */
  readonly only?: string | undefined
  /** Runs after each schedule, with the number of schedules so far and the violations of the last one. */
  readonly progress?: ((schedules: number, violations: ReadonlyArray<Violations.Violation>) => void) | undefined
}

/** The result of one schedule. */
export interface Ended {
  readonly rested: boolean
  readonly fired: boolean
  /** The schedule with the real points of its faults. */
  readonly schedule: Schedule
  readonly saved: Store.Saved
  readonly moment: World.Moment
  readonly changes: string
  /** The course after the last fault. */
  readonly after: Schedules.Course
  readonly seen: ReadonlyArray<World.Seen>
  readonly undone: ReadonlyArray<Broken>
  /** The storages that the program changed. */
  readonly changed: ReadonlySet<string>
  /** The writes of other clients. */
  readonly hows: ReadonlyArray<ForeignWrite>
  readonly unreported: ReadonlyArray<Broken>
  readonly witness: Witness
}

/** The parts of a result that the world does not know. */
export interface Played {
  readonly rested: boolean
  /** The requests before the world began. */
  readonly before?: ReadonlyArray<Wire.Sent>
  /** The faults of the world. */
  readonly planned: ReadonlyArray<Planned>
  readonly witness: Witness
}

/** Returns the result of a schedule in a world. */
export const ended = (
  world: World.World,
  { faults, step }: Schedule,
  { before = [], planned, rested, witness }: Played
): Effect.Effect<Ended> =>
  Effect.map(world.moment, (moment) => {
    const fired = world.director.fired()
    return {
      rested,
      fired: fired.length === planned.length,
      schedule: {
        step,
        faults: [...faults.slice(0, faults.length - planned.length), ...fired, ...planned.slice(fired.length)]
      },
      saved: moment.saved,
      moment,
      changes: changesOf([...before, ...world.director.sent]),
      after: world.director.sinceFault(),
      changed: new Set(
        world.director.sent.flatMap(({ asked, changed }) => (changed ? [Wire.storageOf(asked.collection)] : []))
      ),
      seen: world.seen,
      unreported: Refused.unreported(world.attempts, moment.saved),
      undone: world.foreign.flatMap((written) => Foreign.undone(written, Foreign.stored(moment.saved, written))),
      hows: world.foreign.map(({ how }) => how),
      witness
    }
  })

/** The time between the death of a process and the start of the next one. */
const downtime = "5 seconds"

/** Runs one schedule to its end. */
const play = (story: Story, { steps }: Reference, schedule: Schedule, seed: number): Effect.Effect<Ended> => {
  const { faults, step } = schedule
  const course = steps[step]
  if (course === undefined) return Effect.die(new Error(`step ${step}: not found`))
  const [first, ...others] = faults
  const fork =
    first?.fault._tag === "Crash" && first.point._tag === "Request"
      ? course.moments.find(
          ({ request, when }) => request === first.point.at && first.fault._tag === "Crash" && when === first.fault.when
        )
      : undefined
  if (fork !== undefined && first !== undefined) {
    const { passes = 0 } = story.steps[step] ?? {}
    const until = course.actedAt + Duration.toMillis(passes)
    // The seed differs, because the uids of the first part already exist.
    return World.run(story, { from: fork.moment, seed: seed + 1000 + first.point.at }, (world) =>
      Effect.gen(function* () {
        world.director.arm(others)
        yield* world.time.pass(downtime)
        yield* world.start
        yield* world.time.pass(Math.max(0, until - world.time.clock.currentTimeMillisUnsafe()))
        const rested = yield* world.settle(passes)
        const before = course.sent.filter((one, at) => (Wire.writes(one) ? fork.answered.has(one) : at < fork.request))
        const crash = Trace.untilCrash(before, course.actedAt)
        const witness = Trace.joined(crash, "the process dies", Trace.of(world, course.actedAt))
        return yield* ended(world, schedule, { rested, before, planned: others, witness })
      })
    )
  }
  const elected = faults.some(({ fault }) => fault._tag === "SecondLeader")
  return World.run(story, { from: course.start, seed: seedOf(seed, step), elected }, (world) =>
    Effect.gen(function* () {
      yield* world.start
      if (elected) yield* world.start
      yield* world.settle()
      const since = world.time.clock.currentTimeMillisUnsafe()
      const { rested } = yield* playStep(world, story, schedule, seed)
      return yield* ended(world, schedule, { rested, planned: faults, witness: Trace.of(world, since) })
    })
  )
}

/** The end of a step without faults. */
interface ExpectedEnd extends StepEnd {
  readonly end: World.Moment
  /** The state before the story. Default: that of the view. */
  readonly base?: Store.Saved | undefined
}

/** The end states of the steps without faults. */
export interface Expected {
  readonly steps: { readonly [step: number]: ExpectedEnd | undefined }
  readonly view: Picture.View
}

/** Returns the promises that a schedule broke. */
export const judge = (story: Story, { steps, view }: Expected, end: Ended): ReadonlyArray<Violations.Violation> => {
  const { schedule } = end
  const course = steps[schedule.step]
  const broken = [...end.seen, ...end.unreported, ...end.undone, ...restless(end.rested, end.seen)]
  const { hows } = end
  // Another owner took the name of the object, so the end states cannot be equal.
  if (course !== undefined && !hows.includes("taken")) {
    // A fault can make the program write a kind that it does not write otherwise.
    const others = [...end.changed].filter((storage) => !view.storages.has(storage))
    const wide = others.length === 0 ? view : { ...view, storages: new Set([...view.storages, ...others]) }
    const expected =
      others.length === 0 ? course.picture : Picture.of(course.end.saved, { ...wide, base: course.base ?? view.base })
    const differences = Picture.differences(expected, Picture.of(end.saved, wide), story.ignore)
    if (differences.length > 0) {
      broken.push({
        oracle: "the end is that of the run without a fault",
        message: Picture.show(differences),
        objects: Picture.objectsOf(differences)
      })
    } else if (!hows.includes("deleted") && end.changes !== course.changes) {
      broken.push({
        oracle: "each object is created and deleted as often as in the run without a fault",
        message: `${showChanges(end.changes)} instead of ${showChanges(course.changes)}`
      })
    }
  }
  return Violations.of(schedule, broken, end.witness)
}

/** Returns the digest of a state with all its fields. The texts of thousands of states would not fit into memory. */
const strictly = (saved: Store.Saved, view: Picture.View): string =>
  createHash("sha256")
    .update(JSON.stringify([...Picture.of(saved, { ...view, strict: true })]))
    .digest("base64")

interface Restart {
  readonly broken: ReadonlyArray<Broken>
  readonly witness: Witness
}

const harmless: Restart = { broken: [], witness: () => ({ trace: [], why: "" }) }

/** Runs schedules and checks their promises. Restarts the manager once in each state. */
const judgeOf = (story: Story, known: Reference, seed: number) => {
  const restarts = new Map(known.steps.map(({ end }) => [strictly(end.saved, known.view), harmless]))
  const restartAt = ({ moment, saved }: Ended): Effect.Effect<Restart> =>
    Effect.gen(function* () {
      const state = strictly(saved, known.view)
      const before = restarts.get(state)
      if (before !== undefined) return before
      const { sent, witness } = yield* restarted(story, moment, seed + 1_000_000)
      const restart = sent.length === 0 ? harmless : { broken: restartBroken(sent), witness }
      restarts.set(state, restart)
      return restart
    })
  return (schedule: Schedule) =>
    Effect.gen(function* () {
      const end = yield* play(story, known, schedule, seed)
      const found = judge(story, known, end)
      if (found.length > 0 || !end.rested) return { end, found }
      const { broken, witness } = yield* restartAt(end)
      return {
        end,
        found: Violations.of(end.schedule, broken, Trace.joined(end.witness, "the manager restarts", witness))
      }
    })
}

/** Returns the requests and attempts of a step without faults: of a new process, and of one that plays all steps. */
const traceOf = ({ steps }: Reference, step: number): ReadonlyArray<string> => {
  const { lasting, witness } = steps[step] ?? {}
  const parts = [
    ["with a new process:", witness],
    ["with one process for all steps:", lasting]
  ] as const
  return parts.flatMap(([title, witness]) => (witness === undefined ? [] : [title, ...witness().trace]))
}

const nothing: Schedules.Course = { events: new Map(), sent: [] }

/** Explores a story. Fails with ScheduleNotFound if the selected schedule does not exist. */
export const explore = (story: Story, options: Options): Effect.Effect<Report, ScheduleNotFound> =>
  Effect.gen(function* () {
    const { depth, isTried, only, pairs, seed } = options
    const known = yield* playReference(story, seed)
    // The run of one schedule reports only its own violations.
    const isWanted = ({ schedule }: Violations.Violation) => only === undefined || identifier(schedule) === only
    const violations = known.violations.filter(isWanted)
    const after = (schedule: Schedule) =>
      Effect.map(play(story, known, schedule, seed), ({ after, fired }) => (fired ? after : nothing))
    const choose = Effect.suspend(() => {
      const all = known.rested ? Schedules.single(known) : []
      const tried = all.filter(({ faults }) => faults.every(({ fault }) => isTried(fault)))
      const { roots } = known
      return depth === 1 ? Effect.succeed(tried) : Schedules.pairs(tried, after, { count: pairs, isTried, roots, seed })
    })
    const chosen = only === undefined ? yield* choose : [yield* find(known, only)]
    const unreached: Array<Schedule> = []
    const tried = new Map<string, Map<string, number>>()
    const states = new Set<string>()
    const judged = judgeOf(story, known, seed)
    const alone = new Map<string, ReadonlyArray<Violations.Violation>>()
    /** Simplifies the violations. A schedule with one fault replaces a schedule with two, if it breaks the same promise. */
    const simplest = (schedule: Schedule, found: ReadonlyArray<Violations.Violation>) =>
      Effect.gen(function* () {
        const simple = new Map<string, ReadonlyArray<Violations.Violation>>()
        const isOpen = () => found.some(({ oracle }) => !simple.has(oracle))
        for (const one of schedule.faults.length > 1 && found.length > 0 ? Schedules.alone(known, schedule) : []) {
          if (!isOpen()) break
          const id = identifier(one)
          const others = alone.get(id) ?? (yield* judged(one)).found
          alone.set(id, others)
          for (const { oracle } of found) {
            const same = others.filter((other) => other.oracle === oracle)
            if (same.length > 0 && !simple.has(oracle)) simple.set(oracle, same)
          }
        }
        return [...new Set(found.flatMap((one) => simple.get(one.oracle) ?? [one]))]
      })
    let schedules = 0
    let pruned = 0
    let trace: ReadonlyArray<string> = []
    for (const schedule of chosen) {
      if (schedule.faults.length === 0) {
        trace = traceOf(known, schedule.step)
        continue
      }
      const state = Schedules.stateOf(known, schedule)
      if (state !== undefined) {
        if (states.has(state)) {
          pruned++
          continue
        }
        states.add(state)
      }
      schedules++
      const { end, found } = yield* judged(schedule)
      for (const { fault, point } of end.schedule.faults) {
        const place = point._tag === "Request" ? point.site : `WATCH ${Wire.resourceOf(point.watch)}`
        const counts = tried.get(place) ?? new Map<string, number>()
        tried.set(place, counts)
        counts.set(fault._tag, (counts.get(fault._tag) ?? 0) + 1)
      }
      if (!end.fired) unreached.push(schedule)
      if (only !== undefined) trace = end.witness().trace
      const simple = only === undefined ? yield* simplest(end.schedule, found) : found
      violations.push(...simple)
      options.progress?.(schedules, simple)
    }
    // A fault that already breaks a promise in its own step says more.
    if (
      violations.length === 0 &&
      isTried(failure) &&
      chosen.every(({ faults }) => only === undefined || faults.length === 0)
    )
      violations.push(...(yield* recovering(story, known, seed)).filter(isWanted))
    return { violations, schedules, pruned, unreached, tried, trace }
  })
