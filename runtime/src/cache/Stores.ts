/** The stores to read a kind from, and the objects of several. */
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { Informer } from "./Informer.ts"
import type { Store } from "./Store.ts"
import * as Transform from "./Transform.ts"

/** Whether the first list of an informer is complete. */
export const isSynced = ({ state }: Informer): boolean => state().synced

/**
 * The stores of the informer that has all objects whole, or else of those without a selector, or else of all. A late informer does not
 * take the place of others before it has synced.
 */
export const preferred = (informers: ReadonlyArray<Informer>, whole: Informer | undefined): ReadonlyArray<Store> => {
  const complete = informers.filter(
    ({ fieldSelector, labelSelector }) => labelSelector === undefined && fieldSelector === undefined
  )
  const synced = complete.filter(isSynced)
  const candidates = synced.length > 0 ? synced : complete.length > 0 ? complete : informers
  return whole !== undefined && candidates.includes(whole) ? [whole.store] : candidates.map(({ store }) => store)
}

/** Reads several stores and returns each object once, whole if one of them has it whole. */
export const together = (
  resource: Resource.Any,
  found: ReadonlyArray<Store>,
  read: (store: Store) => ReadonlyArray<KubernetesObject>
): ReadonlyArray<KubernetesObject> => {
  const [only] = found
  if (only !== undefined && found.length === 1) return read(only)
  const objects = found.flatMap(read)
  const partial = objects.filter((object) => Transform.isPartial(resource, object))
  const whole = objects.filter((object) => !Transform.isPartial(resource, object))
  // Later entries win, so an object is whole if one store has it whole.
  return [...new Map([...partial, ...whole].map((object) => [keyString(object.metadata), object])).values()]
}
