/** Asks the policies and the webhooks about a write: before its validation, and again between that and the moment it is stored. */
import type { World, WriteOptions } from "../World.ts"
import * as ValidatingPolicies from "./ValidatingPolicies.ts"
import * as Webhook from "./Webhook.ts"
import * as Webhooks from "./Webhooks.ts"

/** The options of a write that the policies and webhooks are asked about. */
export const admitted = (world: World, options: WriteOptions): WriteOptions => ({
  ...options,
  ...(Webhook.anyMutating(world) && { mutate: (attributes) => Webhooks.mutate(world, attributes, options) }),
  admit: (attributes) => {
    ValidatingPolicies.check(world, attributes, options)
    Webhooks.validate(world, attributes, options)
  }
})
