/** Asks the policies about a write: they change the object before its validation, and refuse it after that. */
import type { World, WriteOptions } from "../World.ts"
import * as MutatingPolicies from "./MutatingPolicies.ts"
import * as ValidatingPolicies from "./ValidatingPolicies.ts"

/** The options of a write that the policies are asked about. */
export const admitted = (world: World, options: WriteOptions): WriteOptions => ({
  ...options,
  mutate: (attributes) => MutatingPolicies.mutate(world, attributes, options) ?? undefined,
  admit: (attributes) => ValidatingPolicies.check(world, attributes, options)
})
