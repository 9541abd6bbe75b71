/**
 * The state of a cached object. An object that is too large counts as Failed: the cache does not have its status, and the runtime does not
 * reconcile it.
 */
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as ObjectState from "../resource/ObjectState.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Transform from "./Transform.ts"

/** The state: see `ObjectState`. */
export const of = (resource: Resource.Any, object: KubernetesObject): ObjectState.State =>
  Transform.isPartial(resource, object) ? "Failed" : ObjectState.of(resource, object)
