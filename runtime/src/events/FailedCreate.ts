/** Why a Job has no pod: the Job controller records the refusal of the API server, such as an exceeded quota, as an Event only. */
import * as Effect from "effect/Effect"
import type * as Client from "../client/Client.ts"
import * as Pages from "../client/Pages.ts"
import { Event, type Job } from "../resource/BuiltIn.ts"
import * as Text from "../resource/Text.ts"

/** After this time a missing pod has an Event that says why. Milliseconds from the creation of the Job. */
export const knownAfter = 5_000

/** A tenant may write many large Events about its own Job: so many pages of them are read, and so many characters of one are kept. */
const mostPages = 4
const mostNote = 1024

/**
 * The last reason why the Job controller could not create a pod of a Job, at most {@link mostNote} characters. Undefined if there is none,
 * and without the permission to list Events. Sends one request, and at most {@link mostPages} for many Events.
 */
export const noteOf = ({
  metadata: { namespace, uid }
}: Job): Effect.Effect<string | undefined, never, Client.Client> =>
  Effect.suspend(() => {
    let last = { at: Number.NEGATIVE_INFINITY, note: "" }
    const fieldSelector = `regarding.uid=${uid},reason=FailedCreate`
    return Pages.all(Event, { namespace, fieldSelector, mostPages }, (event) => {
      const at = seenAt(event)
      if (at >= last.at) last = { at, note: Text.clip(event.note ?? "", mostNote) }
      return undefined
    }).pipe(
      Effect.map(() => last.note || undefined),
      Effect.catch(() => Effect.succeed(undefined))
    )
  })

const seenAt = ({ deprecatedLastTimestamp, eventTime, metadata, series }: Event): number =>
  Math.max(
    ...[series?.lastObservedTime, deprecatedLastTimestamp, eventTime, metadata.creationTimestamp].map((time) =>
      time ? Date.parse(time) : 0
    )
  )
