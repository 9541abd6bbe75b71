/**
 * Which news trigger a reconcile. A predicate is a pure function of one change. An object that the first list or a resync finds counts as
 * added.
 *
 * A predicate does not limit a controller: it filters news, and not objects. The cache has all objects, and a retry, a child, a trigger or
 * a deletion reconciles an object that the predicate refuses. An object that stops to pass keeps its finalizer. Use `select` and `when` of
 * the controller to say which objects it is about.
 */
import type { Change } from "../cache/Store.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"

/** True if the change should trigger a reconcile. */
export interface Predicate {
  (change: Change): boolean
  /** The reason for a change that did not pass, for `homeostat why`: see {@link named}. */
  readonly refusal?: ((change: Change) => string) | undefined
}

/**
 * The predicate with the text that `homeostat why` shows for a change that does not pass, such as `onlyReady: the pod is not ready`.
 *
 * @example
 * ```ts
 * const predicate = Predicate.named(
 *   "onlyReady: the pod is not ready",
 *   Predicate.object((pod) => Condition.isTrue(Status.conditions(pod), "Ready"))
 * )
 * ```
 */
export const named = (refusal: string, predicate: Predicate): Predicate => withRefusal(() => refusal, predicate)

const withRefusal = (refusal: (change: Change) => string, predicate: (change: Change) => boolean): Predicate =>
  // A new function, because one predicate may be used under several names.
  Object.assign((change: Change) => predicate(change), { refusal })

/**
 * The reason why a change did not pass, if the predicate has one.
 *
 * @internal
 */
export const refusalOf = (predicate: Predicate | undefined, change: Change): string => {
  try {
    return predicate?.refusal?.(change) ?? "a predicate without a name"
  } catch {
    // The predicate has refused the change, so an error of `refusal` must not let it pass.
    return "a predicate that threw when it was asked why"
  }
}

/**
 * True if all predicates are true. Without predicates: true.
 *
 * @example
 * ```ts
 * const predicate = Predicate.and(Predicate.generationChanged, Predicate.labels({ app: "shop" }))
 * ```
 */
export const and = (...predicates: ReadonlyArray<Predicate>): Predicate =>
  withRefusal(
    (change) => {
      const first = predicates.find((predicate) => !predicate(change))
      return first === undefined ? "and: each of them passes" : refusalOf(first, change)
    },
    (change) => predicates.every((predicate) => predicate(change))
  )

/**
 * True if one of the predicates is true. Without predicates: false.
 *
 * @example
 * ```ts
 * const predicate = Predicate.or(Predicate.generationChanged, Predicate.annotationsChanged)
 * ```
 */
export const or = (...predicates: ReadonlyArray<Predicate>): Predicate =>
  withRefusal(
    (change) =>
      predicates.map((predicate) => refusalOf(predicate, change)).join("; ") || "or: there is nothing to pass",
    (change) => predicates.some((predicate) => predicate(change))
  )

/**
 * True if the predicate is false.
 *
 * @example
 * ```ts
 * const predicate = Predicate.not(Predicate.labels({ paused: "true" }))
 * ```
 */
export const not =
  (predicate: Predicate): Predicate =>
  (change) =>
    !predicate(change)

/**
 * A predicate of the object alone; for a deleted object, of its last known state.
 *
 * @example
 * ```ts
 * const predicate = Predicate.object(({ metadata }) => metadata.namespace !== "kube-system")
 * ```
 */
export const object =
  (test: (object: KubernetesObject) => boolean): Predicate =>
  (change) =>
    test(change.object)

/** Passes added and deleted objects, and updates for which `facet` returns another text. */
const facetChanged =
  (facet: (object: KubernetesObject) => string | undefined): Predicate =>
  (change) =>
    change.previous === undefined || facet(change.previous) !== facet(change.object)

/**
 * Passes a change of the desired state or a requested deletion, which increases the generation of custom resources and Deployments.
 * For kinds without a generation (ConfigMap, Secret, Service) every update passes.
 */
export const generationChanged: Predicate = named(
  "generationChanged: its spec is unchanged",
  (change) =>
    change.object.metadata.generation === undefined ||
    facetChanged(({ metadata }) => `${metadata.generation} ${metadata.deletionTimestamp}`)(change)
)

/** Passes an update that adds, changes or removes a label. */
export const labelsChanged: Predicate = named(
  "labelsChanged: its labels are unchanged",
  facetChanged(({ metadata }) => text(metadata.labels))
)

/** Passes an update that adds, changes or removes an annotation. */
export const annotationsChanged: Predicate = named(
  "annotationsChanged: its annotations are unchanged",
  facetChanged(({ metadata }) => text(metadata.annotations))
)

/**
 * Passes an object that has all these labels in its new state. An object that no longer matches does not pass.
 *
 * @example
 * ```ts
 * Controller.make("shops", {
 *   for: BuiltIn.ConfigMap,
 *   predicate: Predicate.labels({ app: "shop" }),
 *   reconcile: () => Effect.succeed(Result.done)
 * })
 * ```
 */
export const labels = (wanted: { readonly [key: string]: string }): Predicate =>
  named(
    `labels: it does not have ${Object.entries(wanted)
      .map(([key, value]) => `${key}=${value}`)
      .join(", ")}`,
    object(({ metadata }) => Object.entries(wanted).every(([key, value]) => metadata.labels?.[key] === value))
  )

/** A text that is equal for equal maps, whatever the order of their keys. */
const text = (map: { readonly [key: string]: string } | undefined): string =>
  map === undefined ? "" : JSON.stringify(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)))
