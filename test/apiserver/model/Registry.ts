/**
 * The kinds that are served, by where they are found. Custom kinds come and go with their definitions.
 */
import type { Kind } from "./Kind.ts"
import { schemaOf } from "./OpenApiDefinitions.ts"

/** The kinds of a server. */
export interface Registry {
  /** All, the built-in ones first, in the order they came. */
  readonly kinds: () => ReadonlyArray<Kind>
  /** Grows with each change of the kinds, so that derived values are computed again. */
  readonly generation: () => number
  /** The kind of a resource in a version. */
  readonly find: (group: string, version: string, plural: string) => Kind | undefined
  /** A kind by the name that objects say. */
  readonly named: (apiVersion: string, kind: string) => Kind | undefined
  /** Whether a built-in kind is known by that name. */
  readonly knows: (apiVersion: string, kind: string) => boolean
  /** One kind per resource, whatever its versions: the first that was added. */
  readonly resources: () => ReadonlyArray<Kind>
  /** Whether there are kinds of that group, or of one of its versions. */
  readonly serves: (group: string, version?: string) => boolean
  /** Serves these kinds as what that owner (a CRD) declares, instead of what it declared before. None: it declares nothing. */
  readonly declare: (owner: string, kinds: ReadonlyArray<Kind>) => void
  /** Calls back when the kind is not served any more, or otherwise than it was, unless the returned function was called before. */
  readonly whenDropped: (kind: Kind, listener: () => void) => () => void
}

/** A registry with kinds that are always there. */
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

/** Kinds that are part of Kubernetes though nothing serves them by themselves: Scale, Binding, kinds that are left out here. */
const schemaOfKind = (apiVersion: string, kind: string): boolean => {
  const [group = "", version] = apiVersion.split("/")
  return schemaOf(version === undefined ? "" : group, version ?? group, kind) !== undefined
}
