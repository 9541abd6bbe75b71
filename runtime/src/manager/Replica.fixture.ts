/**
 * Replicas of a program that compete for one Lease, for the tests of elections. Each has its own connection to one API server in
 * memory, and its own wall clock. Tests can cut connections and set clocks.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import type { Cluster } from "../client/Cluster.fixture.ts"
import * as Disconnect from "../client/Disconnect.ts"
import type * as Fence from "../client/Fence.ts"
import { infoOf, type Request } from "../client/Request.ts"
import * as Transport from "../client/Transport.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import { Lease } from "../resource/BuiltIn.ts"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as LeaderElection from "./LeaderElection.ts"

/**
 * The state of a connection: `up`; `refused` (connections break, and new ones fail); `silent` (nothing arrives at the server); `deaf`
 * (requests arrive, responses do not); a number for the latency of requests and responses in ms.
 */
export type Condition = "up" | "refused" | "silent" | "deaf" | number

/** A connection to a server. */
export interface Line {
  condition: Condition
}

/** The server behind a connection. */
export const over = (line: Line, { transport }: Cluster): Layer.Layer<Transport.Transport> =>
  Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, (server) => {
      const lost = (request: Request, code: string) => Disconnect.make(infoOf(request), "memory", code)
      const delay = (condition: Condition) =>
        typeof condition === "number" ? Effect.sleep(Duration.millis(condition)) : Effect.void

      const out = <A, E, R>(request: Request, arrive: Effect.Effect<A, E, R>) =>
        Effect.suspend((): Effect.Effect<A, E | ApiError.Transport, R> => {
          const { condition } = line
          if (condition === "silent") return Effect.never
          if (condition === "refused") return Effect.fail(lost(request, "ECONNREFUSED"))
          // A sent request arrives even after its sender has ended.
          return typeof condition === "number"
            ? Effect.flatMap(Effect.forkDetach(Effect.andThen(delay(condition), arrive)), Fiber.join)
            : arrive
        })
      const back = (request: Request) =>
        Effect.suspend(() => {
          const { condition } = line
          if (condition === "refused") return Effect.fail(lost(request, "ECONNRESET"))
          return condition === "silent" || condition === "deaf" ? Effect.never : delay(condition)
        })

      return Transport.Transport.of({
        server: "memory",
        send: (request) =>
          Transport.abortable(
            request,
            Effect.tap(out(request, server.send({ ...request, abort: undefined })), back(request))
          ),
        open: (request) =>
          Transport.abortable(request, out(request, Effect.void)).pipe(
            Effect.andThen(server.open(request)),
            Effect.map((streaming) => ({ ...streaming, next: Effect.tap(streaming.next, back(request)) }))
          )
      })
    })
  ).pipe(Layer.provide(transport))

/** A replica in an election. */
export interface Replica {
  readonly name: string
  readonly line: Line
  /** The error of its wall clock, in ms. */
  skew: number
  /** True while the replica works as the leader. */
  readonly leads: () => boolean
  /** True if a write as the leader would be sent now, in any of its leaderships. */
  readonly mayWrite: () => boolean
  /** The number of its leaderships so far. */
  readonly terms: () => number
  readonly notes: ReadonlyArray<string>
  readonly state: () => LeaderElection.State
  /** Begins the shutdown; the fiber ends with it. */
  readonly stop: Effect.Effect<Fiber.Fiber<void>>
  /** Ends it like a killed process: its sent requests may still arrive. */
  readonly kill: Effect.Effect<void>
}

/** The Lease of all replicas. */
export const place = { namespace: "default", name: "homeostat" }

/** The holder of the Lease on the server; undefined without a Lease. */
export const holder = (server: Cluster): unknown => {
  const spec = server.get(Lease, place.name)?.spec
  return typeof spec === "object" && spec !== null && "holderIdentity" in spec ? spec.holderIdentity : undefined
}

/** The settings of a replica. */
export interface Options extends Partial<LeaderElection.Settings> {
  /** The time in ms that its work needs to drain after a leadership. */
  readonly drainMillis?: number
  /** False if its work never drains. */
  readonly drains?: boolean
  /** Called at the beginning of each leadership. */
  readonly began?: () => void
}

/** Starts a replica. */
export const start = (
  server: Cluster,
  name: string,
  { began = () => {}, drainMillis = 0, drains = true, ...settings }: Options = {}
): Effect.Effect<Replica, never, Scope.Scope> =>
  Effect.gen(function* () {
    const line: Line = { condition: "up" }
    const notes: Array<string> = []
    const permits: Array<Fence.Permit> = []
    let leads = false
    const client = yield* Layer.build(Client.layer({ userAgent: name }).pipe(Layer.provide(over(line, server))))
    const recorder = EventRecorder.EventRecorder.of({
      record: ({ note, reason, regarding }) =>
        Effect.sync(() => void notes.push(`${regarding.kind} ${regarding.metadata.name}: ${reason}, ${note}`)),
      flush: Effect.void,
      dropped: () => 0
    })
    const election = Result.getOrThrow(LeaderElection.make({ ...place, identity: name, ...settings }))
    const stop = yield* Deferred.make<void>()
    const lead = (permit: Fence.Permit) =>
      Effect.suspend(() => {
        began()
        permits.push(permit)
        leads = true
        return Deferred.await(stop)
      }).pipe(
        Effect.andThen(Effect.sleep(Duration.millis(drainMillis))),
        Effect.as(drains),
        Effect.ensuring(
          Effect.sync(() => {
            leads = false
          })
        )
      )
    const clock = yield* Clock.Clock
    const replica: { -readonly [K in keyof Replica]: Replica[K] } = {
      name,
      line,
      skew: 0,
      leads: () => leads,
      mayWrite: () => permits.some(({ permits }) => permits()),
      terms: () => permits.length,
      notes,
      state: election.state,
      stop: Effect.never,
      kill: Effect.void
    }
    const running = yield* election.run(lead, stop).pipe(
      Effect.provide(client),
      Effect.provideService(EventRecorder.EventRecorder, recorder),
      Effect.provideService(
        Clock.Clock,
        WallClock.skewed(clock, () => replica.skew)
      ),
      Effect.tapCause((cause) => Effect.logFatal("The election died", cause)),
      Effect.forkScoped
    )
    replica.stop = Effect.as(Deferred.succeed(stop, undefined), running)
    replica.kill = Effect.andThen(
      Effect.sync(() => {
        line.condition = "silent"
        permits.length = 0
      }),
      Effect.asVoid(Fiber.interrupt(running))
    )
    return replica
  })
