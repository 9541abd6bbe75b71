/**
 * The report of a hot loop: an Event on the object that is reconciled, a line of the log, and an event of the root span. Each has the
 * names of fields and managers, and none has a value.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as EventRecorder from "../events/EventRecorder.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import * as Text from "../resource/Text.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import { type Attempt, logFields } from "./Attempt.ts"
import * as HotLoop from "./HotLoop.ts"
import * as Rival from "./Rival.ts"

/** A loop that was found. */
export interface Finding {
  readonly reason: HotLoop.Reason
  readonly place: string
  readonly fields: ReadonlyArray<string>
  readonly manager: string | undefined
  /** One or two sentences with the cause and the fix. */
  readonly note: string
  /** Whether the log omits it. */
  readonly isQuiet?: boolean
}

/** In `reason` of the Event. */
const eventReasons: { readonly [reason in HotLoop.Reason]: string } = {
  fight: "FieldFight",
  altered: "FieldAltered",
  rewrite: "WriteLoop"
}

/** The fields that a note names: an Event has room for a thousand letters. */
const mostNamed = 5

const named = (fields: ReadonlyArray<string>, place: string): string => {
  const rest = fields.length - mostNamed
  const names = fields.slice(0, mostNamed).map((field) => Text.clip(field, Text.longestName))
  return `${names.join(", ")}${rest > 0 ? ` and ${rest} more` : ""} of ${place}`
}

const times = (reason: HotLoop.Counted): string =>
  `${HotLoop.limits[reason]} times within ${HotLoop.windowMillis / 1000} s`

/** Fields that the controller writes only because of its own writes. */
export const rewritten = (place: string, fields: ReadonlyArray<string>, controller: string): Finding => {
  const [was, values, it] = fields.length > 1 ? ["were", "values that are", "them"] : ["was", "a value that is", "it"]
  const note = `${named(fields, place)} ${was} written ${times("rewrite")}, though nothing woke controller ${controller} but itself: ${values} new each time, such as a time? Write ${it} only when something else has changed.`
  return { reason: "rewrite", place, fields, manager: undefined, note }
}

/** Fields that the API server stores with another value than it received. */
export const altered = (place: string, { answer, fields, isNews }: HotLoop.Altered, ours: string): Finding => {
  const manager = Rival.ownersOf(answer, fields, ours)
  const who = manager === undefined ? "a mutating webhook, probably" : `${manager}, or a mutating webhook`
  const note = `The API server stores another value than the controller sent: ${named(fields, place)} (changed by ${who}). The controller accepts the stored value. Exempt the object from the change, or write the stored value.`
  return { reason: "altered", place, fields, manager, note, isQuiet: !isNews }
}

/** Fields that another manager changes, by manager, and a child that another manager deletes. */
export const fights = (
  owner: KubernetesObject,
  place: string,
  fields: ReadonlyArray<string>,
  seen: HotLoop.Seen | undefined,
  ours: string
): ReadonlyArray<Finding> => {
  const asker = `${owner.kind ?? "the object"} ${keyString(owner.metadata)}`
  if (fields.includes(HotLoop.existence)) {
    const note = `${place} was deleted and created again ${times("fight")}: another manager keeps deleting it; the API server's audit log says which. Either that manager stops deleting it, or ${asker} stops asking for it.`
    return [{ reason: "fight", place, fields, manager: undefined, note }]
  }
  const groups = Map.groupBy(fields, (field) => JSON.stringify(Rival.of(seen, field, ours)))
  return Array.from(groups.values(), (theirs): Finding => {
    const { manager, description, stops } = Rival.of(seen, theirs[0] ?? "", ours)
    const [was, it, each] = theirs.length > 1 ? ["were", "them", "each field"] : ["was", "it", "the field"]
    const advice =
      stops === undefined
        ? "Check whether this program runs twice; otherwise give the other program another field manager."
        : `Give ${each} to one of the two: either ${stops} stops setting ${it}, or ${asker} stops asking for ${it}.`
    const note = `${named(theirs, place)} ${was} put back ${times("fight")}: ${description.replace("{it}", it)}. ${advice}`
    return { reason: "fight", place, fields: theirs, manager, note }
  })
}

/** Reports a loop that an attempt was part of. The attempt has ended. */
export const report = (attempt: Attempt, object: KubernetesObject, finding: Finding): Effect.Effect<void> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const { root } = attempt
    if (root !== undefined) root.remark(SpanName.hotLoop, clock.currentTimeNanosUnsafe(), factsOf(finding))
    if (finding.isQuiet !== true) {
      yield* Effect.annotateLogs(Effect.logWarning(finding.note), logFields(attempt))
    }
    // In the trace of the attempt, so that the Event links to it.
    const recorded = record(object, finding)
    yield* root === undefined ? recorded : Effect.provideService(recorded, Tracer.ParentSpan, root)
  })

/** Records the Event, if an EventRecorder is provided. */
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
