/** The objects that a recording has, from any read, and those that the replay has written itself. */

import type { Document } from "../manager/recordings/Document.ts"
import { type KubernetesObject, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"

/** The objects by kind and key. */
export interface Known {
  /** The state of an object; null if it does not exist, undefined if the recording does not say. */
  readonly get: (place: string) => KubernetesObject | null | undefined
  /** Notes a state that a recorded response has. */
  readonly saw: (place: string, object: KubernetesObject | null) => void
  /** Notes the state after a write that the recording does not have. */
  readonly wrote: (place: string, object: KubernetesObject | null) => void
  /** The state after such a write; undefined without one. */
  readonly written: (place: string) => KubernetesObject | null | undefined
  /** The places and states after such writes. */
  readonly all: () => Iterable<readonly [string, KubernetesObject | null]>
}

type Kind = Pick<Resource.Any, "group" | "plural">

/** The place of an object: its kind in all versions, and its key. */
export const placeOf = (resource: Kind, key: ObjectKey): string => `${Resource.nameOf(resource)} ${keyString(key)}`

/** The kind of a read without its version. */
const kindOf = (identity: string): string => identity.split("/", 1)[0] ?? identity

/**
 * The objects of the cached reads of a recording, and the object of its attempt.
 *
 * @param resource the kind of the attempt
 */
export const make = (
  { objects, reads, start }: Pick<Document, "objects" | "reads" | "start">,
  resource: Kind
): Known => {
  const seen = new Map<string, KubernetesObject | null>()
  const own = objects[start]
  if (own !== undefined) seen.set(placeOf(resource, own.metadata), own)
  const written = new Map<string, KubernetesObject | null>()
  for (const { found, key, resource } of reads) {
    if (found === undefined && key !== undefined) seen.set(`${kindOf(resource)} ${key}`, null)
    for (const index of found === undefined ? [] : [found].flat()) {
      const object = objects[index]
      if (object !== undefined) seen.set(`${kindOf(resource)} ${keyString(object.metadata)}`, object)
    }
  }
  return {
    get: (place) => seen.get(place),
    saw: (place, object) => void seen.set(place, object),
    wrote: (place, object) => {
      seen.set(place, object)
      written.set(place, object)
    },
    written: (place) => written.get(place),
    all: () => written
  }
}
