/**
 * The admission of a write, in the order of a kube-apiserver. Admission plugins, policies and webhooks change the object, and do so a
 * second time if a policy or a webhook changed it. After the validation, policies and then webhooks may deny the write.
 */
import type { JsonObject } from "../Json.ts"
import type { World, WriteOptions } from "../World.ts"
import type { Attributes } from "./Attributes.ts"
import * as MutatingPolicies from "./MutatingPolicies.ts"
import * as Mutation from "./Mutation.ts"
import * as Plugins from "./Plugins.ts"
import { Reinvocation } from "./Reinvocation.ts"
import * as ValidatingPolicies from "./ValidatingPolicies.ts"
import * as Webhooks from "./Webhooks.ts"

const storages = [
  "mutatingadmissionpolicybindings",
  "mutatingwebhookconfigurations",
  "validatingadmissionpolicybindings",
  "validatingwebhookconfigurations"
].map((plural) => `admissionregistration.k8s.io/${plural}`)

/** The options of a write with its admission. */
export const admitted = (world: World, options: WriteOptions): WriteOptions => {
  const hasOthers = storages.some((storage) => world.store.list(storage).length > 0)
  return {
    ...options,
    mutate: (attributes) =>
      (hasOthers
        ? mutated(world, attributes, options)
        : Plugins.mutate(world, attributes.object, attributes, options)) ?? undefined,
    admit: (attributes) => {
      Plugins.validate(world, attributes, options)
      if (hasOthers) {
        ValidatingPolicies.check(world, attributes, options)
        Webhooks.validate(world, attributes, options)
      }
      Plugins.charge(world, attributes, options)
    }
  }
}

const mutated = (world: World, attributes: Attributes, options: WriteOptions): JsonObject | null => {
  const reinvocation = new Reinvocation()
  const round = (given: JsonObject | null): JsonObject | null => {
    const byPlugins = Plugins.mutate(world, given, attributes, options)
    const byPolicies = MutatingPolicies.mutate(
      world,
      { ...attributes, object: byPlugins },
      options,
      reinvocation.policies
    )
    return Webhooks.mutate(world, { ...attributes, object: byPolicies }, options, reinvocation.webhooks)
  }
  const first = round(attributes.object)
  if (!reinvocation.isNeeded) return first
  reinvocation.isSecond = true
  const last = round(first)
  return last === null ? null : Mutation.settled(attributes, last, options)
}
