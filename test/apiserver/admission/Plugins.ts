/** The admission plugins of the API server. */

import type { Attributes } from "../model/Attributes.ts"
import { copy, type JsonObject } from "../model/Json.ts"
import * as LimitRanger from "./plugins/LimitRanger.ts"
import * as PodSecurity from "./plugins/PodSecurity.ts"
import * as ResourceQuota from "./plugins/ResourceQuota.ts"
import * as ServiceAccount from "./plugins/ServiceAccount.ts"
import type { ServerState, WriteOptions } from "./ServerState.ts"

const isPod = ({ group, plural }: Attributes["resource"]): boolean => group === "" && plural === "pods"

/** The object before policies and webhooks see it; the same object if its kind has no plugin. Throws a Failure. */
export const mutate = <A extends JsonObject | null>(
  { identity, plugins }: ServerState,
  object: A,
  attributes: Omit<Attributes, "object">,
  writing: WriteOptions
): A | JsonObject => {
  const { kind, oldObject, operation, resource, subresource } = attributes
  const { admit } = resource.strategy
  if (object === null || admit === undefined || kind !== undefined || subresource !== "" || operation === "DELETE") {
    return object
  }
  const draft = copy(object)
  if (isPod(resource) && operation === "CREATE") {
    LimitRanger.admit(draft, attributes, writing)
    if (plugins.has("ServiceAccount")) ServiceAccount.admit(draft, attributes, identity, writing)
  }
  admit(draft, oldObject, writing)
  return draft
}

/** Throws a Failure if a plugin denies the write, before policies and webhooks do. */
export const validate = (state: ServerState, attributes: Attributes, writing: WriteOptions): void => {
  LimitRanger.validate(attributes, writing)
  PodSecurity.validate(state, attributes, writing)
}

/** The same for the plugin that comes after policies and webhooks. */
export const charge = (
  state: ServerState,
  attributes: Attributes,
  options: WriteOptions,
  updateStatus: ResourceQuota.UpdateStatus
): void => ResourceQuota.check(state, attributes, options, updateStatus)
