/** The admission plugins of the API server. */

import type { Attributes } from "../model/Attributes.ts"
import { copy, type JsonObject } from "../model/Json.ts"
import * as DefaultIngressClass from "./plugins/DefaultIngressClass.ts"
import * as LimitRanger from "./plugins/LimitRanger.ts"
import * as PodSecurity from "./plugins/PodSecurity.ts"
import * as PodTopologyLabels from "./plugins/PodTopologyLabels.ts"
import * as ResourceQuota from "./plugins/ResourceQuota.ts"
import * as RuntimeClass from "./plugins/RuntimeClass.ts"
import * as ServiceAccount from "./plugins/ServiceAccount.ts"
import type { ServerState, WriteOptions } from "./ServerState.ts"

const isPod = ({ group, plural }: Attributes["resource"]): boolean => group === "" && plural === "pods"

const isIngress = ({ group, plural }: Attributes["resource"]): boolean =>
  group === "networking.k8s.io" && plural === "ingresses"

/** The object after the admission plugins, before policies and webhooks; the same object if its kind has no plugin. Throws a Failure. */
export const mutate = <A extends JsonObject | null>(
  { identity, plugins }: ServerState,
  object: A,
  attributes: Omit<Attributes, "object">,
  writing: WriteOptions
): A | JsonObject => {
  const { kind, oldObject, operation, resource, subresource } = attributes
  const { admit } = resource.strategy
  if (object === null || operation === "DELETE") return object
  const isCreate = operation === "CREATE"
  if (isPod(resource) && subresource === "binding" && isCreate) {
    const draft = copy(object)
    PodTopologyLabels.admitBinding(draft, writing)
    return draft
  }
  const isNewIngress = isIngress(resource) && isCreate
  if ((admit === undefined && !isNewIngress) || kind !== undefined || subresource !== "") return object
  const draft = copy(object)
  const isNewPod = isPod(resource) && isCreate
  if (isNewPod) {
    LimitRanger.admit(draft, attributes, writing)
    if (plugins.has("ServiceAccount")) ServiceAccount.admit(draft, attributes, identity, writing)
  }
  admit?.(draft, oldObject, writing)
  if (isNewPod) {
    RuntimeClass.admit(draft, attributes, writing)
    PodTopologyLabels.admitPod(draft, writing)
  }
  if (isNewIngress) DefaultIngressClass.admit(draft, writing)
  return draft
}

/** Runs the validating plugins, before policies and webhooks. Throws a Failure if a plugin denies the write. */
export const validate = (state: ServerState, attributes: Attributes, writing: WriteOptions): void => {
  LimitRanger.validate(attributes, writing)
  PodSecurity.validate(state, attributes, writing)
  RuntimeClass.validate(attributes, writing)
}

/** Runs the plugin that comes after policies and webhooks. Throws a Failure if the plugin denies the write. */
export const charge = (
  state: ServerState,
  attributes: Attributes,
  options: WriteOptions,
  updateStatus: ResourceQuota.UpdateStatus
): void => ResourceQuota.check(state, attributes, options, updateStatus)
