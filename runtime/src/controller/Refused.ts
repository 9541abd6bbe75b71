/**
 * When the runtime retries an attempt that admission refused: a webhook or a policy, with any code. Another object or the policy must change
 * first, and the runtime may watch neither. So the delays are long: 10 seconds, doubled by each refusal up to 1000 seconds, or that of the retry
 * schedule if it is longer.
 *
 * The status names the time of the next attempt. A new process keeps that time, so that it writes no other one.
 */
import * as Effect from "effect/Effect"
import * as Refusal from "../client/Refusal.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Status from "./Status.ts"

const first = 10_000
const longest = 1_000_000

/** Begins the time of the next attempt in a message. */
const opening = "; the next attempt is at "

const announcedIn = (message: string): ReadonlyArray<string> => {
  const at = message.lastIndexOf(opening)
  return at < 0 ? [] : [message.slice(at + opening.length)]
}

/** The time of the next attempt that the conditions of this generation name, in milliseconds since 1970. */
const namedIn = (object: KubernetesObject): number => {
  const { generation } = object.metadata
  const times = Status.conditions(object).flatMap(({ message, observedGeneration = generation }) =>
    observedGeneration === generation ? announcedIn(message ?? "") : []
  )
  return Math.max(...times.map((text) => Date.parse(text)))
}

/** The retry of an object that admission refused. */
export interface Retry {
  /** In milliseconds of the Clock, in whole seconds. */
  readonly at: number
  /** The number of retries in a row, with this one. */
  readonly number: number
}

/**
 * The retry of an attempt that failed with this error; undefined if admission did not refuse. An attempt before the time of the last retry
 * does not move it.
 */
export const retryOf = (
  error: unknown,
  object: KubernetesObject | undefined,
  last: Retry | undefined,
  now: number
): Retry | undefined => {
  if (!Refusal.isByAdmission(error)) return undefined
  const named = last ?? (object === undefined ? undefined : { at: namedIn(object), number: 1 })
  if (named !== undefined && named.at > now && named.at <= now + longest) return named
  const number = (last?.number ?? 0) + 1
  return { at: Math.ceil((now + Math.min(longest, first * 2 ** (number - 1))) / 1000) * 1000, number }
}

/**
 * The end of a message about a failure of this attempt: `; the next attempt is at 2026-11-20T09:00:30Z`. Empty if admission did not
 * refuse, or if the retries end.
 *
 * @internal
 */
export const nextAttempt = (error: unknown): Effect.Effect<string, never, Reconciliation> =>
  Refusal.isByAdmission(error)
    ? Effect.flatMap(Reconciliation, ({ retryAt }) =>
        Effect.map(retryAt(error), (at) => (at === undefined ? "" : `${opening}${Time.seconds(at)}`))
      )
    : Effect.succeed("")
