/**
 * The hash that tells the ReplicaSets of a Deployment apart. It is not the real one's, which is made of Go's memory of a pod
 * template; it is as stable, and looks the same.
 */
import * as GoText from "@homeostat/apiserver/model/GoText"
import type { JsonObject } from "@homeostat/apiserver/model/Json"

const alphabet = "bcdfghjklmnpqrstvwxz2456789"

/** The hash of a template. `collisions`: how often it was found to be taken. */
export const hashOf = (template: JsonObject, collisions: number): string => {
  let hash = 0x811c9dc5
  for (const character of `${GoText.json(template)}${collisions === 0 ? "" : collisions}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0
  }
  return safe(hash)
}

/** A number in letters that make no words. */
export const safe = (hash: number): string =>
  [...String(hash)].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join("")
