/** Another manager that changes an own field, from the `managedFields` of the API server. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Client from "../client/Client.ts"
import * as FieldManager from "../client/FieldManager.ts"
import { type KubernetesObject, keyOf, keyString } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Drift from "./Drift.ts"
import * as FieldOwner from "./FieldOwner.ts"
import type { Seen } from "./HotLoop.ts"
import { Reconciliation } from "./Reconciliation.ts"

/** The manager that changes a field. */
export interface Rival {
  readonly manager?: string
  /** A sentence without its end, in which `{it}` stands for the fields. */
  readonly description: string
  /** The manager that should stop setting the field; absent if it has the same name as the controller. */
  readonly stops?: string
}

/** The time limit of the read, in milliseconds: a repair waits for it. */
const readMillis = 2000

/**
 * Reads the metadata of an object before a repair that may lead to a report: after the repair, the rival no longer owns the field. Never
 * fails.
 */
export const look = (
  kind: Resource.Any,
  cached: KubernetesObject
): Effect.Effect<Seen | undefined, never, Reconciliation | Client.Client> =>
  Effect.flatMap(Reconciliation, ({ memory, object }) =>
    Effect.flatMap(Clock.Clock, (clock) => {
      const place = `${kind.kind} ${keyString(cached.metadata)}`
      return memory.hotLoop.isDue(object.metadata.uid, place, clock.currentTimeMillisUnsafe())
        ? Client.get(Resource.metadataOnly(kind), keyOf(cached), { retry: false, timeoutMillis: readMillis }).pipe(
            Effect.mapError(({ _tag }) => _tag),
            Effect.result,
            Effect.map((live) => ({ cached, live }))
          )
        : Effect.succeed(undefined)
    })
  )

/** The managers except that of the controller and the one under which it releases fields. */
const others = <A extends { readonly manager?: string | undefined }>(
  entries: ReadonlyArray<A>,
  ours: string
): ReadonlyArray<A> => entries.filter(({ manager }) => manager !== ours && manager !== FieldManager.handover(ours))

/** The names of the other managers that own one of these fields of an object; `undefined` if there are none. */
export const ownersOf = (
  object: KubernetesObject,
  fields: ReadonlyArray<string>,
  ours: string,
  { managedFields = [] }: KubernetesObject["metadata"] = object.metadata
): string | undefined => {
  const owners = fields.flatMap((field) => FieldOwner.owners(managedFields, field, Drift.json(object)))
  const names = new Set(others(owners, ours).map(({ manager }) => manager ?? "unknown"))
  return names.size === 0 ? undefined : [...names].join(" and ")
}

/** The manager that changes a field of an object. */
export const of = (seen: Seen | undefined, field: string, ours: string): Rival => {
  const log = "the API server's audit log names it"
  if (seen === undefined || Result.isFailure(seen.live)) {
    const why = seen === undefined || Result.isSuccess(seen.live) ? "" : ` (${seen.live.failure})`
    return {
      description: `another manager keeps changing {it}. That manager could not be looked up${why}; ${log}`,
      stops: "the other manager"
    }
  }
  const { cached, live } = seen
  const { metadata } = live.success
  const { managedFields = [] } = metadata
  const owner = ownersOf(cached, [field], ours, metadata)
  if (owner !== undefined) return { manager: owner, description: `${owner} keeps changing {it}`, stops: owner }
  // The controller owns the field, with a foreign value, in the state before the repair.
  const isCurrent = metadata.resourceVersion === cached.metadata.resourceVersion
  if (isCurrent && FieldOwner.owners(managedFields, field, Drift.json(cached)).length > 0) {
    return { manager: ours, description: `another program that writes as ${ours} keeps changing {it}` }
  }
  // A write of the status changes nothing else.
  const last = FieldOwner.lastWriter(
    others(managedFields, ours).filter(({ subresource }) => (subresource === "status") === field.startsWith("status"))
  )?.manager
  return last === undefined
    ? {
        description: `another manager keeps changing {it} and no longer owns a field; ${log}`,
        stops: "the other manager"
      }
    : {
        manager: last,
        description: `another manager keeps changing {it}, probably ${last}, which wrote last`,
        stops: last
      }
}
