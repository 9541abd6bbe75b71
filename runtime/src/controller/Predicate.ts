/**
 * Which changes are worth a reconcile. A predicate is a pure function of one change; it never narrows what the cache holds.
 * Resyncs and retries are not changes and pass by every predicate.
 */
import type { Change } from "../cache/Store.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"

/** True where the change should trigger a reconcile. */
export interface Predicate {
  (change: Change): boolean
  /** What to tell of a change that did not pass, for `homeostat why`: see {@link named}. */
  readonly refusal?: ((change: Change) => string) | undefined
}

/**
 * The same with what is told of a change that does not pass: its name and the reason, such as `onlyReady: the pod is not ready`.
 * A predicate that is just a function has no name to be told by.
 */
export const named = (refusal: string, predicate: Predicate): Predicate => telling(() => refusal, predicate)

const telling = (refusal: (change: Change) => string, predicate: (change: Change) => boolean): Predicate =>
  // A function of its own, as the one that is given may be used under several names.
  Object.assign((change: Change) => predicate(change), { refusal })

/** Why a change did not pass, as far as the predicate says. */
export const refusalOf = (predicate: Predicate | undefined, change: Change): string => {
  try {
    return predicate?.refusal?.(change) ?? "a predicate without a name"
  } catch {
    // The change was refused already; that nobody can say why shall not let it pass.
    return "a predicate that threw when it was asked why"
  }
}

/** Every one of them holds. With none: always. */
export const and = (...predicates: ReadonlyArray<Predicate>): Predicate =>
  telling(
    (change) => {
      const first = predicates.find((predicate) => !predicate(change))
      return first === undefined ? "and: each of them passes" : refusalOf(first, change)
    },
    (change) => predicates.every((predicate) => predicate(change))
  )

/** One of them holds. With none: never. */
export const or = (...predicates: ReadonlyArray<Predicate>): Predicate =>
  telling(
    (change) =>
      predicates.map((predicate) => refusalOf(predicate, change)).join("; ") || "or: there is nothing to pass",
    (change) => predicates.some((predicate) => predicate(change))
  )

/** It does not hold. */
export const not =
  (predicate: Predicate): Predicate =>
  (change) =>
    !predicate(change)

/** A predicate of the object alone: of the last known state where it was deleted. */
export const object =
  (test: (object: KubernetesObject) => boolean): Predicate =>
  (change) =>
    test(change.object)

/** Passes appearances and disappearances, which have no `previous`, and those updates in which `facet` gives another text. */
const facetChanged =
  (facet: (object: KubernetesObject) => string | undefined): Predicate =>
  (change) =>
    change.previous === undefined || facet(change.previous) !== facet(change.object)

/**
 * The desired state changed, or a deletion was asked for (which moves the generation of custom resources and Deployments).
 * For kinds without a generation (ConfigMap, Secret, Service) every update passes: there, nothing tells spec from status.
 */
export const generationChanged: Predicate = named(
  "generationChanged: its spec is as it was",
  (change) =>
    change.object.metadata.generation === undefined ||
    facetChanged(({ metadata }) => `${metadata.generation} ${metadata.deletionTimestamp}`)(change)
)

/** A label was added, changed or removed. */
export const labelsChanged: Predicate = named(
  "labelsChanged: its labels are as they were",
  facetChanged(({ metadata }) => text(metadata.labels))
)

/** An annotation was added, changed or removed. */
export const annotationsChanged: Predicate = named(
  "annotationsChanged: its annotations are as they were",
  facetChanged(({ metadata }) => text(metadata.annotations))
)

/** The object carries all these labels. Looks at the new state only: an object that stops matching does not pass. */
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
