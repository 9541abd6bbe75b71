/**
 * The promise that a clean-up runs before an object goes.
 *
 * Flow: while the object lives, our entry is put into `metadata.finalizers` before the first reconcile does anything that would
 * need cleaning up. When deletion is asked for, `cleanup` runs, again and again by the controller's schedule until it
 * succeeds, and then our entry is taken out. A clean-up that waits for others (a Job of its own, say) does not hold a worker so
 * long: it succeeds with `Result.requeueAfter(…)` or `Result.requeue`, is called again when that says, or earlier by any trigger of
 * the object, and the entry stays until it succeeds with anything else.
 *
 * Guarantees: `cleanup` is not run again once it has finished, even if taking out the entry fails and is tried again (unless
 * the process restarts in between); entries of others are never touched, whatever they are and in whatever order.
 *
 * Assumes a `cleanup` that may be repeated: a crash after it and before the entry is gone runs it again.
 *
 * Needs the right to patch the kind.
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

/** A clean-up under a name, which is an entry of `metadata.finalizers`: domain, slash, word. */
export interface Finalizer<A, E, R> {
  /** The entry: `example.com/finalizer`. Objects carry it, so changing it later keeps those of before from going. */
  readonly name: string
  /** Nothing, or `Result.done`: it has finished. A result that asks for another run: it has not, which is no failure. */
  readonly cleanup: (object: A) => Effect.Effect<Nothing | Result.Result, E, R>
  /**
   * The clean-up of an object that does not match its schema, such as one stored before the schema was tightened; in its wire form.
   * Default: the object stays, and its conditions say why, until it matches or a user removes the entry.
   */
  readonly cleanupInvalid?: ((object: KubernetesObject) => Effect.Effect<Nothing | Result.Result, E, R>) | undefined
}

/** What most clean-ups give. */
type Nothing = Effect.Effect.Success<typeof Effect.void>

/** What taking a finalizer on or off can fail with. */
type Failure = ApiError | Resource.InvalidObject

/** Puts the entry in unless it is there. The resourceVersion guards against another's edit of the list in between. */
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

/** A span for what is done about entries, where it is traced. */
const step = <A, E, R>(name: string, entries: ReadonlyArray<string>, effect: Effect.Effect<A, E, R>) =>
  Recording.step(name, (span) => {
    span?.attribute(Attribute.finalizerName, entries.join(", "))
    return effect
  })

/**
 * Takes entries out, those that are there, and gives the object as it is then. Fails with Conflict if the list has changed, and
 * the attempt is then repeated on the new list. An object that is gone is fine.
 */
export const remove = (
  object: KubernetesObject,
  names: ReadonlyArray<string>
): Effect.Effect<KubernetesObject, Failure, Reconciliation | Client.Client> => {
  const { finalizers = [], resourceVersion, uid } = object.metadata
  const places = [...finalizers.entries()].filter(([, name]) => names.includes(name))
  if (places.length === 0) return Effect.succeed(object)
  const entries = places.map(([, name]) => name)
  // The last first: so each place is still right when its turn comes.
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
 * The clean-up of an object that is being deleted, until it has finished, and then the removal of our entry. Gives what the
 * clean-up asks for if it has not.
 */
export const release = <A extends KubernetesObject, E, R>(
  object: A,
  finalizer: Finalizer<A, E, R>
): Effect.Effect<Result.Result, E | Failure, R | Reconciliation | Client.Client> =>
  Effect.gen(function* () {
    const { memory } = yield* Reconciliation
    const { uid } = object.metadata
    if (object.metadata.finalizers?.includes(finalizer.name) !== true) return Result.done
    if (!memory.isClean(uid)) {
      const result = yield* step(SpanName.finalizerCleanUp, [finalizer.name], finalizer.cleanup(object))
      if (Result.isAgain(result)) return result
      memory.cleaned(uid)
    }
    yield* remove(object, [finalizer.name])
    return Result.done
  })

/** The same for an object that does not match its schema. Fails with the error if nothing is declared that cleans up after it. */
export const releaseInvalid = <A, E, R, F>(
  object: KubernetesObject,
  { cleanupInvalid, name }: Finalizer<A, E, R>,
  error: F
): Effect.Effect<Result.Result, E | F | Failure, R | Reconciliation | Client.Client> =>
  cleanupInvalid === undefined && object.metadata.finalizers?.includes(name) === true
    ? Effect.fail(error)
    : release(object, { name, cleanup: cleanupInvalid ?? (() => Effect.void) })
