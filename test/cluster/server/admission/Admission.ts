/**
 * Asks the policies and the webhooks about a write: they change the object before its validation, and may refuse it after that, each
 * time first the policies.
 */
import type { World, WriteOptions } from "../World.ts"
import type { Attributes } from "./Attributes.ts"
import * as MutatingPolicies from "./MutatingPolicies.ts"
import * as Mutation from "./Mutation.ts"
import * as ValidatingPolicies from "./ValidatingPolicies.ts"
import * as Webhook from "./Webhook.ts"
import * as Webhooks from "./Webhooks.ts"

const bindings = "admissionregistration.k8s.io/mutatingadmissionpolicybindings"

/** The options of a write that the policies and webhooks are asked about. */
export const admitted = (world: World, options: WriteOptions): WriteOptions => ({
  ...options,
  ...((Webhook.anyMutating(world) || world.store.list(bindings).length > 0) && {
    mutate: (attributes) => mutated(world, attributes, options)
  }),
  admit: (attributes) => {
    ValidatingPolicies.check(world, attributes, options)
    Webhooks.validate(world, attributes, options)
  }
})

const mutated = (world: World, attributes: Attributes, options: WriteOptions) => {
  const { object } = attributes
  const byPolicies = object === null ? null : (MutatingPolicies.mutate(world, attributes, options) ?? object)
  const byWebhooks = Webhooks.mutate(world, { ...attributes, object: byPolicies }, options)
  if (byWebhooks === null || byWebhooks === object) return undefined
  return byWebhooks === byPolicies ? byWebhooks : Mutation.settled(attributes, byWebhooks, options)
}
