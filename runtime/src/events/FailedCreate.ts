/** Why a Job has no pod: the Job controller records the refusal of the API server, such as an exceeded quota, as an Event only. */
import * as Effect from "effect/Effect"
import * as Client from "../client/Client.ts"
import { Event, type Job } from "../resource/BuiltIn.ts"

/** After this time a missing pod has an Event that says why. Milliseconds from the creation of the Job. */
export const knownAfter = 5_000

/**
 * The last reason why the Job controller could not create a pod of a Job. Undefined if there is none, and without the permission to list
 * Events. Sends one request.
 */
export const noteOf = ({
  metadata: { namespace, uid }
}: Job): Effect.Effect<string | undefined, never, Client.Client> =>
  Client.list(Event, {
    ...(namespace !== undefined && { namespace }),
    fieldSelector: `regarding.uid=${uid},reason=FailedCreate`
  }).pipe(
    Effect.map(({ items }) => items.toSorted((one, other) => seenAt(one) - seenAt(other)).at(-1)?.note || undefined),
    Effect.catch(() => Effect.succeed(undefined))
  )

const seenAt = ({ deprecatedLastTimestamp, eventTime, metadata, series }: Event): number =>
  Math.max(
    ...[series?.lastObservedTime, deprecatedLastTimestamp, eventTime, metadata.creationTimestamp].map((time) =>
      time ? Date.parse(time) : 0
    )
  )
