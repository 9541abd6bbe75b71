/**
 * The inputs of one attempt: its reads of the cache, its requests with their responses, its start, and the memory of its controller.
 *
 * The objects are those of the cache, and the texts are those of the requests. So the record of an attempt costs pointers.
 */
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { ApiError } from "../../client/ApiError.ts"
import type { CachedReads } from "../../client/CachedReads.ts"
import type { Exchange, Order } from "../../client/Exchange.ts"
import * as Refusal from "../../client/Refusal.ts"
import type { Request } from "../../client/Request.ts"
import type { Response } from "../../client/Response.ts"
import { type Attempt, messageOf, type Outcome } from "../../controller/Attempt.ts"
import type { Entries } from "../../controller/Memory.ts"
import type { KubernetesObject } from "../../resource/KubernetesObject.ts"
import * as Text from "../../resource/Text.ts"
import * as Secrecy from "../../telemetry/Secrecy.ts"

/** The outcome of an attempt without its values. */
export interface Ending {
  readonly outcome: Outcome["_tag"]
  /** The error in one line: without secrets, except in a `Recorded`. */
  readonly message?: string | undefined
  /** The tag or the class of the error. */
  readonly error?: string | undefined
  /** The delay that a reconcile asked for, in ms. */
  readonly afterMillis?: number | undefined
  /** When the next attempt began after a refusal of an object, which the status names. Milliseconds of the Clock, in whole seconds. */
  readonly retryAt?: number | undefined
  /** Whether all attempts of the ten seconds before it failed. */
  readonly lasts?: boolean | undefined
}

/** A request and its response; the response is absent if it was too large to keep, or if the request was interrupted. */
export interface RecordedRequest {
  readonly request: Pick<Request, "method" | "path" | "headers" | "body" | "dryRun" | "secretKeys">
  /** Milliseconds of the Clock. */
  readonly startedAt: number
  readonly millis: number
  readonly response: Response | undefined
  readonly error: ApiError | undefined
  /** Whether the response or the error was too large to keep. */
  readonly isCut: boolean
  /** Its order among the requests of the attempt. */
  readonly order: Order | undefined
}

/** A recorded attempt. Times are milliseconds of the Clock. */
export interface Recorded {
  /** The `reconcileID` of log lines. */
  readonly id: string
  /** The trace ID. Without tracing, it is the `reconcileID` without dashes. */
  readonly trace: string
  readonly controller: string
  readonly kind: string
  readonly key: string
  readonly number: number
  readonly startedAt: number
  readonly finishedAt: number
  /** The cached object when the attempt began, in its wire form. */
  readonly object: KubernetesObject
  readonly memory: Entries
  readonly ending: Ending
  readonly reads: CachedReads
  readonly requests: ReadonlyArray<RecordedRequest>
  /** The number of requests that `requests` omits. */
  readonly moreRequests: number
}

/** The longest message of an error that leaves the manager, in characters. */
export const longest = 500

const nameOf = (error: unknown): string => {
  const tag: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "_tag") : undefined
  return typeof tag === "string" ? tag : error instanceof Error ? error.name : typeof error
}

const shownMessage = (message: string): string => Secrecy.masked(message, longest)

/** The outcome without its values. */
export const endingOf = (outcome: Outcome, shown = shownMessage): Ending => {
  if (outcome._tag === "RequeueAfter") return { outcome: outcome._tag, afterMillis: Duration.toMillis(outcome.after) }
  if (!("error" in outcome)) return { outcome: outcome._tag }
  const { error } = outcome
  return { outcome: outcome._tag, message: shown(messageOf(error)), error: nameOf(error) }
}

/** The retries that the attempt knew, for its report. */
const retriesOf = ({ finishedAt, lasts, next, outcome }: Attempt): Pick<Ending, "retryAt" | "lasts"> => ({
  ...(lasts === true && { lasts }),
  ...(outcome._tag === "Failed" &&
    next._tag === "Run" &&
    Refusal.isByAdmission(outcome.error) && { retryAt: Math.round((finishedAt + next.afterMillis) / 1000) * 1000 })
})

/** Whether a request writes. A dry run does not. */
export const isWrite = ({ request }: Pick<RecordedRequest | Exchange, "request">): boolean =>
  request.method !== "GET" && request.dryRun !== true

/** Whether an attempt is worth a recording: it failed or wrote. An attempt without a server only waited. */
export const isWorth = ({ exchanges, object, outcome }: Attempt): boolean =>
  object !== undefined && (outcome._tag === "Failed" || outcome._tag === "Terminal" || exchanges.some(isWrite))

const requestOf = ({ answer, millis, order, request, startedAt }: Exchange): RecordedRequest => {
  const { body, dryRun, headers, method, path, secretKeys } = request
  return {
    request: { method, path, headers, body, dryRun, secretKeys },
    startedAt,
    millis,
    response: answer?._tag === "Success" ? answer.value : undefined,
    error: answer === undefined ? undefined : Option.getOrUndefined(Exit.findErrorOption(answer)),
    isCut: answer === undefined,
    order
  }
}

/** The recording of an attempt; undefined if its object was gone. */
export const of = (attempt: Attempt): Recorded | undefined => {
  const { exchanges, id, memory, object, root } = attempt
  if (object === undefined || memory === undefined) return undefined
  return {
    id,
    trace: root?.traceId ?? id.replaceAll("-", ""),
    controller: attempt.controller,
    kind: attempt.kind,
    key: attempt.key,
    number: attempt.number,
    startedAt: attempt.startedAt,
    finishedAt: attempt.finishedAt,
    object,
    memory,
    // Longer than in a document, and not masked yet: a copy of a secret value is found only as a whole.
    ending: { ...endingOf(attempt.outcome, (message) => Text.clip(message, Secrecy.longest)), ...retriesOf(attempt) },
    reads: attempt.reads,
    requests: exchanges.map(requestOf),
    moreRequests: attempt.requests - exchanges.length
  }
}
