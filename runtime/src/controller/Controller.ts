/**
 * A controller, as a value: what it watches, what it owns, how it retries, and the reconcile that makes the world be as an
 * object says. A manager runs it; a test can.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type * as Cache from "../cache/Cache.ts"
import type * as Transform from "../cache/Transform.ts"
import type * as Client from "../client/Client.ts"
import type { Right } from "../client/Right.ts"
import type * as EventRecorder from "../events/EventRecorder.ts"
import * as Backoff from "../queue/Backoff.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Access from "./Access.ts"
import * as Finalizer from "./Finalizer.ts"
import type { Predicate } from "./Predicate.ts"
import type { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"
import * as Stalled from "./Stalled.ts"
import * as Trigger from "./Trigger.ts"

/** What the runtime provides to every reconcile. The rest of an Effect's requirements is the manager's to provide. */
export type Provided = Reconciliation | Scope.Scope

/** What any manager has, because reconciling needs it. */
export type Services = Client.Client | Cache.Cache | EventRecorder.EventRecorder

/**
 * A controller.
 *
 * @typeParam R the services its effects need, the runtime's own included
 */
export interface Controller<out R = never> {
  /** Names it in logs, metrics and on the command line. */
  readonly name: string
  /** The field manager of its writes, and the reporter of its events. */
  readonly fieldManager: string
  /** The kind it reconciles. */
  readonly resource: Resource.Any
  /** Which changes of its own kind are worth a reconcile; all where there is none. */
  readonly predicate: Predicate | undefined
  /** Everything else it watches, owned kinds first. */
  readonly triggers: ReadonlyArray<Trigger.Trigger<R>>
  /** The parts of objects that the caches of these kinds keep. */
  readonly transforms: ReadonlyArray<Transform.Transform>
  /** When a failed object is tried again, stepped for each on its own. */
  readonly retry: Schedule.Schedule<unknown, unknown, R>
  /** How many objects are reconciled at a time. */
  readonly concurrency: number
  /** How long one reconcile may take. */
  readonly timeout: Duration.Duration
  /** Whether only the leader runs it, where leaders are elected. */
  readonly leaderElected: boolean
  /** The entries of `metadata.finalizers` that it takes off: its own, and those that it inherits. */
  readonly finalizers: ReadonlyArray<string>
  /** All that it may do in the cluster: what follows from its declarations, and then what it says itself. */
  readonly access: ReadonlyArray<Access.Access>
  /** The kinds that it may apply, such as `deployments.apps`: those that it owns, or whose `access` has `create` and `patch`. */
  readonly applied: ReadonlySet<string>
  /** Decodes, finalizes or reconciles an object in its wire form. */
  readonly attempt: (object: KubernetesObject) => Effect.Effect<Result.Result, unknown, R | Provided>
}

/** How a controller is made. */
export interface Options<A extends KubernetesObject, E, R, CE, CR, TR, SR> {
  /** The kind to reconcile. */
  readonly for: Resource.Resource<A, never>
  /** Kinds of which it makes children (`Owned.apply`): their changes wake the owner, and the cache holds them. */
  readonly owns?: ReadonlyArray<Resource.Any> | undefined
  /** Other kinds whose changes concern its objects. */
  readonly watches?: ReadonlyArray<Trigger.Trigger<TR>> | undefined
  /**
   * The parts of each object that the caches of these kinds keep. Default: all of it, except for a kind in `owns` that no controller watches. Of
   * such a kind the cache keeps an object whole only if a controller of the program owns it, and of others merely that they are there:
   * `Cache.get` reads those from the API server, `Cache.list` leaves them out.
   *
   * A transform that gives its object back keeps everything: `Transform.of(Deployment, (deployment) => deployment)`.
   */
  readonly transforms?: ReadonlyArray<Transform.Transform> | undefined
  /** Which changes of its own kind are worth a reconcile. Default: all. */
  readonly predicate?: Predicate | undefined
  /**
   * A clean-up to run before an object goes. Leave it out where there is nothing outside the cluster to clean up. One that has to
   * wait succeeds with a `Result` that asks for another run, and the object stays so long.
   */
  readonly finalizer?: Finalizer.Finalizer<A, CE, CR> | undefined
  /** Entries of `metadata.finalizers` left by programs that this one replaces: taken off when the object is deleted. */
  readonly inheritedFinalizers?: ReadonlyArray<string> | undefined
  /**
   * When to try again, kept per object, stepped by each failure or `Result.requeue`. Where it ends, the object is given up
   * until its next trigger. Default: `Backoff.default`.
   */
  readonly retry?: Schedule.Schedule<unknown, unknown, SR> | undefined
  /** How many objects are reconciled at a time. Default 16, from where more workers only wait for the API server. */
  readonly concurrency?: number | undefined
  /** How long one reconcile may take before it is interrupted and retried. Default 2 minutes: four request deadlines. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * Whether only the leader runs it, where leaders are elected. Default true. `false`: it runs in every replica, so several may
   * work on one object at a time.
   */
  readonly leaderElected?: boolean | undefined
  /** The field manager of its writes. Default: the controller's name. Changing it later orphans what the old one owns. */
  readonly fieldManager?: string | undefined
  /** What its effects do in the cluster beyond what the declarations above imply: `[Access.get(Secret)]`. */
  readonly access?: ReadonlyArray<Access.Access> | undefined
  /**
   * Makes the world be as the object says. Called with an object that exists, is not being deleted, and matches its
   * schema. May run any number of times, so it looks at everything and remembers nothing.
   */
  readonly reconcile: (object: A) => Effect.Effect<Result.Result, E, R>
}

/**
 * A controller under a name: lower-case letters, digits and dashes, unique in its manager.
 *
 * The runtime reports on the object why a reconcile gets no further: see `Stalled`. An object that does not match its schema
 * (one stored before a schema change) is one such case.
 */
export const make = <A extends KubernetesObject, E, R, CE = never, CR = never, TR = never, SR = never>(
  name: string,
  options: Options<A, E, R, CE, CR, TR, SR>
): Controller<Exclude<R | CR, Provided> | TR | SR | Services> => {
  const { for: resource, finalizer, inheritedFinalizers = [] } = options
  if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) {
    throw new Error(`A controller's name is lower-case letters, digits and dashes, not "${name}"`)
  }
  const reconcile = (wire: KubernetesObject) =>
    Effect.suspend((): Effect.Effect<Result.Result, unknown, R | CR | Services | Provided> => {
      const decoded = resource.decode(wire)
      if (Either.isLeft(decoded)) return decoded.left
      const object = decoded.right
      return finalizer === undefined || wire.metadata.finalizers?.includes(finalizer.name) === true
        ? options.reconcile(object)
        : Effect.flatMap(Finalizer.add(wire, finalizer.name), () => options.reconcile(object))
    })
  const release = (found: KubernetesObject): Effect.Effect<Result.Result, unknown, R | CR | Services | Provided> =>
    Effect.gen(function* () {
      const wire = yield* Finalizer.remove(found, inheritedFinalizers)
      if (finalizer === undefined) return Result.done
      const decoded = resource.decode(wire)
      return yield* Either.isLeft(decoded)
        ? Finalizer.releaseInvalid(wire, finalizer, decoded.left)
        : Finalizer.release(decoded.right, finalizer)
    })
  const attempt = (found: KubernetesObject): Effect.Effect<Result.Result, unknown, R | CR | Services | Provided> =>
    Stalled.reported(
      resource,
      found,
      declares
    )(found.metadata.deletionTimestamp === undefined ? reconcile(found) : release(found))
  const access = [
    ...Access.implied({
      for: resource,
      owns: options.owns ?? [],
      watches: (options.watches ?? []).map((trigger) => trigger.resource),
      finalizes: finalizer !== undefined || inheritedFinalizers.length > 0
    }),
    ...(options.access ?? [])
  ]
  const declares = (right: Right) => Access.declares(access, right)
  const allowing = (verb: Access.Verb) =>
    access.flatMap(({ resource, subresource, verbs }) =>
      subresource === undefined && verbs.includes(verb) ? [Resource.nameOf(resource)] : []
    )
  const created = new Set(allowing("create"))
  return {
    name,
    fieldManager: options.fieldManager ?? name,
    resource,
    predicate: options.predicate,
    triggers: [...(options.owns ?? []).map((child) => Trigger.owned(resource, child)), ...(options.watches ?? [])],
    transforms: options.transforms ?? [],
    retry: options.retry ?? Backoff.default,
    concurrency: options.concurrency ?? 16,
    timeout: Duration.decode(options.timeout ?? "2 minutes"),
    leaderElected: options.leaderElected ?? true,
    finalizers: [...(finalizer === undefined ? [] : [finalizer.name]), ...inheritedFinalizers],
    access,
    applied: new Set(allowing("patch").filter((kind) => created.has(kind))),
    // Reconciliation and Scope are provided by the worker to whatever else the effects need.
    attempt: attempt as Controller<Exclude<R | CR, Provided> | Services>["attempt"]
  }
}
