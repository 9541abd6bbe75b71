/**
 * Claims the objects of an owner. The owner keeps the objects that it controls and selects, and adopts selected objects without a
 * controller. It releases objects that it controls and no longer selects.
 */
import { type JsonObject, object } from "@homeostat/apiserver/model/Json"
import {
  controllerReference,
  finalizersOf,
  isControlledBy,
  isDeleting,
  labelsOf,
  namespaceOf,
  ownersOf,
  ownersPatch,
  uidOf
} from "@homeostat/apiserver/model/ObjectMeta"
import { matches, type Selector } from "@homeostat/apiserver/storage/LabelSelector"
import type { Patch, Snapshot } from "./BuiltInController.ts"

/** The objects of an owner. */
export interface Claimed {
  readonly objects: ReadonlyArray<JsonObject>
  /**
   * The patches that adopt and release objects. A pass with such patches makes no other writes, because the patches trigger the next pass.
   */
  readonly patches: ReadonlyArray<Patch>
}

/** Returns the objects of an owner in a storage. Claimed objects carry the `finalizer`. */
export const claim = (
  snapshot: Snapshot,
  storage: string,
  owner: JsonObject,
  selector: Selector,
  finalizer?: string
): Claimed => {
  const controlled = snapshot
    .dependents(uidOf(owner))
    .filter((one) => one.storage === storage && isControlledBy(one.object, owner))
    .map((one) => one.object)
  const selected = (one: JsonObject) => matches(selector, labelsOf(one))
  if (isDeleting(owner)) return { objects: controlled.filter(selected), patches: [] }
  const released = controlled.filter((one) => !selected(one))
  const adopted = snapshot.orphans(storage, namespaceOf(owner)).filter((one) => selected(one) && !isDeleting(one))
  return {
    objects: controlled.filter(selected),
    patches: [
      ...released.map((one) => release(one, owner, finalizer)),
      ...adopted.map((one) => adopt(one, owner, finalizer))
    ]
  }
}

const adopt = (claimed: JsonObject, owner: JsonObject, finalizer: string | undefined): Patch => {
  const others = ownersOf(claimed).filter(({ uid }) => uid !== uidOf(owner))
  return patched(claimed, [...others, controllerReference(owner)], finalizer, true)
}

const release = (claimed: JsonObject, owner: JsonObject, finalizer: string | undefined): Patch =>
  patched(
    claimed,
    ownersOf(claimed).filter(({ uid }) => uid !== uidOf(owner)),
    finalizer,
    false
  )

const patched = (
  claimed: JsonObject,
  owners: ReadonlyArray<JsonObject>,
  finalizer: string | undefined,
  owned: boolean
): Patch => {
  const patch = ownersPatch(claimed, owners)
  if (finalizer === undefined) return { verb: "patch", object: claimed, patch }
  const others = finalizersOf(claimed).filter((one) => one !== finalizer)
  const finalizers = owned ? [...others, finalizer] : others
  return {
    verb: "patch",
    object: claimed,
    patch: { metadata: { ...object(patch.metadata), finalizers: finalizers.length === 0 ? null : finalizers } }
  }
}
