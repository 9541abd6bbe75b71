/**
 * Which changes are worth a reconcile. A predicate is a pure function of one change; it never narrows what the cache holds.
 * Resyncs and retries are not changes and pass by every predicate.
 */
import type { Change } from "../cache/Store.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"

/** True where the change should trigger a reconcile. */
export type Predicate = (change: Change) => boolean

/** Every one of them holds. With none: always. */
export const and =
  (...predicates: ReadonlyArray<Predicate>): Predicate =>
  (change) =>
    predicates.every((predicate) => predicate(change))

/** One of them holds. With none: never. */
export const or =
  (...predicates: ReadonlyArray<Predicate>): Predicate =>
  (change) =>
    predicates.some((predicate) => predicate(change))

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
export const generationChanged: Predicate = (change) =>
  change.object.metadata.generation === undefined ||
  facetChanged(({ metadata }) => `${metadata.generation} ${metadata.deletionTimestamp}`)(change)

/** A label was added, changed or removed. */
export const labelsChanged: Predicate = facetChanged(({ metadata }) => text(metadata.labels))

/** An annotation was added, changed or removed. */
export const annotationsChanged: Predicate = facetChanged(({ metadata }) => text(metadata.annotations))

/** The object carries all these labels. Looks at the new state only: an object that stops matching does not pass. */
export const labels = (wanted: { readonly [key: string]: string }): Predicate =>
  object(({ metadata }) => Object.entries(wanted).every(([key, value]) => metadata.labels?.[key] === value))

/** A text that is equal for equal maps, whatever the order of their keys. */
const text = (map: { readonly [key: string]: string } | undefined): string =>
  map === undefined ? "" : JSON.stringify(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
