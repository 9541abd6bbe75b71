/**
 * The kinds that the server serves, indexed by path and by name. Custom kinds are added and removed with their CRDs.
 */
import type { Kind } from "./Kind.ts"
import { schemaOf } from "./OpenApiDefinitions.ts"

/** The kinds of a server. */
export interface Registry {
  /** Returns all kinds: the built-in ones first, then the custom ones, in the order in which they were added. */
  readonly kinds: () => ReadonlyArray<Kind>
  /** Returns a number that grows with each change of the kinds, so that derived values can be recomputed. */
  readonly generation: () => number
  /** Returns the kind of a resource in a version, or undefined if it is not served. */
  readonly find: (group: string, version: string, plural: string) => Kind | undefined
  /** Returns the kind with the `apiVersion` and `kind` of an object, or undefined if it is not served. */
  readonly named: (apiVersion: string, kind: string) => Kind | undefined
  /** Reports whether a built-in kind has this name. */
  readonly knows: (apiVersion: string, kind: string) => boolean
  /** Returns one kind per resource, regardless of its versions: the first that was added. */
  readonly resources: () => ReadonlyArray<Kind>
  /** Reports whether the group, or one version of it, has kinds. */
  readonly serves: (group: string, version?: string) => boolean
  /** Serves these kinds for an owner (a CRD), in place of the kinds that it declared before. An empty list removes them. */
  readonly declare: (owner: string, kinds: ReadonlyArray<Kind>) => void
  /** Calls the listener once the kind is removed or changed. The returned function cancels this. */
  readonly whenDropped: (kind: Kind, listener: () => void) => () => void
}

/** Creates a registry with fixed built-in kinds. */
export const make = (builtIn: ReadonlyArray<Kind>): Registry => {
  const declared = new Map<string, ReadonlyArray<Kind>>()
  const listeners = new Map<Kind, Set<() => void>>()
  let kinds: ReadonlyArray<Kind> = []
  let byPath = new Map<string, Kind>()
  let byName = new Map<string, Kind>()
  let resources: ReadonlyArray<Kind> = []
  let groups = new Set<string>()
  let generation = 0

  const index = (): void => {
    generation++
    kinds = [builtIn, ...declared.values()].flat()
    byPath = new Map(kinds.map((kind) => [`${kind.group}/${kind.version}/${kind.plural}`, kind]))
    byName = new Map(kinds.map((kind) => [`${kind.group}/${kind.version}/${kind.kind}`, kind]))
    groups = new Set(kinds.flatMap((kind) => [kind.group, `${kind.group}/${kind.version}`]))
    const first = new Map<string, Kind>()
    for (const kind of kinds) {
      const resource = `${kind.group}/${kind.plural}`
      if (!first.has(resource)) first.set(resource, kind)
    }
    resources = [...first.values()]
  }
  index()

  const drop = (kind: Kind): void => {
    for (const listener of listeners.get(kind) ?? []) listener()
    listeners.delete(kind)
  }

  const named = (apiVersion: string, kind: string): Kind | undefined =>
    byName.get(`${apiVersion.includes("/") ? "" : "/"}${apiVersion}/${kind}`)

  return {
    kinds: () => kinds,
    generation: () => generation,
    find: (group, version, plural) => byPath.get(`${group}/${version}/${plural}`),
    named,
    knows: (apiVersion, kind) => named(apiVersion, kind)?.custom === false || schemaOfKind(apiVersion, kind),
    resources: () => resources,
    serves: (group, version) => groups.has(version === undefined ? group : `${group}/${version}`),
    declare: (owner, owned) => {
      const before = declared.get(owner)
      if (before === owned || (before === undefined && owned.length === 0)) return
      if (owned.length === 0) declared.delete(owner)
      else declared.set(owner, owned)
      index()
      for (const kind of before ?? []) if (!owned.includes(kind)) drop(kind)
    },
    whenDropped: (kind, listener) => {
      const all = listeners.get(kind) ?? new Set()
      listeners.set(kind, all.add(listener))
      return () => void all.delete(listener)
    }
  }
}

/**
 * Reports whether Kubernetes publishes a schema for the kind. This includes kinds that no resource here serves: Scale, Binding,
 * and the kinds that this server omits.
 */
const schemaOfKind = (apiVersion: string, kind: string): boolean => {
  const [group = "", version] = apiVersion.split("/")
  return schemaOf(version === undefined ? "" : group, version ?? group, kind) !== undefined
}
