/** A reconciled object, or a child, that is too large for the cache. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Budget from "../cache/Budget.ts"
import * as Transform from "../cache/Transform.ts"
import * as WriteEffect from "../cache/WriteEffect.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"

/** The object is too large. The runtime does not reconcile it before it is smaller or is deleted. It corrects a child once for each change. */
export class TooLarge extends Data.TaggedError("TooLarge")<{ readonly message: string }> {}

/** The error about a reconciled object of which the cache has this part. */
export const of = ({ kind }: Resource.Any, { metadata }: KubernetesObject, cached: KubernetesObject): TooLarge => {
  const bytes = Transform.crowdedBytes(cached)
  return new TooLarge({
    message:
      bytes === undefined
        ? `${kind} ${keyString(metadata)} is too large to be reconciled: it takes more than ${Budget.mostBytes} bytes in the cache (shorten its values, labels and annotations)`
        : `${kind} ${keyString(metadata)} is too large to be reconciled: it takes ${bytes} bytes, the cache is full, and namespace ${metadata.namespace} takes most of it (delete some of its objects, or raise --cache-memory)`
  })
}

/**
 * Returns a child, or fails if the child is too large. Only the answers of the API server have managedFields, so a child from the cache
 * costs nothing.
 */
export const checked = <A extends KubernetesObject>({ kind }: Resource.Any, child: A): Effect.Effect<A, TooLarge> =>
  child.metadata.managedFields === undefined || !Budget.exceeds(WriteEffect.strip(child), Budget.mostBytes)
    ? Effect.succeed(child)
    : Effect.fail(
        new TooLarge({
          message: `${kind} ${keyString(child.metadata)} is too large for a child: it takes more than ${Budget.mostBytes} bytes in the cache, so each reconcile would read it from the API server (shorten its values, labels and annotations)`
        })
      )
