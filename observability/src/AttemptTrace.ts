/**
 * Completes the trace of an attempt from its record: attributes and links of the root span, and the span of its queue wait.
 *
 * The worker records spans only. This module derives the rest when a trace is exported, so that other reconciles do not pay for it.
 *
 * @internal
 */
import { Conflict } from "@homeostat/runtime/client/ApiError"
import type { Attempt, Outcome } from "@homeostat/runtime/controller/Attempt"
import type { TriggerEvent } from "@homeostat/runtime/controller/Trigger"
import { type KubernetesObject, parseKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import { type Recording, Span } from "@homeostat/runtime/telemetry/Recording"
import * as SpanName from "@homeostat/runtime/telemetry/SpanName"
import * as TraceParent from "@homeostat/runtime/telemetry/TraceParent"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Tracer from "effect/Tracer"

/**
 * The result of an attempt in one word:
 * - `success`, `requeue`, `requeue_after`: the result of the reconcile
 * - `conflict`, `retryable`: it failed and is retried; `conflict` if another manager's write came first
 * - `given_up`: it failed, or the object did not exist yet, and its retry schedule has ended
 * - `terminal`: it failed with a permanent error
 * - `interrupted`: the process or the leadership ended first
 * - `skipped`: the object was gone
 */
export type Result =
  | "success"
  | "requeue"
  | "requeue_after"
  | "conflict"
  | "retryable"
  | "given_up"
  | "terminal"
  | "interrupted"
  | "skipped"

/**
 * The result of an attempt.
 *
 * @internal
 */
export const resultOf = ({ next, outcome }: Pick<Attempt, "next" | "outcome">): Result => {
  switch (outcome._tag) {
    case "Done":
      return "success"
    case "Requeue":
      return next._tag === "GiveUp" ? "given_up" : "requeue"
    case "RequeueAfter":
      return "requeue_after"
    case "Failed":
      return next._tag === "GiveUp" ? "given_up" : outcome.error instanceof Conflict ? "conflict" : "retryable"
    case "Unreachable":
      return next._tag === "GiveUp" ? "given_up" : "retryable"
    case "Terminal":
      return "terminal"
    case "Interrupted":
      return "interrupted"
    case "Vanished":
      return "skipped"
  }
}

/**
 * The class of an error: its tag, or its name.
 *
 * @internal
 */
export const errorTypeOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return typeof error
  if ("_tag" in error && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : (error.constructor?.name ?? "Object")
}

const completed = new WeakSet<Recording>()

/**
 * Completes the recording of an attempt from its record: attributes and links of the root, and a span of the queue wait. `undefined`
 * if the attempt was not traced. Idempotent.
 *
 * @internal
 */
export const complete = (attempt: Attempt): Recording | undefined => {
  const { root } = attempt
  if (root === undefined) return undefined
  const { recording } = root
  if (completed.has(recording)) return recording
  completed.add(recording)
  recording.hide = (text) => attempt.secrets.hide(text)

  const wait = waiting(attempt, root)
  // It starts before all other spans, but is a child of the root, which stays first.
  recording.spans.splice(1, 0, wait)
  root.addLinks(attempt.triggers.map((trigger) => linkTo(trigger, wait)))
  for (const [name, value] of Object.entries(attributesOf(attempt))) {
    if (value !== undefined) root.attribute(name, value)
  }
  return recording
}

/** The span of the queue wait. Its events are the triggers at their times, because few programs show links. */
const waiting = (attempt: Attempt, root: Span): Span => {
  // Spans and records use different clocks, and the start of the run is known in both.
  const { startTime } = root.status
  const nanosOf = (millis: number): bigint => startTime - BigInt(Math.round((attempt.startedAt - millis) * 1e6))
  const wait = new Span(
    root.recording,
    SpanName.queueWait,
    Option.some(root),
    root.annotations,
    [],
    nanosOf(Math.min(attempt.queuedAt, attempt.startedAt)),
    "internal"
  )
  for (const trigger of attempt.triggers) wait.event(trigger.kind, nanosOf(trigger.at), factsOf(trigger))
  wait.end(startTime, Exit.void)
  return wait
}

const factsOf = ({ at, kind, source }: TriggerEvent): Record<string, string> => {
  const facts = { [Attribute.triggerKind]: kind, [Attribute.triggerTime]: new Date(at).toISOString() }
  if (source === undefined) return facts
  const { name, namespace } = parseKey(source.key)
  return {
    ...facts,
    [Attribute.sourceKind]: source.kind,
    ...(namespace !== undefined && { [Attribute.sourceNamespace]: namespace }),
    [Attribute.sourceName]: name,
    [Attribute.sourceResourceVersion]: source.resourceVersion
  }
}

const relationOf = (kind: TriggerEvent["kind"]): "retry_of" | "requeue_of" | "cause" => {
  switch (kind) {
    case "retry":
    case "unreachable":
    case "given_up":
      return "retry_of"
    case "requeue":
    case "requeue_after":
      return "requeue_of"
    default:
      return "cause"
  }
}

/**
 * A trigger without a trace links to the queue wait, because OpenTelemetry drops links without a valid target, and their attributes
 * with them.
 */
const linkTo = (trigger: TriggerEvent, wait: Span): Tracer.SpanLink => {
  const origin = TraceParent.parse(trigger.traceparent)
  return {
    span: origin ?? wait,
    attributes:
      origin === undefined
        ? factsOf(trigger)
        : { ...factsOf(trigger), [Attribute.linkRelation]: relationOf(trigger.kind) }
  }
}

const attributesOf = (attempt: Attempt): Record<string, unknown> => {
  const { exchanges, object, outcome, startedAt, triggers } = attempt
  const { name, namespace } = parseKey(attempt.key)
  const changes = triggers.flatMap(({ at, source }) => (source === undefined ? [] : [at]))
  const writes = exchanges.flatMap(({ write }) => (write === undefined ? [] : [write]))
  const noop = writes.filter(({ changed }) => changed === false).length
  return {
    [Attribute.controllerName]: attempt.controller,
    [Attribute.reconcileId]: attempt.id,
    [Attribute.objectKind]: attempt.kind,
    [Attribute.objectApiVersion]: object?.apiVersion,
    [Attribute.namespace]: namespace,
    [Attribute.objectName]: name,
    [Attribute.objectUid]: attempt.uid,
    [Attribute.objectResourceVersion]: attempt.resourceVersion,
    [Attribute.generation]: attempt.generation,
    [Attribute.observedGeneration]: observedGenerationOf(object),
    [Attribute.deleting]: object === undefined ? undefined : object.metadata.deletionTimestamp !== undefined,
    [Attribute.triggerKinds]: [...new Set(triggers.map(({ kind }) => kind))],
    [Attribute.triggerCount]: triggers.length + attempt.dropped,
    [Attribute.droppedLinks]: attempt.dropped,
    [Attribute.queueWaitMillis]: Math.max(0, startedAt - attempt.queuedAt),
    [Attribute.eventAgeMillis]: changes.length === 0 ? undefined : Math.max(0, startedAt - Math.min(...changes)),
    [Attribute.priority]: attempt.priority,
    [Attribute.attempt]: attempt.number,
    [Attribute.result]: resultOf(attempt),
    [Attribute.requeueAfterMillis]: attempt.next._tag === "Run" ? attempt.next.afterMillis : undefined,
    [Attribute.writes]: writes.length - noop,
    [Attribute.noopWrites]: noop,
    [Attribute.droppedSpans]: attempt.root?.recording.dropped || undefined,
    [Attribute.errorType]: errorOf(outcome)
  }
}

const errorOf = (outcome: Outcome): string | undefined => {
  switch (outcome._tag) {
    case "Terminal":
      // The result already says that the error is permanent.
      return errorTypeOf(outcome.error.cause ?? outcome.error)
    case "Unreachable":
    case "Failed":
      return errorTypeOf(outcome.error)
    case "Interrupted":
      return outcome._tag
    default:
      return undefined
  }
}

/** For kinds with an observed generation; a status may have any content. */
const observedGenerationOf = (object: (KubernetesObject & { readonly status?: unknown }) | undefined) => {
  const status = object?.status
  if (typeof status !== "object" || status === null || !("observedGeneration" in status)) return undefined
  return typeof status.observedGeneration === "number" ? status.observedGeneration : undefined
}
