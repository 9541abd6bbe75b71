/**
 * Asks the policies and the webhooks about a write: they change the object before its validation, and may refuse it after that, each
 * time first the policies.
 */
import type { World, WriteOptions } from "../World.ts"
import type { Attributes } from "./Attributes.ts"
import * as MutatingPolicies from "./MutatingPolicies.ts"
import * as Mutation from "./Mutation.ts"
import * as ValidatingPolicies from "./ValidatingPolicies.ts"
import * as Webhooks from "./Webhooks.ts"

const storages = [
  "mutatingadmissionpolicybindings",
  "mutatingwebhookconfigurations",
  "validatingadmissionpolicybindings",
  "validatingwebhookconfigurations"
].map((plural) => `admissionregistration.k8s.io/${plural}`)

/** The options of a write that the policies and webhooks are asked about: the given ones where there are none. */
export const admitted = (world: World, options: WriteOptions): WriteOptions =>
  storages.every((storage) => world.store.list(storage).length === 0)
    ? options
    : {
        ...options,
        mutate: (attributes) => mutated(world, attributes, options),
        admit: (attributes) => {
          ValidatingPolicies.check(world, attributes, options)
          Webhooks.validate(world, attributes, options)
        }
      }

const mutated = (world: World, attributes: Attributes, options: WriteOptions) => {
  const { object } = attributes
  const byPolicies = object === null ? null : (MutatingPolicies.mutate(world, attributes, options) ?? object)
  const byWebhooks = Webhooks.mutate(world, { ...attributes, object: byPolicies }, options)
  if (byWebhooks === null || byWebhooks === object) return undefined
  return byWebhooks === byPolicies ? byWebhooks : Mutation.settled(attributes, byWebhooks, options)
}
