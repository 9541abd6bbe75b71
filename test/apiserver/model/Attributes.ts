/** The attributes of a request that admission uses. */
import type { JsonObject } from "./Json.ts"
import { apiVersionOf, type Kind } from "./Kind.ts"

/** The operation of a request. */
export type Operation = "CREATE" | "UPDATE" | "DELETE"

/** The attributes of a write. */
export interface Attributes {
  readonly operation: Operation
  /** The kind of the resource. */
  readonly resource: Kind
  /** The kind of the objects, if it differs from the kind of the resource: a Scale, a Binding. */
  readonly kind?: Pick<Kind, "group" | "version" | "kind" | "schema"> | undefined
  /** The subresource; empty for the object itself. */
  readonly subresource: string
  readonly namespace: string
  /** The name of the object; empty for a collection. */
  readonly name: string
  /** The object after the write; null for a delete. */
  readonly object: JsonObject | null
  /** The object before the write; null for a create. */
  readonly oldObject: JsonObject | null
  /** The DeleteOptions of the request. */
  readonly deleteOptions?: JsonObject | undefined
}

/** Returns the resource in a version, as admission rules and requests represent it. */
export const resourceOf = ({ group, plural, version }: Kind): JsonObject => ({ group, version, resource: plural })

/** Returns the kind of the objects, as admission requests represent it. */
export const kindOf = ({ group, kind, version }: Pick<Kind, "group" | "version" | "kind">): JsonObject => ({
  group,
  version,
  kind
})

/** Returns the namespace for selectors and expressions. For a Namespace, this is its own name. */
export const namespaceOf = ({ name, namespace, resource }: Attributes): string =>
  isNamespaces(resource) ? name : namespace

/** Reports whether the resource is `namespaces`. */
export const isNamespaces = ({ group, plural }: Kind): boolean => group === "" && plural === "namespaces"

/** Converts an object to another version of its kind. null stays null. */
export const converted = (object: JsonObject | null, from: Kind, to: Kind): JsonObject | null =>
  object === null || from === to
    ? object
    : to.convert !== undefined
      ? to.convert(object)
      : { ...to.fromStorage(from.toStorage(object)), apiVersion: apiVersionOf(to), kind: to.kind }
