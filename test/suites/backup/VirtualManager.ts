/**
 * Managers of backups in virtual time: any number on one in-memory cluster, one after the other or with leader election. Each manager has a
 * separate connection, which a test can cut at any request.
 */
import { backup, restore } from "@homeostat/backup"
import * as RepositoryQueue from "@homeostat/backup/repository/RepositoryQueue"
import * as Needs from "@homeostat/backup/run/Needs"
import * as Settings from "@homeostat/backup/Settings"
import type { Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import type { VirtualTime } from "@homeostat/testkit/VirtualTime"
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"

/**
 * The outcome of a request:
 * - `pass`: the request arrives.
 * - `late`: the request arrives five seconds later.
 * - `silent`: the request does not arrive, and no response comes.
 * - `lost`: the server handles the request, but its response does not arrive.
 */
export type Fate = "pass" | "late" | "silent" | "lost"

/** A request that the manager sent. */
export interface Sent {
  readonly method: string
  readonly path: string
  /** Epoch milliseconds. */
  readonly at: number
}

/** A running manager. */
export interface VirtualManager {
  /** Decides the outcome of each later request. */
  readonly cut: (fate: (request: Request) => Fate) => void
  /** All requests that the manager sent. */
  readonly sent: ReadonlyArray<Sent>
  /** The Events that the manager recorded, with repeats, oldest first. */
  readonly events: ReadonlyArray<EventRecorder.EventFields>
  /** All attempts of the manager's workers. */
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  readonly metrics: Metrics.Registry
  readonly leads: () => boolean
  /** Stops the manager as SIGTERM does. */
  readonly stop: Effect.Effect<void>
  /** Kills the manager as SIGKILL does: none of its later requests reaches the server. */
  readonly kill: Effect.Effect<void>
}

/** The options of a manager. */
export interface Options {
  readonly name?: string | undefined
  readonly settings?: Partial<Settings.Values> | undefined
  /** Whether the manager uses leader election. */
  readonly elected?: boolean | undefined
  /** The manager reconciles only the Backups and Restores with these labels. */
  readonly labelSelector?: string | undefined
}

/** Starts a manager that runs until a test stops it or the scope ends. Without leader election, its controllers have started on return. */
export const start = (
  transport: Layer.Layer<Transport.Transport>,
  { during }: VirtualTime,
  { elected = false, labelSelector, name = "manager", settings = {} }: Options = {}
): Effect.Effect<VirtualManager, never, Scope.Scope> =>
  Effect.gen(function* () {
    let fate: (request: Request) => Fate = () => "pass"
    const sent: Array<Sent> = []
    const events: Array<EventRecorder.EventFields> = []
    const attempts: Array<Attempt.Attempt> = []
    const wire = Layer.effect(
      Transport.Transport,
      Effect.map(Transport.Transport, (next) => {
        const through = <A, E, R>(request: Request, effect: Effect.Effect<A, E, R>) =>
          Effect.gen(function* () {
            sent.push({ method: request.method, path: request.path, at: yield* Clock.currentTimeMillis })
            const decided = fate(request)
            if (decided === "silent") return yield* Effect.never
            if (decided === "late") yield* Effect.sleep("5 seconds")
            const answer = yield* effect
            return decided === "lost" ? yield* Effect.never : answer
          })
        return Transport.Transport.of({
          ...next,
          send: (request) => Transport.abortable(request, through(request, next.send(request))),
          open: (request) => through(request, next.open(request))
        })
      })
    )
    const metrics = Metrics.make()
    let isDead = false
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) =>
      isDead ? Effect.void : during(Scope.close(scope, Exit.void))
    )
    const election = elected
      ? yield* Effect.orDie(
          Effect.fromResult(LeaderElection.make({ namespace: "default", name: "homeostat", identity: name }))
        )
      : undefined
    yield* Effect.gen(function* () {
      const built = yield* Layer.build(
        Manager.layer({ instance: name, metrics }).pipe(Layer.provide(wire), Layer.provide(transport))
      )
      const recorder = Context.get(built, EventRecorder.EventRecorder)
      const services = Context.add(built, EventRecorder.EventRecorder, {
        ...recorder,
        record: (entry) =>
          Effect.andThen(
            Effect.sync(() => void events.push(entry)),
            recorder.record(entry)
          )
      })
      const runners = yield* Manager.start([backup, restore], { leaderElection: election, labelSelector }).pipe(
        Effect.provideService(Attempt.Observers, [(attempt) => Effect.sync(() => void attempts.push(attempt))]),
        Effect.provide(services)
      )
      if (!elected) yield* Effect.forEach(runners, ({ started }) => started, { discard: true })
    }).pipe(
      // Each process has its own instances of these services.
      Effect.provideService(RepositoryQueue.RepositoryQueue, RepositoryQueue.make()),
      Effect.provideService(Needs.Needs, Needs.make()),
      Effect.provideService(Settings.Settings, Settings.of(settings)),
      Scope.provide(scope)
    )
    return {
      cut: (decide) => {
        fate = decide
      },
      sent,
      events,
      attempts,
      metrics,
      leads: () => election?.state().leading ?? true,
      stop: Effect.suspend(() => (isDead ? Effect.void : during(Scope.close(scope, Exit.void)))),
      kill: Effect.suspend(() => {
        isDead = true
        fate = () => "silent"
        // Closing waits for responses that do not come, so the scope closes in the background.
        return Effect.asVoid(Effect.forkDetach(Scope.close(scope, Exit.void)))
      })
    }
  })
