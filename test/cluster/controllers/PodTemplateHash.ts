/**
 * The hash of a pod template, which distinguishes the ReplicaSets of a Deployment. The real hash depends on Go's representation of the
 * template. This hash has another value, but it is as stable and has the same format.
 */
import * as GoText from "@homeostat/apiserver/model/GoText"
import type { JsonObject } from "@homeostat/apiserver/model/Json"

const alphabet = "bcdfghjklmnpqrstvwxz2456789"

/** Returns the hash of a template. `collisions` is the number of collisions so far. */
export const hashOf = (template: JsonObject, collisions: number): string => {
  let hash = 0x811c9dc5
  for (const character of `${GoText.json(template)}${collisions === 0 ? "" : collisions}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0
  }
  return safe(hash)
}

/** Encodes a number in letters that form no words. */
export const safe = (hash: number): string =>
  [...String(hash)].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join("")
