/**
 * How a hot loop is told: as an Event on the object that is reconciled, a log line, and an event of the span. Names of fields and
 * managers are in all of them, values in none.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as EventRecorder from "../events/EventRecorder.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Text from "../resource/Text.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import type { Attempt } from "./Attempt.ts"
import * as HotLoop from "./HotLoop.ts"

/** What is told. */
export interface Finding {
  readonly reason: HotLoop.Reason
  readonly place: string
  readonly fields: ReadonlyArray<string>
  readonly manager: string | undefined
  /** A sentence or two for people, with what to do. */
  readonly note: string
}

/** In `reason` of the Event. */
const eventReasons: { readonly [reason in HotLoop.Reason]: string } = {
  fight: "FieldFight",
  altered: "FieldAltered",
  rewrite: "WriteLoop"
}

/** So many fields are named; an Event has room for a thousand letters. */
const mostNamed = 5

/** Fields of an object, for a sentence. */
export const named = (fields: ReadonlyArray<string>, place: string): string => {
  const rest = fields.length - mostNamed
  const names = fields.slice(0, mostNamed).map((field) => Text.clip(field, Text.longestName))
  return `${names.join(", ")}${rest > 0 ? ` and ${rest} more` : ""} of ${place}`
}

/** How long writes are counted, for a sentence. */
export const seconds = HotLoop.windowMillis / 1000

/** Says it within a reconcile. */
export const report = (owner: KubernetesObject, finding: Finding, inLog = true): Effect.Effect<void> =>
  Effect.zipRight(
    Effect.flatMap(Effect.option(Effect.currentSpan), (span) =>
      Effect.flatMap(Effect.clock, (clock) =>
        Effect.sync(() => {
          if (Option.isSome(span)) span.value.event(SpanName.hotLoop, clock.unsafeCurrentTimeNanos(), factsOf(finding))
        })
      )
    ),
    Effect.zipRight(inLog ? Effect.logWarning(finding.note) : Effect.void, record(owner, finding))
  )

/** Says it once a reconcile has ended, of which nothing is left but its record. */
export const tellAfter = (attempt: Attempt, object: KubernetesObject, finding: Finding): Effect.Effect<void> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const { root } = attempt
    if (root !== undefined) root.remark(SpanName.hotLoop, clock.unsafeCurrentTimeNanos(), factsOf(finding))
    yield* Effect.annotateLogs(Effect.logWarning(finding.note), {
      controller: attempt.controller,
      object: `${attempt.kind} ${attempt.key}`,
      reconcileID: attempt.id,
      ...(root !== undefined && { trace_id: root.traceId, span_id: root.spanId })
    })
    // In its trace, so that the Event leads there.
    const recorded = record(object, finding)
    yield* root === undefined ? recorded : Effect.provideService(recorded, Tracer.ParentSpan, root)
  })

/** Nobody is told where nobody records events: in a test of something else. */
const record = (regarding: KubernetesObject, { note, reason }: Finding): Effect.Effect<void> =>
  Effect.flatMap(Effect.serviceOption(EventRecorder.EventRecorder), (recorder) =>
    Option.isNone(recorder)
      ? Effect.void
      : recorder.value.record({ regarding, type: "Warning", reason: eventReasons[reason], note })
  )

const factsOf = ({ fields, manager, place, reason }: Finding): Readonly<Record<string, unknown>> => ({
  [Attribute.hotLoopReason]: reason,
  [Attribute.hotLoopObject]: place,
  [Attribute.hotLoopFields]: fields,
  ...(manager !== undefined && { [Attribute.hotLoopManager]: manager })
})
