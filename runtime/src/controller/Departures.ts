/**
 * Objects that leave the selection of a controller while they carry its finalizer. To the watch such an object is deleted, but it lives,
 * and no other program would remove the entry. So the controller reads it once from the API server, and cleans it up.
 *
 * An object may leave while no controller runs. A term therefore begins with a list of the metadata of all objects of the kind. Only a
 * controller with a finalizer and a selection by labels or fields sends it.
 */
import * as Effect from "effect/Effect"
import * as LabelSelector from "../cache/LabelSelector.ts"
import type * as Selection from "../cache/Selection.ts"
import * as Transform from "../cache/Transform.ts"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Pages from "../client/Pages.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import { type KubernetesObject, keyOf, keyString } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"

/** Whether an object carries one of these finalizers. */
export const carries = (finalizers: ReadonlyArray<string>, { metadata }: KubernetesObject): boolean =>
  finalizers.length > 0 && metadata.finalizers?.some((name) => finalizers.includes(name)) === true

/** Notes that an object which is being deleted has lost the finalizers. So the event of its deletion says what it is. */
export const released = (
  object: KubernetesObject,
  result: Result.Result
): Effect.Effect<void, never, Reconciliation> =>
  Result.isAgain(result) || object.metadata.deletionTimestamp === undefined
    ? Effect.void
    : Effect.map(Reconciliation, ({ memory }) => void memory.released.add(object.metadata.uid))

/** The kind and the declarations of a controller. */
interface Declared {
  readonly resource: Resource.Any
  readonly select: Selection.Selection
  readonly finalizers: ReadonlyArray<string>
}

/** The clean-up of objects that leave the selection of a controller. */
export interface Departures<out F, out R> {
  /**
   * The objects in these namespaces that carry the finalizer and may have left the selection, by key and without content; no namespace
   * means all.
   */
  readonly find: (
    namespaces: ReadonlyArray<string>,
    isCached: (key: string) => boolean
  ) => Effect.Effect<ReadonlyArray<KubernetesObject>, unknown, F>
  /** Reads an object that may have left, and cleans it up if it has. */
  readonly attempt: (object: KubernetesObject) => Effect.Effect<Result.Result, unknown, R>
}

/** Whether the API server still selects a live object. */
const isSelected = (
  { resource, select }: Declared,
  live: KubernetesObject
): Effect.Effect<boolean, ApiError | Resource.InvalidObject, Client.Client> => {
  const { fields, labels } = select
  const { name, namespace } = live.metadata
  if (LabelSelector.parse(labels)?.(live.metadata.labels) === false) return Effect.succeed(false)
  if (fields === undefined) return Effect.succeed(true)
  const fieldSelector = `${fields},metadata.name=${name}`
  return Effect.map(
    Client.list(Resource.metadataOnly(resource), { namespace, labelSelector: labels, fieldSelector, limit: 1 }),
    ({ items }) => items.length > 0
  )
}

/** The clean-up of a controller, where `release` cleans up a live object. */
export const make = <R>(
  declared: Declared,
  release: (live: KubernetesObject) => Effect.Effect<Result.Result, unknown, R>
): Departures<Client.Client, R | Client.Client> => {
  const { finalizers, resource, select } = declared
  const matches = select.fields === undefined ? LabelSelector.parse(select.labels) : undefined
  return {
    find: (namespaces, isCached) => {
      const places = namespaces.length === 0 ? [undefined] : namespaces
      const kind = Resource.metadataOnly(resource)
      const listed = Effect.forEach(places, (namespace) =>
        Pages.all(kind, { namespace }, (object) =>
          carries(finalizers, object) &&
          matches?.(object.metadata.labels) !== true &&
          !isCached(keyString(object.metadata))
            ? Transform.existence(object)
            : undefined
        )
      )
      return Effect.map(listed, (found) => found.flat())
    },
    attempt: (object) =>
      Effect.matchEffect(Client.get(CustomResource.undecoded(resource), keyOf(object)), {
        onFailure: (error) => (error._tag === "NotFound" ? Effect.succeed(Result.done) : Effect.fail(error)),
        onSuccess: (live) =>
          carries(finalizers, live)
            ? // Another program with another `--selector` may have it.
              Effect.flatMap(isSelected(declared, live), (isStill) =>
                isStill ? Effect.succeed(Result.done) : release(live)
              )
            : Effect.succeed(Result.done)
      })
  }
}
