/** Runs one schedule of a story on a real cluster, and compares it with the same steps without faults. */
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Effect from "effect/Effect"
import type { ControlPlane } from "../envtest/ControlPlane.ts"
import type { Broken } from "./Broken.ts"
import { type Ended, ended, find, judge, type Report, type ScheduleNotFound } from "./Explorer.ts"
import type { Schedule } from "./Fault.ts"
import { collectionOf } from "./Ground.ts"
import * as Left from "./Left.ts"
import * as Past from "./Past.ts"
import * as Picture from "./Picture.ts"
import { changesOf, lastingBroken, play as playReference, playStep, restartBroken } from "./Reference.ts"
import * as Refused from "./Refused.ts"
import type { Story } from "./Story.ts"
import * as Trace from "./Trace.ts"
import * as Violations from "./Violations.ts"
import * as Wire from "./Wire.ts"
import * as World from "./World.ts"

/** The result of a schedule on a real cluster. */
export interface RealReport {
  readonly violations: ReadonlyArray<Violations.Violation>
  /** Whether all faults occurred. */
  readonly reached: boolean
  /** The requests and attempts of the step, a line each. */
  readonly trace: ReadonlyArray<string>
}

interface Course {
  readonly base: World.Moment
  readonly end: Ended
  /** The requests of the earlier steps. */
  readonly earlier: ReadonlyArray<Wire.Sent>
  readonly sent: ReadonlyArray<Wire.Sent>
  /** The writes of a manager that was restarted before the step, and of one after its end. */
  readonly restarts: readonly [before: ReadonlyArray<Wire.Sent>, after: ReadonlyArray<Wire.Sent>]
  readonly refused: boolean
}

const seed = 1

/** Runs the steps up to that of a schedule, and this step with the faults. With `lasting`, one process plays all steps. */
const course = (
  story: Story,
  schedule: Schedule,
  real: ControlPlane,
  { lasting = false }: { readonly lasting?: boolean | undefined } = {}
): Effect.Effect<Course> =>
  World.run(story, { real, seed }, (world) =>
    Effect.gen(function* () {
      const { faults, step } = schedule
      /** The writes of a new process. */
      const restarted = Effect.gen(function* () {
        yield* world.kill
        world.director.arm([])
        yield* world.start
        yield* world.settle()
        return world.director.sent.filter(({ changed }) => changed)
      })
      let before = yield* restarted
      const base = yield* world.moment
      const earlier: Array<Wire.Sent> = []
      for (let played = 0; played < step; played++) {
        yield* playStep(world, story, { step: played, faults: [] }, seed)
        earlier.push(...world.director.sent)
        if (!lasting) before = yield* restarted
      }
      if (faults.some(({ fault }) => fault._tag === "SecondLeader")) {
        yield* world.kill
        world.elect(true)
        for (let process = 0; process < 2; process++) {
          yield* world.start
          yield* world.settle()
        }
      }
      const since = world.time.clock.currentTimeMillisUnsafe()
      const { rested } = yield* playStep(world, story, schedule, seed)
      const sent = [...world.director.sent]
      const witness = Trace.ofCourse({ ...world, attempts: [...world.attempts], sent }, since)
      const end = yield* ended(world, schedule, { rested, planned: faults, witness })
      world.elect(false)
      const after = rested ? yield* restarted : []
      const refused = Refused.last(world.attempts).length > 0
      return { base, end, earlier, sent, restarts: [before, after], refused }
    })
  )

/** Runs a schedule. Installs the CRDs of the story first, if the cluster does not have them. */
export const play = (story: Story, schedule: Schedule, real: ControlPlane): Effect.Effect<RealReport> =>
  Effect.gen(function* () {
    const { step } = schedule
    yield* Effect.orDie(real.install(...Kinds.of(story).map((kind) => Crd.of(kind))))
    const undisturbed = { step, faults: [] }
    const isUndisturbed = schedule.faults.length === 0
    const [reference, other] = yield* Effect.all(
      [course(story, undisturbed, real), course(story, schedule, real, { lasting: isUndisturbed })],
      { concurrency: 2 }
    )
    const disturbed = isUndisturbed ? undefined : other
    const roots = new Set(story.controllers.map(({ resource }) => Wire.storageOf(collectionOf(resource))))
    const written = [...reference.earlier, ...reference.sent]
      .filter(Wire.writes)
      .map(({ asked }) => Wire.storageOf(asked.collection))
    const view = { base: reference.base.saved, roots, storages: new Set([...roots, ...written]) }
    const actual = disturbed ?? reference
    const { end } = actual
    const expected = {
      picture: Picture.of(reference.end.saved, view),
      changes: changesOf(reference.sent),
      end: reference.end.moment,
      base: reference.base.saved
    }
    const violations = [
      ...judge(story, { steps: { [step]: expected }, view: { ...view, base: actual.base.saved } }, end)
    ]
    const violate = (broken: ReadonlyArray<Broken>) => violations.push(...Violations.of(schedule, broken, end.witness))
    const [before, after] = actual.restarts
    if (disturbed === undefined && step > 0) violate(restartBroken(before))
    if (violations.length === 0) violate(restartBroken(after))
    if (isUndisturbed && story.lasting && end.rested && other.end.rested) {
      const ofOther = { ...view, base: other.base.saved }
      const found = lastingBroken(story, expected, {
        picture: Picture.of(other.end.saved, ofOther),
        changes: changesOf(other.sent)
      })
      violations.push(...Violations.of(schedule, found, other.end.witness))
    }
    if (disturbed === undefined && story.fromSpecs && end.rested && !reference.refused) {
      const past = yield* Past.differences(story, reference.base, end.saved, {
        isOwn: Left.createdBy([...reference.earlier, ...reference.sent]),
        roots,
        seed,
        view,
        real
      })
      if (past.length > 0) violate([{ oracle: Past.oracle, message: Picture.show(past) }])
    }
    return { violations, reached: end.fired, trace: end.witness().trace }
  })

/** Whether the variable `HOMEOSTAT_SERVER` selects a real kube-apiserver. */
export const isWanted = (): boolean => process.env.HOMEOSTAT_SERVER === "real"

/** Starts a real cluster with the controllers of the embedded cluster. Kwok simulates its pods. */
const start = ({ cluster: { controllers, kubelet } }: Story) =>
  Effect.gen(function* () {
    // The import is delayed, because an exploration without a real cluster does not need these modules.
    const Envtest = yield* Effect.promise(() => import("../envtest/Envtest.ts"))
    const hasPods = kubelet !== false
    return yield* Envtest.start({
      controllers: controllers?.filter((name) => name !== "scheduler") ?? true,
      scheduler: hasPods && (controllers?.includes("scheduler") ?? true),
      kwok: hasPods
    })
  }).pipe(Effect.orDie)

/** Runs the schedule with this identifier on its own real cluster. */
export const alone = (story: Story, schedule: string): Effect.Effect<Report, ScheduleNotFound> =>
  Effect.gen(function* () {
    const known = yield* playReference(story, seed)
    const found = yield* find(known, schedule)
    const { reached, trace, violations } = yield* play(story, found, yield* start(story))
    return {
      violations,
      schedules: 1,
      pruned: 0,
      unreached: reached ? [] : [found],
      tried: new Map(),
      trace: [...(reached ? [] : ["the fault did not happen"]), ...trace]
    }
  }).pipe(Effect.scoped)
