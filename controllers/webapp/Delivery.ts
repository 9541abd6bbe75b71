/**
 * Another controller that delivers a WebApp step by step, such as Argo Rollouts or Flagger. Pure.
 *
 * Such a controller scales the Deployment, and may change the selector and the ports of the Service. It leaves no mark on them: its writes
 * differ from those of `kubectl scale` only in a field manager that depends on the name of its program. So a user names it.
 */
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"

/** The annotation of a WebApp with the name of the controller that sets the replicas of its Deployment. */
export const annotation = "apps.kubedojo.io/replicas-managed-by"

/** The name of that controller; undefined without the annotation. */
export const of = ({ metadata }: KubernetesObject): string | undefined => {
  const name = metadata.annotations?.[annotation]
  return name === undefined || name === "" ? undefined : name
}
