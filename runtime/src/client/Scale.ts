/**
 * The scale subresource: how many replicas an object should have and has, whatever its kind.
 */
import type { ObjectMeta } from "../resource/KubernetesObject.ts"

/** autoscaling/v1 Scale. `metadata` is that of the scaled object, in part. */
export interface Scale {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
  /** The server leaves out zero. */
  readonly spec?: { readonly replicas?: number }
  readonly status?: { readonly replicas: number; readonly selector?: string }
}
