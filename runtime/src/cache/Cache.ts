/**
 * A local copy of the cluster: one informer for each declared kind, fed by watches. Reads send no request.
 *
 * A read returns the state that the watch has delivered, with the manager's own writes on top. A reconcile reads its own writes at
 * once. Writes of other managers appear when the watch delivers them.
 *
 * The cache needs the permissions to list and watch each declared kind in the namespaces that it follows.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import { Exchanges, type Ledger } from "../client/Exchange.ts"
import * as Decoding from "../resource/Decoding.ts"
import { type KubernetesObject, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as CacheMetrics from "./CacheMetrics.ts"
import * as Index from "./Index.ts"
import * as Informer from "./Informer.ts"
import * as ListerWatcher from "./ListerWatcher.ts"
import * as Recovery from "./Recovery.ts"
import * as Shares from "./Shares.ts"
import type { Filter, Store } from "./Store.ts"
import * as Stores from "./Stores.ts"
import * as Transform from "./Transform.ts"
import { ofKind, Undeclared } from "./Undeclared.ts"
import * as Whole from "./Whole.ts"
import * as WriteEffect from "./WriteEffect.ts"

export type { Informer, Listener } from "./Informer.ts"
export type { InformerState } from "./InformerState.ts"
export type { Change, Filter } from "./Store.ts"

/** The `items` that match their schema, and `invalid`, as `Client.list` gives them: a controller that counts objects needs both. */
export type List<A> = Decoding.Decoded<A>

/** A cached object and its kind. */
export interface Dependent {
  readonly resource: Resource.Any
  readonly object: KubernetesObject
}

/** The settings of an informer. */
export interface InformerOptions {
  /** The informer follows only objects that match. Each selector of a kind has its own informer. */
  readonly labelSelector?: string | undefined
  /** The same with fields that the API server can select by. */
  readonly fieldSelector?: string | undefined
  /**
   * Added to those that the informer has. Dies with {@link Index.Conflict} if two of one kind and name have different functions, whatever
   * the selectors of their informers.
   */
  readonly indexes?: ReadonlyArray<Index.Definition> | undefined
  /** The parts of each object that the informer keeps. Each transform of a kind has its own informer. */
  readonly transform?: Transform.Transform | undefined
  /**
   * Whether the caller can work without the kind. While the API server does not serve the kind, the informer is empty and `settled`.
   * Default false.
   */
  readonly optional?: boolean | undefined
}

/** The fiber that reads. */
export interface Reader {
  readonly context: Context.Context<never>
}

/**
 * Reads of the local copy. An effect that already has its fiber can pass it as `reader`, which saves an operation: a reconcile reads the
 * cache several times.
 */
export class Cache extends Context.Service<
  Cache,
  {
    /** Returns the informer of a kind, and starts one if there is none. It runs until the scope of the cache closes. */
    readonly informer: (resource: Resource.Any, options?: InformerOptions) => Effect.Effect<Informer.Informer>
    /**
     * Returns the cached object. If every informer of the kind has a label selector, the object may come from any of them. Dies with
     * {@link Undeclared} if the cache does not follow the kind or the namespace, and for a namespaced kind without a namespace. Before
     * the informer has synced, a missing object proves nothing.
     *
     * If controllers own a kind and do not watch it, the cache holds only objects that one of them owns. It holds only name and version
     * of an object that is too large. `get` reads any such object from the API server, which may fail.
     */
    readonly get: <A extends KubernetesObject>(
      resource: Resource.Resource<A, never>,
      key: ObjectKey,
      reader?: Reader
    ) => Effect.Effect<Option.Option<A>, ApiError | Resource.InvalidObject>
    /**
     * Reads an object of which the cache has the metadata, as that of `Trigger.onMetadata`: from the API server, once for each version that
     * the cache sees, for all reconciles together. The cache keeps what `keep` returns as long as it has the version. Dies as `get` does.
     *
     * @param keep the part to keep, with its metadata; default: the object without managedFields. Pass the same function each time
     */
    readonly getWhole: <A extends KubernetesObject>(
      resource: Resource.Resource<A, never>,
      key: ObjectKey,
      keep?: Whole.Keep,
      reader?: Reader
    ) => Effect.Effect<Option.Option<A>, ApiError | Resource.InvalidObject>
    /**
     * Returns the objects that match, in no particular order. If controllers own a kind and do not watch it, `list` omits objects that
     * none of them owns. It omits objects that are too large. It logs one warning. Dies as `get` does.
     */
    readonly list: <A extends KubernetesObject>(
      resource: Resource.Resource<A, never>,
      filter?: Filter,
      reader?: Reader
    ) => Effect.Effect<List<A>>
    /**
     * Returns the objects whose ownerReferences contain the UID of `owner`, as a controller or not. A namespaced owner has dependents
     * only in its own namespace, as in Kubernetes. Otherwise as `list`.
     */
    readonly byOwner: <A extends KubernetesObject>(
      resource: Resource.Resource<A, never>,
      owner: KubernetesObject,
      reader?: Reader
    ) => Effect.Effect<List<A>>
    /** The same for several kinds in one operation, and without decoding. Every reconcile with a set of children reads them. */
    readonly dependents: (
      owner: KubernetesObject,
      resources: ReadonlyArray<Resource.Any>,
      reader?: Reader
    ) => Effect.Effect<ReadonlyArray<Dependent>>
    readonly informers: () => ReadonlyArray<Informer.Informer>
    /** Waits until every informer declared so far has synced. An optional kind that the API server does not serve counts as synced. */
    readonly synced: Effect.Effect<void>
  }
>()("@homeostat/runtime/Cache") {}

/** How a cache is set up. */
export interface Options {
  /** The namespaces to follow, each with a watch of its own; all if empty. Cluster-scoped kinds are followed as a whole. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  /**
   * The bytes that all objects may take. Default: three eighths of the memory of the cgroup, or of the machine. When they take more, the cache keeps
   * only name and version of the largest objects of the namespace that takes most. It reads them again when they fit.
   */
  readonly memory?: number | undefined
}

/** The record of the reconcile of a fiber. `Context.get` would allocate at each read. */
const ledgerOf = ({ context }: Reader): Ledger | undefined => Context.getOrUndefined(context, Exchanges)

/** Reads in this fiber, or in the fiber that runs the effect. */
const reading = <A, E>(
  reader: Reader | undefined,
  read: (ledger: Ledger | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  reader === undefined ? Effect.withFiber((fiber) => read(ledgerOf(fiber))) : read(ledgerOf(reader))

/**
 * A cache over the Client of the context. Its informers are fibers of the scope.
 *
 * @internal
 */
export const make = Effect.fnUntraced(function* (options: Options = {}) {
  const client = yield* Client.Client
  const scope = yield* Effect.scope
  const clock = yield* Clock.Clock
  const whole = Whole.make(client)
  const handles = new Map<string, Informer.Handle>()
  /** The informers of each kind, in all its versions and projections. */
  const byName = new Map<string, Array<Informer.Handle>>()
  const handlesOf = (resource: Resource.Any) => byName.get(Resource.nameOf(resource)) ?? []
  const define = Index.registry()
  const partsOf = Transform.names()
  /** The kinds for which `list` has logged that it omitted objects. */
  const reportedPartial = new Set<string>()
  const shares = Shares.make(options.memory ?? Shares.usual())
  const metered = yield* CacheMetrics.make(() => Array.from(handles.values(), ({ informer }) => informer), shares)
  const namespaces: ReadonlyArray<string | undefined> =
    options.namespaces === undefined || options.namespaces.length === 0 ? [undefined] : [...new Set(options.namespaces)]

  yield* Effect.forkIn(
    Recovery.run(client, shares, () => [...handles.values()]),
    scope
  )

  // Informers are children of this fiber, so they do not run in the span and the log fields of the reconcile that asked first.
  const declared = yield* Queue.unbounded<Informer.Handle>()
  yield* Queue.take(declared).pipe(
    Effect.flatMap((handle) => Effect.forkIn(handle.run, scope)),
    Effect.forever,
    Effect.forkIn(scope)
  )

  yield* client.onWrite((write) => {
    for (const handle of handlesOf(write.resource)) handle.written(write)
  })

  const informer = (resource: Resource.Any, settings: InformerOptions = {}) =>
    Effect.suspend(() => {
      const { fieldSelector, indexes = [], labelSelector, optional = false, transform } = settings
      for (const definition of [Index.byNamespace, Index.byOwner, ...indexes]) define(resource, definition)
      const parts = transform === undefined ? "" : `#${partsOf(transform)}`
      const fields = fieldSelector === undefined ? "" : `&${fieldSelector}`
      const identity = `${Resource.identityOf(resource)}?${labelSelector ?? ""}${fields}${parts}`
      const existing = handles.get(identity)
      if (existing === undefined || indexes.length > 0) read = new WeakMap()
      if (existing !== undefined) {
        for (const index of indexes) existing.addIndex(index)
        existing.declare(optional)
        return Effect.succeed(existing.informer)
      }
      const handle = Informer.make({
        resource,
        labelSelector,
        fieldSelector,
        indexes,
        namespaces: resource.namespaced ? namespaces : [undefined],
        source: ListerWatcher.of(client, resource, { labelSelector, fieldSelector }),
        optional,
        transform,
        clock,
        shares,
        counted: metered.counted(Resource.nameOf(resource))
      })
      handles.set(identity, handle)
      byName.set(Resource.nameOf(resource), [...handlesOf(resource), handle])
      return Effect.as(Queue.offer(declared, handle), handle.informer)
    })

  /** The stores by kind and index, of kinds with one informer or with synced ones. A new informer or index clears it. */
  let read = new WeakMap<Resource.Any, Map<string, ReadonlyArray<Store>>>()
  /** The stores to read a kind from. With an index, only those that have the index. */
  const stores = (resource: Resource.Any, index = ""): ReadonlyArray<Store> =>
    read.get(resource)?.get(index) ?? storesOf(resource, index)
  // On its own, because a function with closures allocates at each call.
  const storesOf = (resource: Resource.Any, index: string): ReadonlyArray<Store> => {
    const identity = Resource.identityOf(resource)
    const all = handlesOf(resource).map(({ informer }) => informer)
    const informers = all.filter((informer) => Resource.identityOf(informer.resource) === identity)
    if (informers.length === 0) throw ofKind(resource)
    const able = informers.filter(({ store }) => index === "" || store.hasIndex(index))
    // If no informer has the index, the store reports that.
    const found = Stores.preferred(able.length > 0 ? able : informers, handles.get(`${identity}?`)?.informer)
    // The only informer is the choice before it syncs, too: an optional kind may never be served.
    if (informers.length === 1 || informers.every(Stores.isSynced))
      read.set(resource, new Map([...(read.get(resource) ?? []), [index, found]]))
    return found
  }

  /** The objects of a kind with this owner. Every reconcile with a set of children reads each kind of `owns`. */
  const owned = (ledger: Ledger | undefined, resource: Resource.Any, owner: KubernetesObject) => {
    const from = stores(resource)
    const [only] = from
    const found =
      only !== undefined && from.length === 1
        ? only.byOwner(owner)
        : Stores.together(resource, from, (store) => store.byOwner(owner))
    ledger?.read("byOwner", resource, owner, found)
    return found
  }

  /** The objects that the cache has whole, decoded. */
  const listed = <A extends KubernetesObject>(
    resource: Resource.Resource<A, never>,
    all: ReadonlyArray<KubernetesObject>
  ): Effect.Effect<List<A>> => {
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

  /** Throws if the cache does not follow the namespace, where a missing object would prove nothing. */
  const mustFollow = (resource: Resource.Any, namespace: string | undefined): void => {
    if (namespace === undefined || namespaces[0] === undefined || namespaces.includes(namespace)) return
    throw new Undeclared({
      message: `namespace ${namespace} is not in the cache: follow it with --namespace ${namespace}, or read its ${Resource.nameOf(resource)} with Client.get`
    })
  }

  return Cache.of({
    informer,
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
        const all = Stores.together(resource, stores(resource, filter?.index?.name), (store) => store.list(filter))
        ledger?.read("list", resource, filter, all)
        return listed(resource, all)
      }),
    byOwner: (resource, owner, reader) => reading(reader, (ledger) => listed(resource, owned(ledger, resource, owner))),
    dependents: (owner, resources, reader) =>
      reading(reader, (ledger) => {
        const dependents: Array<Dependent> = []
        for (const resource of resources) {
          for (const object of owned(ledger, resource, owner)) dependents.push({ resource, object })
        }
        return Effect.succeed(dependents)
      }),
    informers: () => Array.from(handles.values(), (handle) => handle.informer),
    synced: Effect.suspend(() => Effect.forEach([...handles.values()], Informer.ready, { discard: true }))
  })
})

/**
 * A cache over the Client.
 *
 * @example
 * ```ts
 * const services = Layer.provideMerge(Cache.layer({ namespaces: ["default"] }), Client.layerKubeConfig())
 * ```
 */
export const layer = (options?: Options): Layer.Layer<Cache, never, Client.Client> => Layer.effect(Cache, make(options))

/** One Effect operation, where the tag and `flatMap` need three: a reconcile reads the cache several times. */
const using = <A, E>(
  use: (cache: Cache["Service"], reader: Reader) => Effect.Effect<A, E>
): Effect.Effect<A, E, Cache> =>
  Effect.withFiber((fiber) => use(Context.get(fiber.context as Context.Context<Cache>, Cache), fiber))

/**
 * {@link Cache} `informer`.
 *
 * @internal
 */
export const informer = (
  resource: Resource.Any,
  options?: InformerOptions
): Effect.Effect<Informer.Informer, never, Cache> => using((cache) => cache.informer(resource, options))

/**
 * {@link Cache} `get`.
 *
 * @example
 * ```ts
 * const page = yield* Cache.get(BuiltIn.ConfigMap, { namespace: "default", name: "page" })
 * Option.map(page, ({ data }) => data) // => Option.some({ "index.html": "Hello" })
 * ```
 */
export const get = <A extends KubernetesObject>(
  resource: Resource.Resource<A, never>,
  key: ObjectKey
): Effect.Effect<Option.Option<A>, ApiError | Resource.InvalidObject, Cache> =>
  using((cache, reader) => cache.get(resource, key, reader))

/**
 * {@link Cache} `getWhole`.
 *
 * @example
 * ```ts
 * // The controller has Trigger.onMetadata(BuiltIn.ConfigMap, …) in `watches` and Access.get(BuiltIn.ConfigMap) in `access`.
 * const page = yield* Cache.getWhole(BuiltIn.ConfigMap, { namespace: "default", name: "page" })
 * Option.map(page, ({ data }) => data) // => Option.some({ "index.html": "Hello" })
 * ```
 */
export const getWhole = <A extends KubernetesObject>(
  resource: Resource.Resource<A, never>,
  key: ObjectKey,
  keep?: Whole.Keep
): Effect.Effect<Option.Option<A>, ApiError | Resource.InvalidObject, Cache> =>
  using((cache, reader) => cache.getWhole(resource, key, keep, reader))

/**
 * {@link Cache} `list`.
 *
 * @example
 * ```ts
 * const { items } = yield* Cache.list(Site, { namespace: "default" })
 * items.map(({ metadata }) => metadata.name) // => ["shop"]
 * ```
 */
export const list = <A extends KubernetesObject>(
  resource: Resource.Resource<A, never>,
  filter?: Filter
): Effect.Effect<List<A>, never, Cache> => using((cache, reader) => cache.list(resource, filter, reader))

/**
 * {@link Cache} `byOwner`.
 *
 * @example
 * ```ts
 * yield* Owned.apply(site, BuiltIn.ConfigMap, { metadata: { name: "shop-page" } })
 * const { items } = yield* Cache.byOwner(BuiltIn.ConfigMap, site)
 * items.map(({ metadata }) => metadata.name) // => ["shop-page"]
 * ```
 */
export const byOwner = <A extends KubernetesObject>(
  resource: Resource.Resource<A, never>,
  owner: KubernetesObject
): Effect.Effect<List<A>, never, Cache> => using((cache, reader) => cache.byOwner(resource, owner, reader))
