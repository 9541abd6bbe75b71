/** The delay of each process's watches behind the store, so that a violation can show stale reads. */

import * as Json from "@homeostat/apiserver/model/Json"
import type { Change } from "@homeostat/apiserver/storage/Store"

/** A watch of a process. */
export interface View {
  readonly process: string
  readonly storage: string
  /** Records a part of the watch that has arrived. */
  readonly arrived: (part: Uint8Array) => void
}

/** The watches of all processes. */
export interface Views {
  /** Records a change of an object. */
  readonly changed: (change: Pick<Change, "object" | "revision" | "storage">) => void
  /** Records that a process knows all changes of a storage after a revision, because it made them. */
  readonly wrote: (process: string, storage: string, after: number) => void
  /** Records the start of a watch of this path. */
  readonly opened: (process: string, storage: string, path: string) => View
  /** Returns the objects whose last change has not reached the process: `configmaps default/shop`. */
  readonly stale: (process: string) => ReadonlyArray<string>
}

interface Latest {
  readonly revision: number
  readonly name: string
  /** The processes that made the change. */
  readonly by: Set<string>
}

const versions = /"resourceVersion":"(\d+)"/g

const decoder = new TextDecoder()

/** Returns the newest resourceVersion in a part of a watch. */
const newestIn = (part: Uint8Array): number =>
  Math.max(0, ...Array.from(decoder.decode(part).matchAll(versions), ([, version]) => Number(version)))

const nothing: ReadonlyArray<string> = []

/** Makes an empty set of watches. */
export const make = (): Views => {
  const storages = new Map<string, { newest: number; readonly objects: Map<string, Latest> }>()
  const seen = new Map<string, Map<string, () => number>>()
  return {
    changed: ({ object, revision, storage }) => {
      const { name = "", namespace } = Json.texts(object.metadata)
      const kept = storages.get(storage) ?? { newest: 0, objects: new Map<string, Latest>() }
      storages.set(storage, kept)
      kept.newest = revision
      const key = namespace === undefined ? name : `${namespace}/${name}`
      kept.objects.set(key, { revision, name: `${storage.split("/").at(-1)} ${key}`, by: new Set() })
    },
    wrote: (process, storage, after) => {
      for (const { by, revision } of storages.get(storage)?.objects.values() ?? []) {
        if (revision > after) by.add(process)
      }
    },
    opened: (process, storage, path) => {
      const query = new URLSearchParams(path.split("?", 2)[1] ?? "")
      let newest = Number(query.get("resourceVersion") ?? 0)
      let pending: Uint8Array | undefined
      const newestSeen = (): number => {
        if (pending !== undefined) newest = Math.max(newest, newestIn(pending))
        pending = undefined
        return newest
      }
      // A watch with a selector or a namespace does not show the changes of other objects.
      const isWhole = !query.has("labelSelector") && !query.has("fieldSelector") && !path.includes("/namespaces/")
      const own = seen.get(process) ?? new Map<string, () => number>()
      seen.set(process, own)
      if (isWhole) own.set(storage, newestSeen)
      return {
        process,
        storage,
        arrived: (part) => {
          newestSeen()
          pending = part
        }
      }
    },
    stale: (process) => {
      const found: Array<string> = []
      for (const [storage, newestSeen] of seen.get(process) ?? []) {
        const kept = storages.get(storage)
        if (kept === undefined || kept.newest <= newestSeen()) continue
        for (const { by, name, revision } of kept.objects.values()) {
          if (revision > newestSeen() && !by.has(process)) found.push(name)
        }
      }
      return found.length === 0 ? nothing : found
    }
  }
}
