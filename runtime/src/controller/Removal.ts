/** Deletes children that an owner controls. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import { Undeclared } from "../cache/Undeclared.ts"
import { type ApiError, Conflict, isNotFound } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import type { DeleteOptions } from "../client/Options.ts"
import * as Path from "../client/Path.ts"
import { controllerOf, type KubernetesObject, keyOf, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import * as OneCluster from "./OneCluster.ts"
import * as OwnedKind from "./OwnedKind.ts"
import { Reconciliation } from "./Reconciliation.ts"

/** The options of {@link remove}. */
export interface Options {
  /** How to delete the dependents of the child. Default `Background`, also for a Job, whose pods would stay otherwise. */
  readonly propagation?: DeleteOptions["propagation"]
}

/** The errors of a removal. */
export type Failure = ApiError | Resource.InvalidObject

/** The services of a removal. */
export type Needs = Reconciliation | Client.Client | Cache.Cache

/**
 * Deletes a child, and returns it while it still exists, for example because of a finalizer. Returns none when the child is gone.
 *
 * A child that does not exist, and one that is being deleted already, cost no request. An object of that name that the owner does not
 * control stays, and counts as no child. The deletion covers exactly the version that the API server had just before: it fails with
 * `Conflict` if the child has changed since then. It also fails with `Conflict` if the API server has a newer version of the owner,
 * whose intent may want the child.
 *
 * The controller must declare the kind with `Owned.kind(…, { removes: true })` in `owns`. Otherwise the attempt fails with a permanent
 * error.
 *
 * @param owner the reconciled object
 * @param child its name. The namespace defaults to the owner's
 *
 * @example
 * ```ts
 * const controller = Controller.make("site", {
 *   for: Site,
 *   owns: [Owned.kind(BuiltIn.ConfigMap, { removes: true })],
 *   reconcile: (site) =>
 *     Effect.gen(function* () {
 *       const name = `${site.metadata.name}-page`
 *       if (site.spec.replicas > 0) yield* Owned.apply(site, BuiltIn.ConfigMap, { metadata: { name } })
 *       else yield* Owned.remove(site, BuiltIn.ConfigMap, { name })
 *       return Result.done
 *     })
 * })
 * ```
 */
export const remove = <A extends KubernetesObject>(
  owner: KubernetesObject,
  kind: Resource.Resource<A, never>,
  child: ObjectKey,
  options: Options = {}
): Effect.Effect<Option.Option<A>, Failure, Needs> =>
  Effect.gen(function* () {
    yield* declared(kind)
    const { namespace = owner.metadata.namespace } = child
    const key = { name: child.name, namespace: kind.namespaced ? namespace : undefined }
    const cached = Option.getOrUndefined(yield* Cache.get(kind, key))
    if (cached === undefined || !isControlled(owner, cached)) return Option.none()
    const services = yield* Effect.context<Cache.Cache | Client.Client>()
    yield* OneCluster.refused(services as Context.Context<never>, "Owned.remove of", kind, key) ?? Effect.void
    if (cached.metadata.deletionTimestamp === undefined) yield* confirmIntent(owner)
    return yield* discard(owner, kind, cached, options)
  })

/** Dies if the controller does not declare that it deletes children of this kind. */
export const declared = (kind: Resource.Any): Effect.Effect<void, never, Reconciliation> =>
  Effect.flatMap(Reconciliation, ({ controller, deleted }) =>
    deleted.has(Resource.nameOf(kind))
      ? Effect.void
      : Effect.die(new Undeclared({ message: OwnedKind.undeclared(controller, kind) }))
  )

/**
 * Fails with `Conflict` if the API server has a newer version of the owner than this reconcile: the newer intent may want the child. The
 * children of an owner that is being deleted, or that is gone, are not wanted.
 */
export const confirmIntent = (
  owner: KubernetesObject
): Effect.Effect<void, Failure, Reconciliation | Client.Client | Cache.Cache> =>
  Effect.gen(function* () {
    const { deletionTimestamp, generation, resourceVersion, uid } = owner.metadata
    if (deletionTimestamp !== undefined) return
    const { resource } = yield* Reconciliation
    const key = keyOf(owner)
    const found = yield* Effect.catchTag(
      Effect.asSome(Client.get(Resource.metadataOnly(resource), key)),
      "NotFound",
      absent
    )
    if (Option.isNone(found)) return
    const live = found.value.metadata
    if (live.uid !== uid || live.resourceVersion === resourceVersion) return
    // A write of this reconcile, such as of the status, is in the cache already.
    const cached = Option.getOrUndefined(yield* Cache.get(resource, key))
    if (cached?.metadata.resourceVersion === live.resourceVersion && live.generation === generation) return
    return yield* new Conflict({
      message: `${resource.kind} ${keyString(key)} has changed since this reconcile began: its children stay until the next one`,
      code: 409,
      reason: "Conflict",
      causes: [],
      details: { group: resource.group, kind: resource.plural, name: key.name, uid },
      retryAfterMillis: undefined,
      request: { method: "GET", path: Path.object(resource, key).path }
    })
  })

const absent = <E extends ApiError>(error: E) => (isNotFound(error) ? Effect.succeedNone : Effect.fail(error))

/** Whether the owner controls a child. */
export const isControlled = (owner: KubernetesObject, child: KubernetesObject): boolean =>
  controllerOf(child)?.uid === owner.metadata.uid

/**
 * Deletes a cached child unless it is being deleted already. Reads its metadata from the API server before, because the cache may be
 * behind: the child stays if `isOurs` does not hold for them.
 */
export const discard = <A extends KubernetesObject>(
  owner: KubernetesObject,
  kind: Resource.Resource<A, never>,
  cached: A,
  { propagation = "Background" }: Options,
  isOurs: (live: KubernetesObject) => boolean = () => true
): Effect.Effect<Option.Option<A>, Failure, Reconciliation | Client.Client> => {
  if (cached.metadata.deletionTimestamp !== undefined) return Effect.succeed(Option.some(cached))
  const key = keyOf(cached)
  const metadataOnly = Resource.metadataOnly(kind)
  return Recording.step(SpanName.dependent(kind.kind), (span) =>
    Effect.gen(function* () {
      span?.attribute(Attribute.objectKind, kind.kind)
      span?.attribute(Attribute.objectName, key.name)
      if (key.namespace !== undefined) span?.attribute(Attribute.namespace, key.namespace)
      const found = yield* Effect.catchTag(Effect.asSome(Client.get(metadataOnly, key)), "NotFound", absent)
      if (Option.isNone(found)) return Option.none()
      const live = found.value
      const { deletionTimestamp, resourceVersion, uid } = live.metadata
      if (uid !== cached.metadata.uid || !isControlled(owner, live) || !isOurs(live)) {
        span?.attribute(Attribute.dependentResult, "left alone")
        return Option.none()
      }
      if (deletionTimestamp !== undefined) return Option.some({ ...cached, metadata: live.metadata })
      const left = yield* Client.delete(kind, key, { uid, resourceVersion, propagation }).pipe(
        Effect.catchTag("NotFound", absent)
      )
      span?.attribute(Attribute.dependentResult, "removed")
      const { corrected } = yield* Reconciliation
      corrected({ kind: kind.kind, key: keyString(key), reason: "removed", fields: [] })
      return left
    })
  )
}
