/**
 * Reports on the object why its reconcile cannot continue: `Ready` False and `Stalled` True, and a Warning Event. A kind whose status
 * declares no conditions has only the Event.
 *
 * | reason | failure | retries |
 * | --- | --- | --- |
 * | `Forbidden` | the API server forbids a request because of a missing permission, or by admission | by the schedule, or slowly |
 * | `Invalid` | the API server rejects an object that the reconcile writes | when something changes; slowly if it names no field |
 * | `NotOwned` | an object that the owner does not control has the name of a child | when something changes |
 * | `NotServed` | the API server does not serve the kind of a child, which is optional | when the API server serves the kind |
 * | `InvalidSpec` | the object does not match its schema | when something changes |
 * | `TooLarge` | the object, or a child, is too large for the cache | when something changes |
 * | `TerminalError` | the reconcile fails with a `TerminalError`, or uses what the controller does not declare | when something changes |
 * | `InternalError` | the reconcile dies with a defect | by the schedule |
 *
 * Any other failure may be over in a moment. If it lasts for ten seconds, or if the retries end, the report is `Ready` False and
 * `Reconciling` True. Its reason is the tag of the error, such as `ServerError`, or `ReconcileFailed`.
 *
 * A controller that asked for another run by `requeueAfter` keeps that timer. Slow retries are those of `Refused`: the message of the
 * conditions names the time of the next one.
 *
 * The runtime writes the same report once, and removes it when an attempt succeeds or fails for another reason. A conflict or a
 * server that does not answer does not remove the report. A report of a failure that lasts stays until an attempt succeeds, or until
 * another report replaces it. If the reconcile writes conditions of kstatus in the attempt, the runtime
 * writes none: then a failure that lasts has only the Event. If the API server does not take the report now, the schedule retries the attempt.
 *
 * Controllers of one kind share these conditions, and each removes only its own report. If another writer replaces or removes a report,
 * the runtime waits at least a minute before it writes the report again. So two controllers do not wake each other in a loop.
 *
 * There is no report while the namespace is being deleted.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import type * as Cache from "../cache/Cache.ts"
import { Undeclared } from "../cache/Undeclared.ts"
import * as ApiError from "../client/ApiError.ts"
import type * as Client from "../client/Client.ts"
import { Exchanges } from "../client/Exchange.ts"
import { missing, type Permission } from "../client/Permission.ts"
import * as Refusal from "../client/Refusal.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import * as Condition from "../resource/Condition.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import * as ObjectState from "../resource/ObjectState.ts"
import * as Resource from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import { messageOf } from "./Attempt.ts"
import * as FieldOwner from "./FieldOwner.ts"
import * as Fought from "./Fought.ts"
import { NotServed } from "./NotServed.ts"
import * as Ownership from "./Ownership.ts"
import * as Paused from "./Paused.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Refused from "./Refused.ts"
import * as Result from "./Result.ts"
import * as Shown from "./Shown.ts"
import * as Status from "./Status.ts"
import { TerminalError } from "./TerminalError.ts"
import { TooLarge } from "./TooLarge.ts"

/** The reasons, and the beginning of each message: a controller's own condition may have the same reason. */
const openings = {
  Forbidden: Refusal.opening,
  Invalid: Refusal.opening,
  NotOwned: "The reconcile stopped: ",
  NotServed: "The reconcile stopped: ",
  InvalidSpec: "",
  TooLarge: "",
  TerminalError: "The reconcile stopped: ",
  InternalError: "The reconcile died: "
} as const

type Reason = keyof typeof openings

/** Why a reconcile cannot continue. */
interface Report {
  readonly reason: string
  readonly message: string
  /** Whether the retries may still overcome it. */
  readonly isLasting?: boolean
  /** Whether the reconcile goes on: then only Ready has the report. */
  readonly isFight?: boolean
}

const report = (reason: Reason, text: string): Report => ({
  reason,
  message: Refusal.line(openings[reason] + text)
})

/** Whether the controller declares that it needs a permission. */
type Declares = (permission: Permission) => boolean

const isOwnSpec = (error: unknown, resource: Resource.Any, { metadata }: KubernetesObject): boolean =>
  error instanceof Resource.InvalidObject && error.kind === resource.kind && error.key === keyString(metadata)

const reportOf = (
  error: unknown,
  resource: Resource.Any,
  object: KubernetesObject,
  { declares, hide }: { readonly declares: Declares; readonly hide: (text: string) => string }
): Report | undefined => {
  if (error instanceof ApiError.Forbidden) {
    const isStatus = missing(error)?.resource === `${resource.plural}/status`
    return isStatus || ApiError.isNamespaceTerminating(error)
      ? undefined
      : { reason: "Forbidden", message: Refusal.describe(error, declares) }
  }
  if (Refusal.isDenied(error)) return { reason: "Forbidden", message: Refusal.describe(error) }
  if (Refusal.isRejection(error) || Refusal.isMistyped(error))
    return { reason: "Invalid", message: Refusal.describe(error) }
  if (error instanceof Ownership.NotOwned) return report("NotOwned", hide(error.message))
  if (error instanceof TooLarge) return report("TooLarge", error.message)
  if (error instanceof NotServed) return report("NotServed", hide(error.message))
  if (error instanceof TerminalError || error instanceof Undeclared) return report("TerminalError", hide(error.message))
  return isOwnSpec(error, resource, object) ? report("InvalidSpec", hide(messageOf(error))) : undefined
}

/** The reasons that a later attempt may overcome without a change that triggers it. */
const retried: ReadonlyArray<string> = ["Forbidden", "InternalError"]

/** The tag of an error as the reason of a condition. */
const tagOf = (error: unknown): string => {
  const tag: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "_tag") : undefined
  return typeof tag === "string" && /^[A-Za-z]\w{0,99}$/.test(tag) ? tag : "ReconcileFailed"
}

const lastingReport = (error: unknown, hide: (text: string) => string): Report => ({
  reason: tagOf(error),
  message: Refusal.line(ObjectState.lasting + hide(messageOf(error))),
  isLasting: true
})

/** Whether a failure that has no report yet lasts, or is the last one. */
const isLasting = (error: unknown): Effect.Effect<boolean, never, Reconciliation> => {
  if (error instanceof ApiError.Fenced || (ApiError.isApiError(error) && ApiError.isNamespaceTerminating(error)))
    return Effect.succeed(false)
  return Effect.flatMap(Reconciliation, ({ lasts, retryAt }) =>
    // The first attempt without an answer does not count as a failure of the object.
    lasts || error instanceof ApiError.Transport
      ? Effect.succeed(lasts)
      : Effect.map(retryAt(error), (at) => at === undefined)
  )
}

/** The services that a report on an object needs. */
type Needs = Reconciliation | Client.Client | Cache.Cache | EventRecorder.EventRecorder

/** Whether a later attempt may succeed. Such a failure changes no report. */
const isFleeting = (error: unknown): boolean =>
  (error instanceof ApiError.Invalid && !Refusal.isRejection(error)) ||
  (ApiError.isApiError(error) &&
    (!ApiError.isAnswer(error) || error.code >= 500 || [401, 408, 409, 410, 429].includes(error.code)))

/** Whether the runtime wrote a condition. Conditions of other programs may have no message. */
const isReported = ({ message = "", reason }: Partial<Condition.Condition>): boolean =>
  reason !== undefined &&
  (reason === Fought.reason ||
    isLastingReport({ message }) ||
    (Object.hasOwn(openings, reason) && message.startsWith(openings[reason as Reason])))

/** A failure that has lasted keeps its report through the first ten seconds of a new process, or after a change of the object. */
const isLastingReport = ({ message = "" }: Partial<Condition.Condition>): boolean =>
  message.startsWith(ObjectState.lasting)

/** How long the runtime does not write a report again that another writer has replaced, in milliseconds. */
const pauseMillis = 60_000

/**
 * Writes the conditions of a report, unless the reconcile has written its own. Returns whether an Event must report it, too: an Event
 * that repeats costs little.
 */
const write = (
  resource: Resource.Any,
  object: KubernetesObject,
  { isFight = false, isLasting = false, message, reason }: Report
) =>
  Effect.gen(function* () {
    const { hasConditions, memory } = yield* Reconciliation
    if (Status.declares(resource, "conditions") !== true) return true
    if (hasConditions) return isLasting
    const facts = { reason, message }
    const type = isLasting ? Condition.Reconciling : Condition.Stalled
    const { generation = 0, uid } = object.metadata
    const at = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const current = Option.getOrElse(yield* Status.cached(object), () => object)
    const before = Status.conditions(current).filter((each) => [Condition.Ready, type].includes(each.type))
    const latest = memory.reports.get(uid)
    const isReplaced = latest !== undefined && Condition.find(before, Condition.Ready)?.message !== latest.message
    if (isReplaced && at - latest.at < pauseMillis) return false
    const draft = { ...facts, observedGeneration: generation }
    const ready = Condition.false(Condition.Ready, draft)
    const drafts = isFight ? [ready] : [ready, Condition.true(type, draft)]
    const conditions = Condition.set(before, drafts, Time.seconds(at))
    // In a fight, the reconcile writes it, or else it has the default.
    const isUnsaid = !isFight || Number(Status.statusOf(current).observedGeneration) < 0
    const observed =
      isUnsaid && Status.declares(resource, "observedGeneration") === true ? { observedGeneration: generation } : {}
    yield* Status.set(object, { ...Status.statusOf(current), ...observed, conditions })
    if (conditions !== before) memory.reports.set(uid, { message: facts.message, at })
    return conditions !== before
  })

/** Removes the conditions of the controller's own report. An object that is gone, as after its clean-up, has none. */
const retract = (object: KubernetesObject) =>
  Effect.gen(function* () {
    const current = Option.getOrUndefined(yield* Status.cached(object))
    if (current === undefined) return
    const { fieldManager, fight, memory } = yield* Reconciliation
    const latest = memory.reports.get(object.metadata.uid)
    // Conditions of other managers are left out: `update` keeps them.
    const conditions = Status.conditions(current).filter(({ type }) => Status.kstatus.includes(type))
    const isFought = fight !== undefined && conditions.some(({ reason }) => reason === Fought.reason)
    if (isFought) return
    const left = conditions.filter((each) => !isReported(each) || (latest && latest.message !== each.message))
    if (left.length < conditions.length) {
      // The server knows who wrote a report that this process has not written.
      const { managedFields = [] } = latest === undefined ? (yield* Ownership.live(object)).metadata : {}
      const type = [Condition.Stalled, Condition.Reconciling].find((each) => Condition.find(conditions, each))
      const owners = FieldOwner.owners(managedFields, `status.conditions[${type ?? Condition.Ready}]`)
      const isOwn = owners.every(({ manager }) => manager === fieldManager)
      if (isOwn) yield* Status.set(object, { ...Status.statusOf(current), conditions: left })
    }
    memory.reports.set(object.metadata.uid, { message: "", at: Number.NEGATIVE_INFINITY })
  })

const warn = (regarding: KubernetesObject, { message: note, reason }: Report) =>
  EventRecorder.record({ regarding, type: "Warning", reason, note })

/** Writes a report, and records its Event. */
const announced = (resource: Resource.Any, object: KubernetesObject, error: unknown, found: Report) =>
  Effect.gen(function* () {
    const next = yield* Refused.nextAttempt(error)
    const isNews = yield* write(resource, object, { ...found, message: found.message + next })
    // `Owned` has recorded the Event about another owner.
    const isTold = isNews || found.reason === "Invalid" || Refusal.isByAdmission(error)
    if (isTold && found.reason !== "NotOwned") yield* warn(object, found)
  })

/** Reports that the reconcile of an object fails with this error, which the failed attempt could not report. */
export const lasting = (
  resource: Resource.Any,
  object: KubernetesObject,
  error: unknown
): Effect.Effect<void, never, Needs> => {
  const found = lastingReport(error, identity)
  return Effect.catchCause(announced(resource, object, error, found), () => warn(object, found))
}

/**
 * Shows a fight on an object that its controller has reconciled. The result asks for another run when the fight is over without another
 * write. A status of the reconcile already shows it.
 */
export const fought = (
  resource: Resource.Any,
  object: KubernetesObject,
  result: Result.Result
): Effect.Effect<Result.Result, Status.Failure, Needs> =>
  Effect.flatMap(Reconciliation, ({ fight, memory }) => {
    if (fight === undefined || Status.declares(resource, "conditions") !== true) return Effect.succeed(result)
    const found = { reason: Fought.reason, message: fight.note, isFight: true }
    return Effect.gen(function* () {
      const { hasConditions } = yield* Reconciliation
      yield* Shown.where("the fight", write(resource, object, found))
      const at = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      if (hasConditions) memory.reports.set(object.metadata.uid, { message: fight.note, at })
      return Result.within(result, fight.until - at)
    })
  })

/**
 * Reports on the object why its attempts cannot continue, and removes the report when they can. Removes the condition of a pause before
 * the attempt.
 */
export const reported =
  (resource: Resource.Any, object: KubernetesObject, declares: Declares) =>
  <A, E, R>(
    attempt: (object: KubernetesObject) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | TerminalError | Status.Failure, R | Needs> => {
    let hasReport = false
    for (const each of Status.conditions(object)) {
      if (Paused.isCondition(each))
        return Effect.flatMap(Paused.resume(object), (next) => reported(resource, next, declares)(attempt))
      hasReport ||= isReported(each)
    }
    const failed = (
      cause: Cause.Cause<E>,
      hide: (text: string) => string
    ): Effect.Effect<never, E | TerminalError | Status.Failure, Needs> => {
      const failure = Cause.findErrorOption(cause)
      if (Option.isNone(failure) && Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
      const error = Option.getOrElse(failure, () => Cause.squash(cause))
      const known =
        Option.isNone(failure) && !(error instanceof Undeclared)
          ? report("InternalError", hide(messageOf(error)))
          : reportOf(error, resource, object, { declares, hide })
      if (known !== undefined) return told(cause, error, known)
      if (error instanceof Ownership.OwnerGone) return Effect.failCause(cause)
      return Effect.flatMap(isLasting(error), (lasts) =>
        lasts
          ? told(cause, error, lastingReport(error, hide))
          : isFleeting(error) || Status.conditions(object).some(isLastingReport)
            ? Effect.failCause(cause)
            : told(cause, error, undefined)
      )
    }
    const told = (
      cause: Cause.Cause<E>,
      error: unknown,
      found: Report | undefined
    ): Effect.Effect<never, E | TerminalError | Status.Failure, Needs> => {
      const isUndeclared = error instanceof Undeclared
      const isFinal =
        found !== undefined &&
        found.isLasting !== true &&
        !retried.includes(found.reason) &&
        !Refusal.isByAdmission(error)
      const reporting = found === undefined ? retract(object) : announced(resource, object, error, found)
      return Effect.matchCauseEffect(reporting, {
        onFailure: (problem): Effect.Effect<never, E | Status.Failure, Needs> => {
          const unwritten = Cause.squash(problem)
          // Such a failure of the attempt ends the retries or delays them, and nothing would write the report.
          const isLong = isUndeclared || error instanceof TerminalError || Refusal.isByAdmission(error)
          const isLost = isLong && isFleeting(unwritten)
          return isLost || unwritten instanceof Ownership.OwnerGone
            ? Effect.failCause(problem)
            : Effect.logDebug(`The conditions of the failure were not written: ${messageOf(unwritten)}`).pipe(
                Effect.andThen(found?.isLasting === true ? warn(object, found) : Effect.void),
                Effect.andThen(Effect.failCause(cause))
              )
        },
        onSuccess: (): Effect.Effect<never, E | TerminalError> =>
          isFinal && !isUndeclared && !(error instanceof TerminalError)
            ? Effect.fail(new TerminalError({ message: found.message, cause: error }))
            : Effect.failCause(cause)
      })
    }
    const onFailure = (cause: Cause.Cause<E>) =>
      Effect.flatMap(Exchanges, (ledger) => {
        ledger?.suspect(object)
        return failed(cause, ledger === undefined ? identity : (text) => ledger.hide(text))
      })
    return hasReport
      ? Effect.matchCauseEffect(attempt(object), {
          onFailure,
          onSuccess: (result) => Effect.as(retract(object), result)
        })
      : Effect.catchCause(attempt(object), onFailure)
  }
