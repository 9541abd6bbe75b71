/** The empty object of a kind: the manager that creates an object owns every field that differs from it. */
import type { JsonObject } from "../model/Json.ts"
import { type Kind, typeOf } from "../model/Kind.ts"

/** A custom kind begins with its names. A built-in kind begins with everything that its Go type always writes. */
export const ofKind = (kind: Pick<Kind, "group" | "version" | "kind" | "zero">): JsonObject => ({
  ...kind.zero,
  ...typeOf(kind)
})
