/**
 * A user stops all writes of a program for a time with two annotations of its Lease. Only who may patch the Lease can do that, and who may
 * do that could also become the leader. All replicas follow the Lease, so the stop holds for the next leader and after a restart. It ends
 * at its time, or when a user removes the annotation or the Lease.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as WriteSwitch from "../client/WriteSwitch.ts"
import type * as EventRecorder from "../events/EventRecorder.ts"
import type { Lease } from "../resource/BuiltIn.ts"
import * as Text from "../resource/Text.ts"
import type * as Metrics from "../telemetry/Metrics.ts"

/** The end, as RFC 3339. */
export const untilAnnotation = "homeostat.dev/writes-stopped-until"

/** The reason, in one line. */
export const reasonAnnotation = "homeostat.dev/writes-stopped-reason"

/** The longest stop, from the moment when a process sees it: a stop ends by itself. */
export const longestMillis = 24 * 3_600_000

/** The longest reason, in characters. */
const longestReason = 256

const over = "Writes go on: the stop of all writes is over"

/** The time in an annotation, in ms since 1970; undefined if it is not in RFC 3339. */
const parse = (text: string): number | undefined => {
  const millis = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  return Number.isNaN(millis) ? undefined : millis
}

const reasonOf = (lease: Lease | undefined): string =>
  Text.line(lease?.metadata.annotations?.[reasonAnnotation] ?? "", longestReason)

/** The stop that the annotations of a Lease say, for an observer that sees them first now; undefined if there is none. */
export const of = (lease: Lease, now: number): WriteSwitch.Stop | undefined => {
  const millis = parse(lease.metadata.annotations?.[untilAnnotation] ?? "")
  return millis === undefined || millis <= now
    ? undefined
    : { until: Math.min(millis, now + longestMillis), reason: reasonOf(lease) }
}

/** The follower of a Lease. */
export interface Follower {
  /** Takes each version of the Lease. */
  readonly see: (lease: Lease | undefined) => void
  /** The invalid time of the last version, if any. */
  readonly invalid: () => string | undefined
}

/** Sets the switch to what the annotations of the Lease say. */
export const follower = (writes: WriteSwitch.WriteSwitch, clock: Clock.Clock): Follower => {
  let seen: { readonly until: string | undefined; readonly why: string | undefined } = {
    until: undefined,
    why: undefined
  }
  let end = 0
  let invalid: string | undefined
  return {
    see: (lease) => {
      const annotations = lease?.metadata.annotations
      const until = annotations?.[untilAnnotation]
      const why = annotations?.[reasonAnnotation]
      if (until === seen.until && why === seen.why) return
      const millis = until === undefined ? undefined : parse(until)
      invalid = until !== undefined && millis === undefined ? Text.printable(Text.clip(until, 64)) : undefined
      if (until !== seen.until && millis !== undefined)
        end = Math.min(millis, clock.currentTimeMillisUnsafe() + longestMillis)
      seen = { until, why }
      writes.set(millis === undefined ? undefined : { until: end, reason: reasonOf(lease) })
    },
    invalid: () => invalid
  }
}

/** Reports each stop and its end: in the log, in the metric and, while this process leads, in an Event of the Lease. */
export const reported = (
  writes: WriteSwitch.WriteSwitch,
  { invalid }: Follower,
  options: {
    /** `default/homeostat` */
    readonly name: string
    readonly lease: () => Lease | undefined
    readonly isLeading: () => boolean
    readonly recorder: EventRecorder.EventRecorder["Service"]
    readonly stopped: Metrics.Gauging
  }
): Effect.Effect<never> =>
  Effect.gen(function* () {
    const { isLeading, lease, name, recorder, stopped } = options
    let before: string | undefined
    while (true) {
      const changed = writes.changed()
      const stop = writes.stop()
      const wrong = invalid()
      stopped.set(stop === undefined ? 0 : 1)
      if (wrong !== undefined) {
        yield* Effect.logWarning(
          `the annotation ${untilAnnotation} of the Lease ${name} stops nothing: ${JSON.stringify(wrong)} (must be a time, such as 2026-11-20T09:00:00Z)`
        )
      }
      const note = stop === undefined ? undefined : WriteSwitch.describe(stop)
      if (note !== before) {
        yield* note === undefined
          ? Effect.logInfo(over)
          : Effect.logWarning(`${note} (annotation of the Lease ${name})`)
        const regarding = lease()
        if (regarding !== undefined && isLeading()) {
          const news =
            note === undefined
              ? ({ type: "Normal", reason: "WritesResumed", note: over } as const)
              : ({ type: "Warning", reason: "WritesStopped", note } as const)
          yield* recorder.record({ regarding, action: "StopWrites", ...news }, true)
        }
        before = note
      }
      yield* changed
    }
  })
