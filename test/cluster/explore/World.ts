/** One course of a story: a cluster in virtual time, from its beginning or a saved moment, with the processes of the program. */

import * as Json from "@homeostat/apiserver/model/Json"
import type * as Store from "@homeostat/apiserver/storage/Store"
import type * as Client from "@homeostat/runtime/client/Client"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as EmbeddedCluster from "../EmbeddedCluster.ts"
import * as VirtualTime from "../VirtualTime.ts"
import * as Foreign from "./Foreign.ts"
import * as Retries from "./Retries.ts"
import type { Story } from "./Story.ts"
import * as Wire from "./Wire.ts"

/** The storage of a collection: `apps/deployments` for `/apis/apps/v1/deployments`. */
export const storageOf = (collection: string): string => {
  const parts = collection.split("/")
  return parts[1] === "api" ? `/${parts[3]}` : `${parts[2]}/${parts[4]}`
}

/** The path of the collection of a kind: `/apis/apps/v1/deployments`. */
export const collectionOf = ({ group, plural, version }: Resource.Any): string =>
  group === "" ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`

/** A state of the cluster, and its time in epoch milliseconds. */
export interface Moment {
  readonly saved: Store.Saved
  readonly at: number
}

/** A violation that the world itself saw. */
export interface Seen {
  readonly oracle: string
  readonly message: string
}

/** A course. */
export interface World {
  readonly time: VirtualTime.VirtualTime
  readonly cluster: EmbeddedCluster.EmbeddedCluster
  readonly director: Wire.Director
  /** Starts a process of the program. */
  readonly start: Effect.Effect<void>
  /** Kills all processes of the program, as SIGKILL does. */
  readonly kill: Effect.Effect<void>
  /** Runs an effect of a user. */
  readonly act: (
    effect: Effect.Effect<unknown, unknown, Client.Client | Scope.Scope>,
    step?: string
  ) => Effect.Effect<void>
  /**
   * Passes time until the cluster is at rest: five seconds without a write and without a retry that is due. Replaces dead processes, and
   * then passes the time of the step again. False if the cluster is not at rest after ten minutes more.
   */
  readonly settle: (passes?: Duration.DurationInput) => Effect.Effect<boolean>
  readonly moment: () => Moment
  /** The objects that other clients wrote. */
  readonly foreign: ReadonlyArray<Foreign.Written>
  /** What went wrong so far, besides the end state. */
  readonly seen: ReadonlyArray<Seen>
  /** The attempts so far. */
  readonly attempts: ReadonlyArray<Attempt.Attempt>
}

/** How long the cluster must be without a write to be at rest. */
const quiet = "5 seconds"

/** How long it may take to come to rest, in milliseconds. */
const longest = 600_000

/** Retries without any change, after which a failing object counts as at rest. */
const mostRetries = 4

/** The requests at one moment of virtual time after which a process counts as endless. */
const mostAtOnce = 500

/** The oracle of the rest. */
export const atRest = "at rest, nothing is written, also by a restarted manager"

/** How long a leader is suspended: longer than its Lease. */
const suspension = "40 seconds"

const lease = { namespace: "default", name: "explored" }

/** The leader renews its Lease ten times more seldom than by default, because a renewal costs as much as other requests. */
const election = {
  ...lease,
  leaseDuration: "30 seconds",
  renewDeadline: "25 seconds",
  retryPeriod: "20 seconds"
} as const

/** Whether the program may read Events. Otherwise nothing depends on them, and most clusters write more Events than other objects. */
const readsEvents = ({ roles }: Story): boolean => {
  const rules = Json.objects(JSON.parse(JSON.stringify(roles))).flatMap((role) => Json.objects(role.rules))
  const names = (rule: Json.JsonObject, member: string, wanted: ReadonlyArray<string>) =>
    Json.list(rule[member]).some((name) => typeof name === "string" && wanted.includes(name))
  return rules.some(
    (rule) => names(rule, "resources", ["events", "*"]) && names(rule, "verbs", ["get", "list", "watch", "*"])
  )
}

/** The options of a course. */
export interface Options {
  readonly from?: Moment | undefined
  readonly seed: number
  /** Two processes in an election instead of one without. */
  readonly elected?: boolean | undefined
  /** Hears of each write of the program, before and after it reaches the API server. */
  readonly write?: ((sent: Wire.Sent, when: "before" | "after", moment: () => Moment) => void) | undefined
}

/** The storages whose changes do not matter for the rest: a leader renews its Lease. */
const ignored = new Set(["coordination.k8s.io/leases", "/events", "events.k8s.io/events"])

/** Whether a cluster in which objects of this storage change is not at rest. */
export const matters = (storage: string): boolean => !ignored.has(storage)

interface Running {
  readonly owner: Wire.Owner
  readonly process: VirtualTime.Process
  readonly scope: Scope.CloseableScope
}

const make = (
  story: Story,
  options: Options,
  time: VirtualTime.VirtualTime,
  seen: Array<Seen>
): Effect.Effect<World, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { elected = false, from, seed } = options
    const whole = { events: readsEvents(story), ...story.cluster }
    const base = from === undefined ? whole : { ...whole, crds: [], converted: [], saved: from.saved }
    const cluster = yield* EmbeddedCluster.make({ ...base, seed })
    if (from === undefined) {
      // Elected and other processes then create the same objects, and these have the same uids.
      const spec = { holderIdentity: "" }
      yield* EmbeddedCluster.create(cluster.server, [
        { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: lease, spec }
      ])
    }
    if (from === undefined && story.before !== undefined) {
      yield* Effect.orDie(Effect.provide(Effect.scoped(story.before), cluster.client))
    }
    const own =
      from === undefined ? yield* cluster.bind(story.roles) : cluster.as(EmbeddedCluster.subjectOf(story.roles))
    const { store } = cluster.server
    const moment = (): Moment => ({ saved: cluster.server.saved(), at: time.clock.unsafeCurrentTimeMillis() })

    const running: Array<Running> = []
    const foreign: Array<Foreign.Written> = []
    const attempts: Array<Attempt.Attempt> = []
    const retries = Retries.make()
    let started = 0
    let missing = 0
    let suspended: Running | undefined

    const runningOf = (owner: Wire.Owner) => running.find((one) => one.owner === owner)
    const crash = (one: Running): void => {
      one.owner.dead = true
      one.process.suspend()
      retries.clear()
    }
    let last = { at: 0, requests: 0 }
    let hasEndless = false
    const isEndless = (owner: Wire.Owner): boolean => {
      const at = time.clock.unsafeCurrentTimeMillis()
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
      now: () => time.clock.unsafeCurrentTimeMillis(),
      revision: () => store.revision,
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
      foreign: (how, sent) =>
        Effect.map(Foreign.write(cluster.transport, how, sent), (written) => void foreign.push(...written)),
      write: (sent, when) => {
        // What was sent before the suspension may arrive after it.
        if (when === "before" && elected) {
          const holder = Foreign.holder(store, lease)
          if (holder !== undefined && holder !== sent.process) {
            seen.push({
              oracle: "only the leader writes",
              message: `${sent.process} sent ${Wire.textOf(sent)} while ${holder} held the Lease`
            })
          }
        }
        options.write?.(sent, when, moment)
      }
    })

    let changes = 0
    const unsubscribe = store.subscribe(({ storage }) => {
      if (matters(storage)) changes++
    })
    yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))

    const observe = (attempt: Attempt.Attempt) =>
      Effect.sync(() => {
        attempts.push(attempt)
        retries.ended(attempt)
        const { controller, key, outcome } = attempt
        if (outcome._tag === "Failed" && outcome.defect) {
          seen.push({ oracle: "no defect", message: `${controller} ${key}: ${Cause.pretty(outcome.cause)}` })
        }
      })

    const start = Effect.gen(function* () {
      const process = time.process()
      const instance = `manager-${started++}`
      const owner: Wire.Owner = { name: instance, dead: false, closed: false, suspend: process.suspend }
      const scope = yield* Scope.make()
      running.push({ owner, process, scope })
      const leaderElection = elected
        ? yield* Effect.orDie(LeaderElection.make({ ...election, identity: instance }))
        : undefined
      const launched = story
        .manager({ instance, leaderElection })
        .pipe(
          Attempt.observedBy(observe),
          Effect.provide(director.over(owner, own.transport)),
          Scope.extend(scope),
          process.within
        )
      yield* Effect.forkIn(launched, scope)
    })

    const settle: World["settle"] = Effect.fnUntraced(function* (passes = 0) {
      let end = time.clock.unsafeCurrentTimeMillis() + longest
      let idle = 0
      let isDisturbed = false
      while (time.clock.unsafeCurrentTimeMillis() < end) {
        const before = changes
        yield* time.pass(quiet)
        if (hasEndless) return false
        if (missing > 0) {
          missing--
          isDisturbed = true
          yield* start
        } else if (suspended !== undefined) {
          const { process } = suspended
          suspended = undefined
          isDisturbed = true
          yield* time.pass(suspension)
          process.resume()
        } else if (changes !== before || director.late() > 0) {
          idle = 0
        } else if (director.expire()) {
          isDisturbed = true
        } else if (retries.until() !== undefined && idle++ < mostRetries) {
          isDisturbed = true
          yield* time.pass(Math.max(0, (retries.until() ?? 0) - time.clock.unsafeCurrentTimeMillis()))
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
      cluster,
      director,
      start,
      kill: Effect.sync(() => {
        for (const one of running) if (!one.owner.dead) crash(one)
      }),
      act: (effect, step = "") =>
        Effect.provide(Effect.scoped(effect), cluster.client).pipe(
          Effect.catchAll((error) =>
            Effect.dieMessage(
              `step ${JSON.stringify(step)} failed: ${error instanceof Error ? error.message : String(error)}`
            )
          ),
          Effect.asVoid
        ),
      settle,
      moment,
      foreign,
      seen,
      attempts
    }
  })

/** The fibers without a parent that run in a time. */
const rootsIn = (time: VirtualTime.VirtualTime) =>
  Fiber.unsafeRoots().filter(
    (fiber) => Context.get(fiber.getFiberRef(DefaultServices.currentServices), Clock.Clock) === time.clock
  )

/** Turns of the event loop until the fibers of a closed world have ended. */
const turns = Effect.replicateEffect(
  Effect.promise(() => new Promise((resume) => setImmediate(resume))),
  3
)

/** Runs a course from its beginning or a moment to the end of the effect. Afterwards the world also saw fibers that did not end. */
export const run = <A>(story: Story, options: Options, course: (world: World) => Effect.Effect<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const time = VirtualTime.make(options.from?.at ?? story.begin)
    const seen: Array<Seen> = []
    return Effect.flatMap(make(story, options, time, seen), course).pipe(
      Effect.scoped,
      time.within,
      Effect.withRandom(Random.make(options.seed)),
      Effect.zipLeft(Effect.when(turns, () => rootsIn(time).length > 0)),
      Effect.tap(() =>
        Effect.sync(() => {
          const left = rootsIn(time).length
          if (left > 0)
            seen.push({ oracle: "no fiber is left", message: `${left} fibers without a parent have not ended` })
        })
      ),
      Logger.withMinimumLogLevel(LogLevel.None)
    )
  })
