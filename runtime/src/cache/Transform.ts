/**
 * What a cache keeps of each object of a kind: a function that every object passes before it is stored, as controller-runtime's
 * `cache.ByObject.Transform`. Reads, indexes, predicates and maps see what it gives.
 */
import * as Effect from "effect/Effect"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { Source } from "./Source.ts"

/** The parts of the objects of a kind that a cache keeps. */
export interface Transform {
  readonly resource: Resource.Any
  /** Gives the kept parts of a wire object, which comes without managedFields. Must keep name, namespace, UID and resourceVersion. */
  readonly apply: (object: KubernetesObject) => KubernetesObject
}

/**
 * Keeps what `apply` gives of each object of a kind: a copy with less in it, or the object itself. One that throws, or that changes
 * what an object is known by, is reported in the log, and the object is kept whole.
 *
 * ```ts
 * Transform.of(Pod, ({ metadata, status }) => ({ metadata, status }))
 * ```
 */
export const of = <A extends KubernetesObject>(
  resource: Resource.Resource<A, never>,
  apply: (object: A) => KubernetesObject
): Transform => ({
  resource,
  // The wire form of a built-in kind is its type; of others the author says what the server stores.
  apply: (object) => apply(object as A)
})

const partial = "PartialObjectMetadata"

/** That an object is there, in some hundred bytes: no label, annotation or field of it. */
export const existence = ({ metadata }: KubernetesObject): KubernetesObject => {
  const { creationTimestamp, name, namespace, resourceVersion, uid } = metadata
  return {
    apiVersion: "meta.k8s.io/v1",
    kind: partial,
    metadata: { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion, creationTimestamp }
  }
}

/** Whether the cache has only the {@link existence} of an object. */
export const isPartial = (resource: Resource.Any, object: KubernetesObject): boolean =>
  object.kind === partial && resource.projection === "full"

/** The source, with what `apply` gives of each object. */
export const through = (source: Source, apply: Transform["apply"]): Source => ({
  page: (options) => Effect.map(source.page(options), (page) => ({ ...page, items: page.items.map(apply) })),
  watch: (options) =>
    Effect.map(source.watch(options), ({ next }) => ({
      next: Effect.map(next, (events) =>
        events.map((event) => ("object" in event ? { ...event, object: apply(event.object) } : event))
      )
    }))
})
