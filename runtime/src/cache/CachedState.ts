/**
 * The state of a cached object. Of an object that is too large, the cache has no status. The runtime does not reconcile it, so it counts as
 * Failed.
 */
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as ObjectState from "../resource/ObjectState.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Transform from "./Transform.ts"

/** The state: see `ObjectState`. */
export const of = (resource: Resource.Any, object: KubernetesObject): ObjectState.State =>
  Transform.isPartial(resource, object) ? "Failed" : ObjectState.of(resource, object)
