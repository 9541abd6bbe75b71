/** A kind of children with options, for `owns`. */
import * as LabelSelector from "../cache/LabelSelector.ts"
import * as Selection from "../cache/Selection.ts"
import type { DesiredMeta } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import type { Predicate } from "./Predicate.ts"

/** The options of an owned kind. */
export interface Options {
  /**
   * Whether the controller deletes children of this kind, by `Owned.remove`, by `Owned.all`, or to replace them. It adds the permission
   * to delete objects of the kind. Default false.
   */
  readonly removes?: boolean | undefined
  /** The changes of children that trigger their owner. Default: all changes. The cache keeps all children. */
  readonly predicate?: Predicate | undefined
  /**
   * The cache keeps only these children, such as those with `{ labels: "app=shop" }`. `Owned.apply` fails with a permanent error for a
   * child without the labels. Default namespaces: those of the selection of the controller.
   */
  readonly select?: Selection.Selection | undefined
  /**
   * Whether the cache keeps only metadata of the children, for kinds that the controller does not apply but creates by `Client.create`.
   * Read them from the cache by `Resource.metadataOnly(kind)`, and remove them by that kind, too. Default false.
   */
  readonly metadataOnly?: boolean | undefined
  /**
   * Whether the controller runs without the kind while the API server does not serve it, such as without the CRDs of the Gateway API. Its
   * cache is empty then, and `Owned.apply` fails with `NotServed`. When the API server serves the kind, the controller follows it, and
   * reconciles the objects that wait for it. Default false: the controller does not start before.
   */
  readonly optional?: boolean | undefined
}

/** A kind of children, as a controller declares it in `owns`. */
export interface OwnedKind extends Options {
  /** The kind. */
  readonly resource: Resource.Any
}

/**
 * A kind of children with options, for `owns`. A kind without options needs no call: `owns: [BuiltIn.Deployment]`.
 *
 * @example
 * ```ts
 * const owns = [BuiltIn.Deployment, Owned.kind(BuiltIn.Ingress, { removes: true })]
 * ```
 */
export const of = (resource: Resource.Any, options: Options): OwnedKind => {
  const { metadataOnly = false, select } = options
  Selection.check("an owned kind", resource, select)
  return { ...options, resource: metadataOnly ? Resource.metadataOnly(resource) : resource }
}

/**
 * A declared kind in its long form. Without namespaces of its own it has those of its owners, because a child is in the namespace of its
 * owner.
 *
 * @internal
 */
export const from = (
  declared: Resource.Any | OwnedKind,
  owner: Resource.Any,
  namespaces: ReadonlyArray<string> | undefined
): OwnedKind => {
  const kind = "resource" in declared ? declared : { resource: declared }
  return namespaces === undefined || !owner.namespaced || !kind.resource.namespaced
    ? kind
    : { ...kind, select: { namespaces, ...kind.select } }
}

/**
 * The message about a child whose labels the selector of its kind does not select; `undefined` if it selects them.
 *
 * @internal
 */
export const unselected = (selector: string, kind: Resource.Any, { labels, name }: DesiredMeta): string | undefined =>
  LabelSelector.parse(selector)?.(labels) === true
    ? undefined
    : `${kind.kind} ${name} needs labels that match the selection of its kind in owns: ${selector}`

/**
 * The message about a kind whose children the controller deletes without the declaration.
 *
 * @internal
 */
export const undeclared = (controller: string, kind: Resource.Any): string =>
  `controller ${controller} deletes ${Resource.nameOf(kind)} and does not declare it: add Owned.kind(${kind.kind}, { removes: true }) to owns`
