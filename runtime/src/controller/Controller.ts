/**
 * A controller as a value: its watches, its owned kinds, its retries and its reconcile. A manager or a test runs it.
 */

import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import type * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type * as Cache from "../cache/Cache.ts"
import type { Definition } from "../cache/Index.ts"
import * as Selection from "../cache/Selection.ts"
import * as Transform from "../cache/Transform.ts"
import * as Client from "../client/Client.ts"
import type { Permission } from "../client/Permission.ts"
import type * as EventRecorder from "../events/EventRecorder.ts"
import * as Backoff from "../queue/Backoff.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import { type KubernetesObject, keyOf } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Access from "./Access.ts"
import * as Deletion from "./Deletion.ts"
import * as Departures from "./Departures.ts"
import * as Finalizer from "./Finalizer.ts"
import * as OwnedKind from "./OwnedKind.ts"
import * as Paused from "./Paused.ts"
import type { Predicate } from "./Predicate.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"
import * as Stalled from "./Stalled.ts"
import * as TooLarge from "./TooLarge.ts"
import * as Trigger from "./Trigger.ts"

/** The services that the runtime provides to every reconcile. You provide all others to the manager. */
export type Provided = Reconciliation | Scope.Scope

/** The services that every manager has. */
export type Services = Client.Client | Cache.Cache | EventRecorder.EventRecorder

/**
 * A controller.
 *
 * @typeParam R the services that its effects need, including those of the runtime
 */
export interface Controller<out R = never> {
  /** The name in logs, metrics and on the command line. */
  readonly name: string
  /** The field manager of its writes, and the reporting controller of its Events. */
  readonly fieldManager: string
  /** The kind that it reconciles. */
  readonly resource: Resource.Any
  /** The objects of its own kind that it is about; absent for all objects. The cache has no others. */
  readonly select: Selection.Selection | undefined
  /** Whether it is about an object in its wire form, by its content; absent for all objects of `select`. May throw. */
  readonly selects: ((object: KubernetesObject) => boolean) | undefined
  /** The clean-up of objects that leave `select` with its finalizer; absent if none can. */
  readonly departures: Departures.Departures<R, R | Provided> | undefined
  /** The changes of its own kind that trigger a reconcile; absent for all changes. */
  readonly predicate: Predicate | undefined
  /** The indexes of its own kind. */
  readonly indexes: ReadonlyArray<Definition>
  /** The other kinds that it watches, owned kinds first. */
  readonly triggers: ReadonlyArray<Trigger.Trigger<R>>
  /** The transforms of the caches of these kinds. */
  readonly transforms: ReadonlyArray<Transform.Transform>
  /** The retry schedule, stepped for each object on its own. */
  readonly retry: Schedule.Schedule<unknown, unknown, unknown, R>
  /** The number of objects that are reconciled at the same time. */
  readonly concurrency: number
  /** The time limit of a reconcile. */
  readonly timeout: Duration.Duration
  /** Whether only the leader runs it, with leader election. */
  readonly leaderElected: boolean
  /** The entries of `metadata.finalizers` that it removes: its own and inherited ones. */
  readonly finalizers: ReadonlyArray<string>
  /** All its permissions: those that follow from its declarations, and then those that it declares. */
  readonly access: ReadonlyArray<Access.Access>
  /** The kinds that it may apply, such as `deployments.apps`: those that it owns, or whose `access` has `create` and `patch`. */
  readonly applied: ReadonlySet<string>
  /** The kinds that it may delete: those that it owns with `removes`, or whose `access` has `delete`. */
  readonly deleted: ReadonlySet<string>
  /** The label selectors of kinds in `owns`, by the name of the kind. */
  readonly selectors: ReadonlyMap<string, string>
  /** The kinds of its children. */
  readonly owns: ReadonlyArray<Resource.Any>
  /** Decodes, finalizes or reconciles an object in its wire form. */
  readonly attempt: (object: KubernetesObject) => Effect.Effect<Result.Result, unknown, R | Provided>
  /** Reports on an object in its wire form that its reconcile fails with this error. */
  readonly report: (object: KubernetesObject, error: unknown) => Effect.Effect<void, never, R | Provided>
}

/** The settings of a controller. */
export interface Options<A extends KubernetesObject, E, R, CE, CR, TR, SR> {
  /** The kind to reconcile. */
  readonly for: Resource.Resource<A, never>
  /**
   * The kinds of its children (`Owned.apply`). Their changes trigger a reconcile of the owner, and the cache holds them. `Owned.kind` adds
   * options, such as the permission to delete.
   */
  readonly owns?: ReadonlyArray<Resource.Any | OwnedKind.OwnedKind> | undefined
  /** Other kinds whose changes trigger reconciles. */
  readonly watches?: ReadonlyArray<Trigger.Trigger<TR>> | undefined
  /**
   * The parts of each object that the caches of these kinds keep. Default: the whole object, except for a kind in `owns` that no
   * controller watches. For such a kind the cache keeps whole objects only if a controller of the program owns them. `Cache.get` reads
   * the others from the API server, and `Cache.list` omits them.
   *
   * A transform that returns its object keeps everything: `Transform.of(Deployment, (deployment) => deployment)`.
   * A transform of an owned kind must keep the fields that `Owned.apply` sets. Otherwise each reconcile sends them again.
   */
  readonly transforms?: ReadonlyArray<Transform.Transform> | undefined
  /**
   * The objects that the controller is about. The API server selects them, so the list, the watch, the cache and its memory have no
   * others. Nothing else reconciles an object that is not selected, and no such object gets the finalizer. `namespaces` also restrict the
   * permissions, and the children. Default: all objects.
   */
  readonly select?: Selection.Selection | undefined
  /**
   * The same by the content of the object, where no selector of the API server can say it. It must be pure. The runtime asks it before
   * each reconcile, whatever triggered it. The cache has all objects of `select`. An object that does not match its schema counts as
   * selected. With a transform of the kind, it gets only the parts that the transform keeps.
   */
  readonly when?: ((object: A) => boolean) | undefined
  /**
   * The changes of its own kind that trigger a reconcile. Default: all changes. A predicate filters only news: a retry, a child or another
   * trigger reconciles an object that the predicate does not pass. Use `select` or `when` to limit the controller.
   */
  readonly predicate?: Predicate | undefined
  /** Indexes of its own kind for `Cache.list`, such as by the names of other objects in the spec, for the `map` of their trigger. */
  readonly indexes?: ReadonlyArray<Definition> | undefined
  /**
   * A clean-up that runs before an object is removed. Omit it if there is nothing outside the cluster to clean up. A clean-up that has
   * to wait succeeds with a `Result` for another run, and the object stays until then.
   */
  readonly finalizer?: Finalizer.Finalizer<A, CE, CR> | undefined
  /** Entries of `metadata.finalizers` of programs that this one replaces. The runtime removes them when the object is deleted. */
  readonly inheritedFinalizers?: ReadonlyArray<string> | undefined
  /**
   * The retry schedule, stepped for each object by each failure or `Result.requeue`. When it ends, the controller stops retrying the
   * object until its next trigger. Default: `Backoff.default`.
   */
  readonly retry?: Schedule.Schedule<unknown, unknown, unknown, SR> | undefined
  /** The number of objects that are reconciled at the same time. Default 16: more workers only wait for the API server. */
  readonly concurrency?: number | undefined
  /** The time after which a reconcile is interrupted and retried. Default 2 minutes, four request timeouts. */
  readonly timeout?: Duration.Input | undefined
  /**
   * Whether only the leader runs it, with leader election. Default true. With `false` every replica runs it, and several may
   * reconcile one object at the same time.
   */
  readonly leaderElected?: boolean | undefined
  /** The field manager of its writes. Default: the name of the controller. A later change orphans the fields of the old one. */
  readonly fieldManager?: string | undefined
  /** The permissions that its effects need beyond the declarations above: `[Access.get(Secret)]`. */
  readonly access?: ReadonlyArray<Access.Access> | undefined
  /**
   * Reconciles an object that exists, is not being deleted, and matches its schema. It may run any number of times, so it must be
   * idempotent and level-based.
   */
  readonly reconcile: (object: A) => Effect.Effect<Result.Result, E, R>
}

/**
 * A controller under a name: lower-case letters, digits and dashes, unique in its manager.
 *
 * If a reconcile cannot continue, the runtime reports the reason on the object: see `Stalled`. An object that does not match its schema,
 * such as one stored before a schema change, is one such case.
 *
 * @example
 * ```ts
 * const controller = Controller.make("site", {
 *   for: Site,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (site) =>
 *     Effect.gen(function* () {
 *       yield* Owned.apply(site, BuiltIn.ConfigMap, { metadata: { name: `${site.metadata.name}-page` } })
 *       return Result.done
 *     })
 * })
 * ```
 */
export const make = <A extends KubernetesObject, E, R, CE = never, CR = never, TR = never, SR = never>(
  name: string,
  options: Options<A, E, R, CE, CR, TR, SR>
): Controller<Exclude<R | CR, Provided> | TR | SR | Services> => {
  const { concurrency = 16, for: resource, finalizer, inheritedFinalizers = [], select, when } = options
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "2 minutes")
  const refuse = (what: string, value: unknown, accepted: string): never => {
    throw new Error(`invalid ${what} of a controller: ${JSON.stringify(value)} (must be ${accepted})`)
  }
  if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) refuse("name", name, "lower-case letters, digits and dashes")
  if (!Number.isInteger(concurrency) || concurrency < 1) refuse("concurrency", concurrency, "a whole number from 1")
  if (Duration.toMillis(timeout) <= 0) refuse("timeout", options.timeout, "a duration above 0")
  Selection.check(`controller ${name}`, resource, select)
  const finalizers = [...(finalizer === undefined ? [] : [finalizer.name]), ...inheritedFinalizers]
  const selects =
    when === undefined
      ? undefined
      : (wire: KubernetesObject): boolean => {
          const decoded = resource.decode(wire)
          return EffectResult.isFailure(decoded) || when(decoded.success)
        }
  const reconcile = (wire: KubernetesObject) =>
    Effect.suspend((): Effect.Effect<Result.Result, unknown, R | CR | Services | Provided> => {
      const decoded = resource.decode(wire)
      if (EffectResult.isFailure(decoded)) return decoded.failure
      const object = decoded.success
      return finalizer === undefined || wire.metadata.finalizers?.includes(finalizer.name) === true
        ? options.reconcile(object)
        : Effect.flatMap(Finalizer.add(wire, finalizer.name), () => options.reconcile(object))
    })
  const release = (found: KubernetesObject): Effect.Effect<Result.Result, unknown, R | CR | Services | Provided> =>
    Effect.gen(function* () {
      const isRetained = found.metadata.deletionTimestamp === undefined && finalizer?.whenUnselected === "Retain"
      const wire = yield* Finalizer.remove(found, isRetained ? finalizers : inheritedFinalizers)
      if (finalizer === undefined || isRetained) return Result.done
      const decoded = resource.decode(wire)
      return yield* EffectResult.isFailure(decoded)
        ? Finalizer.releaseInvalid(wire, finalizer, decoded.failure)
        : Finalizer.release(decoded.success, finalizer)
    })
  const reported = (found: KubernetesObject) => Stalled.reported(resource, found, declares)
  const departures: Departures.Departures<Client.Client, R | CR | Services | Provided> | undefined =
    finalizers.length > 0 && select !== undefined && Selection.isByContent(select)
      ? Departures.make({ resource, select, finalizers }, (live) => reported(live)(release))
      : undefined
  const work = (found: KubernetesObject): Effect.Effect<Result.Result, unknown, R | CR | Services | Provided> =>
    found.metadata.deletionTimestamp === undefined && selects?.(found) !== false
      ? Effect.withFiber((fiber) =>
          Context.getOrUndefined(fiber.context, Reconciliation)?.fight === undefined
            ? reconcile(found)
            : Effect.flatMap(reconcile(found), (result) => Stalled.fought(resource, found, result))
        )
      : Effect.flatMap(release(found), (result) =>
          found.metadata.deletionTimestamp === undefined
            ? Effect.succeed(result)
            : Effect.andThen(
                departures === undefined ? Effect.void : Departures.released(found, result),
                Deletion.shown(resource, finalizers, found, result)
              )
        )
  // `when` of an author may throw.
  const suspended = selects === undefined ? work : (found: KubernetesObject) => Effect.suspend(() => work(found))
  const whole = (found: KubernetesObject): Effect.Effect<Result.Result, unknown, R | CR | Services | Provided> => {
    const why = Paused.reasonOf(found)
    if (why === undefined) return reported(found)(suspended)
    return selects?.(found) === false ? Effect.succeed(Result.done) : Paused.hold(resource, found, why)
  }
  /** Reports that the object is too large. A deletion must not wait for that, so the clean-up gets the object from the server. */
  const tooLarge = (found: KubernetesObject): Effect.Effect<Result.Result, unknown, R | CR | Services | Provided> =>
    Effect.matchEffect(Client.get(CustomResource.undecoded(resource), keyOf(found)), {
      onFailure: (error) => (error._tag === "NotFound" ? Effect.succeed(Result.done) : Effect.fail(error)),
      onSuccess: (live) =>
        live.metadata.deletionTimestamp === undefined &&
        Paused.reasonOf(live) === undefined &&
        selects?.(live) !== false
          ? reported(live)(() => Effect.fail(TooLarge.of(resource, live, found)))
          : whole(live)
    })
  const attempt = (found: KubernetesObject) => (Transform.isPartial(resource, found) ? tooLarge(found) : whole(found))
  /** The cached part of an object that is too large lacks its status. */
  const report = (found: KubernetesObject, error: unknown): Effect.Effect<void, never, Services | Provided> =>
    Transform.isPartial(resource, found) || Paused.reasonOf(found) !== undefined
      ? Effect.void
      : Stalled.lasting(resource, found, error)
  const owned = (options.owns ?? []).map((kind) => OwnedKind.from(kind, resource, select?.namespaces))
  const owns = owned.map((kind) => kind.resource)
  const access = [
    ...Access.implied({
      for: resource,
      select,
      owns: owned,
      watches: options.watches ?? [],
      finalizes: finalizers.length > 0
    }),
    ...(options.access ?? [])
  ]
  const declares = (permission: Permission) => Access.declares(access, permission)
  const allowing = (verb: Access.Verb) =>
    access.flatMap(({ resource, subresource, verbs }) =>
      subresource === undefined && verbs.includes(verb) ? [Resource.nameOf(resource)] : []
    )
  const created = new Set(allowing("create"))
  return {
    name,
    fieldManager: options.fieldManager ?? name,
    resource,
    select,
    selects,
    departures: departures as Controller<Exclude<R | CR, Provided> | Services>["departures"],
    predicate: options.predicate,
    indexes: options.indexes ?? [],
    triggers: [...owned.map((child) => Trigger.owned(resource, child)), ...(options.watches ?? [])],
    transforms: options.transforms ?? [],
    retry: options.retry ?? Backoff.default,
    concurrency,
    timeout,
    leaderElected: options.leaderElected ?? true,
    finalizers,
    access,
    applied: new Set(allowing("patch").filter((kind) => created.has(kind))),
    deleted: new Set(allowing("delete")),
    selectors: new Map(
      owned.flatMap(({ resource, select }) =>
        select?.labels === undefined ? [] : [[Resource.nameOf(resource), select.labels]]
      )
    ),
    // In their wire form, so that a child that does not match its schema can be removed.
    owns: owns.map((kind) => Resource.make<KubernetesObject, never>({ ...kind, decode: undefined })),
    // The worker provides Reconciliation and Scope.
    attempt: attempt as Controller<Exclude<R | CR, Provided> | Services>["attempt"],
    report: report as Controller<Services>["report"]
  }
}
