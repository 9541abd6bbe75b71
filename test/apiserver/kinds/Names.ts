/**
 * The names and verbs of the built-in kinds, in the order of discovery.
 * `test/record/api.ts` records them from a kube-apiserver.
 */
import type { Subresource, Verb } from "../model/Kind.ts"
import recorded from "./names.json"

/** The discovery entry of a resource. */
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
  /** The response body of a DELETE that removes the object immediately. */
  readonly deletedAs: "status" | "object"
  /** The apiVersion of the stored objects, if it differs from that of the resource. */
  readonly storageVersion?: string
  /** All subresources of a kube-apiserver. The embedded server serves only some of them. */
  readonly subresources: ReadonlyArray<Subresource>
}

/** The names of all built-in kinds. */
export const names: ReadonlyArray<Name> = recorded as ReadonlyArray<Name>

/** The names of one kind, or `undefined` for an unknown kind. */
export const nameOf = (group: string, version: string, kind: string): Name | undefined =>
  names.find((name) => name.group === group && name.version === version && name.kind === kind)
