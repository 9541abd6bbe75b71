/**
 * What follows from the definitions of custom kinds: they are accepted and served as soon as they are stored, and when they are
 * deleted their objects are, before they are gone themselves.
 */

import { internally, isKind, type World } from "../admission/World.ts"
import * as ManagedFields from "../fields/ManagedFields.ts"
import { establish, kindsOf } from "../kinds/crd/CustomKinds.ts"
import * as Conditions from "../model/Conditions.ts"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import * as Metadata from "../model/ObjectMetaValidation.ts"
import * as Conversion from "../webhook/Conversion.ts"
import * as Delete from "./Delete.ts"

/** Where definitions are stored. */
export const storage = "apiextensions.k8s.io/customresourcedefinitions"

/** The definition of a custom kind, while there is one. */
const definitionOf = (world: World, { group, plural }: Kind): Json.JsonObject | undefined =>
  world.store.get(storage, "", `${plural}.${group}`)

/** Throws a Failure (403) for a new object of a kind that is about to end. */
export const checkCreate = (world: World, kind: Kind, name: string): void => {
  const definition = kind.custom ? definitionOf(world, kind) : undefined
  if (definition !== undefined && ObjectMeta.isDeleting(definition)) {
    throw Failure.forbidden(kind, name, "create not allowed while custom resource definition is terminating")
  }
}

/** Draws the consequences of a write of an object of that kind. */
export const reconcile = (world: World, kind: Kind, now: number): void => {
  if (kind.storage === storage) reconcileAll(world, kind, now)
  else if (kind.custom) reconcileObject(world, kind, now)
}

/** The last object of a kind that is about to end takes the definition with it. */
const reconcileObject = (world: World, kind: Kind, now: number): void => {
  const definition = definitionOf(world, kind)
  if (definition === undefined || !ObjectMeta.isDeleting(definition)) return
  if (world.store.list(kind.storage).length > 0) return
  const own = world.registry.kinds().find((other) => isKind(other, "apiextensions.k8s.io", "CustomResourceDefinition"))
  if (own !== undefined) reconcileAll(world, own, now)
}

const reconcileAll = (world: World, kind: Kind, now: number): void => {
  for (const definition of world.store.list(storage)) {
    const accepted = accept(world, kind, definition, now)
    serve(world, accepted)
    if (ObjectMeta.isDeleting(accepted)) terminate(world, kind, accepted, now)
  }
  for (const name of world.definitions.keys()) {
    if (world.store.get(storage, "", name) !== undefined) continue
    world.definitions.delete(name)
    world.registry.declare(name, [])
  }
}

/** Decides whether a definition may have its names, and writes that into its status. */
const accept = (world: World, kind: Kind, definition: Json.JsonObject, now: number): Json.JsonObject => {
  const others = world.store.list(storage).filter((other) => ObjectMeta.nameOf(other) !== ObjectMeta.nameOf(definition))
  return write(world, kind, definition, establish(definition, others, now), now)
}

const write = (
  world: World,
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
  return world.store.put(storage, managed)
}

/** Serves the kinds of an established definition, compiled anew only where what they are made of has changed. */
const serve = (world: World, definition: Json.JsonObject): void => {
  const name = ObjectMeta.nameOf(definition)
  const made = { spec: definition.spec ?? null, names: Json.at(definition, "status", "acceptedNames") ?? null }
  const served = Conditions.isTrue(definition, "Established")
  const known = world.definitions.get(name)
  if (!served) {
    world.definitions.set(name, { made: null, kinds: [] })
    world.registry.declare(name, [])
    return
  }
  if (known !== undefined && Json.equal(known.made, made)) return
  const kinds = kindsOf(definition, Conversion.of(definition, world.outside))
  world.definitions.set(name, { made, kinds })
  world.registry.declare(name, kinds)
}

/** Deletes the objects of a definition; if none is left, the definition itself. */
const terminate = (world: World, kind: Kind, definition: Json.JsonObject, now: number): void => {
  const [served] = world.definitions.get(ObjectMeta.nameOf(definition))?.kinds ?? []
  const own = served === undefined ? undefined : asStored(served)
  if (own !== undefined) {
    for (const object of world.store.list(own.storage)) {
      if (!ObjectMeta.isDeleting(object)) {
        Delete.remove(world, own, ObjectMeta.namespaceOf(object), ObjectMeta.nameOf(object), {}, internally(world, now))
      }
    }
    if (world.store.list(own.storage).length > 0) {
      const draft = Json.copy(definition)
      Conditions.set(draft, terminating, now)
      write(world, kind, definition, draft, now)
      return
    }
  }
  const others = ObjectMeta.finalizersOf(definition).filter((one) => one !== Metadata.cleanup)
  if (others.length === 0) {
    world.store.remove(storage, "", ObjectMeta.nameOf(definition))
    return
  }
  const draft = Json.copy(definition)
  Metadata.of(draft).finalizers = others
  write(world, kind, definition, draft, now)
}

/** The kind whose objects are deleted in the versions in which they are stored: no webhook is asked. */
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
