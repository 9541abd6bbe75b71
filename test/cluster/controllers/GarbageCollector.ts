/**
 * The garbage collector: what has owners goes when they are gone.
 *
 * - Background: when the last owner is gone, its dependents are deleted, and lose a reference that dangles when another
 *   owner is left.
 * - Foreground: an owner with the finalizer `foregroundDeletion` waits until no dependent blocks it; its dependents are
 *   deleted at once, in the foreground if they have dependents of their own.
 * - Orphan: an owner with the finalizer `orphan` is taken out of its dependents first.
 *
 * An owner is what has the uid, the kind and the name of the reference, in the namespace of the dependent or in none. What is
 * in no namespace and names an owner in one is left alone. So is what has an owner of a kind that is not served, until it is.
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

/** What has to do with owners: nothing else is the collector's business. */
const concerns = (object: JsonObject): boolean =>
  ownersOf(object).length > 0 || waitsFor(object, foreground) || waitsFor(object, orphan)

const keys = (change: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  const { object, previous, storage, type } = change
  const found = new Set<string>()
  if (type !== "DELETED" && concerns(object)) found.add(keyOf({ object, storage }))
  if (type === "DELETED" || (waitsFor(object, foreground) && !(previous && waitsFor(previous, foreground)))) {
    for (const dependent of snapshot.dependents(uidOf(object))) found.add(keyOf(dependent))
  }
  // An owner may have waited for this one to go, or to be let go.
  for (const { uid } of previous === undefined ? [] : ownersOf(previous)) {
    const owner = snapshot.byUid(text(uid) ?? "")
    if (owner !== undefined && waitsFor(owner.object, foreground)) found.add(keyOf(owner))
  }
  if (storage === Storages.definitions) for (const key of ownedByKind(object, snapshot)) found.add(key)
  return [...found]
}

/** The objects with an owner of the kind that a definition declares: now it may be known. */
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

/** The owners of an object: there, gone, or waiting for it to go. */
interface Owners {
  readonly solid: ReadonlyArray<JsonObject>
  readonly dangling: ReadonlyArray<JsonObject>
  readonly waiting: ReadonlyArray<JsonObject>
}

/** Undefined where it cannot be told. */
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

/** It and what it owns wait for each other: it shall not keep its owners waiting. */
const unblock = (object: JsonObject): Write => ({
  verb: "patch",
  object,
  patch: ownersPatch(
    object,
    ownersOf(object).map((owner) => ({ ...owner, blockOwnerDeletion: false }))
  )
})

/** Tells of an owner that is in another namespace, which counts as none. */
const misplaced = (snapshot: Snapshot, object: JsonObject, reference: JsonObject): ReadonlyArray<Write> => {
  const owner = snapshot.byUid(text(reference.uid) ?? "")
  if (owner === undefined || namespaceOf(owner.object) === namespaceOf(object)) return []
  const { apiVersion, kind, name, uid } = reference
  const said = `[${text(apiVersion)}/${text(kind)}, namespace: ${namespaceOf(object)}, name: ${text(name)}, uid: ${text(uid)}]`
  return [
    {
      verb: "record",
      about: object,
      type: "Warning",
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef ${said} does not exist in namespace ${JSON.stringify(namespaceOf(object))}`
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
