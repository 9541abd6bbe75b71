/** The run of a story without faults. Explore derives schedules from it, and compares their results with it. */
import * as Effect from "effect/Effect"
import * as Beats from "./Beats.ts"
import type { Broken } from "./Broken.ts"
import * as Early from "./Early.ts"
import type { Witness } from "./Evidence.ts"
import type { Fault, Planned, Schedule } from "./Fault.ts"
import * as Left from "./Left.ts"
import * as Past from "./Past.ts"
import * as Picture from "./Picture.ts"
import * as Refused from "./Refused.ts"
import type { Story } from "./Story.ts"
import * as Trace from "./Trace.ts"
import * as Violations from "./Violations.ts"
import * as Wire from "./Wire.ts"
import * as World from "./World.ts"

/** A state of the reference run before or after a write. */
export interface WriteMoment {
  readonly request: number
  readonly when: "before" | "after"
  readonly moment: World.Moment
  /** The writes that the API server has answered. Several objects may write at the same time. */
  readonly answered: ReadonlySet<Wire.Sent>
}

/** A step of the reference run. */
export interface Course {
  readonly start: World.Moment
  readonly actedAt: number
  readonly sent: ReadonlyArray<Wire.Sent>
  readonly events: ReadonlyMap<string, number>
  readonly moments: ReadonlyArray<WriteMoment>
  readonly end: World.Moment
  /** Whether the API server rejected the last writes for an object. */
  readonly refused: boolean
  /** The evidence of the step. */
  readonly witness: Witness
}

/** The end of a step: its objects, and the objects that it created and deleted. */
export interface StepEnd {
  readonly picture: Picture.Picture
  readonly changes: string
}

/** The run without faults. */
export interface Reference {
  /** Whether the cluster came to rest after each step. The story ends at the first step after which it did not. */
  readonly rested: boolean
  readonly view: Picture.View
  readonly roots: ReadonlySet<string>
  readonly steps: ReadonlyArray<Course & StepEnd & { readonly lasting: Witness | undefined; readonly faults: boolean }>
  readonly violations: ReadonlyArray<Violations.Violation>
}

/** Lists the creations and deletions by object, with the number of equal ones. */
export const changesOf = (sent: ReadonlyArray<Wire.Sent>): string => {
  const counts = new Map<string, number>()
  for (const change of sent.flatMap(changeOf)) counts.set(change, (counts.get(change) ?? 0) + 1)
  return [...counts]
    .map(([change, count]) => (count === 1 ? change : `${change} ${count} times`))
    .sort()
    .join(", ")
}

const changeOf = ({ asked, status }: Wire.Sent): ReadonlyArray<string> => {
  const change =
    status === 201 && asked.subresource === ""
      ? "created"
      : (asked.verb === "delete" || asked.verb === "deletecollection") && (status === 200 || status === 202)
        ? "deleted"
        : undefined
  const { collection, name, namespace } = asked
  return change === undefined
    ? []
    : [`${World.storageOf(collection)} ${namespace}/${name === "" ? "*" : name} ${change}`]
}

/** Formats the result of {@link changesOf} for a message. */
export const showChanges = (changes: string): string => (changes === "" ? "nothing" : changes)

/** Runs the action of a step with these faults, and waits until the cluster is at rest. */
export const playStep = (world: World.World, story: Story, { faults, step }: Schedule, seed: number) =>
  Effect.gen(function* () {
    const { act, passes = 0 } = story.steps[step] ?? { act: Effect.void }
    world.director.arm(faults)
    // All runs of a step then create objects with the same uids and generated names, whatever their processes created before.
    world.reseed(seed + 3_000_000 + step)
    yield* world.act(act, story.steps[step]?.name)
    const during = world.director.sent.length
    yield* world.time.pass(passes)
    return { rested: yield* world.settle(passes), during }
  })

/** Returns the writes of a program that starts while the cluster is at rest. */
export const restarted = (story: Story, from: World.Moment, seed: number) =>
  World.run(story, { from, seed }, (world) =>
    Effect.gen(function* () {
      world.director.arm([])
      yield* world.start
      yield* world.settle()
      const sent = world.director.sent.filter(({ changed }) => changed)
      return { sent, witness: Trace.of(world, from.at) }
    })
  )

/** Returns the message about writes at rest. */
export const restartMessage = (sent: ReadonlyArray<Wire.Sent>): string =>
  `a restarted manager wrote: ${sent
    .slice(0, 3)
    .map((one) => `${Wire.textOf(one)} ${one.body ?? ""}`.slice(0, 400))
    .join("; ")}`

/** Returns the broken promise of a cluster that does not come to rest, unless the world has already reported the reason. */
export const restless = (rested: boolean, seen: ReadonlyArray<Broken>): ReadonlyArray<Broken> =>
  rested || seen.some(({ oracle }) => oracle === atRest)
    ? []
    : [{ oracle: atRest, message: "the cluster does not come to rest" }]

/** Returns the broken promise about writes at rest; empty without a write. */
export const restartBroken = (sent: ReadonlyArray<Wire.Sent>): ReadonlyArray<Broken> =>
  sent.length === 0
    ? []
    : [{ oracle: atRest, message: restartMessage(sent), objects: sent.map(({ asked }) => Trace.keyOf(asked)) }]

/** The promise that a program at rest does not write. */
export const { atRest } = World

/** The seed of the worlds for a step. With the same seed, worlds create the same uids until they differ. */
export const seedOf = (seed: number, step: number): number => seed + 1 + step

/** Runs a step without faults, from the end of the previous step. */
const undisturbed = (story: Story, step: number, from: World.Moment, seed: number) =>
  Effect.suspend(() => {
    const moments: Array<Omit<WriteMoment, "request"> & { readonly sent: Wire.Sent }> = []
    const answered = new Set<Wire.Sent>()
    const write = (sent: Wire.Sent, when: "before" | "after", moment: Effect.Effect<World.Moment>) =>
      Effect.map(moment, (moment) => {
        if (when === "after") answered.add(sent)
        moments.push({ sent, when, moment, answered: new Set(answered) })
      })
    return World.run(story, { from, seed: seedOf(seed, step), write }, (world) =>
      Effect.gen(function* () {
        const schedule = { step, faults: [] }
        world.director.arm([])
        yield* world.start
        yield* world.settle()
        const restarts = world.director.sent.filter(({ changed }) => changed)
        const former =
          step === 0
            ? []
            : Violations.of({ step: step - 1, faults: [] }, restartBroken(restarts), Trace.of(world, from.at))
        moments.length = 0
        const actedAt = world.time.clock.currentTimeMillisUnsafe()
        const { during, rested } = yield* playStep(world, story, schedule, seed)
        const witness = Trace.of(world, actedAt)
        const end = yield* world.moment
        const broken = [
          ...restless(rested, world.seen),
          ...Refused.unreported(world.attempts, end.saved),
          ...Early.broken(moments, world.attempts)
        ]
        const { events, sent } = world.director
        const course: Course = {
          start: from,
          actedAt,
          sent,
          events,
          moments: moments
            .map((one) => ({ ...one, request: sent.indexOf(one.sent) }))
            // A fork from an earlier moment would lack the rest of the user's action.
            .filter(({ request }) => request >= during),
          end,
          refused: Refused.last(world.attempts).length > 0,
          witness
        }
        // A world reports leaked fibers only at its end.
        const violations = () => [...former, ...Violations.of(schedule, [...broken, ...world.seen], witness)]
        return { course, rested, violations }
      })
    )
  })

/** The additional time before a difference counts. A process that keeps running looks for a missing kind only every 45 seconds. */
const patience = "1 minute"

/** The promise about a process that no fault and no restart interrupts. */
const lastingOracle = "a process that keeps running ends each step as a new process does"

/** The promise about a process that recovers from a fault in each step. */
const recoveryOracle = "a process that recovers from a failed write in each step ends the steps as a new process does"

/** The run of all steps with one process. */
interface Lasting {
  readonly violations: ReadonlyArray<Violations.Violation>
  /** The evidence of each step until the first broken promise. */
  readonly witnesses: ReadonlyArray<Witness>
}

/**
 * Plays all steps with one process, whose memory of earlier steps may be wrong. All other runs start a new process for each step. Ends at
 * the first step that broke a promise.
 */
const lasting = (
  story: Story,
  base: World.Moment,
  steps: ReadonlyArray<StepEnd & { readonly planned?: ReadonlyArray<Planned> | undefined }>,
  {
    oracle = lastingOracle,
    seed,
    view
  }: { readonly oracle?: string; readonly seed: number; readonly view: Picture.View }
): Effect.Effect<Lasting> => {
  const witnesses: Array<Witness> = []
  const played = World.run(story, { from: base, seed: seedOf(seed, 0) }, (world) =>
    Effect.gen(function* () {
      yield* world.start
      let broken: ReadonlyArray<Broken> = []
      for (const [step, expected] of steps.entries()) {
        // Each step begins at rest, as after a restart.
        yield* world.settle()
        const since = world.time.clock.currentTimeMillisUnsafe()
        let { rested } = yield* playStep(world, story, { step, faults: expected.planned ?? [] }, seed)
        const compared = Effect.map(world.moment, ({ saved }) =>
          lastingBroken(
            story,
            expected,
            { picture: Picture.of(saved, view), changes: changesOf(world.director.sent) },
            oracle
          )
        )
        if (rested && (yield* compared).length > 0) {
          yield* world.time.pass(patience)
          rested = yield* world.settle()
        }
        broken = [
          ...restless(rested, world.seen),
          ...Refused.unreported(world.attempts, (yield* world.moment).saved),
          ...(rested ? yield* compared : [])
        ]
        witnesses.push(Trace.of(world, since))
        if (broken.length > 0 || world.seen.length > 0) break
      }
      return { broken, seen: world.seen }
    })
  )
  return Effect.map(played, ({ broken, seen }) => {
    const step = witnesses.length - 1
    const witness = witnesses[step]
    // A world reports leaked fibers only at its end.
    const all = [...broken, ...seen]
    return { witnesses, violations: witness === undefined ? [] : Violations.of({ step, faults: [] }, all, witness) }
  })
}

/** Returns the broken promises of a process that keeps running, at the end of a step. `expected` is the end with a new process. */
export const lastingBroken = (
  story: Story,
  expected: StepEnd,
  actual: StepEnd,
  oracle = lastingOracle
): ReadonlyArray<Broken> => {
  const differences = Picture.differences(expected.picture, actual.picture, story.ignore)
  if (differences.length > 0) {
    return [{ oracle, message: Picture.show(differences), objects: Picture.objectsOf(differences) }]
  }
  return actual.changes === expected.changes
    ? []
    : [{ oracle, message: `${showChanges(actual.changes)} instead of ${showChanges(expected.changes)}` }]
}

/** A fault that ends an attempt, and from which a process recovers at once. */
export const failure: Fault = { _tag: "Refused", status: 500 }

/**
 * Plays all steps with one process, whose first write in each step fails. Its memory of the failure may harm a later step. Succeeds with
 * nothing if the process without a failure already breaks a promise.
 */
export const recovering = (
  story: Story,
  { rested, steps, view, violations }: Reference,
  seed: number
): Effect.Effect<ReadonlyArray<Violations.Violation>> => {
  const [first] = steps
  if (!rested || !story.lasting || violations.length > 0 || first === undefined) return Effect.succeed([])
  const last = steps.findLastIndex(({ faults }) => faults)
  const planned = steps.slice(0, last + 1).map((step) => {
    const at = step.sent.findIndex(Wire.writes)
    const sent = step.sent[at]
    const point = { _tag: "Request", at, text: "", site: "" } as const
    return { ...step, planned: sent === undefined || !step.faults ? [] : [{ fault: failure, point }] }
  })
  return Effect.map(
    lasting(story, first.start, planned, { oracle: recoveryOracle, seed, view }),
    ({ violations }) => violations
  )
}

/** Runs the story without faults. */
export const play = (story: Story, seed: number): Effect.Effect<Reference> =>
  Effect.gen(function* () {
    let from = yield* World.run(story, { seed }, (world) =>
      Effect.andThen(Effect.andThen(world.start, world.settle()), world.moment)
    )
    const base = from
    const steps: Array<Course> = []
    const violations: Array<Violations.Violation> = []
    let rested = true
    for (const step of story.steps.keys()) {
      const played = yield* undisturbed(story, step, from, seed)
      steps.push(played.course)
      violations.push(...played.violations())
      from = played.course.end
      rested = played.rested
      if (!rested) break
    }
    if (rested) {
      const { sent, witness } = yield* restarted(story, from, seed)
      violations.push(...Violations.of({ step: story.steps.length - 1, faults: [] }, restartBroken(sent), witness))
    }
    const roots = new Set(story.controllers.map(({ resource }) => World.collectionOf(resource)))
    const written = steps.flatMap(({ sent }) => sent.filter(Wire.writes).map(({ asked }) => asked.collection))
    const rooted = new Set([...roots].map(World.storageOf))
    const view = { base: base.saved, roots: rooted, storages: new Set([...roots, ...written].map(World.storageOf)) }
    const ends = steps.map((step) => ({
      ...step,
      picture: Picture.of(step.end.saved, view),
      changes: changesOf(step.sent)
    }))
    const isOwn = Left.createdBy(steps.flatMap(({ sent }) => sent))
    for (const [step, { end, start, witness }] of rested ? steps.entries() : []) {
      if (!Left.hasRoots(start.saved, view)) continue
      violations.push(...Violations.of({ step, faults: [] }, Left.broken(isOwn, end.saved, story, view), witness))
    }
    const last = steps.at(-1)
    if (rested && last !== undefined) {
      const kept = Left.undeleted(last.end.saved, story, view)
      violations.push(...Violations.of({ step: steps.length - 1, faults: [] }, kept, last.witness))
    }
    // The last step after which the program has an object to reconcile.
    const busy = steps.findLastIndex(({ end }) => Left.hasRoots(end.saved, view))
    const resting = steps[busy]
    if (rested && resting !== undefined) {
      const { broken, witness } = yield* Beats.broken(story, resting.end, seed + 4_000_000)
      violations.push(...Violations.of({ step: busy, faults: [] }, broken, witness))
    }
    const known = new Set(violations.map(({ message, oracle }) => `${oracle}\n${message}`))
    const { violations: found, witnesses } =
      rested && story.lasting ? yield* lasting(story, base, ends, { seed, view }) : { violations: [], witnesses: [] }
    violations.push(...found.filter(({ message, oracle }) => !known.has(`${oracle}\n${message}`)))
    for (const [step, { end, refused, witness }] of story.fromSpecs && rested ? steps.entries() : []) {
      if (refused) continue
      const past = yield* Past.differences(story, base, end.saved, {
        isOwn,
        roots: rooted,
        seed: seed + 2_000_000,
        view
      })
      if (past.length === 0) continue
      const broken = { oracle: Past.oracle, message: Picture.show(past), objects: Picture.objectsOf(past) }
      violations.push(...Violations.of({ step, faults: [] }, [broken], witness))
    }
    return {
      view,
      rested,
      roots,
      steps: ends.map((step, index) => ({
        ...step,
        lasting: witnesses[index],
        faults: story.steps[index]?.faults ?? true
      })),
      violations
    }
  })
