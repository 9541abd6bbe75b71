/** The attributes of a request that admission uses. */
import type { JsonObject } from "./Json.ts"
import { apiVersionOf, type Kind } from "./Kind.ts"

/** The operation of a request. */
export type Operation = "CREATE" | "UPDATE" | "DELETE"

/** A request to write. */
export interface Attributes {
  readonly operation: Operation
  /** The kind of the resource. */
  readonly resource: Kind
  /** The kind of the objects, if it is not the kind of the resource: a Scale, a Binding. */
  readonly kind?: Pick<Kind, "group" | "version" | "kind" | "schema"> | undefined
  /** The subresource; empty for the object itself. */
  readonly subresource: string
  readonly namespace: string
  /** The name of the object; empty for a collection. */
  readonly name: string
  /** The object after the write; null for a deletion. */
  readonly object: JsonObject | null
  /** The object before the write; null for a creation. */
  readonly oldObject: JsonObject | null
  /** The DeleteOptions of the request. */
  readonly deleteOptions?: JsonObject | undefined
}

/** The resource in a version, as rules and requests name it. */
export const resourceOf = ({ group, plural, version }: Kind): JsonObject => ({ group, version, resource: plural })

/** The kind of the objects. */
export const kindOf = ({ group, kind, version }: Pick<Kind, "group" | "version" | "kind">): JsonObject => ({
  group,
  version,
  kind
})

/** The namespace that selectors and expressions see. For a Namespace, it is its own name. */
export const namespaceOf = ({ name, namespace, resource }: Attributes): string =>
  isNamespaces(resource) ? name : namespace

/** Whether the resource is that of Namespaces. */
export const isNamespaces = ({ group, plural }: Kind): boolean => group === "" && plural === "namespaces"

/** An object in another version of its kind. */
export const converted = (object: JsonObject | null, from: Kind, to: Kind): JsonObject | null =>
  object === null || from === to
    ? object
    : to.convert !== undefined
      ? to.convert(object)
      : { ...to.fromStorage(from.toStorage(object)), apiVersion: apiVersionOf(to), kind: to.kind }
