/** The annotation with which a user pauses one object. */
import type { KubernetesObject } from "./KubernetesObject.ts"
import * as Text from "./Text.ts"

/** The annotation. Every program has the same key, so that a user need not know which program reconciles an object. */
export const annotation = "homeostat.dev/paused"

/** The longest shown value of the annotation, in characters. Anyone who may annotate the object chooses it. */
const longest = 256

/** Whether the annotation pauses an object. An object that is being deleted is not paused. */
export const isPaused = ({ metadata }: KubernetesObject): boolean => {
  const value = metadata.annotations?.[annotation]
  return value !== undefined && value !== "false" && metadata.deletionTimestamp === undefined
}

/** Why an object is paused, as one printable line of at most 256 characters; undefined if it is not paused. */
export const reasonOf = (object: KubernetesObject): string | undefined =>
  isPaused(object) ? Text.line(object.metadata.annotations?.[annotation] ?? "", longest) : undefined
