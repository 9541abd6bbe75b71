/** Plays a story without faults, derives the schedules from it, plays each one, and compares. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { PCGRandom } from "effect/Utils"
import type * as Store from "../server/Store.ts"
import type { Fault, Planned, RefusedStatus, Schedule } from "./Fault.ts"
import * as Foreign from "./Foreign.ts"
import * as Past from "./Past.ts"
import * as Picture from "./Picture.ts"
import * as Refused from "./Refused.ts"
import type { Story } from "./Story.ts"
import * as Wire from "./Wire.ts"
import * as World from "./World.ts"

/** A promise that a schedule broke. */
export interface Violation {
  readonly schedule: Schedule
  readonly oracle: string
  readonly message: string
}

/** A state of the reference run before or after a write. */
interface WriteMoment {
  readonly request: number
  readonly when: "before" | "after"
  readonly moment: World.Moment
}

/** A step of the reference run. */
interface Course {
  readonly start: World.Moment
  readonly actedAt: number
  readonly sent: ReadonlyArray<Wire.Sent>
  readonly events: ReadonlyMap<string, number>
  readonly moments: ReadonlyArray<WriteMoment>
  readonly end: World.Moment
  /** Whether the API server refused the last writes for an object. */
  readonly refused: boolean
}

/** The undisturbed run. */
interface Reference {
  /** Whether every step came to rest. The story ends at the first one that did not. */
  readonly rested: boolean
  readonly view: Picture.View
  readonly roots: ReadonlySet<string>
  readonly steps: ReadonlyArray<Course & { readonly picture: Picture.Picture; readonly changes: string }>
  readonly violations: ReadonlyArray<Violation>
}

/** What was explored. */
export interface Report {
  readonly violations: ReadonlyArray<Violation>
  /** The number of schedules that ran. */
  readonly schedules: number
  /** The number of schedules without a run, because their state was already explored. */
  readonly pruned: number
  /** The schedules whose faults did not happen. */
  readonly unreached: ReadonlyArray<Schedule>
  /** The numbers of tries of each fault, by request or watch. */
  readonly tried: ReadonlyMap<string, ReadonlyMap<string, number>>
}

/** The selection of schedules. */
export interface Options {
  readonly isTried: (fault: Fault) => boolean
  readonly depth: 1 | 2
  /** The number of schedules with two faults. */
  readonly pairs: number
  readonly seed: number
}

const storageOf = (collection: string): string => {
  const parts = collection.split("/")
  return parts[1] === "api" ? `/${parts[3]}` : `${parts[2]}/${parts[4]}`
}

/** Creations and deletions by object. */
const changesOf = (sent: ReadonlyArray<Wire.Sent>): string =>
  sent
    .flatMap((one) => {
      const { asked, status } = one
      const change =
        status === 201 && asked.subresource === ""
          ? "created"
          : asked.verb === "delete" && (status === 200 || status === 202)
            ? "deleted"
            : undefined
      return change === undefined
        ? []
        : [`${storageOf(asked.collection)} ${asked.namespace}/${asked.name === "" ? "*" : asked.name} ${change}`]
    })
    .sort()
    .join(", ")

const playStep = (world: World.World, story: Story, step: number, faults: ReadonlyArray<Planned>) =>
  Effect.gen(function* () {
    const { act, passes = 0 } = story.steps[step] ?? { act: Effect.void }
    world.director.arm(faults)
    yield* world.act(act)
    yield* world.time.pass(passes)
    return yield* world.settle(passes)
  })

/** Whether a request changed something: the API server rejects a refused spec again at each start. */
const changes = (sent: Wire.Sent): boolean => Wire.writes(sent) && sent.status !== undefined && sent.status < 300

/** The writes of a program that starts in a state at rest. */
const restarted = (story: Story, from: World.Moment, seed: number) =>
  World.run(story, { from, seed }, (world) =>
    Effect.gen(function* () {
      world.director.arm([])
      yield* world.start
      yield* world.settle()
      return world.director.sent.filter(changes)
    })
  )

const restartMessage = (sent: ReadonlyArray<Wire.Sent>): string =>
  `a restarted manager wrote: ${sent
    .slice(0, 3)
    .map((one) => `${Wire.textOf(one)} ${one.body ?? ""}`.slice(0, 400))
    .join("; ")}`

const { atRest } = World

/** The seed of the worlds that play a step. They have the same uids until they differ. */
const seedOf = (seed: number, step: number): number => seed + 1 + step

/** Plays a step without faults, from the end of the step before. */
const undisturbed = (story: Story, step: number, from: World.Moment, seed: number) =>
  Effect.suspend(() => {
    const moments: Array<Omit<WriteMoment, "request">> = []
    const write = (_: Wire.Sent, when: "before" | "after", moment: () => World.Moment) =>
      moments.push({ when, moment: moment() })
    return World.run(story, { from, seed: seedOf(seed, step), write }, (world) =>
      Effect.gen(function* () {
        const schedule = { step, faults: [] }
        const violations: Array<Violation> = []
        world.director.arm([])
        yield* world.start
        yield* world.settle()
        const restarts = world.director.sent.filter(changes)
        if (step > 0 && restarts.length > 0) {
          violations.push({
            schedule: { step: step - 1, faults: [] },
            oracle: atRest,
            message: restartMessage(restarts)
          })
        }
        moments.length = 0
        const actedAt = world.moment().at
        const rested = yield* playStep(world, story, step, [])
        if (!rested) violations.push({ schedule, oracle: atRest, message: "the cluster does not come to rest" })
        for (const message of Refused.unreported(world.attempts, world.moment().saved)) {
          violations.push({ schedule, oracle: Refused.oracle, message })
        }
        const { events, sent } = world.director
        const ofWrites = sent.flatMap((one, request) => (Wire.writes(one) ? [request] : []))
        const course: Course = {
          start: from,
          actedAt,
          sent,
          events,
          // A write has two moments.
          moments: moments.map((one, index) => ({ ...one, request: ofWrites[index >> 1] ?? 0 })),
          end: world.moment(),
          refused: Refused.last(world.attempts).length > 0
        }
        return { course, rested, seen: world.seen, violations }
      })
    )
  })

/** Plays the story without faults. */
export const reference = (story: Story, seed: number): Effect.Effect<Reference> =>
  Effect.gen(function* () {
    let from = yield* World.run(story, { seed }, (world) =>
      Effect.map(Effect.zipRight(world.start, world.settle()), world.moment)
    )
    const base = from
    const steps: Array<Course> = []
    const violations: Array<Violation> = []
    let rested = true
    for (const step of story.steps.keys()) {
      const played = yield* undisturbed(story, step, from, seed)
      steps.push(played.course)
      const schedule = { step, faults: [] }
      violations.push(...played.violations, ...played.seen.map((one) => ({ schedule, ...one })))
      from = played.course.end
      rested = played.rested
      if (!rested) break
    }
    const restarts = rested ? yield* restarted(story, from, seed) : []
    if (restarts.length > 0) {
      const schedule = { step: story.steps.length - 1, faults: [] }
      violations.push({ schedule, oracle: atRest, message: restartMessage(restarts) })
    }
    const roots = new Set(story.controllers.map(({ resource }) => collectionOf(resource)))
    const written = steps.flatMap(({ sent }) => sent.filter(Wire.writes).map(({ asked }) => asked.collection))
    const view = { base: base.saved, storages: new Set([...roots, ...written].map(storageOf)) }
    const rooted = new Set([...roots].map(storageOf))
    for (const [step, { end, refused }] of story.fromSpecs && rested ? steps.entries() : []) {
      if (refused) continue
      const past = yield* Past.differences(story, base, end.saved, { roots: rooted, seed: seed + 2_000_000, view })
      if (past.length === 0) continue
      violations.push({ schedule: { step, faults: [] }, oracle: Past.oracle, message: Picture.show(past) })
    }
    return {
      view,
      rested,
      roots,
      steps: steps.map((step) => ({
        ...step,
        picture: Picture.of(step.end.saved, view),
        changes: changesOf(step.sent)
      })),
      violations
    }
  })

const collectionOf = ({ group, plural, version }: Story["controllers"][number]["resource"]): string =>
  group === "" ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`

const statuses: ReadonlyArray<RefusedStatus> = [409, 429, 500, 403]

/** The faults of a request. */
const faultsOf = (sent: Wire.Sent, roots: ReadonlySet<string>): ReadonlyArray<Fault> => {
  const { asked, body, status = 0 } = sent
  const refused = statuses
    .filter((code) => code !== 409 || (Wire.writes(sent) && asked.verb !== "create"))
    .map((status): Fault => ({ _tag: "Refused", status }))
  if (!Wire.writes(sent)) return refused
  const isRoot = roots.has(asked.collection)
  const isOwn = asked.verb !== "delete" && status < 300
  const foreign: Array<Fault> = []
  if (isOwn && status === 201 && asked.subresource === "") foreign.push({ _tag: "ForeignWrite", how: "taken" })
  if (isOwn && status === 200) {
    foreign.push({ _tag: "ForeignWrite", how: "other field" })
    if (body !== undefined && (!isRoot || asked.subresource === "status"))
      foreign.push({ _tag: "ForeignWrite", how: "same field" })
    if (!isRoot) foreign.push({ _tag: "ForeignWrite", how: "deleted" })
  }
  return [
    { _tag: "Crash", when: "before" },
    { _tag: "Crash", when: "after" },
    { _tag: "LostAnswer" },
    ...refused,
    ...foreign,
    { _tag: "SecondLeader" }
  ]
}

/** All schedules with one fault. */
const single = ({ roots, steps }: Reference): ReadonlyArray<Schedule> =>
  steps.flatMap(({ events, sent }, step) => [
    ...sent.flatMap((one, at) =>
      faultsOf(one, roots).map(
        (fault): Schedule => ({ step, faults: [{ fault, point: { _tag: "Request", at, text: Wire.textOf(one) } }] })
      )
    ),
    ...[...events].flatMap(([watch, count]) =>
      Array.from({ length: count }, (_, at) =>
        (["Lag", "Missed"] as const).map(
          (_tag): Schedule => ({ step, faults: [{ fault: { _tag }, point: { _tag: "Event", at, watch } }] })
        )
      ).flat()
    )
  ])

/** Schedules with two faults, chosen by a seed. */
const pairs = (all: ReadonlyArray<Schedule>, count: number, seed: number): ReadonlyArray<Schedule> => {
  const random = new PCGRandom(seed)
  const made = new Map<string, Schedule>()
  for (let tries = 0; made.size < count && tries < 20 * count; tries++) {
    const first = all[random.integer(all.length)]
    const others = all.filter(({ step }) => step === first?.step)
    const second = others[random.integer(others.length)]
    const [one] = first?.faults ?? []
    const [other] = second?.faults ?? []
    if (first === undefined || one === undefined || other === undefined) continue
    // The second point counts from the first fault.
    const at = other.point._tag === one.point._tag ? random.integer(other.point.at + 1) : other.point.at
    const schedule = { step: first.step, faults: [one, { ...other, point: { ...other.point, at } }] }
    made.set(JSON.stringify(schedule), schedule)
  }
  return [...made.values()]
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
    planned: ReadonlyArray<Planned>
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
      undone: world.foreign.flatMap((written) => Foreign.undone(written, Foreign.stored(moment.saved, written)) ?? [])
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
          others
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
      const rested = yield* playStep(world, story, step, faults)
      return ended(world, rested, [], faults)
    })
  )
}

const showChanges = (changes: string): string => (changes === "" ? "nothing" : changes)

/** The promises that the end of a schedule broke. */
const judge = (story: Story, { steps, view }: Reference, schedule: Schedule, end: Ended): ReadonlyArray<Violation> => {
  const course = steps[schedule.step]
  const violations: Array<Violation> = []
  const violate = (oracle: string, message: string) => violations.push({ schedule, oracle, message })
  for (const { message, oracle } of end.seen) violate(oracle, message)
  for (const message of end.unreported) violate(Refused.oracle, message)
  for (const message of end.undone) violate("other clients keep what they wrote", message)
  if (!end.rested) violate(atRest, "the cluster does not come to rest")
  const hows = schedule.faults.flatMap(({ fault }) => (fault._tag === "ForeignWrite" ? [fault.how] : []))
  // The name belongs to another client, so the end cannot be the same.
  if (course === undefined || hows.includes("taken")) return violations
  const differences = Picture.differences(course.picture, Picture.of(end.saved, view), story.ignore)
  if (differences.length > 0) {
    violate("the end is that of the undisturbed run", Picture.show(differences))
  } else if (!hows.includes("deleted") && end.changes !== course.changes) {
    violate(
      "each object is created and deleted as often as in the undisturbed run",
      `${showChanges(end.changes)} instead of ${showChanges(course.changes)}`
    )
  }
  return violations
}

const strictly = (saved: Store.Saved, view: Picture.View): string =>
  JSON.stringify([...Picture.of(saved, { ...view, strict: true })])

/** Explores a story. */
export const explore = (story: Story, options: Options): Effect.Effect<Report> =>
  Effect.gen(function* () {
    const { depth, isTried, seed } = options
    const known = yield* reference(story, seed)
    const violations = [...known.violations]
    const all = !known.rested ? [] : single(known).filter(({ faults }) => faults.every(({ fault }) => isTried(fault)))
    const chosen = depth === 1 ? all : pairs(all, options.pairs, seed)
    const unreached: Array<Schedule> = []
    const tried = new Map<string, Map<string, number>>()
    const states = new Set<string>()
    const rested = new Set(known.steps.map(({ end }) => strictly(end.saved, known.view)))
    let schedules = 0
    let pruned = 0
    for (const schedule of chosen) {
      const state = stateOf(known, schedule)
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
        const place = point._tag === "Request" ? point.text : `watch of ${point.watch}`
        const counts = tried.get(place) ?? new Map<string, number>()
        tried.set(place, counts)
        counts.set(fault._tag, (counts.get(fault._tag) ?? 0) + 1)
      }
      if (!end.fired) unreached.push(schedule)
      const found = judge(story, known, schedule, end)
      violations.push(...found)
      if (found.length > 0 || !end.rested) continue
      const strict = strictly(end.saved, known.view)
      if (rested.has(strict)) continue
      rested.add(strict)
      const sent = yield* restarted(story, end.moment, seed + 1_000_000)
      if (sent.length > 0) violations.push({ schedule, oracle: atRest, message: restartMessage(sent) })
    }
    return { violations, schedules, pruned, unreached, tried }
  })

/** The state that a crash leaves, for schedules with one crash. */
const stateOf = ({ steps }: Reference, { faults, step }: Schedule): string | undefined => {
  const [one] = faults
  if (faults.length !== 1 || one?.fault._tag !== "Crash") return undefined
  const { fault, point } = one
  const found = steps[step]?.moments.find(({ request, when }) => request === point.at && when === fault.when)
  return found === undefined ? undefined : `${step} ${found.moment.saved.revision}`
}
