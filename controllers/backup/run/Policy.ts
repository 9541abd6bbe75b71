/** The limits that the owner of the platform sets for movers, by the settings of the program. Pure. */
import * as Duration from "effect/Duration"
import type { Values } from "../Settings.ts"
import type { PodSpec } from "./MoverJob.ts"

/** Why a mover is not allowed; undefined if it is. */
export const refusal = (
  { image, podSecurityContext }: PodSpec,
  { allowRoot, images }: Pick<Values, "allowRoot" | "images">
): string | undefined => {
  if (image !== undefined && images?.every((start) => !image.startsWith(start))) {
    return `spec.image is not allowed: "${image}" (the manager's HOMEOSTAT_BACKUP_IMAGES allows ${images.join(", ") || "none"})`
  }
  if (podSecurityContext?.runAsUser === 0 && !allowRoot) {
    return "spec.podSecurityContext.runAsUser is not allowed: 0 (the manager's HOMEOSTAT_BACKUP_ALLOW_ROOT is false)"
  }
  return undefined
}

/** The spec of a pod with the largest deadline and the default resources. */
export const bounded = <A extends PodSpec>(
  spec: A,
  { maxDeadline, resources }: Pick<Values, "maxDeadline" | "resources">
): A => ({
  ...spec,
  activeDeadlineSeconds: Math.min(spec.activeDeadlineSeconds, Math.round(Duration.toSeconds(maxDeadline))),
  resources: spec.resources ?? (isEmpty(resources) ? undefined : resources)
})

const isEmpty = ({ limits, requests }: Values["resources"]): boolean =>
  Object.keys({ ...limits, ...requests }).length === 0
