/** The missing pod of a WebApp's Job. Only Events say why it is missing, and no watch has them. */
import type * as Client from "@homeostat/runtime/client/Client"
import * as FailedCreate from "@homeostat/runtime/events/FailedCreate"
import { Job, type Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Readiness from "@homeostat/runtime/resource/Readiness"
import * as Effect from "effect/Effect"

/** The known facts about a missing pod. */
export interface Missing {
  /** Why the Job controller cannot create it. */
  readonly note?: string | undefined
  /** After how many milliseconds to look again; undefined if no pod is missing. */
  readonly again?: number | undefined
}

/** The interval of looks at a Job without a pod, in milliseconds. */
const interval = 15_000

/** Looks for the reason, if a Job that has not ended has no pod. Sends a request only if the Job is old enough to have an Event. */
export const of = (
  job: Job | undefined,
  pods: ReadonlyArray<Pod>,
  /** Epoch milliseconds. */
  now: number
): Effect.Effect<Missing, never, Client.Client> => {
  if (job === undefined || pods.length > 0 || Readiness.of(Job, job).state !== "InProgress") return Effect.succeed({})
  const left = Date.parse(job.metadata.creationTimestamp) + FailedCreate.knownAfter - now
  if (left > 0) return Effect.succeed({ again: left })
  return Effect.map(FailedCreate.noteOf(job), (note) => ({ note, again: interval }))
}
