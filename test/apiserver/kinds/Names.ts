/**
 * The built-in kinds by name, in the order of discovery: what a kube-apiserver says that they are called and what can be
 * done with them. `test/record/api.ts` records them from one.
 */
import type { Subresource, Verb } from "../model/Kind.ts"
import recorded from "./names.json"

/** What discovery says of a resource. */
export interface Name {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly namespaced: boolean
  readonly verbs: ReadonlyArray<Verb>
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  /** What a DELETE is answered with when the object is gone at once. */
  readonly deletedAs: "status" | "object"
  /** The apiVersion in which its objects are stored, where that is not its own. */
  readonly storageVersion?: string
  /** All that a kube-apiserver has; which of them are served is for the server to say. */
  readonly subresources: ReadonlyArray<Subresource>
}

/** All of them. */
export const names: ReadonlyArray<Name> = recorded as ReadonlyArray<Name>

/** Those of one kind. */
export const nameOf = (group: string, version: string, kind: string): Name | undefined =>
  names.find((name) => name.group === group && name.version === version && name.kind === kind)
