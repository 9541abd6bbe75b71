/**
 * Runs a recorded attempt again, with the controllers of this program.
 *
 * The reads of the attempt get the recorded results, and its time begins at the recorded time. The replay needs no cluster and sends
 * nothing. It compares the writes and the outcome with the recorded ones.
 *
 * A replay stops at a read that the recording does not have, and at an effect outside of the cluster.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import { Cache } from "../cache/Cache.ts"
import * as Client from "../client/Client.ts"
import { Exchanges, Ledger } from "../client/Exchange.ts"
import { FieldManager } from "../client/FieldManager.ts"
import { Transport } from "../client/Transport.ts"
import { messageOf, outcomeOf, ReconcileTimeout } from "../controller/Attempt.ts"
import type { Controller } from "../controller/Controller.ts"
import * as HotLoop from "../controller/HotLoop.ts"
import * as Memory from "../controller/Memory.ts"
import { Outside } from "../controller/Outside.ts"
import { Reachability } from "../controller/Reachability.ts"
import { announce, type Correction, Reconciliation } from "../controller/Reconciliation.ts"
import type { Result } from "../controller/Result.ts"
import { EventRecorder } from "../events/EventRecorder.ts"
import type * as Manager from "../manager/Manager.ts"
import { type Document, entriesOf } from "../manager/recordings/Document.ts"
import { type Ending, endingOf } from "../manager/recordings/Recorded.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Known from "./Known.ts"
import * as Lineage from "./Lineage.ts"
import * as RecordedCache from "./RecordedCache.ts"
import * as RecordedTime from "./RecordedTime.ts"
import * as RecordedTransport from "./RecordedTransport.ts"
import * as Trail from "./Trail.ts"
import type { Difference } from "./Writes.ts"

/** The recording is not one of this program: it has no such controller, or the recording lacks its object. */
export class Unusable extends Data.TaggedError("Unusable")<{ readonly message: string }> {}

/** The end of a replay: that of the attempt, or `Stopped` with the reason. */
export type ReplayEnding = Omit<Ending, "outcome"> & { readonly outcome: Ending["outcome"] | "Stopped" }

/** A replay. */
export interface Report {
  readonly kind: "Replay"
  readonly recording: Pick<
    Document,
    "program" | "reconcileID" | "trace" | "controller" | "object" | "attempt" | "startedAt" | "redacted" | "omitted"
  >
  /** Whether the writes and the outcome are those of the recording, and the recording has every read. */
  readonly same: boolean
  readonly steps: ReadonlyArray<Trail.Step>
  /** The number of writes. */
  readonly writes: number
  readonly ending: ReplayEnding
  readonly recordedEnding: Ending
  /** The reads that the recording does not have. */
  readonly missingReads: ReadonlyArray<string>
  readonly differences: ReadonlyArray<Difference>
}

/** The settings of a replay. */
export interface Settings {
  /** Called right before the attempt, such as to stop in a debugger. */
  readonly begin?: (() => void) | undefined
}

/** The delays of two runs differ by the time until the reconcile computes them. The time of a replay has no pauses of the process. */
const graceMillis = 1000

const isSameEnding = (now: ReplayEnding, { ending, finishedAt }: Document, endedAt: number): boolean => {
  const most = Math.max(0, Date.parse(finishedAt) - endedAt) + graceMillis
  return (
    now.outcome === ending.outcome &&
    now.message === ending.message &&
    now.error === ending.error &&
    Math.abs((now.afterMillis ?? 0) - (ending.afterMillis ?? 0)) <= most
  )
}

/** The recorder of Events, which only notes them. */
const events = (trail: Trail.Trail): EventRecorder["Service"] => ({
  record: ({ note, reason, type }) => Effect.sync(() => trail.add({ step: "event", type, reason, note })),
  flush: Effect.void,
  dropped: () => 0
})

const logging = (trail: Trail.Trail) =>
  Logger.layer([
    Logger.make(({ logLevel, message }) => {
      const words = (Array.isArray(message) ? message : [message]).map((each) =>
        typeof each === "string" ? each : messageOf(each)
      )
      trail.add({ step: "log", level: logLevel.toLowerCase(), message: words.join(" ") })
    })
  ])

/** Whether the controller declares a kind. */
const declaring = ({ resource, triggers }: Pick<Controller<unknown>, "resource" | "triggers">) => {
  const declared = new Set([resource, ...triggers.map((trigger) => trigger.resource)].map(Resource.identityOf))
  return (resource: Resource.Any): boolean => declared.has(Resource.identityOf(resource))
}

/** The attempt in the context that a worker gives it. */
const attempted = <R>(
  controller: Controller<R>,
  object: KubernetesObject,
  document: Document
): Effect.Effect<Result, unknown, Exclude<R, Reconciliation | Scope.Scope> | EventRecorder> => {
  const corrections: Array<Correction> = []
  const attempt = Effect.suspend(() => controller.attempt(object))
  const announced = Effect.suspend(() => announce(object, corrections) ?? Effect.void)
  return attempt.pipe(
    Effect.ensuring(announced),
    Effect.scoped,
    Effect.provideService(Reconciliation, {
      id: document.reconcileID,
      controller: controller.name,
      fieldManager: controller.fieldManager,
      resource: CustomResource.undecoded(controller.resource),
      object,
      memory: Memory.make(HotLoop.make(), { uid: object.metadata.uid, entries: entriesOf(document) }),
      hasConditions: false,
      fight: document.memory.fight,
      applied: controller.applied,
      deleted: controller.deleted,
      selectors: controller.selectors,
      owns: controller.owns,
      lasts: document.ending.lasts === true,
      retryAt: () => Effect.succeed(document.ending.retryAt),
      corrected: (correction) => void corrections.push(correction),
      changed: () => {}
    }),
    Effect.provideService(FieldManager, controller.fieldManager),
    Effect.provideService(Exchanges, new Ledger())
    // The replay provides what the compiler sees as missing.
  ) as Effect.Effect<Result, unknown, Exclude<R, Reconciliation | Scope.Scope> | EventRecorder>
}

/**
 * Replays a recording.
 *
 * @param layer the services of the controllers, as in a program
 *
 * @internal
 */
export const make = <R, E>(
  controllers: ReadonlyArray<Controller<R | Manager.Runtime>>,
  layer: Layer.Layer<R, E, Manager.Runtime>,
  document: Document,
  settings: Settings = {}
): Effect.Effect<Report, E | Unusable> =>
  Effect.gen(function* () {
    const controller = controllers.find(({ name }) => name === document.controller)
    if (controller === undefined) {
      const names = controllers.map(({ name }) => name).join(", ")
      return yield* new Unusable({
        message: `the recording is of controller ${JSON.stringify(document.controller)} (this program has ${names})`
      })
    }
    const object = document.objects[document.start]
    if (object === undefined) return yield* new Unusable({ message: "the recording does not have its object" })
    const trail = Trail.make()
    const known = Known.make(document, controller.resource)
    const time = yield* RecordedTime.make(Date.parse(document.startedAt))
    const lineage = Lineage.make()
    const recorded = RecordedTransport.make({ document, known, time, trail, lineage })
    const outside = (what: string) =>
      Effect.suspend(() => {
        trail.stop(`a replay has no effect outside of the cluster: ${what}`)
        return Effect.interrupt
      })

    const exit = yield* Effect.gen(function* () {
      const client = yield* Client.make()
      const cache = RecordedCache.make({
        document,
        known,
        trail,
        client,
        declares: declaring(controller),
        stir: time.stir
      })
      const runtime = Context.empty().pipe(
        Context.add(Client.Client, client),
        Context.add(Cache, cache),
        Context.add(EventRecorder, events(trail)),
        Context.add(Reachability, {
          server: document.server,
          reached: Effect.void,
          isReached: () => true,
          lost: Effect.void
        })
      )
      const own = yield* Effect.provide(Layer.build(layer), runtime)
      settings.begin?.()
      const attempt = attempted(controller, object, document).pipe(
        document.ending.error === "ReconcileTimeout"
          ? Effect.timeoutOrElse({
              duration: controller.timeout,
              orElse: () => Effect.fail(new ReconcileTimeout({ after: controller.timeout }))
            })
          : (effect) => effect,
        Effect.provide(Context.merge(runtime, own)),
        Effect.provideService(Outside, outside)
      )
      // On a fiber of its own, so that those that it forks end with it.
      return yield* Effect.flatMap(Effect.forkChild(lineage.within(attempt)), Fiber.await)
    }).pipe(
      Effect.provideService(Transport, recorded.transport),
      Effect.provideService(Metrics.Metrics, Metrics.make()),
      Effect.provideService(Clock.Clock, time.clock),
      Random.withSeed(document.reconcileID),
      Effect.provide(logging(trail)),
      Effect.provideService(References.MinimumLogLevel, "Info")
    )
    const reason = trail.stopped()
    const isInterrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    const ending: ReplayEnding =
      reason === undefined
        ? endingOf(outcomeOf(exit, { interrupted: isInterrupted, server: document.server }))
        : { outcome: "Stopped", message: reason }
    // After a stop, the replay does not know the writes that would follow.
    const differences = recorded
      .differences()
      .filter(({ difference }) => reason === undefined || difference !== "missing")
    const { attempt, object: named, omitted, program, reconcileID, redacted, startedAt, trace } = document
    const report: Report = {
      kind: "Replay",
      recording: {
        ...(program !== undefined && { program }),
        reconcileID,
        trace,
        controller: document.controller,
        object: named,
        attempt,
        startedAt,
        redacted,
        omitted
      },
      same:
        isSameEnding(ending, document, time.clock.currentTimeMillisUnsafe()) &&
        differences.length === 0 &&
        trail.missing().length === 0,
      steps: trail.steps(),
      writes: recorded.writes(),
      ending,
      recordedEnding: document.ending,
      missingReads: trail.missing(),
      differences
    }
    return report
  }).pipe(Effect.scoped)
