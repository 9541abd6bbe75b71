/**
 * Whole objects of kinds of which the cache has only the metadata. Each object that a controller asks for is read once per version, however
 * many reconciles ask for it. An object that no reconcile asks for costs nothing.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import type { ApiError } from "../client/ApiError.ts"
import type * as Client from "../client/Client.ts"
import { Exchanges } from "../client/Exchange.ts"
import type { KubernetesObject, ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"

/** Gets the wire object and returns the part to keep, with its metadata. */
export type Keep = (object: KubernetesObject) => KubernetesObject

/** The kept part; undefined if the object is gone. */
type Answer = Effect.Effect<KubernetesObject | undefined, ApiError>

/** Reads objects. */
export interface Whole {
  /**
   * The part that `keep` returns for an object, or for a later version of it. It is kept as long as the cache has this version.
   *
   * @param cached the metadata in the cache
   */
  readonly of: (resource: Resource.Any, key: ObjectKey, cached: KubernetesObject, keep: Keep) => Answer
  /** The kind with metadata only: one value for each kind, by which the cache keeps its stores. */
  readonly metadataOf: (resource: Resource.Any) => Resource.Any
}

/** The reads at a time. A response may have 3 MB. */
const mostReads = 4

/** The reader that waits for another one takes its place. */
const again = Symbol("again")

/** Reads through `client`. */
export const make = (client: Client.Client["Service"]): Whole => {
  // The store replaces the object of a key with each version.
  const known = new WeakMap<KubernetesObject, Map<Keep, Answer>>()
  const turns = Semaphore.makeUnsafe(mostReads)

  const of: Whole["of"] = (resource, key, cached, keep) =>
    Effect.suspend(() => {
      const parts = known.get(cached) ?? new Map<Keep, Answer>()
      const present = parts.get(keep)
      if (present !== undefined) return present
      known.set(cached, parts)
      const answer = Deferred.makeUnsafe<KubernetesObject | undefined | typeof again, ApiError>()
      const others = Effect.flatMap(Deferred.await(answer), (found) =>
        found === again ? of(resource, key, cached, keep) : Effect.succeed(found)
      )
      parts.set(keep, others)
      const read: Answer = client.get(Resource.make<KubernetesObject>({ ...resource, decode: undefined }), key).pipe(
        Effect.catchTag("InvalidObject", Effect.die),
        Effect.map(keep),
        Effect.catchTag("NotFound", () => Effect.succeed(undefined)),
        // The request belongs to no attempt: the others that use the answer send none.
        Effect.provideService(Exchanges, undefined),
        turns.withPermit
      )
      return Effect.onExit(read, (exit) => {
        if (Exit.isSuccess(exit) && exit.value !== undefined) parts.set(keep, Effect.succeed(exit.value))
        else parts.delete(keep)
        return Deferred.done(answer, Exit.hasInterrupts(exit) ? Exit.succeed(again) : exit)
      })
    })
  const kinds = new WeakMap<Resource.Any, Resource.Any>()
  return {
    of,
    metadataOf: (resource) => {
      const kind = kinds.get(resource) ?? Resource.metadataOnly(resource)
      kinds.set(resource, kind)
      return kind
    }
  }
}
