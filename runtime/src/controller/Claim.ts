/**
 * Whose a child is: ours, ours for the taking, or somebody else's, which is left alone.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { isNotFound } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import {
  controllerOf,
  type KubernetesObject,
  keyOf,
  keyString,
  type ObjectKey,
  type OwnerReference
} from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as FieldOwner from "./FieldOwner.ts"
import { intentAnnotation } from "./Intent.ts"
import { Reconciliation } from "./Reconciliation.ts"

/** What an owner may do with a child. */
export type Claim = "ours" | "adoptable" | "orphan" | "none"

/** The place of a child is taken by an object that the owner does not control. */
export class NotOwned extends Data.TaggedError("NotOwned")<{
  /** The kind of the child. */
  readonly kind: string
  /** The child, as `namespace/name`. */
  readonly key: string
  /** Such as `Deployment shop`, or nothing where no controller holds it. */
  readonly holder: string | undefined
  /** True when this was not known before: the time to tell somebody. */
  readonly news: boolean
}> {
  override get message(): string {
    return `${this.kind} ${this.key} exists and is ${
      this.holder === undefined ? "not controlled by any owner" : `controlled by ${this.holder}`
    }; it is left alone until it is removed or given away`
  }
}

/**
 * The object that is reconciled was deleted, or is being deleted while a child was about to be adopted for it, and the cache has
 * not seen that yet. The attempt ends as `Vanished`.
 */
export class OwnerGone extends Data.TaggedError("OwnerGone")<{ readonly kind: string; readonly key: string }> {
  override get message(): string {
    return `${this.kind} ${this.key} was just deleted or created again`
  }
}

/** How to keep an object that an owner cannot own. */
const wayOut = "create it with Client.apply and a label, watch that label with Trigger.on, delete it in a finalizer"

/** Why an owner cannot own a child of this key, and what to do instead: Kubernetes looks for owners in the child's namespace. */
export const mistakeIn = (
  owner: KubernetesObject,
  resource: Resource.Any,
  kind: Resource.Any,
  key: ObjectKey
): string | undefined => {
  const { namespace } = owner.metadata
  if (kind.namespaced && key.namespace === undefined) {
    return `${kind.kind} ${key.name} has no namespace: required (set metadata.namespace, as its owner is cluster-scoped)`
  }
  if (!resource.namespaced || key.namespace === namespace) return undefined
  const place = kind.namespaced ? "an object in another namespace" : "a cluster-scoped object"
  const child = `${kind.kind} ${keyString(key)}`
  return `${resource.kind} ${keyString(owner.metadata)} cannot own ${place}: ${child} (make ${resource.kind} cluster-scoped, or ${wayOut})`
}

/**
 * Whether a child is ours, or may become ours. It may if no controller holds it and its owner gives it away (`adoptable`). It may
 * also where it looks like ours (`orphan`, see {@link wasOurs}): no controller holds it, as after a deletion of its owner that
 * orphaned it, or its controller is an earlier object of our owner's name, which the garbage collector has not seen yet.
 */
export const of = (
  owner: KubernetesObject,
  resource: Resource.Any,
  child: KubernetesObject,
  options: { readonly adoptAnnotation?: string | undefined }
): Claim => {
  const holder = controllerOf(child)
  if (holder?.uid === owner.metadata.uid) return "ours"
  const annotations = child.metadata.annotations ?? {}
  const isApplied = annotations[intentAnnotation] !== undefined
  const isGivenAway = options.adoptAnnotation !== undefined && annotations[options.adoptAnnotation] === "true"
  if (holder === undefined && isGivenAway) return "adoptable"
  return isApplied && (holder === undefined || isNamesake(owner, resource, holder)) ? "orphan" : "none"
}

/**
 * Reads from the API server whether an orphan was applied under this field manager. A copy of a child has the same annotations,
 * and so has a child of another program, but the server has noted another manager for them.
 */
export const wasOurs = (kind: Resource.Any, child: KubernetesObject, fieldManager: string) =>
  Effect.map(Client.get(Resource.metadataOnly(kind), keyOf(child)), ({ metadata }) =>
    FieldOwner.owners(metadata.managedFields ?? [], `metadata.annotations.${intentAnnotation}`).some(
      ({ manager, operation }) => manager === fieldManager && operation === "Apply"
    )
  )

const isNamesake = (owner: KubernetesObject, resource: Resource.Any, holder: OwnerReference): boolean =>
  holder.kind === resource.kind &&
  holder.name === owner.metadata.name &&
  holder.apiVersion.split("/").slice(0, -1).join("/") === resource.group

/**
 * Reads the object that is reconciled from the API server, as the cache may be behind. Fails with {@link OwnerGone} if it was
 * deleted, which is kept in the memory: no attempt follows until the cache has seen the deletion.
 */
export const live = (owner: KubernetesObject) =>
  Effect.gen(function* () {
    const { memory, resource } = yield* Reconciliation
    const found = yield* Client.get(Resource.metadataOnly(resource), keyOf(owner)).pipe(
      // A path that is not served says nothing about the object.
      Effect.catchTag("NotFound", (error) => (isNotFound(error) ? Effect.succeed(undefined) : Effect.fail(error)))
    )
    if (found?.metadata.uid === owner.metadata.uid) return found
    memory.gone(owner.metadata.uid)
    return yield* goneOf(owner, resource)
  })

/** Fails with {@link OwnerGone} if the owner was deleted or is being deleted. */
export const confirm = (owner: KubernetesObject, resource: Resource.Any) =>
  Effect.flatMap(live(owner), ({ metadata }) =>
    metadata.deletionTimestamp === undefined ? Effect.void : goneOf(owner, resource)
  )

const goneOf = (owner: KubernetesObject, { kind }: Resource.Any): OwnerGone =>
  new OwnerGone({ kind, key: keyString(owner.metadata) })

/** Leaves a child alone that is not ours: {@link NotOwned}, and an Event where that is news. */
export const refuse = (owner: KubernetesObject, kind: Resource.Any, child: KubernetesObject, news: boolean) =>
  Effect.withFiberRuntime<never, NotOwned, EventRecorder.EventRecorder>((fiber) => {
    Recording.current(fiber)?.attribute(Attribute.dependentResult, "left alone")
    const holder = controllerOf(child)
    const error = new NotOwned({
      kind: kind.kind,
      key: keyString(child.metadata),
      holder: holder === undefined ? undefined : `${holder.kind} ${holder.name}`,
      news
    })
    const told = news
      ? EventRecorder.record({ regarding: owner, type: "Warning", reason: "NameConflict", note: error.message })
      : Effect.void
    return Effect.zipRight(told, Effect.fail(error))
  })
