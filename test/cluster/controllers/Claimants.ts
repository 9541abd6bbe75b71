/** The owners that claim an object, such as the ReplicaSets of a pod. */
import { at } from "@homeostat/apiserver/model/Json"
import { controllerKey, controllerOf, keyOfObject, labelsOf, namespaceOf } from "@homeostat/apiserver/model/ObjectMeta"
import { matches, ofLabelSelector } from "@homeostat/apiserver/storage/LabelSelector"
import type { Change } from "@homeostat/apiserver/storage/Store"
import type { Snapshot } from "./BuiltInController.ts"

/** A kind of owners. */
export interface Kind {
  readonly storage: string
  readonly apiVersion: string
  readonly kind: string
}

/**
 * Returns the keys of the owners that a change of an object concerns: its controller before and after the change. If an object has no
 * controller, they are also the owners that select it.
 */
export const keys = (
  { object, previous, type }: Change,
  snapshot: Snapshot,
  { apiVersion, kind, storage }: Kind
): ReadonlyArray<string> => {
  const owners = [object, ...(previous === undefined ? [] : [previous])]
    .map((one) => controllerKey(one, apiVersion, kind))
    .filter((key) => key !== undefined)
  if (controllerOf(object) !== undefined || type === "DELETED") return owners
  const selecting = snapshot
    .list(storage, namespaceOf(object))
    .filter((owner) => matches(ofLabelSelector(at(owner, "spec", "selector")), labelsOf(object)))
  return [...owners, ...selecting.map(keyOfObject)]
}
