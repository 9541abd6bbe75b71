/** A sequence on which the two servers once disagreed, and the steps that such sequences have in common. */
import type { JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import type { Sequence } from "./Agreement.ts"
import type { Step } from "./Step.ts"

/** A sequence, the seed that found it (0: it was thought of), and what was wrong. */
export interface Regression extends Sequence {
  readonly seed: number
  readonly name: string
}

/** Creates an object. */
export const create = (body: JsonObject = {}): Step => ({ verb: "create", by: "ann", body })

/** Deletes the object as it is. */
export const remove: Step = { verb: "delete", body: {}, version: "live" }

/** The spec of a base, and more of it. */
export const spec = (base: JsonObject, more: JsonObject = {}): JsonObject => ({
  spec: { ...J.object(base.spec), ...more }
})
