/**
 * The objects of a kind that a controller is about. The API server selects them, so a selection bounds the list, the watch, the cache and
 * its memory.
 */
import * as Resource from "../resource/Resource.ts"
import * as LabelSelector from "./LabelSelector.ts"

/** Selects objects that meet all of these conditions. Absent: all objects. */
export interface Selection {
  /** A label selector, such as `app=shop,tier in (front, back)`. */
  readonly labels?: string | undefined
  /**
   * A field selector, such as `type!=helm.sh/release.v1`. Each kind has few fields that the API server accepts here: `metadata.name` and
   * `metadata.namespace`, some of built-in kinds, and the `selectableFields` of a CRD.
   */
  readonly fields?: string | undefined
  /** The namespaces, of those that the manager follows (`--namespace`). Only for namespaced kinds. */
  readonly namespaces?: ReadonlyArray<string> | undefined
}

/** Throws if a selection cannot select anything; `of` names its place in a declaration. */
export const check = (of: string, resource: Resource.Any, selection: Selection | undefined): void => {
  const { labels, namespaces } = selection ?? {}
  const refuse = (what: string, value: unknown, accepted: string): never => {
    throw new Error(`invalid ${what} in the selection of ${of}: ${JSON.stringify(value)} (${accepted})`)
  }
  if (LabelSelector.parse(labels) === undefined) refuse("labels", labels, "must be like app=shop")
  if (namespaces === undefined) return
  if (!resource.namespaced) {
    refuse("namespaces", namespaces, `${Resource.nameOf(resource)} are cluster-scoped, so leave namespaces out`)
  }
  if (namespaces.length === 0) refuse("namespaces", namespaces, "must have a namespace, or be left out for all")
}

/** Whether the API server leaves out objects by a condition that a change of an object can affect. */
export const isByContent = ({ fields, labels }: Selection): boolean => labels !== undefined || fields !== undefined

/** The label selector for both; undefined for all objects. */
export const both = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || other === undefined ? (one ?? other) : `${one},${other}`

/** The selected namespaces of those that are followed, where none means all. Undefined if there is none of them. */
export const namespacesOf = (
  followed: ReadonlyArray<string>,
  selected: ReadonlyArray<string> | undefined
): ReadonlyArray<string> | undefined => {
  if (selected === undefined) return followed
  const found = followed.length === 0 ? [...new Set(selected)] : followed.filter((each) => selected.includes(each))
  return found.length === 0 ? undefined : found
}

/** In words: `labels app=shop, namespaces a and b`. */
export const describe = ({ fields, labels, namespaces }: Selection): string =>
  [
    ...(labels === undefined ? [] : [`labels ${labels}`]),
    ...(fields === undefined ? [] : [`fields ${fields}`]),
    ...(namespaces === undefined ? [] : [`namespaces ${namespaces.join(" and ")}`])
  ].join(", ")
