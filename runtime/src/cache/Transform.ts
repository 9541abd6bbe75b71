/**
 * A function that every object of a kind passes before the cache stores it, as controller-runtime's `cache.ByObject.Transform`.
 * Reads, indexes, predicates and maps get its result.
 */
import * as Effect from "effect/Effect"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { ListerWatcher } from "./ListerWatcher.ts"

/** The transform of a kind. */
export interface Transform {
  readonly resource: Resource.Any
  /** Two transforms of a kind with one name keep the same parts. Default: those with the same `apply`. */
  readonly name?: string | undefined
  /** Gets a wire object without managedFields and returns what to store. Must keep name, namespace, UID and resourceVersion. */
  readonly apply: (object: KubernetesObject) => KubernetesObject
  /**
   * The bytes that an object may take after `apply`, at most and by default 512 KiB. The cache keeps name and version of a larger object.
   * Set less for objects of other users, who choose their size.
   */
  readonly maxBytes?: number | undefined
}

/**
 * Stores the result of `apply` in place of each object of a kind: a smaller copy, or the object itself. If `apply` throws, or changes
 * name, namespace, UID or resourceVersion, the informer logs the error and stores the whole object.
 *
 * ```ts
 * Transform.of(Pod, ({ metadata, status }) => ({ metadata, status }))
 * ```
 *
 * @example
 * ```ts
 * Controller.make("names", {
 *   for: BuiltIn.Secret,
 *   transforms: [Transform.of(BuiltIn.Secret, ({ data: _, ...rest }) => rest)],
 *   reconcile: () => Effect.succeed(Result.done)
 * })
 * ```
 */
export const of = <A extends KubernetesObject>(
  resource: Resource.Resource<A, never>,
  apply: (object: A) => KubernetesObject,
  options?: Pick<Transform, "maxBytes">
): Transform => ({
  ...options,
  resource,
  // The wire form of a built-in kind is its type. For other kinds the author declares the stored form.
  apply: (object) => apply(object as A)
})

/**
 * The name of a transform, or a number for one without a name.
 *
 * @internal
 */
export const names = (): ((transform: Transform) => string) => {
  const unnamed = new Map<Transform["apply"], number>()
  return ({ apply, name }) => {
    const number = unnamed.get(apply) ?? unnamed.size
    if (name === undefined) unnamed.set(apply, number)
    return name ?? `${number}`
  }
}

/**
 * The kind of objects with only metadata.
 *
 * @internal
 */
export const partial = "PartialObjectMetadata"

/**
 * The identity of an object in about a hundred bytes, without labels, annotations and fields.
 *
 * @example
 * ```ts
 * const transform = Transform.of(BuiltIn.Pod, Transform.existence)
 * ```
 */
export const existence = ({ metadata }: KubernetesObject): KubernetesObject => {
  const { creationTimestamp, name, namespace, resourceVersion, uid } = metadata
  return {
    apiVersion: "meta.k8s.io/v1",
    kind: partial,
    metadata: { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion, creationTimestamp }
  }
}

/** The most bytes of the metadata of an object that did not fit. */
const mostMetadata = 1024

/**
 * The {@link existence} of an object that did not fit into the cache, with its labels and owners if they are short: their triggers need them.
 *
 * @param bytes what the object would take
 * @internal
 */
export const crowded = (object: KubernetesObject, bytes: number): KubernetesObject => {
  const { labels, ownerReferences } = object.metadata
  const known = { ...(labels && { labels }), ...(ownerReferences && { ownerReferences }) }
  const { metadata, ...rest } = existence(object)
  const isShort = JSON.stringify(known).length <= mostMetadata
  const part: Crowded = { ...rest, metadata: isShort ? { ...metadata, ...known } : metadata, crowdedBytes: bytes }
  return part
}

interface Crowded extends KubernetesObject {
  readonly crowdedBytes: number
}

/**
 * The bytes of an object that did not fit into the cache; undefined for any other object.
 *
 * @internal
 */
export const crowdedBytes = (object: KubernetesObject): number | undefined =>
  object.kind === partial ? (object as Partial<Crowded>).crowdedBytes : undefined

/**
 * Whether the cache has only the {@link existence} of an object.
 *
 * @internal
 */
export const isPartial = (resource: Resource.Any, object: KubernetesObject): boolean =>
  object.kind === partial && resource.projection === "full"

/**
 * The source with `apply` called for each object, with the characters that the server sent for it or for its page.
 *
 * @internal
 */
export const through = (
  source: ListerWatcher,
  apply: (object: KubernetesObject, length: number | undefined) => KubernetesObject
): ListerWatcher => ({
  page: (options) =>
    Effect.map(source.page(options), (page) => ({
      ...page,
      items: page.items.map((object) => apply(object, page.length))
    })),
  watch: (options) =>
    Effect.map(source.watch(options), ({ next }) => ({
      next: Effect.map(next, (events) =>
        events.map((event) => {
          if (!("object" in event)) return event
          const object = apply(event.object, event.length)
          return object === event.object ? event : { ...event, object }
        })
      )
    }))
})
