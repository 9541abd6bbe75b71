/**
 * Runs a clean-up before an object is removed.
 *
 * The runtime adds its entry to `metadata.finalizers` before the first reconcile. When the object is being deleted, or the controller no
 * longer selects it, `cleanup` runs, and
 * the retry schedule repeats it until it succeeds. Then the runtime removes the entry. A clean-up that waits, for example for a Job,
 * does not occupy a worker: it succeeds with `Result.requeueAfter(…)` or `Result.requeue`. It runs again after that delay or at any
 * trigger of the object, and the entry stays until `cleanup` succeeds with another result.
 *
 * After `cleanup` has finished, it does not run again, even if the removal of the entry is retried. The runtime never changes entries of
 * other managers.
 *
 * `cleanup` must be idempotent: after a crash before the entry is removed, it runs again.
 *
 * Finalizers need the permission to patch the kind.
 */
import * as Effect from "effect/Effect"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import { type KubernetesObject, keyOf } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"

/** A clean-up and its entry of `metadata.finalizers`: a domain, a slash and a word. */
export interface Finalizer<A, E, R> {
  /** The entry: `example.com/finalizer`. Objects carry it, so a later change blocks the removal of older objects. */
  readonly name: string
  /** Finished if it succeeds with nothing or `Result.done`. A result for another run means that the clean-up still waits. */
  readonly cleanup: (object: A) => Effect.Effect<Nothing | Result.Result, E, R>
  /**
   * The clean-up of an object that does not match its schema, in its wire form. Default: the object stays, with the reason in its
   * conditions, until it matches or a user removes the entry.
   */
  readonly cleanupInvalid?: ((object: KubernetesObject) => Effect.Effect<Nothing | Result.Result, E, R>) | undefined
  /**
   * The treatment of an object with the entry that the controller no longer selects (`select`, `when`). With `CleanUp` (default), `cleanup`
   * runs as for a deletion, and then the runtime removes the entry. With `Retain` it only removes the entry.
   */
  readonly whenUnselected?: "CleanUp" | "Retain" | undefined
}

/** The result of most clean-ups. */
type Nothing = Effect.Success<typeof Effect.void>

/** The errors of adding or removing a finalizer. */
type Failure = ApiError | Resource.InvalidObject

/**
 * Adds the entry unless it exists. The resourceVersion guards against an edit of the list by another manager.
 *
 * @internal
 */
export const add = (
  object: KubernetesObject,
  name: string
): Effect.Effect<void, Failure, Reconciliation | Client.Client> => {
  const finalizers = object.metadata.finalizers ?? []
  if (finalizers.includes(name)) return Effect.void
  const { resourceVersion } = object.metadata
  return step(
    SpanName.finalizerAdd,
    [name],
    Effect.flatMap(Reconciliation, ({ resource }) =>
      Client.patch(
        resource,
        keyOf(object),
        Patch.merge({ metadata: { resourceVersion, finalizers: [...finalizers, name] } }),
        { before: resourceVersion }
      )
    )
  )
}

/** A span for a change of entries, with tracing. */
const step = <A, E, R>(name: string, entries: ReadonlyArray<string>, effect: Effect.Effect<A, E, R>) =>
  Recording.step(name, (span) => {
    span?.attribute(Attribute.finalizerName, entries.join(", "))
    return effect
  })

/**
 * Removes the entries that exist and returns the new object. Fails with Conflict if the list has changed; the retry uses the new list.
 * Succeeds if the object is gone.
 *
 * @internal
 */
export const remove = (
  object: KubernetesObject,
  names: ReadonlyArray<string>
): Effect.Effect<KubernetesObject, Failure, Reconciliation | Client.Client> => {
  const { finalizers = [], resourceVersion, uid } = object.metadata
  const places = [...finalizers.entries()].filter(([, name]) => names.includes(name))
  if (places.length === 0) return Effect.succeed(object)
  const entries = places.map(([, name]) => name)
  // The last first, so that each index stays valid.
  const operations = places.reverse().flatMap(([index, value]): ReadonlyArray<Patch.Operation> => {
    const path = `/metadata/finalizers/${index}`
    return [
      { op: "test", path, value },
      { op: "remove", path }
    ]
  })
  const removal = Effect.flatMap(Reconciliation, ({ resource }) =>
    Client.patch(
      resource,
      keyOf(object),
      Patch.json([{ op: "test", path: "/metadata/uid", value: uid }, ...operations]),
      { before: resourceVersion }
    )
  ).pipe(
    Patch.guarded,
    Effect.catchTag("NotFound", () => Effect.succeed({ ...object, metadata: { ...object.metadata, finalizers: [] } }))
  )
  return step(SpanName.finalizerRemove, entries, removal)
}

/**
 * Runs the clean-up of an object that is being deleted, and removes the entry when the clean-up has finished. Returns the result of a
 * clean-up that still waits.
 *
 * @internal
 */
export const release = <A extends KubernetesObject, E, R>(
  object: A,
  finalizer: Finalizer<A, E, R>
): Effect.Effect<Result.Result, E | Failure, R | Reconciliation | Client.Client> =>
  Effect.gen(function* () {
    const { memory } = yield* Reconciliation
    const { uid } = object.metadata
    if (object.metadata.finalizers?.includes(finalizer.name) !== true) return Result.done
    if (!memory.clean.has(uid)) {
      const result = yield* step(SpanName.finalizerCleanUp, [finalizer.name], finalizer.cleanup(object))
      if (Result.isAgain(result)) return result
      memory.clean.add(uid)
    }
    yield* remove(object, [finalizer.name])
    return Result.done
  })

/**
 * The same for an object that does not match its schema. Fails with the schema error if no clean-up for such objects is declared.
 *
 * @internal
 */
export const releaseInvalid = <A, E, R, F>(
  object: KubernetesObject,
  { cleanupInvalid, name }: Finalizer<A, E, R>,
  error: F
): Effect.Effect<Result.Result, E | F | Failure, R | Reconciliation | Client.Client> =>
  cleanupInvalid === undefined && object.metadata.finalizers?.includes(name) === true
    ? Effect.fail(error)
    : release(object, { name, cleanup: cleanupInvalid ?? (() => Effect.void) })
