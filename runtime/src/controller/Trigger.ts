/**
 * The triggers of a controller: changes of other kinds that it declares, and the record of what fired.
 */
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Definition } from "../cache/Index.ts"
import * as Selection from "../cache/Selection.ts"
import type { Change } from "../cache/Store.ts"
import { controllerOf, type KubernetesObject, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import type { OwnedKind } from "./OwnedKind.ts"
import type { Predicate } from "./Predicate.ts"

/**
 * The keys of the objects to reconcile, directly or from an Effect that may read the cache or the server. The Effects of a controller run
 * one after the other. If more than 1,000 changes wait for them, the controller drops those changes and reconciles all its objects.
 */
export type Keys<R> = Iterable<ObjectKey> | Effect.Effect<Iterable<ObjectKey>, never, R>

/**
 * A watched kind and the objects that its changes trigger.
 *
 * The controller calls `map` with the new state and, on an update, with the previous one. So an object that moved from one owner to
 * another triggers both.
 */
export interface Trigger<out R = never> {
  /** `owned`: a change triggers the owner. `watch`: a change triggers the objects that `map` returns. */
  readonly relation: "owned" | "watch"
  /** The watched kind. */
  readonly resource: Resource.Any
  /** Only these objects; absent for all objects. */
  readonly select: Selection.Selection | undefined
  /** The indexes for `Cache.list` with `index`, besides namespace and owner. */
  readonly indexes: ReadonlyArray<Definition>
  /** The changes that trigger; absent for all changes. */
  readonly predicate: Predicate | undefined
  /** Whether the controller runs without the kind while the API server does not serve it. */
  readonly optional: boolean
  /** How long the reconciles of a change wait, in milliseconds; 0 for none. */
  readonly delayMillis: number
  /** The objects that a change triggers. */
  readonly map: (object: KubernetesObject) => Keys<R>
}

/** The parts of a trigger of a watched kind: see {@link Trigger}. */
export interface Options<A, R> {
  readonly map: (object: A) => Keys<R>
  readonly predicate?: Predicate | undefined
  /** The cache follows only these objects, such as `{ namespaces: ["kube-system"], labels: "app=shop" }`. Default: all objects. */
  readonly select?: Selection.Selection | undefined
  readonly indexes?: ReadonlyArray<Definition> | undefined
  /**
   * Whether the controller runs without the kind while the API server does not serve it. Its cache is empty then. When the API server
   * serves the kind, the controller follows it. Default false: the controller does not start before.
   */
  readonly optional?: boolean | undefined
  /**
   * How long a reconcile waits after the first of several changes, so that one reconcile covers all of them. Any other trigger of the
   * object ends the wait. Default: none.
   */
  readonly delay?: Duration.Input | undefined
}

/**
 * Why an object is in the queue: a span link, a log field and a line of `why`. A key with `given_up` waits for one of the others.
 * `served`: the API server serves a kind that the object waited for.
 */
export interface TriggerEvent {
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
    | "served"
  /** The object that changed, if one did. */
  readonly source?:
    | {
        readonly kind: string
        readonly key: string
        readonly uid?: string | undefined
        readonly resourceVersion: string
      }
    | undefined
  /** When the trigger fired, in milliseconds of the Clock. */
  readonly at: number
  /** The delay that a `requeue_after` requested, in ms. Another trigger may have ended it. */
  readonly afterMillis?: number | undefined
  /**
   * The W3C `traceparent` of the cause, if known: of the write that set it in an annotation of the source, or of the attempt that
   * requested this one.
   */
  readonly traceparent?: string | undefined
}

const verbs = { added: "added", updated: "modified", deleted: "deleted" } as const

/**
 * The name of a change, such as `watch.modified`.
 *
 * @internal
 */
export const kindOf = (relation: Trigger["relation"], change: Change): TriggerEvent["kind"] =>
  change.initial ? "startup" : `${relation}.${verbs[change.type]}`

/**
 * The record of a change.
 *
 * @param annotation the annotation of the source with the traceparent of its change; absent to ignore it
 *
 * @internal
 */
export const fired = (
  relation: Trigger["relation"],
  resource: Resource.Any,
  change: Change,
  annotation?: string | undefined
): TriggerEvent => {
  const trigger: TriggerEvent = {
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
 * The `traceparent` that came with a change. An unchanged one belongs to an earlier change, and the changes of the first list are old.
 */
const brought = ({ initial, object, previous, type }: Change, annotation: string): string | undefined => {
  const value = object.metadata.annotations?.[annotation]
  if (value === undefined || initial || type === "deleted") return undefined
  if (type === "updated" && (previous === undefined || previous.metadata.annotations?.[annotation] === value)) {
    return undefined
  }
  // Any user may write an annotation.
  return TraceParent.parse(value) === undefined ? undefined : value
}

/**
 * Triggers the objects that `map` returns for a change of a kind.
 *
 * `map` is not called for an object that does not match its schema. With `metadataOnly`, the cache holds only metadata, and `map` gets
 * only metadata.
 *
 * Needs the permissions to list and watch `resource`.
 *
 * @example
 * ```ts
 * const trigger = Trigger.on(BuiltIn.ConfigMap, {
 *   map: ({ metadata: { name, namespace } }) =>
 *     Effect.map(Cache.list(Site, { namespace }), ({ items }) =>
 *       items.filter(({ spec }) => spec.host === name).map(KubernetesObject.keyOf)
 *     )
 * })
 * ```
 */
export const on = <A extends KubernetesObject, R = never>(
  resource: Resource.Resource<A, never>,
  options: Options<A, R>
): Trigger<R> => {
  Selection.check("a trigger", resource, options.select)
  return {
    relation: "watch",
    resource,
    select: options.select,
    indexes: options.indexes ?? [],
    predicate: options.predicate,
    optional: options.optional ?? false,
    delayMillis: Duration.toMillis(options.delay ?? 0),
    map: (wire) => {
      const decoded = resource.decode(wire)
      return Result.isSuccess(decoded) ? options.map(decoded.success) : []
    }
  }
}

/**
 * Triggers by changes of metadata; the cache holds only metadata. Needs the permissions to list and watch the kind.
 *
 * @example
 * ```ts
 * const trigger = Trigger.onMetadata(BuiltIn.Namespace, {
 *   map: ({ metadata }) =>
 *     Effect.map(Cache.list(Site, { namespace: metadata.name }), ({ items }) => items.map(KubernetesObject.keyOf))
 * })
 * ```
 */
export const onMetadata = <R = never>(resource: Resource.Any, options: Options<KubernetesObject, R>): Trigger<R> =>
  on(Resource.metadataOnly(resource), options)

/**
 * The key of the object of a kind that controls a child; `undefined` if none does. The version is not compared, so that children keep
 * their owner over an upgrade.
 *
 * @example
 * ```ts
 * const child = yield* Owned.apply(site, BuiltIn.ConfigMap, { metadata: { name: "shop-page" } })
 * Trigger.ownerOf(Site, child) // => { namespace: "default", name: "shop" }
 * ```
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

/**
 * Changes of the children of `owner`: those that have one, see {@link ownerOf}.
 *
 * @internal
 */
export const owned = (owner: Resource.Any, { optional = false, predicate, resource, select }: OwnedKind): Trigger => ({
  relation: "owned",
  resource,
  select,
  indexes: [],
  predicate,
  optional,
  delayMillis: 0,
  map: (object) => {
    const key = ownerOf(owner, object)
    return key === undefined ? [] : [key]
  }
})
