/** A desired child as a value, and what became of it. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import type * as Client from "../client/Client.ts"
import type * as EventRecorder from "../events/EventRecorder.ts"
import { type KubernetesObject, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Readiness from "../resource/Readiness.ts"
import * as Resource from "../resource/Resource.ts"
import * as Apply from "./Apply.ts"
import * as Intent from "./Intent.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Removal from "./Removal.ts"

/** The annotation on a child with the children that it needs. They are deleted after it. */
export const afterAnnotation = "homeostat.dev/after"

/** The options of {@link of}. */
export interface Options<A> extends Apply.Options<A> {
  /**
   * The children that must be ready before. A new child waits for them. When neither it nor they are desired any more, it is deleted
   * first, with its dependents.
   */
  readonly after?: ReadonlyArray<Child> | undefined
  /**
   * Whether only the `Creation` waits for the children of `after`, or each `Change` of the desired child too. Default `Creation`: an
   * existing child is kept as desired.
   */
  readonly waits?: "Creation" | "Change" | undefined
  /** Whether the child is ready. Default: by the rules of kstatus, see `Readiness`. */
  readonly ready?: ((child: A) => boolean) | undefined
  /**
   * The other kinds of which this child may replace a child, such as the HTTPRoute for an Ingress. While this child waits or could not be
   * applied, {@link all} deletes no child of its own kind and of these kinds. Default: it deletes no child of any kind.
   */
  readonly replaces?: ReadonlyArray<Resource.Any> | undefined
}

const none: ReadonlyArray<never> = []

/** The services to apply a child. */
export type Needs = Reconciliation | Client.Client | Cache.Cache | EventRecorder.EventRecorder

/** The errors of applying a child. */
type Failure = Effect.Error<ReturnType<typeof Apply.apply>>

/** The result for a child that may have to wait. */
interface Outcome<out A> {
  /** The child, if it exists. */
  readonly object: A | undefined
  /** Whether the child waits: it is not created or changed. */
  readonly isHeld: boolean
}

/** A desired child, for `Owned.all`. */
export interface Child<out A extends KubernetesObject = KubernetesObject> {
  readonly kind: Resource.Any
  /** Its name and namespace. The namespace defaults to the owner's. */
  readonly metadata: { readonly name?: string; readonly namespace?: string }
  readonly after: ReadonlyArray<Child>
  /** The other kinds of which it may replace a child; undefined for all. */
  readonly replaces?: ReadonlyArray<Resource.Any> | undefined
  /** Applies the child, and returns its current state. */
  readonly apply: (owner: KubernetesObject) => Effect.Effect<A, Failure, Needs>
  /** The same, unless that creates or changes what has to wait. Then it returns the child as it is, if it exists. */
  readonly hold: (owner: KubernetesObject) => Effect.Effect<Outcome<A>, Failure, Needs>
  /** Whether an object of this child has reached its spec. */
  readonly readiness: (object: KubernetesObject) => Readiness.Readiness
}

/** The place of a child in the annotation: `deployments.apps/default/shop`. */
export const placeOf = (kind: Resource.Any, key: ObjectKey): string => `${Resource.nameOf(kind)}/${keyString(key)}`

/** The key of a child. */
export const keyOf = (owner: KubernetesObject, { kind, metadata }: Child): ObjectKey =>
  Intent.keyOf(owner, kind, { metadata })

/**
 * A desired child, for {@link all}.
 *
 * @param desired the whole intent, as in {@link apply}
 *
 * @example
 * ```ts
 * const page = Owned.child(BuiltIn.ConfigMap, { metadata: { name: "shop-page" }, data: { "index.html": "Hello" } })
 * const index = Owned.child(BuiltIn.ConfigMap, { metadata: { name: "shop-index" } }, { after: [page] })
 * yield* Owned.all(site, [page, index])
 * ```
 */
export const of = <A extends KubernetesObject, D extends Intent.Intended>(
  kind: Resource.Resource<A, D>,
  desired: NoInfer<D>,
  options: Options<A> = {}
): Child<A> => {
  const { after = none, ready, replaces, waits = "Creation" } = options
  const whole = (owner: KubernetesObject): D => {
    if (after.length === 0) return desired
    const places = after.map((child) => placeOf(child.kind, keyOf(owner, child))).sort()
    const annotations = { ...desired.metadata.annotations, [afterAnnotation]: places.join(",") }
    return { ...desired, metadata: { ...desired.metadata, annotations } }
  }
  const apply = (owner: KubernetesObject) => Apply.apply(owner, kind, whole(owner), options)
  const hold: Child<A>["hold"] = (owner) =>
    Effect.gen(function* () {
      const key = Intent.keyOf(owner, kind, desired)
      const cached = Option.getOrUndefined(yield* Cache.get(kind, key))
      if (cached === undefined || !Removal.isControlled(owner, cached)) return { object: undefined, isHeld: true }
      const { resource } = yield* Reconciliation
      const intent = Intent.of(owner, resource, key, Intent.encoded(kind, whole(owner)), cached)
      const isSame = Intent.hashOf(intent) === Intent.hashOf(cached)
      const isHeld = waits === "Change" && !isSame
      return { object: isHeld ? cached : yield* apply(owner), isHeld }
    })
  // The object comes from `apply` or `hold`.
  const readiness = (object: KubernetesObject) => readinessOf(kind, object as A, ready)
  return { kind, metadata: desired.metadata, after, replaces, apply, hold, readiness }
}

/**
 * An existing child for {@link all}, which neither changes nor removes it: a child that was created once, such as a Job that has run, or
 * one that must wait as it is. If it was deleted meanwhile, it is not created again.
 *
 * @param object the child, as the cache has it
 *
 * @example
 * ```ts
 * const { items } = yield* Cache.byOwner(BuiltIn.ConfigMap, site)
 * yield* Owned.all(site, items.map((page) => Owned.keep(BuiltIn.ConfigMap, page)))
 * ```
 */
export const keep = <A extends KubernetesObject>(kind: Resource.Resource<A, never>, object: A): Child<A> => {
  const present = Effect.succeed(object)
  const held = Effect.succeed({ object, isHeld: false })
  const readiness = (child: KubernetesObject) => Readiness.of(kind, child)
  return { kind, metadata: object.metadata, after: none, apply: () => present, hold: () => held, readiness }
}

const readinessOf = <A extends KubernetesObject>(
  kind: Resource.Any,
  object: A,
  ready: ((child: A) => boolean) | undefined
): Readiness.Readiness => {
  if (ready === undefined || object.metadata.deletionTimestamp !== undefined) return Readiness.of(kind, object)
  return ready(object)
    ? { state: "Current", message: "it is ready" }
    : { state: "InProgress", message: "it is not ready" }
}
