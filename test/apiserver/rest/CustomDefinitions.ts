/**
 * The effects of CRDs. A stored CRD is accepted and served at once. The deletion of a CRD deletes its objects first.
 */

import { internally, isKind, type ServerState } from "../admission/ServerState.ts"
import * as ManagedFields from "../fields/ManagedFields.ts"
import { establish, kindsOf } from "../kinds/crd/CustomKinds.ts"
import * as Conditions from "../model/Conditions.ts"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import * as Conversion from "../webhook/Conversion.ts"
import * as Delete from "./Delete.ts"

/** The storage key of CRDs. */
export const storage = "apiextensions.k8s.io/customresourcedefinitions"

/** The CRD of a custom kind; undefined if it does not exist. */
const definitionOf = (state: ServerState, { group, plural }: Kind): Json.JsonObject | undefined =>
  state.store.get(storage, "", `${plural}.${group}`)

/** Throws a Failure (403) for a new object of a kind whose CRD is being deleted. */
export const checkCreate = (state: ServerState, kind: Kind, name: string): void => {
  const definition = kind.custom ? definitionOf(state, kind) : undefined
  if (definition !== undefined && ObjectMeta.isDeleting(definition)) {
    throw Failure.forbidden(kind, name, "create not allowed while custom resource definition is terminating")
  }
}

/** Applies the effects of a write of an object of this kind. */
export const reconcile = (state: ServerState, kind: Kind, now: number): void => {
  if (kind.storage === storage) reconcileAll(state, kind, now)
  else if (kind.custom) reconcileObject(state, kind, now)
}

/** Deletes the CRD of a terminating kind after its last object is gone. */
const reconcileObject = (state: ServerState, kind: Kind, now: number): void => {
  const definition = definitionOf(state, kind)
  if (definition === undefined || !ObjectMeta.isDeleting(definition)) return
  if (state.store.list(kind.storage).length > 0) return
  const own = state.registry.kinds().find((other) => isKind(other, "apiextensions.k8s.io", "CustomResourceDefinition"))
  if (own !== undefined) reconcileAll(state, own, now)
}

const reconcileAll = (state: ServerState, kind: Kind, now: number): void => {
  for (const definition of state.store.list(storage)) {
    const accepted = accept(state, kind, definition, now)
    serve(state, accepted)
    if (ObjectMeta.isDeleting(accepted)) terminate(state, kind, accepted, now)
  }
  for (const name of state.definitions.keys()) {
    if (state.store.get(storage, "", name) !== undefined) continue
    state.definitions.delete(name)
    state.registry.declare(name, [])
  }
}

/** Decides if the CRD can have its names, and writes the decision to its status. */
const accept = (state: ServerState, kind: Kind, definition: Json.JsonObject, now: number): Json.JsonObject => {
  const others = state.store.list(storage).filter((other) => ObjectMeta.nameOf(other) !== ObjectMeta.nameOf(definition))
  return write(state, kind, definition, establish(definition, others, now), now)
}

const write = (
  state: ServerState,
  kind: Kind,
  definition: Json.JsonObject,
  next: Json.JsonObject,
  now: number
): Json.JsonObject => {
  if (Json.equal(next, definition)) return definition
  const managed = ManagedFields.updated(
    { kind, manager: "kube-apiserver", subresource: "status", resetFields: kind.status?.resetFields ?? [], now },
    definition,
    next
  )
  return state.store.put(storage, managed)
}

/** Serves the kinds of an established CRD. Compiles them again only if their sources have changed. */
const serve = (state: ServerState, definition: Json.JsonObject): void => {
  const name = ObjectMeta.nameOf(definition)
  const made = { spec: definition.spec ?? null, names: Json.at(definition, "status", "acceptedNames") ?? null }
  const served = Conditions.isTrue(definition, "Established")
  const known = state.definitions.get(name)
  if (!served) {
    state.definitions.set(name, { made: null, kinds: [] })
    state.registry.declare(name, [])
    return
  }
  if (known !== undefined && Json.equal(known.made, made)) return
  const kinds = kindsOf(definition, Conversion.of(definition, state.outside))
  state.definitions.set(name, { made, kinds })
  state.registry.declare(name, kinds)
}

/** Deletes the objects of a CRD. Deletes the CRD after its last object. */
const terminate = (state: ServerState, kind: Kind, definition: Json.JsonObject, now: number): void => {
  const [served] = state.definitions.get(ObjectMeta.nameOf(definition))?.kinds ?? []
  const own = served === undefined ? undefined : asStored(served)
  if (own !== undefined) {
    for (const object of state.store.list(own.storage)) {
      if (!ObjectMeta.isDeleting(object)) {
        Delete.remove(state, own, ObjectMeta.namespaceOf(object), ObjectMeta.nameOf(object), {}, internally(state, now))
      }
    }
    if (state.store.list(own.storage).length > 0) {
      const draft = Json.copy(definition)
      Conditions.set(draft, terminating, now)
      write(state, kind, definition, draft, now)
      return
    }
  }
  const others = ObjectMeta.finalizersOf(definition).filter((one) => one !== ObjectMeta.cleanup)
  if (others.length === 0) {
    state.store.remove(storage, "", ObjectMeta.nameOf(definition))
    return
  }
  const draft = Json.copy(definition)
  ObjectMeta.draftOf(draft).finalizers = others
  write(state, kind, definition, draft, now)
}

/** The kind in the storage version of its objects, so that a deletion calls no webhook. */
const asStored = ({ cached: _, ...kind }: Kind): Kind => ({
  ...kind,
  fromStorage: (stored) => stored,
  toStorage: (object) => object
})

const terminating: Conditions.Condition = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionInProgress",
  message: "CustomResource deletion is in progress"
}
