/** A kind of children with options, for `owns`. */
import * as Resource from "../resource/Resource.ts"

/** The options of an owned kind. */
export interface Options {
  /**
   * Whether the controller deletes children of this kind, by `Owned.remove`, by `Owned.all`, or to replace them. It adds the permission
   * to delete objects of the kind. Default false.
   */
  readonly removes?: boolean | undefined
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
export const of = (resource: Resource.Any, options: Options): OwnedKind => ({ resource, ...options })

/**
 * A declared kind in its long form.
 *
 * @internal
 */
export const from = (declared: Resource.Any | OwnedKind): OwnedKind =>
  "resource" in declared ? declared : { resource: declared }

/**
 * The message about a kind whose children the controller deletes without the declaration.
 *
 * @internal
 */
export const undeclared = (controller: string, kind: Resource.Any): string =>
  `controller ${controller} deletes ${Resource.nameOf(kind)} and does not declare it: add Owned.kind(${kind.kind}, { removes: true }) to owns`
