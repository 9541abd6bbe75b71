/** One run of a story: a cluster in virtual time, from the start or a saved moment, with the processes of the program. */

import type * as Store from "@homeostat/apiserver/storage/Store"
import * as CachedReads from "@homeostat/runtime/client/CachedReads"
import type * as Client from "@homeostat/runtime/client/Client"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import type * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import type { ControlPlane } from "../envtest/ControlPlane.ts"
import * as VirtualTime from "../VirtualTime.ts"
import type { Broken } from "./Broken.ts"
import * as Foreign from "./Foreign.ts"
import * as Garbage from "./Garbage.ts"
import * as Ground from "./Ground.ts"
import * as RealCluster from "./RealCluster.ts"
import * as RealTime from "./RealTime.ts"
import * as Retries from "./Retries.ts"
import type { Story } from "./Story.ts"
import * as Wire from "./Wire.ts"

/** The storage of a collection: `apps/deployments` for `/apis/apps/v1/deployments`. */
export const { storageOf } = Wire

/** The path of the collection of a kind: `/apis/apps/v1/deployments`. */
export const { collectionOf } = Ground

/** A state of the cluster, and its time in epoch milliseconds. */
export interface Moment {
  readonly saved: Store.Saved
  readonly at: number
}

/** A violation that the world itself detected. */
export type Seen = Broken

/** A run of a story. */
export interface World {
  readonly time: Ground.Time
  readonly client: Layer.Layer<Client.Client>
  /** Creates objects of users. */
  readonly create: (objects: ReadonlyArray<object>) => Effect.Effect<void>
  readonly director: Wire.Director
  /** Starts a process of the program. */
  readonly start: Effect.Effect<void>
  /** Sets whether new processes take part in a leader election. */
  readonly elect: (isElected: boolean) => void
  /** Kills all processes of the program, as SIGKILL does. */
  readonly kill: Effect.Effect<void>
  /** Runs the action of a user. */
  readonly act: (
    effect: Effect.Effect<unknown, unknown, Client.Client | Scope.Scope>,
    step?: string
  ) => Effect.Effect<void>
  /**
   * Lets time pass until the cluster is at rest: five seconds without a write and without a due retry. Replaces dead processes, and then
   * lets the time of the step pass again. Returns false if the cluster is not at rest after ten more minutes.
   */
  readonly settle: (passes?: Duration.Input) => Effect.Effect<boolean>
  readonly moment: Effect.Effect<Moment>
  /** Continues the uids and generated names with those of another seed. */
  readonly reseed: (seed: number) => void
  /** The objects that other clients wrote. */
  readonly foreign: ReadonlyArray<Foreign.Written>
  /** The violations so far, apart from those of the end state. */
  readonly seen: ReadonlyArray<Seen>
  /** The attempts so far. */
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  /** The number of requests that the director had counted at the end of each attempt. A function would keep the world in memory. */
  readonly requestsBefore: ReadonlyMap<Attempt.Attempt, number>
}

/** The time without a write after which the cluster is at rest. */
const quiet = "5 seconds"

/** The maximum time until the cluster is at rest, in milliseconds. */
const longest = 600_000

/** The number of retries without any change after which a failing object counts as at rest. */
const mostRetries = 4

/** How often in a row a cluster without a leader counts as not at rest. The time is longer than a Lease. */
const mostLeaderless = 24

/** How often in a row a cluster is not at rest because of an attempt with a failed request. The time is longer than its time limit. */
const mostUnfinished = 26

/** The number of requests at one moment of virtual time after which a process counts as endless. */
const mostAtOnce = 500

/** The promise about the cluster at rest. */
export const atRest = "at rest, nothing is written, also by a restarted manager"

/** The suspension of a leader, which is longer than its Lease. */
const suspension = "40 seconds"

/** The leader renews its Lease ten times less often than by default, because a renewal costs as much as another request. */
const election = {
  ...Ground.lease,
  leaseDuration: "30 seconds",
  renewDeadline: "25 seconds",
  retryPeriod: "20 seconds"
} as const

/** The options of a run. */
export interface Options {
  readonly from?: Moment | undefined
  readonly seed: number
  /** Whether two processes take part in an election. Default: one process without an election. */
  readonly elected?: boolean | undefined
  /** Runs for each write of the program, before and after it reaches the API server. */
  readonly write?:
    | ((sent: Wire.Sent, when: "before" | "after", moment: Effect.Effect<Moment>) => Effect.Effect<void>)
    | undefined
  /** The real cluster. Default: an embedded cluster. */
  readonly real?: ControlPlane | undefined
}

interface Running {
  readonly owner: Wire.Owner
  readonly process: VirtualTime.Process
  readonly scope: Scope.Closeable
}

const { lease } = Ground

const make = (
  story: Story,
  options: Options,
  ground: Ground.Ground,
  seen: Array<Seen>
): Effect.Effect<World, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { from } = options
    let { elected = false } = options
    const { time } = ground
    if (from === undefined) {
      // Runs with and without an election then create the same objects, with the same uids.
      const spec = { holderIdentity: "" }
      yield* ground.create([{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: lease, spec }])
    }
    if (from === undefined && story.before !== undefined) {
      yield* Effect.orDie(Effect.provide(Effect.scoped(story.before), ground.client))
    }
    const own = yield* ground.own
    const moment = Effect.map(ground.saved, (saved): Moment => ({ saved, at: time.clock.currentTimeMillisUnsafe() }))

    const running: Array<Running> = []
    const foreign: Array<Foreign.Written> = []
    const attempts: Array<Attempt.Attempt> = []
    const requestsBefore = new Map<Attempt.Attempt, number>()
    const retries = Retries.make()
    /** The running attempts with a request that a fault made fail. */
    const struck = new Set<string>()
    const roots = new Set(story.controllers.map(({ resource }) => collectionOf(resource)))
    let started = 0
    let missing = 0
    let suspended: Running | undefined

    const runningOf = (owner: Wire.Owner) => running.find((one) => one.owner === owner)
    const crash = (one: Running): void => {
      one.owner.dead = true
      one.process.suspend()
      retries.clear()
      struck.clear()
    }
    let last = { at: 0, requests: 0 }
    let hasEndless = false
    const isEndless = (owner: Wire.Owner): boolean => {
      const at = ground.instant()
      last = { at, requests: at === last.at ? last.requests + 1 : 1 }
      if (last.requests < mostAtOnce) return false
      const one = runningOf(owner)
      if (one !== undefined && !owner.dead) {
        crash(one)
        hasEndless = true
        seen.push({ oracle: atRest, message: `${owner.name} sent ${mostAtOnce} requests without a pause` })
      }
      return true
    }
    const director = Wire.make({
      views: ground.views,
      now: () => time.clock.currentTimeMillisUnsafe(),
      revision: ground.revision,
      isReal: options.real !== undefined,
      isEndless,
      crash: (owner) => {
        const one = runningOf(owner)
        if (one === undefined) return
        crash(one)
        missing++
      },
      suspended: (owner) => {
        suspended = runningOf(owner)
      },
      struck: (attempt) => struck.add(attempt),
      foreign: (how, sent) =>
        Foreign.isPossible(how, sent, roots)
          ? Effect.map(
              Foreign.write(ground.transport, how, sent, roots.has(sent.asked.collection)),
              (written) => void foreign.push(...written)
            )
          : Effect.void,
      write: (sent, when) =>
        Effect.gen(function* () {
          // A write that was sent before the suspension may arrive after it.
          if (when === "before" && elected) {
            const holder = yield* ground.leader
            if (holder !== undefined && holder !== sent.process) {
              seen.push({
                oracle: "only the leader writes",
                message: `${sent.process} sent ${Wire.textOf(sent)} while ${holder} held the Lease`
              })
            }
          }
          if (options.write !== undefined) yield* options.write(sent, when, moment)
        })
    })

    const observe = (attempt: Attempt.Attempt) =>
      Effect.sync(() => {
        // The evidence keeps attempts. These parts would keep the objects of the process in memory, and its functions.
        const kept = {
          ...attempt,
          changes: [],
          object: undefined,
          reads: CachedReads.none,
          secrets: { hide: identity }
        }
        attempts.push(kept)
        requestsBefore.set(kept, director.sent.length)
        retries.ended(attempt)
        struck.delete(attempt.id)
        const { controller, key, outcome } = attempt
        if (outcome._tag === "Failed" && outcome.defect) {
          const message = `${controller} ${key}: ${defectOf(outcome.cause)}`
          seen.push({ oracle: "no defect", message, objects: [key] })
        }
      })

    const start = Effect.gen(function* () {
      const process = time.process()
      const instance = `manager-${started++}`
      const owner: Wire.Owner = { name: instance, dead: false, closed: false, suspend: process.suspend }
      const scope = yield* Scope.make()
      running.push({ owner, process, scope })
      const leaderElection = elected
        ? yield* Effect.orDie(Effect.fromResult(LeaderElection.make({ ...election, identity: instance })))
        : undefined
      const launched = story
        .manager({ instance, leaderElection })
        .pipe(
          Attempt.observedBy(observe),
          Effect.provide(director.over(owner, own)),
          Scope.provide(scope),
          process.within
        )
      yield* Effect.forkIn(launched, scope)
    })

    const isLed = Effect.map(ground.leader, (holder) =>
      running.some(({ owner }) => !owner.dead && owner.name === holder)
    )
    const settle: World["settle"] = Effect.fnUntraced(function* (passes = 0) {
      let end = time.clock.currentTimeMillisUnsafe() + longest
      let idle = 0
      let leaderless = 0
      let unfinished = 0
      // The retries after an outage take some of the time of the step.
      let isDisturbed = director.restored() > 0
      while (time.clock.currentTimeMillisUnsafe() < end) {
        const before = yield* ground.changes
        // An event that arrives during this time may have just arrived.
        const late = director.late()
        yield* time.pass(quiet)
        if (hasEndless || ground.isRestless()) return false
        const outage = director.restored() - time.clock.currentTimeMillisUnsafe()
        if (outage > 0) {
          yield* time.pass(outage)
          end += outage
        } else if (struck.size > 0 && unfinished++ < mostUnfinished) {
          // An attempt may itself retry the request.
          idle = 0
          isDisturbed = true
        } else if (missing > 0) {
          missing--
          isDisturbed = true
          yield* start
        } else if (suspended !== undefined) {
          const { process } = suspended
          suspended = undefined
          isDisturbed = true
          yield* time.pass(suspension)
          process.resume()
        } else if ((yield* ground.changes) !== before || late + director.late() > 0) {
          idle = 0
        } else if (elected && !(yield* isLed) && leaderless++ < mostLeaderless) {
          // The Lease of a dead leader expires first.
          isDisturbed = true
        } else if (director.expire()) {
          isDisturbed = true
        } else if (retries.until() !== undefined && idle++ < mostRetries) {
          isDisturbed = true
          const wait = Math.max(0, (retries.until() ?? 0) - time.clock.currentTimeMillisUnsafe())
          yield* time.pass(wait)
          // A back-off may be longer than the time until rest.
          end += wait
        } else if (isDisturbed && Duration.toMillis(passes) > 0) {
          isDisturbed = false
          yield* time.pass(passes)
          end += Duration.toMillis(passes)
        } else {
          return true
        }
      }
      return false
    })

    const close = Effect.gen(function* () {
      for (const { owner } of running) owner.closed = true
      for (const { process } of running) process.resume()
      yield* time.during(
        Effect.forEach(running, ({ scope }) => Scope.close(scope, Exit.void), { concurrency: "unbounded" })
      )
    })
    yield* Effect.addFinalizer(() => close)

    return {
      time,
      client: ground.client,
      create: ground.create,
      director,
      start,
      elect: (isElected) => {
        elected = isElected
      },
      kill: Effect.sync(() => {
        for (const one of running) if (!one.owner.dead) crash(one)
      }),
      act: (effect, step = "") =>
        Effect.provide(Effect.scoped(effect), ground.client).pipe(
          Effect.catch((error) =>
            Effect.die(
              new Error(
                `step ${JSON.stringify(step)} failed: ${error instanceof Error ? error.message : String(error)}`
              )
            )
          ),
          Effect.asVoid
        ),
      settle,
      moment,
      reseed: ground.reseed,
      foreign,
      seen,
      attempts,
      requestsBefore
    }
  })

/** Describes a defect without the stack frames of Effect. They depend on what has woken the fiber. */
const defectOf = (cause: Cause.Cause<unknown>): string =>
  Cause.pretty(cause)
    .split("\n")
    .filter((line) => !/^\s+at .*(\/node_modules\/effect\/|\(node:)/.test(line))
    .join("\n")

/** Counts the fibers that an effect and its fibers start, and that have not ended. */
const counting = () => {
  let left = 0
  return {
    left: () => left,
    within: Effect.provideService(Metric.FiberRuntimeMetrics, {
      recordFiberStart: () => void left++,
      recordFiberEnd: () => void left--
    })
  }
}

/** Waits some turns of the event loop, until the fibers of a closed world have ended. */
const turns = Effect.replicateEffect(
  Effect.promise(() => new Promise((resume) => setImmediate(resume))),
  3
)

/** Waits longer, for connections to a real cluster. */
const longTurns = Effect.replicateEffect(
  Effect.promise(() => Bun.sleep(10)),
  30
)

/** Runs `course` in a world from the start or a moment. After it, the world also reports fibers that did not end. */
export const run = <A>(story: Story, options: Options, course: (world: World) => Effect.Effect<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const { from, real, seed } = options
    const seen: Array<Seen> = []
    const fibers = counting()
    const onGround = (time: Ground.Time, ground: Effect.Effect<Ground.Ground, never, Scope.Scope>) =>
      ground.pipe(
        Effect.flatMap((made) => make(story, options, made, seen)),
        Effect.flatMap(course),
        Effect.scoped,
        time.within,
        fibers.within,
        Random.withSeed(seed),
        Effect.tap(() => (fibers.left() === 0 ? Effect.void : real === undefined ? turns : longTurns)),
        Effect.tap(() =>
          Effect.sync(() => {
            const left = fibers.left()
            if (left > 0) seen.push({ oracle: "no fiber is left", message: `${left} fibers have not ended` })
          })
        ),
        Effect.tap(Garbage.ended),
        Effect.provideService(References.MinimumLogLevel, "None")
      )
    if (real !== undefined) {
      const time = RealTime.make()
      return onGround(time, RealCluster.make(story, real, time))
    }
    const time = VirtualTime.make(from?.at ?? story.begin)
    return onGround(time, Ground.embedded(story, { saved: from?.saved, seed }, time))
  })
