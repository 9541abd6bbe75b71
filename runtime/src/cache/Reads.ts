/**
 * The reads of the cache: from the stores of all informers, or of those that one controller declares.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Client from "../client/Client.ts"
import { Exchanges, type Ledger } from "../client/Exchange.ts"
import * as Decoding from "../resource/Decoding.ts"
import { type KubernetesObject, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import type { Informer } from "./Informer.ts"
import type * as Service from "./Service.ts"
import type { Store } from "./Store.ts"
import * as Transform from "./Transform.ts"
import { ofKind, Undeclared } from "./Undeclared.ts"
import type * as Whole from "./Whole.ts"
import * as WriteEffect from "./WriteEffect.ts"

/** The informers to read from. */
export interface Source {
  /** The informers of a kind, in all its versions and projections. */
  readonly of: (resource: Resource.Any) => ReadonlyArray<Informer>
  /** Whether one of them follows only some namespaces. */
  readonly isBounded: () => boolean
  /** The controller that declares them; undefined for all informers. */
  readonly controller: string | undefined
}

/** The parts that all reads of a cache share. */
export interface Shared {
  readonly client: Client.Client["Service"]
  readonly whole: Whole.Whole
  /** The kinds for which `list` has logged that it omitted objects. */
  readonly reportedPartial: Set<string>
}

/** The reads, and `forget`, which must be called when an informer or an index is declared. */
export interface Reads extends Pick<Service.Service, "get" | "getWhole" | "list" | "byOwner" | "dependents"> {
  readonly forget: () => void
}

/** The record of the reconcile of a fiber. `Context.get` would allocate at each read. */
const ledgerOf = ({ context }: Service.Reader): Ledger | undefined => Context.getOrUndefined(context, Exchanges)

/** Reads in this fiber, or in the fiber that runs the effect. */
const reading = <A, E>(
  reader: Service.Reader | undefined,
  read: (ledger: Ledger | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  reader === undefined ? Effect.withFiber((fiber) => read(ledgerOf(fiber))) : read(ledgerOf(reader))

const isSynced = ({ state }: Informer): boolean => state().synced

/** Reads from the stores of these informers. */
export const make = ({ controller, isBounded, of }: Source, { client, reportedPartial, whole }: Shared): Reads => {
  /** The stores by kind and index, of kinds with one informer or with synced ones. A new informer or index clears it. */
  let read = new WeakMap<Resource.Any, Map<string, ReadonlyArray<Store>>>()
  /** The stores to read a kind from. With an index, only those that have the index. */
  const stores = (resource: Resource.Any, index = ""): ReadonlyArray<Store> =>
    read.get(resource)?.get(index) ?? storesOf(resource, index)
  // On its own, because a function with closures allocates at each call.
  const storesOf = (resource: Resource.Any, index: string): ReadonlyArray<Store> => {
    const identity = Resource.identityOf(resource)
    const informers = of(resource).filter((informer) => Resource.identityOf(informer.resource) === identity)
    if (informers.length === 0) throw ofKind(resource, controller)
    const able = informers.filter(({ store }) => index === "" || store.hasIndex(index))
    // If no informer has the index, the store reports that.
    const found = preferred(able.length > 0 ? able : informers)
    // The only informer is the choice before it syncs, too: an optional kind may never be served.
    if (informers.length === 1 || informers.every(isSynced))
      read.set(resource, new Map([...(read.get(resource) ?? []), [index, found]]))
    return found
  }

  /**
   * The store of the informer that has all objects whole, or else those without a selection, or else all. A late informer does not take
   * the place of others before it has synced.
   */
  const preferred = (informers: ReadonlyArray<Informer>): ReadonlyArray<Store> => {
    const complete = informers.filter(({ isNarrowed }) => !isNarrowed)
    const synced = complete.filter(isSynced)
    const candidates = synced.length > 0 ? synced : complete.length > 0 ? complete : informers
    const all = candidates.find(({ isNarrowed, isTransformed }) => !isNarrowed && !isTransformed)
    return all === undefined ? candidates.map(({ store }) => store) : [all.store]
  }

  /** Reads several stores and returns each object once, whole if one of them has it whole. */
  const together = (
    resource: Resource.Any,
    found: ReadonlyArray<Store>,
    read: (store: Store) => ReadonlyArray<KubernetesObject>
  ): ReadonlyArray<KubernetesObject> => {
    const [only] = found
    if (only !== undefined && found.length === 1) return read(only)
    const objects = found.flatMap(read)
    const partial = objects.filter((object) => Transform.isPartial(resource, object))
    const whole = objects.filter((object) => !Transform.isPartial(resource, object))
    // Later entries win, so an object is whole if one store has it whole.
    return [...new Map([...partial, ...whole].map((object) => [keyString(object.metadata), object])).values()]
  }

  /** The objects of a kind with this owner. Every reconcile with a set of children reads each kind of `owns`. */
  const owned = (ledger: Ledger | undefined, resource: Resource.Any, owner: KubernetesObject) => {
    const from = stores(resource)
    const [only] = from
    const found =
      only !== undefined && from.length === 1
        ? only.byOwner(owner)
        : together(resource, from, (store) => store.byOwner(owner))
    ledger?.read("byOwner", resource, owner, found)
    return found
  }

  /** The objects that the cache has whole, decoded. */
  const listed = <A extends KubernetesObject>(
    resource: Resource.Resource<A, never>,
    all: ReadonlyArray<KubernetesObject>
  ): Effect.Effect<Service.List<A>> => {
    const whole = all.filter((object) => !Transform.isPartial(resource, object))
    const decoded = Decoding.all(resource, whole)
    const name = Resource.nameOf(resource)
    if (whole.length === all.length || reportedPartial.has(name)) return decoded
    reportedPartial.add(name)
    return Effect.andThen(
      Effect.logWarning(
        `a list left out ${name} that no controller owns, or that are too large: the cache has whole objects only where a controller declares the kind in watches, or a transform for it`
      ),
      decoded
    )
  }

  /** The text of a key that the cache follows. */
  const followed = (resource: Resource.Any, key: ObjectKey): string => {
    mustFollow(resource, key.namespace)
    if (!resource.namespaced || key.namespace !== undefined) return keyString(key)
    throw new Undeclared({
      message: `namespace required: Cache.get of ${Resource.nameOf(resource)} ${key.name} (the kind is namespaced)`
    })
  }

  /** Throws if no informer of the kind follows the namespace, where a missing object would prove nothing. */
  const mustFollow = (resource: Resource.Any, namespace: string | undefined): void => {
    if (namespace === undefined || !resource.namespaced || !isBounded()) return
    const informers = of(resource)
    if (informers.length === 0 || informers.some((informer) => follows(informer, namespace))) return
    const name = Resource.nameOf(resource)
    throw new Undeclared({
      message: informers.some(({ isNarrowed }) => isNarrowed)
        ? `namespace ${namespace} is not in the cache: add it to the selection of ${name}, or read its ${name} with Client.get`
        : `namespace ${namespace} is not in the cache: follow it with --namespace ${namespace}, or read its ${name} with Client.get`
    })
  }

  return {
    get: (resource, key, reader) =>
      reading(reader, (ledger) => {
        const text = followed(resource, key)
        const found = stores(resource)
        let object = found[0]?.get(text)
        for (let at = 1; at < found.length; at++) {
          if (object === undefined || Transform.isPartial(resource, object)) object = found[at]?.get(text) ?? object
        }
        ledger?.read("get", resource, text, object)
        if (object !== undefined && Transform.isPartial(resource, object)) {
          return Effect.catchTag(Effect.asSome(client.get(resource, key)), "NotFound", () => Effect.succeedNone)
        }
        if (object === undefined) return Effect.succeedNone
        const decoded = resource.decode(object)
        return Result.isSuccess(decoded) ? Effect.succeed(Option.some(decoded.success)) : Effect.fail(decoded.failure)
      }),
    getWhole: (resource, key, keep = WriteEffect.strip, reader) =>
      reading(reader, (ledger) => {
        const text = followed(resource, key)
        const cached = stores(whole.metadataOf(resource))[0]?.get(text)
        const read = cached === undefined ? Effect.succeed(cached) : whole.of(resource, key, cached, keep)
        return Effect.flatMap(read, (found) => {
          ledger?.read("get", resource, text, found)
          return found === undefined
            ? Effect.succeedNone
            : Effect.fromResult(Result.map(resource.decode(found), Option.some))
        })
      }),
    list: (resource, filter, reader) =>
      reading(reader, (ledger) => {
        mustFollow(resource, filter?.namespace)
        const all = together(resource, stores(resource, filter?.index?.name), (store) => store.list(filter))
        ledger?.read("list", resource, filter, all)
        return listed(resource, all)
      }),
    byOwner: (resource, owner, reader) => reading(reader, (ledger) => listed(resource, owned(ledger, resource, owner))),
    dependents: (owner, resources, reader) =>
      reading(reader, (ledger) => {
        const dependents: Array<Service.Dependent> = []
        for (const resource of resources) {
          for (const object of owned(ledger, resource, owner)) dependents.push({ resource, object })
        }
        return Effect.succeed(dependents)
      }),
    forget: () => {
      read = new WeakMap()
    }
  }
}

const follows = ({ namespaces }: Informer, namespace: string): boolean =>
  namespaces.length === 0 || namespaces.includes(namespace)
