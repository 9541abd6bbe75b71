/** The empty object of a kind. The manager that creates an object owns every field that differs from the empty object. */
import type { JsonObject } from "../model/Json.ts"
import { type Kind, typeOf } from "../model/Kind.ts"

/**
 * Returns the empty object of a kind. For a custom kind, it has `apiVersion` and `kind`. For a built-in kind, it also has the
 * members that its Go type always encodes.
 */
export const ofKind = (kind: Pick<Kind, "group" | "version" | "kind" | "zero">): JsonObject => ({
  ...kind.zero,
  ...typeOf(kind)
})
