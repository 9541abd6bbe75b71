/** Asks the policies about a write, after its validation and before it is stored. */
import type { World, WriteOptions } from "../World.ts"
import * as ValidatingPolicies from "./ValidatingPolicies.ts"

/** The options of a write that the policies are asked about. */
export const admitted = (world: World, options: WriteOptions): WriteOptions => ({
  ...options,
  admit: (attributes) => ValidatingPolicies.check(world, attributes, options)
})
