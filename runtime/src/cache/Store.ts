/**
 * The objects of one kind that reads see: wire JSON by key, with indexes. `Overlay` fills it from the watch and from own writes.
 */
import type { KubernetesObject, ManagedFieldsEntry } from "../resource/KubernetesObject.ts"
import * as Index from "./Index.ts"
import type { Labels } from "./LabelSelector.ts"
import { Undeclared } from "./Undeclared.ts"

/**
 * A change of one object that the API server reported. Changes come in order.
 *
 * Only events of the watch and lists make changes. The answer to an own write makes none; its event does when it arrives.
 */
export interface Change {
  readonly type: "added" | "updated" | "deleted"
  /** The new state; for a deleted object, the last known state. */
  readonly object: KubernetesObject
  /** The previous state of an updated object that the watch delivered. */
  readonly previous?: KubernetesObject | undefined
  /** The field managers of an updated object that the watch delivered. The object has none. */
  readonly managedFields?: ReadonlyArray<ManagedFieldsEntry> | undefined
  /** The object is from the first list, or was stored when the listener subscribed. */
  readonly initial: boolean
  /** A later list found the change, after a gap in the watch. Versions in the gap are unknown. */
  readonly relisted: boolean
  /** When the change arrived, in milliseconds of the Clock. */
  readonly receivedAt: number
}

/** Which objects to list: those that meet all conditions. Labels match by equality. */
export interface Filter {
  readonly namespace?: string | undefined
  readonly labels?: Labels | undefined
  readonly index?: { readonly name: string; readonly value: string } | undefined
}

/**
 * The reading side. Reads return the stored objects, not copies: their types are deeply read-only. They have no `managedFields`.
 */
export interface Store {
  readonly get: (key: string) => KubernetesObject | undefined
  readonly size: () => number
  /** The keys, of one namespace if given. Valid until the next change. */
  readonly keys: (namespace?: string) => Iterable<string>
  /** The objects that match, in no particular order. Throws {@link Undeclared} for an unknown index. */
  readonly list: (filter?: Filter) => ReadonlyArray<KubernetesObject>
  /** The objects whose ownerReferences contain `owner`, as a controller or not, in its namespace if it has one. */
  readonly byOwner: (owner: KubernetesObject) => ReadonlyArray<KubernetesObject>
  readonly hasIndex: (name: string) => boolean
}

/** The writing side, for the informer. */
export interface Table extends Store {
  readonly set: (key: string, object: KubernetesObject) => void
  readonly delete: (key: string) => void
  /** Adds an index over present and future objects. Does nothing if an index of the name exists. */
  readonly addIndex: (definition: Index.Definition) => void
}

const none: ReadonlyArray<KubernetesObject> = []

const matches = (wanted: Labels, object: KubernetesObject): boolean => {
  const labels = object.metadata.labels
  for (const name in wanted) if (labels?.[name] !== wanted[name]) return false
  return true
}

/** Called before the store replaces an object; `undefined` stands for none. */
export type Replaced = (
  key: string,
  previous: KubernetesObject | undefined,
  object: KubernetesObject | undefined
) => void

/** An empty store, with indexes by namespace and by owner besides those given. */
export const make = (indexes: ReadonlyArray<Index.Definition> = [], replaced?: Replaced): Table => {
  const objects = new Map<string, KubernetesObject>()
  const table = new Map<string, Index.Index>()
  let all: ReadonlyArray<Index.Index> = []

  const index = (name: string): Index.Index => {
    const found = table.get(name)
    if (found === undefined) {
      throw new Undeclared({ message: `no index "${name}" (declare it in indexes of Controller.make or Trigger.on)` })
    }
    return found
  }
  const addIndex = (definition: Index.Definition): void => {
    if (table.has(definition.name)) return
    const added = Index.make(definition)
    for (const [key, object] of objects) added.replace(key, undefined, object)
    table.set(definition.name, added)
    all = [...table.values()]
  }
  const pick = (keys: Iterable<string>): ReadonlyArray<KubernetesObject> => {
    if (keys === Index.nothing) return none
    const picked: Array<KubernetesObject> = []
    for (const key of keys) {
      const object = objects.get(key)
      if (object !== undefined) picked.push(object)
    }
    return picked
  }

  for (const definition of [Index.byNamespace, Index.byOwner, ...indexes]) addIndex(definition)
  const namespaces = index(Index.namespaceName)
  const owners = index(Index.ownerName)

  return {
    get: (key) => objects.get(key),
    size: () => objects.size,
    list: (filter = {}) => {
      const { namespace, labels } = filter
      const named = filter.index
      const candidates =
        named !== undefined
          ? pick(index(named.name).keys(named.value))
          : namespace !== undefined
            ? pick(namespaces.keys(namespace))
            : Array.from(objects.values())
      if (labels === undefined && (named === undefined || namespace === undefined)) return candidates
      return candidates.filter(
        (object) =>
          (namespace === undefined || object.metadata.namespace === namespace) &&
          (labels === undefined || matches(labels, object))
      )
    },
    byOwner: ({ metadata: { namespace, uid } }) => {
      // Most kinds that a controller owns are empty, and every reconcile with a set of children reads them all.
      if (objects.size === 0) return none
      const picked = pick(owners.keys(uid))
      return namespace === undefined || picked.length === 0
        ? picked
        : picked.filter(({ metadata }) => metadata.namespace === namespace)
    },
    hasIndex: (name) => table.has(name),
    set: (key, object) => {
      const previous = objects.get(key)
      if (previous === object) return
      replaced?.(key, previous, object)
      objects.set(key, object)
      for (const each of all) each.replace(key, previous, object)
    },
    delete: (key) => {
      const previous = objects.get(key)
      if (previous === undefined) return
      replaced?.(key, previous, undefined)
      objects.delete(key)
      for (const each of all) each.replace(key, previous, undefined)
    },
    keys: (namespace) => (namespace === undefined ? objects.keys() : namespaces.keys(namespace)),
    addIndex
  }
}
