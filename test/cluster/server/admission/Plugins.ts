/** The admission plugins of the API server. They change an object before policies and webhooks see it. */
import type { JsonObject } from "../Json.ts"
import * as Json from "../Json.ts"
import type { Writing } from "../Kind.ts"
import type { Attributes } from "./Attributes.ts"

/** The object after the plugins; the same object if its kind has no plugin. Throws a Failure. */
export const mutate = <A extends JsonObject | null>(
  object: A,
  { kind, oldObject, operation, resource, subresource }: Omit<Attributes, "object">,
  writing: Writing
): A | JsonObject => {
  const { admit } = resource.strategy
  if (object === null || admit === undefined || kind !== undefined || subresource !== "" || operation === "DELETE") {
    return object
  }
  const draft = Json.copy(object)
  admit(draft, oldObject, writing)
  return draft
}
