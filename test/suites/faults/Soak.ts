/**
 * Runs a manager under churn and faults, and compares its memory, fibers, timers and sockets before and after.
 *
 * Users create, change and delete WebApps, and other owners damage the children. Meanwhile the network and the API server fail in every
 * way that the tests of this folder cover. Then the soak repairs everything, waits until everything has converged, and deletes all
 * objects. It skips 70 minutes, so that cached values expire. The baseline comes from a short warm-up with the same steps.
 */

import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as TcpProxy from "@homeostat/testkit/TcpProxy"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Duration, Effect, Layer, Metric, Option, Random, References } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"
import * as Footprint from "./Footprint.ts"
import { behind, converged } from "./Wired.ts"

/** The length and the load of a soak. */
export interface Options {
  readonly duration: Duration.Input
  /** The highest number of WebApps at a time. */
  readonly apps: number
  /** The seed of the actions and faults. The same seed draws the same ones, but not at the same times. */
  readonly seed: string
  /** Receives one line for each event of the soak. */
  readonly report?: ((line: string) => void) | undefined
}

/** The resources that the manager holds. All counts except memory are exact. */
export interface Held extends Footprint.Footprint {
  readonly fibers: number
  /** Open connections to the API server. */
  readonly connections: number
  /** Keys in the work queue: ready, delayed or in progress. */
  readonly queued: number
  /** Objects in the caches. */
  readonly stored: number
  /** The manager's own writes that the caches show before a watch delivers them. */
  readonly overlaid: number
}

/** The findings of a soak. */
export interface Result {
  readonly before: Held
  readonly after: Held
  /** Strings on the heap that name an object of the soak, although all these objects are deleted. */
  readonly mentions: ReadonlyArray<string>
  readonly actions: { readonly [action: string]: number }
  readonly faults: { readonly [fault: string]: number }
  /** How often the manager became the leader. */
  readonly terms: number
  readonly restarts: number
  readonly relists: number
}

/** A quarter of the default durations of the Lease, so that each long fault ends a term. */
const times = { leaseDuration: "4 seconds", renewDeadline: "2500 millis", retryPeriod: "500 millis" } as const

/** The names of the soak's WebApps. No other string in this process matches. */
const names = /soak-(?:\d+)x/

/** Runs a soak on the cluster, and returns the resources that the manager holds before and after. */
export const run = (cluster: ControlPlane, { apps, duration, report = () => undefined, seed }: Options) =>
  Effect.gen(function* () {
    yield* cluster.install(Crd.of(WebApp))
    const namespace = yield* cluster.namespace("leaks")
    const server = yield* Effect.acquireRelease(cluster.process("kube-apiserver"), ({ resume, start }) =>
      Effect.andThen(resume, Effect.ignore(Effect.interruptible(start)))
    )
    const proxy = yield* TcpProxy.make({ port: Number(new URL(cluster.url).port) })
    const { clock, leap } = VirtualTime.leaping()
    let fibers = 0
    const leaderElection = yield* Effect.fromResult(
      LeaderElection.make({ namespace, name: "homeostat", identity: "soak", ...times })
    )
    const runners = yield* Effect.gen(function* () {
      const transport = Transport.layer(Counted.clusterOf(behind(proxy, cluster.admin)))
      const services = yield* Layer.build(
        Manager.layer({ namespaces: [namespace], instance: "soak" }).pipe(Layer.provide(transport))
      )
      // Recordings keep the objects of the last attempts.
      const settings = { leaderElection, recordings: { count: 0 } }
      return yield* Effect.provide(Manager.start([controller], settings), services)
    }).pipe(
      Effect.provideService(Metric.FiberRuntimeMetrics, {
        recordFiberStart: () => void fibers++,
        recordFiberEnd: () => void fibers--
      }),
      Effect.provideService(Clock.Clock, clock),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
    yield* Effect.forEach(runners, ({ started }) => started, { discard: true })

    const informers = runners.flatMap(({ informers }) => informers)
    const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)
    const actions: { [action: string]: number } = {}
    const faults: { [fault: string]: number } = {}
    const count = (counts: { [what: string]: number }, what: string) => {
      counts[what] = (counts[what] ?? 0) + 1
    }
    let terms = 0
    let led = false
    yield* Effect.sync(() => {
      const { leading } = leaderElection.state()
      if (leading && !led) terms++
      led = leading
    }).pipe(Effect.andThen(Effect.sleep("20 millis")), Effect.forever, Effect.forkScoped)

    const present = new Set<string>()
    let made = 0
    const image = Effect.map(Random.nextIntBetween(1, 1000, { halfOpen: true }), (tag) => `registry.test/web:${tag}`)
    const some = Effect.map(Random.nextInt, (index) => {
      const all = [...present]
      return { namespace, name: all[Math.abs(index) % all.length] ?? "" }
    })
    const create = Effect.gen(function* () {
      const name = `soak-${made++}x`
      yield* Client.create(WebApp, { metadata: { namespace, name }, spec: { image: yield* image, replicas: 1 } })
      present.add(name)
    })
    const change = Effect.gen(function* () {
      const replicas = yield* Random.nextIntBetween(1, 10, { halfOpen: true })
      yield* Client.patch(WebApp, yield* some, Patch.merge({ spec: { image: yield* image, replicas } }))
    })
    const remove = Effect.gen(function* () {
      const key = yield* some
      yield* Client.delete(WebApp, key)
      present.delete(key.name)
    })
    const drift = Effect.flatMap(some, (key) =>
      Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 40 } }), { fieldManager: "somebody" })
    )
    const steal = Effect.flatMap(some, (key) => Client.delete(Service, key))

    /** Draws one choice by its weight. */
    const draw = <A>(choices: ReadonlyArray<readonly [weight: number, A]>): Effect.Effect<A | undefined> =>
      Effect.map(Random.nextBetween(0, sum(choices.map(([weight]) => weight))), (at) => {
        let left = at
        return choices.find(([weight]) => {
          left -= weight
          return left < 0
        })?.[1]
      })

    const act = Effect.gen(function* () {
      const few = present.size < apps / 2
      const [what, action] = (yield* draw<readonly [string, Effect.Effect<unknown, unknown, Client.Client>]>([
        [present.size >= apps ? 0 : few ? 10 : 3, ["create", create]],
        [present.size === 0 ? 0 : 4, ["change", change]],
        [few ? 0 : 3, ["delete", remove]],
        [present.size === 0 ? 0 : 2, ["drift", drift]],
        [present.size === 0 ? 0 : 1, ["steal", steal]]
      ])) ?? ["create", create]
      // An action fails while the API server is down. The count has the acknowledged actions only.
      if (Option.isSome(yield* Effect.option(Effect.timeout(action, "5 seconds")))) count(actions, what)
      yield* Effect.sleep("20 millis")
    })

    const pause = (from: number, to: number) =>
      Effect.flatMap(Random.nextIntBetween(from, to, { halfOpen: true }), (millis) =>
        Effect.sleep(Duration.millis(millis))
      )
    const damage = Effect.gen(function* () {
      yield* pause(1000, 3000)
      const [what, fault] = (yield* draw<readonly [string, Effect.Effect<unknown, unknown>]>([
        [6, ["cut", proxy.cut]],
        [3, ["delay", Effect.andThen(proxy.delay(150), pause(500, 1500))]],
        [3, ["blackhole", Effect.andThen(proxy.blackhole, pause(500, 5000))]],
        // Without the leap, the manager notices a half-open connection only after minutes.
        [2, ["half-open", Effect.all([proxy.halfOpen, Effect.sleep("1500 millis"), leap("151 seconds")])]],
        [2, ["refuse", Effect.all([proxy.refuse, proxy.cut, pause(500, 3000)])]],
        [1, ["pause", Effect.all([server.pause, pause(500, 2000), server.resume])]],
        [1, ["kill", Effect.all([server.kill, pause(500, 3000), server.start])]]
      ])) ?? ["cut", proxy.cut]
      count(faults, what)
      yield* fault
      yield* proxy.heal
    })

    const held = Effect.sync(() => {
      const queues = runners.flatMap(({ queue }) => Option.toArray(queue())).map(({ snapshot }) => snapshot())
      const known: Omit<Held, keyof Footprint.Footprint> = {
        fibers,
        connections: proxy.counted().open,
        queued: sum(queues.map(({ delayed, processing, ready }) => ready + delayed + processing)),
        stored: sum(informers.map(({ store }) => store.size())),
        overlaid: sum(informers.map((informer) => informer.state().overlaid))
      }
      return known
    })
    const isCalm = Effect.sync(
      () =>
        leaderElection.state().leading &&
        informers.every((informer) => informer.isAbsent() || informer.state().status === "synced")
    )
    const calm = Managed.eventually("that it leads and all is synced", isCalm, (is) => is, "60 seconds")

    const isIdle = ({ overlaid, queued, stored }: Omit<Held, keyof Footprint.Footprint>): boolean =>
      overlaid + queued + stored === 0

    /**
     * Runs churn and faults for a time, waits until all WebApps have converged, and deletes them. Then it waits until the manager is idle
     * in a new term.
     */
    const phase = (name: string, length: Duration.Input, mostFibers = Number.POSITIVE_INFINITY) =>
      Effect.gen(function* () {
        const forSeed = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) =>
          Random.withSeed(effect, `${seed} ${name} ${what}`)
        const churning = forSeed("actions", Effect.forever(act))
        const failing = forSeed("faults", Effect.forever(damage))
        yield* Effect.raceFirst(
          Effect.all([churning, failing], { concurrency: "unbounded", discard: true }),
          Effect.sleep(length)
        )
        yield* Effect.andThen(server.resume, server.start)
        yield* proxy.heal
        yield* calm
        yield* converged({ namespace }, "60 seconds")
        report(`${name}: all is as ${present.size} WebApps say`)

        for (const kind of [WebApp, Deployment, Service]) yield* Client.deleteAll(kind, { namespace })
        present.clear()
        // The leap ends the term. Keys of that time would start workers in the next term, and each worker has fibers.
        yield* Managed.eventually("that the manager is idle", held, isIdle, "60 seconds")
        yield* leap("70 minutes")
        yield* Effect.sleep("2 seconds")
        yield* calm
        // After the leap all watches reconnect at once. The pool closes surplus connections within seconds. Fibers may still write the
        // last Events.
        const quiet = yield* Managed.eventually(
          "that nothing is left",
          held,
          (now) => now.connections <= 2 && isIdle(now) && now.fibers <= mostFibers,
          "60 seconds"
        )
        const all: Held = { ...quiet, ...Footprint.take() }
        report(
          `${name}: holds ${JSON.stringify(all, (_, value) => (typeof value === "number" ? Math.round(value) : value))}`
        )
        return all
      })

    const before = yield* phase("warm-up", Duration.times(Duration.fromInputUnsafe(duration), 0.2))
    const after = yield* phase("soak", duration, allowed.fibers(before.fibers))
    const counted = (what: "restarts" | "relists") => sum(informers.map((informer) => informer.state()[what]))
    // Strings of the last Events stay on the heap for some seconds after the queues are empty.
    let mentions = Footprint.mentions(names)
    for (let wait = 0; wait < 5 && mentions.length > allowedMentions; wait++) {
      yield* Effect.sleep("10 seconds")
      mentions = Footprint.mentions(names)
    }
    const result: Result = {
      before,
      after,
      mentions,
      actions,
      faults,
      terms,
      restarts: counted("restarts"),
      relists: counted("relists")
    }
    return result
  }).pipe((soak) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(soak, client)))

/**
 * The limits for the resources after the soak. The heap after a collection differs a little from run to run. Resident memory has no
 * limit, because the allocator decides how much free memory it returns.
 */
const allowed: { readonly [what in Exclude<keyof Held, "residentMiB">]: (before: number) => number } = {
  heapMiB: (before) => before * 1.15 + 3,
  fibers: (before) => before + 2,
  timers: (before) => before + 4,
  sockets: (before) => before + 4,
  connections: (before) => before + 1,
  queued: () => 0,
  stored: () => 0,
  overlaid: () => 0
}

/** A cache of strings may keep a few names. A map that is never cleared keeps one for each object. */
const allowedMentions = 30

/** The resources that exceed their limits, one line each. */
export const leaks = ({ after, before, mentions }: Result): ReadonlyArray<string> => [
  ...Object.entries(allowed).flatMap(([name, most]) => {
    // `Object.entries` loses the type of the keys.
    const what = name as keyof typeof allowed
    return after[what] <= most(before[what]) ? [] : [`${what}: ${after[what]}, and ${before[what]} before`]
  }),
  ...(mentions.length <= allowedMentions
    ? []
    : [`${mentions.length} strings name what is gone, such as ${mentions.slice(0, 5).join(", ")}`])
]
