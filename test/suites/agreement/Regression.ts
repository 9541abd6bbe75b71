/** Shared steps of the sequences on which the two servers once differed. */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Sequence } from "./Agreement.ts"
import type { Step, Verb } from "./Step.ts"

/** Sequences of writes of one kind, each with the name of its test. */
export const of = (
  kind: string,
  sequences: { readonly [name: string]: Sequence["steps"] }
): ReadonlyArray<Sequence & { readonly name: string }> =>
  Object.entries(sequences).map(([name, steps]) => ({ name, kind, steps }))

/** A write by the manager `ann`. */
export const write = (verb: Verb, body: Json, rest: Omit<Step, "verb" | "body"> = {}): Step => ({
  verb,
  by: "ann",
  body,
  ...rest
})

/** Creates an object. */
export const create = (body: JsonObject = {}): Step => write("create", body)

/** Deletes the live object. */
export const remove: Step = { verb: "delete", body: {}, version: "live" }

/** The spec of a base with more fields. */
export const spec = (base: JsonObject, more: JsonObject = {}): JsonObject => ({
  spec: { ...J.object(base.spec), ...more }
})
