/** The scale subresource: the desired and the actual number of replicas, for any kind. */
import type { ObjectMeta } from "../resource/KubernetesObject.ts"

/** autoscaling/v1 Scale. `metadata` is a part of the scaled object's metadata. */
export interface Scale {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
  /** The server omits zero. */
  readonly spec?: { readonly replicas?: number }
  readonly status?: { readonly replicas: number; readonly selector?: string }
}
