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
import type * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import type { KubernetesObject, ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as CacheMetrics from "./CacheMetrics.ts"
import * as Index from "./Index.ts"
import * as Informer from "./Informer.ts"
import * as ListerWatcher from "./ListerWatcher.ts"
import * as Reads from "./Reads.ts"
import * as Recovery from "./Recovery.ts"
import * as Selection from "./Selection.ts"
import type { InformerOptions, List, Reader, Service } from "./Service.ts"
import * as Shares from "./Shares.ts"
import type { Filter } from "./Store.ts"
import * as Transform from "./Transform.ts"
import { Undeclared } from "./Undeclared.ts"
import * as Whole from "./Whole.ts"

export type { Informer, Listener } from "./Informer.ts"
export type { InformerState } from "./InformerState.ts"
export type { Dependent, InformerOptions, List, Reader, Service } from "./Service.ts"
export type { Change, Filter } from "./Store.ts"

/**
 * Reads of the local copy. An effect that already has its fiber can pass it as `reader`, which saves an operation: a reconcile reads the
 * cache several times.
 */
export class Cache extends Context.Service<Cache, Service>()("@homeostat/runtime/Cache") {}

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
  const namespaces: ReadonlyArray<string> = [...new Set(options.namespaces)]
  let isBounded = namespaces.length > 0

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
      const { indexes = [], optional = false, select = {}, transform } = settings
      const { fields: fieldSelector, labels: labelSelector } = select
      const followed = resource.namespaced ? Selection.namespacesOf(namespaces, select.namespaces) : []
      if (followed === undefined) {
        const name = Resource.nameOf(resource)
        return Effect.die(
          new Undeclared({
            message: `a controller selects ${name} of ${Selection.describe(select)}, and the manager follows none of these namespaces: follow one with --namespace (the manager follows ${namespaces.join(", ")})`
          })
        )
      }
      for (const definition of [Index.byNamespace, Index.byOwner, ...indexes]) define(resource, definition)
      const parts = transform === undefined ? "" : `#${partsOf(transform)}`
      const fields = fieldSelector === undefined ? "" : `&${fieldSelector}`
      const isPlaced = resource.namespaced && followed.length !== namespaces.length
      const places = isPlaced ? `@${followed.toSorted().join(",")}` : ""
      const identity = `${Resource.identityOf(resource)}?${labelSelector ?? ""}${fields}${places}${parts}`
      const existing = handles.get(identity)
      if (existing === undefined || indexes.length > 0) for (const forget of refresh) forget()
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
        namespaces: followed.length === 0 ? [undefined] : followed,
        isNarrowed: isPlaced || Selection.isByContent(select),
        source: ListerWatcher.of(client, resource, { labelSelector, fieldSelector }),
        optional,
        transform,
        clock,
        shares,
        counted: metered.counted(Resource.nameOf(resource))
      })
      isBounded ||= followed.length > 0
      handles.set(identity, handle)
      byName.set(Resource.nameOf(resource), [...handlesOf(resource), handle])
      return Effect.as(Queue.offer(declared, handle), handle.informer)
    })

  const informers = () => Array.from(handles.values(), (handle) => handle.informer)
  /** Called when an informer or an index is declared. */
  const refresh: Array<() => void> = []
  const reads = (from: Reads.Source) => {
    const { forget, ...rest } = Reads.make(from, { client, whole, reportedPartial })
    refresh.push(forget)
    return rest
  }
  const shared = {
    informer,
    sees: ({ onWrite }: Client.Client["Service"]) => onWrite === client.onWrite,
    informers,
    synced: Effect.suspend(() => Effect.forEach([...handles.values()], Informer.ready, { discard: true })),
    within: (controller: string, declared: ReadonlyArray<Informer.Informer>): Service => {
      // Several triggers of a kind may share an informer.
      const named = Map.groupBy(new Set(declared), (each) => Resource.nameOf(each.resource))
      const bounded = declared.some((each) => each.namespaces.length > 0)
      const of = (resource: Resource.Any) => named.get(Resource.nameOf(resource)) ?? []
      return Cache.of({ ...shared, ...reads({ of, controller, isBounded: () => bounded }) })
    }
  }
  return Cache.of({
    ...shared,
    ...reads({
      of: (resource) => handlesOf(resource).map((handle) => handle.informer),
      controller: undefined,
      isBounded: () => isBounded
    })
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
