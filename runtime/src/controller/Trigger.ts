/**
 * What makes a controller look at an object: changes of other kinds that it declares, and the record of what fired.
 */
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Definition } from "../cache/Index.ts"
import type { Change } from "../cache/Store.ts"
import { controllerOf, type KubernetesObject, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import type { Predicate } from "./Predicate.ts"

/**
 * Keys of objects to reconcile: at once, or by an effect that may read the cache or the server. The effects of a controller run one
 * after the other. If more than 1,000 changes wait for them, the controller drops those changes and reconciles all its objects.
 */
export type Keys<R> = Iterable<ObjectKey> | Effect.Effect<Iterable<ObjectKey>, never, R>

/**
 * A watched kind, and whom its changes concern.
 *
 * `map` is called for the new state and, on an update, for the previous one as well, so that an object that moved from one
 * owner to another wakes both.
 */
export interface Trigger<out R = never> {
  /** `owned`: its changes concern the object that controls it. `watch`: those that `map` names. */
  readonly relation: "owned" | "watch"
  /** The kind that is watched. */
  readonly resource: Resource.Any
  /** Only objects with these labels are seen; all where there is none. */
  readonly labelSelector: string | undefined
  /** By what a reconcile looks the kind up in the cache (`Cache.list` with `index`), besides namespace and owner. */
  readonly indexes: ReadonlyArray<Definition>
  /** Which of its changes count; all where there is none. */
  readonly predicate: Predicate | undefined
  /** Whom a change concerns. */
  readonly map: (object: KubernetesObject) => Keys<R>
}

/** The parts of a trigger of a watched kind: see {@link Trigger}. */
export interface Options<A, R> {
  readonly map: (object: A) => Keys<R>
  readonly predicate?: Predicate | undefined
  readonly labelSelector?: string | undefined
  readonly indexes?: ReadonlyArray<Definition> | undefined
}

/**
 * Why an object is in the queue. Becomes a span link, a log field and a line of `why`. What was `given_up` waits there for one
 * of the others.
 */
export interface Fired {
  /** Such as `watch.modified`, `owned.deleted`, `startup`, `retry`. */
  readonly kind:
    | `${"watch" | "owned"}.${"added" | "modified" | "deleted"}`
    | "startup"
    | "retry"
    | "requeue"
    | "requeue_after"
    | "resync"
    | "unreachable"
    | "given_up"
  /** The object that changed, if one did. */
  readonly source?:
    | {
        readonly kind: string
        readonly key: string
        readonly uid?: string | undefined
        readonly resourceVersion: string
      }
    | undefined
  /** When it happened, in milliseconds of the Clock. */
  readonly at: number
  /**
   * W3C's `traceparent` of what made it happen, where that is known: of the write that put it into an annotation of the source,
   * or of the attempt that asked for this one.
   */
  readonly traceparent?: string | undefined
}

const verbs = { added: "added", updated: "modified", deleted: "deleted" } as const

/** What a change is called. */
export const kindOf = (relation: Trigger["relation"], change: Change): Fired["kind"] =>
  change.initial ? "startup" : `${relation}.${verbs[change.type]}`

/**
 * The record of a change.
 *
 * @param annotation the one in which a source says what made it change, where that is to be read
 */
export const fired = (
  relation: Trigger["relation"],
  resource: Resource.Any,
  change: Change,
  annotation?: string | undefined
): Fired => {
  const trigger: Fired = {
    kind: kindOf(relation, change),
    source: {
      kind: resource.kind,
      key: keyString(change.object.metadata),
      uid: change.object.metadata.uid,
      resourceVersion: change.object.metadata.resourceVersion
    },
    at: change.receivedAt
  }
  const traceparent = annotation === undefined ? undefined : brought(change, annotation)
  return traceparent === undefined ? trigger : { ...trigger, traceparent }
}

/**
 * The `traceparent` that came with a change. One that stands there since before belongs to an earlier change, and what the first
 * list brings has happened some time ago.
 */
const brought = ({ initial, object, previous, type }: Change, annotation: string): string | undefined => {
  const value = object.metadata.annotations?.[annotation]
  if (value === undefined || initial || type === "deleted") return undefined
  if (type === "updated" && (previous === undefined || previous.metadata.annotations?.[annotation] === value)) {
    return undefined
  }
  // Anybody can write an annotation.
  return TraceParent.parse(value) === undefined ? undefined : value
}

/**
 * Changes of a kind, mapped to the objects they concern.
 *
 * An object of the kind that does not match its schema maps to nothing. With `metadataOnly`, only metadata is fetched, held
 * and given to `map`.
 *
 * Needs the right to list and watch `resource`.
 */
export const on = <A extends KubernetesObject, R = never>(
  resource: Resource.Resource<A, never>,
  options: Options<A, R>
): Trigger<R> => ({
  relation: "watch",
  resource,
  labelSelector: options.labelSelector,
  indexes: options.indexes ?? [],
  predicate: options.predicate,
  map: (wire) => {
    const decoded = resource.decode(wire)
    return Either.isRight(decoded) ? options.map(decoded.right) : []
  }
})

/** Changes of a kind's metadata, for which nothing but metadata is fetched and held. Needs the right to list and watch it. */
export const onMetadata = <R = never>(resource: Resource.Any, options: Options<KubernetesObject, R>): Trigger<R> =>
  on(Resource.metadataOnly(resource), options)

/**
 * The key of the object of a kind that controls a child; `undefined` if none does. Group and kind are compared. The version is not,
 * so that children made before an upgrade still have their owner.
 */
export const ownerOf = (owner: Resource.Any, child: KubernetesObject): ObjectKey | undefined => {
  const reference = controllerOf(child)
  if (reference === undefined || reference.kind !== owner.kind) return undefined
  const slash = reference.apiVersion.indexOf("/")
  if (reference.apiVersion.slice(0, Math.max(slash, 0)) !== owner.group) return undefined
  return owner.namespaced && child.metadata.namespace !== undefined
    ? { namespace: child.metadata.namespace, name: reference.name }
    : { name: reference.name }
}

/** Changes of the children of `owner`: those that have one, see {@link ownerOf}. */
export const owned = (owner: Resource.Any, child: Resource.Any): Trigger => ({
  relation: "owned",
  resource: child,
  labelSelector: undefined,
  indexes: [],
  predicate: undefined,
  map: (object) => {
    const key = ownerOf(owner, object)
    return key === undefined ? [] : [key]
  }
})
