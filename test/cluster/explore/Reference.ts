/** The run of a story without faults, from which schedules are derived and with which they are compared. */
import * as Effect from "effect/Effect"
import type { Planned, Schedule } from "./Fault.ts"
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
  /** The requests and attempts of the schedule, a line each. Empty for the run without faults. */
  readonly trace?: ReadonlyArray<string> | undefined
}

/** A state of the reference run before or after a write. */
export interface WriteMoment {
  readonly request: number
  readonly when: "before" | "after"
  readonly moment: World.Moment
}

/** A step of the reference run. */
export interface Course {
  readonly start: World.Moment
  readonly actedAt: number
  readonly sent: ReadonlyArray<Wire.Sent>
  readonly events: ReadonlyMap<string, number>
  readonly moments: ReadonlyArray<WriteMoment>
  readonly end: World.Moment
  /** Whether the API server refused the last writes for an object. */
  readonly refused: boolean
}

/** The run without faults. */
export interface Reference {
  /** Whether every step came to rest. The story ends at the first one that did not. */
  readonly rested: boolean
  readonly view: Picture.View
  readonly roots: ReadonlySet<string>
  readonly steps: ReadonlyArray<Course & { readonly picture: Picture.Picture; readonly changes: string }>
  readonly violations: ReadonlyArray<Violation>
}

/** Creations and deletions by object. */
export const changesOf = (sent: ReadonlyArray<Wire.Sent>): string =>
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
        : [`${World.storageOf(asked.collection)} ${asked.namespace}/${asked.name === "" ? "*" : asked.name} ${change}`]
    })
    .sort()
    .join(", ")

/** Acts as the user of a step does, with these faults, and waits until the cluster is at rest. */
export const playStep = (world: World.World, story: Story, step: number, faults: ReadonlyArray<Planned>) =>
  Effect.gen(function* () {
    const { act, passes = 0 } = story.steps[step] ?? { act: Effect.void }
    world.director.arm(faults)
    yield* world.act(act, story.steps[step]?.name)
    const during = world.director.sent.length
    yield* world.time.pass(passes)
    return { rested: yield* world.settle(passes), during }
  })

/** The writes of a program that starts in a state at rest. */
export const restarted = (story: Story, from: World.Moment, seed: number) =>
  World.run(story, { from, seed }, (world) =>
    Effect.gen(function* () {
      world.director.arm([])
      yield* world.start
      yield* world.settle()
      return world.director.sent.filter(({ changed }) => changed)
    })
  )

/** The message about writes at rest. */
export const restartMessage = (sent: ReadonlyArray<Wire.Sent>): string =>
  `a restarted manager wrote: ${sent
    .slice(0, 3)
    .map((one) => `${Wire.textOf(one)} ${one.body ?? ""}`.slice(0, 400))
    .join("; ")}`

/** The promise that nothing is written at rest. */
export const { atRest } = World

/** The seed of the worlds that play a step. They have the same uids until they differ. */
export const seedOf = (seed: number, step: number): number => seed + 1 + step

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
        const restarts = world.director.sent.filter(({ changed }) => changed)
        if (step > 0 && restarts.length > 0) {
          violations.push({
            schedule: { step: step - 1, faults: [] },
            oracle: atRest,
            message: restartMessage(restarts)
          })
        }
        moments.length = 0
        const actedAt = world.moment().at
        const { during, rested } = yield* playStep(world, story, step, [])
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
          moments: moments
            .map((one, index) => ({ ...one, request: ofWrites[index >> 1] ?? 0 }))
            // The user of a fork from an earlier moment would not end the step.
            .filter(({ request }) => request >= during),
          end: world.moment(),
          refused: Refused.last(world.attempts).length > 0
        }
        return { course, rested, seen: world.seen, violations }
      })
    )
  })

/** Plays the story without faults. */
export const play = (story: Story, seed: number): Effect.Effect<Reference> =>
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
      // A world sees the fibers that it leaves only at its end.
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
    const roots = new Set(story.controllers.map(({ resource }) => World.collectionOf(resource)))
    const written = steps.flatMap(({ sent }) => sent.filter(Wire.writes).map(({ asked }) => asked.collection))
    const rooted = new Set([...roots].map(World.storageOf))
    const view = { base: base.saved, roots: rooted, storages: new Set([...roots, ...written].map(World.storageOf)) }
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
