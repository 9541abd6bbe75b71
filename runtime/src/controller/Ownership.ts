/**
 * Decides whether an owner controls a child, may adopt it, or must not touch it.
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

/** The relation of an owner to a child. */
export type Ownership = "ours" | "adoptable" | "orphan" | "none"

/** An object that the owner does not control has the name of a child. */
export class NotOwned extends Data.TaggedError("NotOwned")<{
  /** The kind of the child. */
  readonly kind: string
  /** The child, as `namespace/name`. */
  readonly key: string
  /** The controller of that object, such as `Deployment shop`; absent if it has none. */
  readonly holder: string | undefined
  /** The annotation with which the owner may adopt the object, if any. */
  readonly adoptAnnotation: string | undefined
  /** True the first time, when an Event is due. */
  readonly news: boolean
}> {
  override get message(): string {
    const { adoptAnnotation, holder, key, kind } = this
    const who = holder === undefined ? "has no controller" : `is controlled by ${holder}`
    const isAdoptable = holder === undefined && adoptAnnotation !== undefined
    const remedy = isAdoptable ? `annotate it with ${adoptAnnotation}=true` : "use another name"
    return `${kind} ${key} already exists and ${who} (delete it, or ${remedy})`
  }
}

/**
 * The reconciled object is gone or is being deleted, and the cache does not have the deletion yet. The reconcile was about to adopt a
 * child. The attempt ends as `Vanished`.
 */
export class OwnerGone extends Data.TaggedError("OwnerGone")<{ readonly kind: string; readonly key: string }> {
  override get message(): string {
    return `${this.kind} ${this.key} was just deleted or created again`
  }
}

/** The decision about an object that an owner cannot own. */
const wayOut = "create it with Client.apply and a label, watch that label with Trigger.on, delete it in a finalizer"

/** Why an owner cannot own a child with this key, and what to do instead. Kubernetes looks for owners in the namespace of the child. */
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
 * Whether the owner controls a child, or may adopt it. It may adopt a child without a controller that carries the annotation
 * (`adoptable`). It may also adopt a child that looks like its own (`orphan`, see {@link wasOurs}): one without a controller, as after
 * a deletion with `--cascade=orphan`, or one whose controller is an earlier object with the owner's name.
 */
export const of = (
  owner: KubernetesObject,
  resource: Resource.Any,
  child: KubernetesObject,
  options: { readonly adoptAnnotation?: string | undefined }
): Ownership => {
  const holder = controllerOf(child)
  if (holder?.uid === owner.metadata.uid) return "ours"
  const annotations = child.metadata.annotations ?? {}
  const isApplied = annotations[intentAnnotation] !== undefined
  const isGivenAway = options.adoptAnnotation !== undefined && annotations[options.adoptAnnotation] === "true"
  if (holder === undefined && isGivenAway) return "adoptable"
  return isApplied && (holder === undefined || isNamesake(owner, resource, holder)) ? "orphan" : "none"
}

/**
 * Reads from the API server whether an orphan was applied under this field manager. A copy of a child has the same annotations, but
 * the server records another manager for them.
 */
export const wasOurs = (kind: Resource.Any, child: KubernetesObject, fieldManager: string) =>
  Effect.map(Client.get(Resource.metadataOnly(kind), keyOf(child)), ({ metadata }) =>
    isAppliedBy(metadata, fieldManager)
  )

/** Whether the server records that this field manager applied the object as a child. */
export const isAppliedBy = ({ managedFields = [] }: KubernetesObject["metadata"], fieldManager: string): boolean =>
  FieldOwner.owners(managedFields, `metadata.annotations.${intentAnnotation}`).some(
    ({ manager, operation }) => manager === fieldManager && operation === "Apply"
  )

const isNamesake = (owner: KubernetesObject, resource: Resource.Any, holder: OwnerReference): boolean =>
  holder.kind === resource.kind &&
  holder.name === owner.metadata.name &&
  holder.apiVersion.split("/").slice(0, -1).join("/") === resource.group

/**
 * Reads the reconciled object from the API server, because the cache may be behind. Fails with {@link OwnerGone} if it was deleted.
 * The memory keeps that, and no attempt follows until the cache has the deletion.
 */
export const live = (owner: KubernetesObject) =>
  Effect.gen(function* () {
    const { memory, resource } = yield* Reconciliation
    const found = yield* Client.get(Resource.metadataOnly(resource), keyOf(owner)).pipe(
      // A 404 for the path does not mean that the object is gone.
      Effect.catchTag("NotFound", (error) => (isNotFound(error) ? Effect.succeed(undefined) : Effect.fail(error)))
    )
    if (found?.metadata.uid === owner.metadata.uid) return found
    memory.gone.add(owner.metadata.uid)
    return yield* goneOf(owner, resource)
  })

/** Fails with {@link OwnerGone} if the owner was deleted or is being deleted. */
export const confirm = (owner: KubernetesObject, resource: Resource.Any) =>
  Effect.flatMap(live(owner), ({ metadata }) =>
    metadata.deletionTimestamp === undefined ? Effect.void : goneOf(owner, resource)
  )

const goneOf = (owner: KubernetesObject, { kind }: Resource.Any): OwnerGone =>
  new OwnerGone({ kind, key: keyString(owner.metadata) })

/** Fails with {@link NotOwned} for a child that the owner does not control, and records an Event the first time. */
export const refuse = (
  owner: KubernetesObject,
  kind: Resource.Any,
  child: KubernetesObject,
  { adoptAnnotation, news }: { readonly adoptAnnotation?: string | undefined; readonly news: boolean }
) =>
  Effect.withFiber<never, NotOwned, EventRecorder.EventRecorder>((fiber) => {
    Recording.current(fiber)?.attribute(Attribute.dependentResult, "left alone")
    const holder = controllerOf(child)
    const error = new NotOwned({
      kind: kind.kind,
      key: keyString(child.metadata),
      holder: holder === undefined ? undefined : `${holder.kind} ${holder.name}`,
      adoptAnnotation,
      news
    })
    const recorded = news
      ? EventRecorder.record({ regarding: owner, type: "Warning", reason: "NameConflict", note: error.message })
      : Effect.void
    return Effect.andThen(recorded, Effect.fail(error))
  })
