/**
 * The garbage collector deletes objects whose owners are gone.
 *
 * - Background: when the last owner is gone, the collector deletes the dependents. While another owner exists, it only removes the
 * dangling references.
 * - Foreground: an owner with the finalizer `foregroundDeletion` waits until no dependent blocks it. The collector deletes its dependents
 * at once, in the foreground if they have dependents of their own.
 * - Orphan: the collector first removes an owner with the finalizer `orphan` from the references of its dependents.
 *
 * An owner must match the uid, kind and name of the reference. It must be cluster-scoped or in the namespace of the dependent. The
 * collector ignores a cluster-scoped object with a namespaced owner. It also ignores an object whose owner has a kind that is not served,
 * until that kind is served.
 */
import { at, type JsonObject, text } from "@homeostat/apiserver/model/Json"
import type { Kind } from "@homeostat/apiserver/model/Kind"
import {
  finalizerPatch,
  finalizersOf,
  isDeleting,
  keyOfObject,
  namespaceOf,
  ofKey,
  ownersOf,
  ownersPatch,
  uidOf
} from "@homeostat/apiserver/model/ObjectMeta"
import type { Change } from "@homeostat/apiserver/storage/Store"
import {
  type BuiltInController,
  type Delete,
  nothing,
  type Pass,
  type Snapshot,
  type Stored,
  type Write
} from "./BuiltInController.ts"
import * as Storages from "./Storages.ts"

const foreground = "foregroundDeletion"
const orphan = "orphan"

const waitsFor = (object: JsonObject, finalizer: string): boolean =>
  isDeleting(object) && finalizersOf(object).includes(finalizer)

const keyOf = ({ object, storage }: Stored): string => `${storage} ${keyOfObject(object)}`

/** Whether the collector handles an object, by its owner references and finalizers. */
const concerns = (object: JsonObject): boolean =>
  ownersOf(object).length > 0 || waitsFor(object, foreground) || waitsFor(object, orphan)

const keys = (change: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  const { object, previous, storage, type } = change
  const found = new Set<string>()
  if (type !== "DELETED" && concerns(object)) found.add(keyOf({ object, storage }))
  if (type === "DELETED" || (waitsFor(object, foreground) && !(previous && waitsFor(previous, foreground)))) {
    for (const dependent of snapshot.dependents(uidOf(object))) found.add(keyOf(dependent))
  }
  // An owner may have waited for the deletion or release of this object.
  for (const { uid } of previous === undefined ? [] : ownersOf(previous)) {
    const owner = snapshot.byUid(text(uid) ?? "")
    if (owner !== undefined && waitsFor(owner.object, foreground)) found.add(keyOf(owner))
  }
  if (storage === Storages.definitions) for (const key of ownedByKind(object, snapshot)) found.add(key)
  return [...found]
}

/** Returns the objects with an owner of the kind that a CRD defines, because that kind may be served now. */
const ownedByKind = (definition: JsonObject, snapshot: Snapshot): ReadonlyArray<string> => {
  const group = text(at(definition, "spec", "group"))
  const kind = text(at(definition, "spec", "names", "kind"))
  const owned = (object: JsonObject) =>
    ownersOf(object).some((owner) => owner.kind === kind && (text(owner.apiVersion) ?? "").split("/", 1)[0] === group)
  return snapshot
    .resources()
    .flatMap(({ storage }) => snapshot.list(storage).map((object) => ({ object, storage })))
    .filter(({ object }) => owned(object))
    .map(keyOf)
}

const reconcile = (snapshot: Snapshot, key: string): Pass => {
  const [storage = "", path = ""] = key.split(" ")
  const object = snapshot.get(storage, ...ofKey(path))
  if (object === undefined) return nothing
  if (waitsFor(object, orphan)) return { writes: orphaned(snapshot, object) }
  if (waitsFor(object, foreground))
    return { writes: blockers(snapshot, object).length > 0 ? [] : [without(object, foreground)] }
  if (isDeleting(object) || ownersOf(object).length === 0) return nothing
  const owners = classified(snapshot, object)
  return owners === undefined ? nothing : { writes: collected(snapshot, object, owners) }
}

const without = (object: JsonObject, finalizer: string): Write => ({
  verb: "patch",
  object,
  patch: finalizerPatch(object, finalizer)
})

const blockers = (snapshot: Snapshot, owner: JsonObject): ReadonlyArray<Stored> =>
  snapshot
    .dependents(uidOf(owner))
    .filter(({ object }) =>
      ownersOf(object).some(({ blockOwnerDeletion, uid }) => uid === uidOf(owner) && blockOwnerDeletion === true)
    )

const orphaned = (snapshot: Snapshot, owner: JsonObject): ReadonlyArray<Write> => [
  ...snapshot.dependents(uidOf(owner)).map(({ object }) => strip(object, new Set([uidOf(owner)]))),
  without(owner, orphan)
]

const strip = (object: JsonObject, uids: ReadonlySet<unknown>): Write => ({
  verb: "patch",
  object,
  patch: ownersPatch(
    object,
    ownersOf(object).filter(({ uid }) => !uids.has(uid))
  )
})

/** The owners of an object: existing, missing, or waiting for the deletion of the object. */
interface Owners {
  readonly solid: ReadonlyArray<JsonObject>
  readonly dangling: ReadonlyArray<JsonObject>
  readonly waiting: ReadonlyArray<JsonObject>
}

/** Undefined if the kind of an owner is not served, or the owner is namespaced and the object is cluster-scoped. */
const classified = (snapshot: Snapshot, object: JsonObject): Owners | undefined => {
  const solid: Array<JsonObject> = []
  const dangling: Array<JsonObject> = []
  const waiting: Array<JsonObject> = []
  for (const reference of ownersOf(object)) {
    const kind = snapshot.named(text(reference.apiVersion) ?? "", text(reference.kind) ?? "")
    if (kind === undefined || (kind.namespaced && namespaceOf(object) === "")) return undefined
    const owner = ownerOf(snapshot, kind, reference, object)
    if (owner === undefined) dangling.push(reference)
    else if (waitsFor(owner, foreground)) waiting.push(reference)
    else solid.push(reference)
  }
  return { solid, dangling, waiting }
}

const ownerOf = (snapshot: Snapshot, kind: Kind, reference: JsonObject, object: JsonObject): JsonObject | undefined => {
  const found = snapshot.get(kind.storage, kind.namespaced ? namespaceOf(object) : "", text(reference.name) ?? "")
  return found !== undefined && uidOf(found) === reference.uid ? found : undefined
}

const collected = (snapshot: Snapshot, object: JsonObject, owners: Owners): ReadonlyArray<Write> => {
  const { dangling, solid, waiting } = owners
  const elsewhere = dangling.flatMap((reference) => misplaced(snapshot, object, reference))
  if (solid.length > 0) {
    const gone = [...dangling, ...waiting]
    return gone.length === 0 ? [] : [...elsewhere, strip(object, new Set(gone.map(({ uid }) => uid)))]
  }
  const dependents = snapshot.dependents(uidOf(object))
  if (waiting.length > 0 && dependents.length > 0) {
    const circle = dependents.some((dependent) => waitsFor(dependent.object, foreground))
    return [...(circle ? [unblock(object)] : []), remove(object, "Foreground", !circle)]
  }
  const finalizers = finalizersOf(object)
  return [
    ...elsewhere,
    remove(
      object,
      finalizers.includes(orphan) ? "Orphan" : finalizers.includes(foreground) ? "Foreground" : "Background",
      true
    )
  ]
}

const remove = (object: JsonObject, propagation: NonNullable<Delete["propagation"]>, unchanged: boolean): Write => ({
  verb: "delete",
  object,
  propagation,
  unchanged
})

/** Removes the block on the owners, because the object and its dependents wait for each other. */
const unblock = (object: JsonObject): Write => ({
  verb: "patch",
  object,
  patch: ownersPatch(
    object,
    ownersOf(object).map((owner) => ({ ...owner, blockOwnerDeletion: false }))
  )
})

/** Reports an owner in another namespace, which counts as missing. */
const misplaced = (snapshot: Snapshot, object: JsonObject, reference: JsonObject): ReadonlyArray<Write> => {
  const owner = snapshot.byUid(text(reference.uid) ?? "")
  if (owner === undefined || namespaceOf(owner.object) === namespaceOf(object)) return []
  const { apiVersion, kind, name, uid } = reference
  const shown = `[${text(apiVersion)}/${text(kind)}, namespace: ${namespaceOf(object)}, name: ${text(name)}, uid: ${text(uid)}]`
  return [
    {
      verb: "record",
      about: object,
      type: "Warning",
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef ${shown} does not exist in namespace ${JSON.stringify(namespaceOf(object))}`
    }
  ]
}

/** The garbage collector. */
export const garbageCollector: BuiltInController = {
  name: "garbage-collector-controller",
  manager: "kube-controller-manager",
  component: "garbage-collector-controller",
  storages: undefined,
  keys,
  reconcile
}
