/**
 * The admission of a write, in the order of a kube-apiserver. Admission plugins, policies and webhooks change the object. They run a second
 * time if a policy or a webhook changed it. After the validation, policies and then webhooks may deny the write.
 */

import type { Attributes } from "../model/Attributes.ts"
import type { JsonObject } from "../model/Json.ts"
import * as MutatingPolicies from "./MutatingPolicies.ts"
import * as Mutation from "./Mutation.ts"
import * as Plugins from "./Plugins.ts"
import type { UpdateStatus } from "./plugins/ResourceQuota.ts"
import { Reinvocation } from "./Reinvocation.ts"
import type { ServerState, WriteOptions } from "./ServerState.ts"
import * as ValidatingPolicies from "./ValidatingPolicies.ts"
import * as WebhookDispatcher from "./WebhookDispatcher.ts"

const storages = [
  "mutatingadmissionpolicybindings",
  "mutatingwebhookconfigurations",
  "validatingadmissionpolicybindings",
  "validatingwebhookconfigurations"
].map((plural) => `admissionregistration.k8s.io/${plural}`)

/** Adds the admission to the options of a write. The plugin ResourceQuota replaces the status of quotas by `updateStatus`. */
export const admitted = (state: ServerState, options: WriteOptions, updateStatus: UpdateStatus): WriteOptions => {
  const hasOthers = storages.some((storage) => state.store.list(storage).length > 0)
  return {
    ...options,
    mutate: (attributes) =>
      (hasOthers
        ? mutated(state, attributes, options)
        : Plugins.mutate(state, attributes.object, attributes, options)) ?? undefined,
    admit: (attributes) => {
      Plugins.validate(state, attributes, options)
      if (hasOthers) {
        ValidatingPolicies.check(state, attributes, options)
        WebhookDispatcher.validate(state, attributes, options)
      }
      Plugins.charge(state, attributes, options, updateStatus)
    }
  }
}

const mutated = (state: ServerState, attributes: Attributes, options: WriteOptions): JsonObject | null => {
  const reinvocation = new Reinvocation()
  const round = (given: JsonObject | null): JsonObject | null => {
    const byPlugins = Plugins.mutate(state, given, attributes, options)
    const byPolicies = MutatingPolicies.mutate(
      state,
      { ...attributes, object: byPlugins },
      options,
      reinvocation.policies
    )
    return WebhookDispatcher.mutate(state, { ...attributes, object: byPolicies }, options, reinvocation.webhooks)
  }
  const first = round(attributes.object)
  if (!reinvocation.isNeeded) return first
  reinvocation.isSecond = true
  const last = round(first)
  return last === null ? null : Mutation.validated(attributes, last, options)
}
