/** What admission knows of a request. */
import type { JsonObject } from "../Json.ts"
import { apiVersionOf, type Kind } from "../Kind.ts"

/** What a request does. */
export type Operation = "CREATE" | "UPDATE" | "DELETE"

/** A request that is about to write. */
export interface Attributes {
  readonly operation: Operation
  /** The kind of the resource. */
  readonly resource: Kind
  /** The kind of the objects, where that is another one: a Scale, a Binding. */
  readonly kind?: Pick<Kind, "group" | "version" | "kind" | "schema"> | undefined
  /** Empty: the object itself. */
  readonly subresource: string
  readonly namespace: string
  /** Empty: of a collection. */
  readonly name: string
  /** The next object; null: it is deleted. */
  readonly object: JsonObject | null
  /** The object as it was; null: it is new. */
  readonly oldObject: JsonObject | null
  /** DeleteOptions, as they were asked for. */
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

/** The namespace that selectors and expressions see: a Namespace is in itself. */
export const namespaceOf = ({ name, namespace, resource }: Attributes): string =>
  isNamespaces(resource) ? name : namespace

/** Whether it is the resource of Namespaces. */
export const isNamespaces = ({ group, plural }: Kind): boolean => group === "" && plural === "namespaces"

/** An object in another version of its kind. */
export const converted = (object: JsonObject | null, from: Kind, to: Kind): JsonObject | null =>
  object === null || from === to
    ? object
    : to.convert !== undefined
      ? to.convert(object)
      : { ...to.fromStorage(from.toStorage(object)), apiVersion: apiVersionOf(to), kind: to.kind }
