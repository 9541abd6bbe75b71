/**
 * Typed requests to the API server.
 *
 * Each read is a request to the server; use the cache for frequent reads. Writes use the field manager of the fiber (`FieldManager`)
 * and strict field validation. `Retry` documents the retries. Each attempt has a timeout of 30 seconds.
 *
 * Errors: `ApiError` for errors of the server, its member `Transport` without a response, and `InvalidObject` for an object that does
 * not match its schema. A write that fails with `InvalidObject` has happened.
 *
 * RBAC: each operation needs its verb on the kind. `apply` needs `patch`, and `create` for new objects. Subresources need the verb on
 * `deployments/status` or `deployments/scale`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { FileSystem } from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { KubernetesObject, ObjectKey } from "../resource/KubernetesObject.ts"
import type { Any, InvalidObject, Resource } from "../resource/Resource.ts"
import type { ApiError } from "./ApiError.ts"
import type { Placed } from "./Call.ts"
import * as KubeConfig from "./KubeConfig.ts"
import * as Operations from "./Operations.ts"
import type {
  ApplyOptions,
  DeleteOptions,
  ListOptions,
  PageOptions,
  RawRequest,
  RequestOptions,
  Selection,
  WatchOptions,
  WriteOptions
} from "./Options.ts"
import type { Patch } from "./Patch.ts"
import type { Scale } from "./Scale.ts"
import * as Stack from "./Stack.ts"
import * as Transport from "./Transport.ts"
import type { Connection } from "./Watch.ts"
import type { Listener } from "./WriteBroadcaster.ts"

/** The client. Its operations are documented in `Operations`; each is also a function of this module. */
export class Client extends Context.Service<Client, Operations.Operations>()("@homeostat/runtime/Client") {}

/** Objects of a kind, with the resourceVersion of the list. */
export type List<A> = Operations.List<A>

/** A page of a list, as on the wire. */
export type Page<A> = Operations.Page<A>

/** Settings of a client. */
export interface Options {
  /** The user agent in the server's logs and audit log: `sites/1.2.0 (linux/amd64) homeostat/1a2b3c4d`. */
  readonly userAgent?: string | undefined
}

/**
 * A client on a transport.
 *
 * @internal
 */
export const make = (
  options: Options = {}
): Effect.Effect<Client["Service"], never, Transport.Transport | Scope.Scope> =>
  Effect.flatMap(Transport.Transport, (transport) =>
    Effect.map(
      Stack.make(transport, options.userAgent ?? `homeostat (${process.platform}/${process.arch})`),
      Operations.make
    )
  )

/**
 * The client on the transport of the context.
 *
 * @example
 * ```ts
 * const cluster = Cluster.make({ server: "http://127.0.0.1:8001" })
 * const client = Layer.provide(Client.layer({ userAgent: "sites/1.0.0" }), Transport.layer(cluster))
 * ```
 */
export const layer = (options?: Options): Layer.Layer<Client, never, Transport.Transport> =>
  Layer.effect(Client, make(options))

/**
 * The client of the cluster of a kubeconfig or of the pod: see `KubeConfig.load`.
 *
 * @example
 * ```ts
 * const pages = Effect.provide(Client.list(BuiltIn.ConfigMap), Client.layerKubeConfig({ context: "staging" }))
 * ```
 */
export const layerKubeConfig = (
  options: Options & KubeConfig.Options & Transport.Options = {}
): Layer.Layer<Client, KubeConfig.KubeConfigError, FileSystem> =>
  layer(options).pipe(
    Layer.provide(Layer.unwrap(Effect.map(KubeConfig.load(options), (cluster) => Transport.layer(cluster, options))))
  )

/** A typed request: the object in the server's response. */
type Typed<A> = Effect.Effect<A, ApiError | InvalidObject, Client>

/**
 * Reads one object.
 *
 * @example
 * ```ts
 * const page = yield* Client.get(BuiltIn.ConfigMap, { namespace: "default", name: "page" })
 * page.data // => { "index.html": "Hello" }
 * ```
 */
export const get = <A extends KubernetesObject>(
  resource: Resource<A, never>,
  key: ObjectKey,
  options?: RequestOptions
): Typed<A> => Effect.flatMap(Client, (client) => client.get(resource, key, options))

/**
 * Lists objects; without a `limit`, all of them.
 *
 * @example
 * ```ts
 * const { items } = yield* Client.list(BuiltIn.ConfigMap, { namespace: "default", labelSelector: "app=shop" })
 * items.map(({ metadata }) => metadata.name) // => ["page"]
 * ```
 */
export const list = <A extends KubernetesObject>(resource: Resource<A, never>, options?: ListOptions): Typed<List<A>> =>
  Effect.flatMap(Client, (client) => client.list(resource, options))

/**
 * Creates an object.
 *
 * @example
 * ```ts
 * const created = yield* Client.create(BuiltIn.ConfigMap, {
 *   metadata: { namespace: "default", name: "new" },
 *   data: { greeting: "Hello" }
 * })
 * created.metadata.name // => "new"
 * ```
 */
export const create = <A extends KubernetesObject, D extends Placed>(
  resource: Resource<A, D>,
  object: NoInfer<D>,
  options?: WriteOptions
): Typed<A> => Effect.flatMap(Client, (client) => client.create(resource, object, options))

/**
 * Replaces an object.
 *
 * @example
 * ```ts
 * const page = yield* Client.get(BuiltIn.ConfigMap, { namespace: "default", name: "page" })
 * const replaced = yield* Client.replace(BuiltIn.ConfigMap, { ...page, data: { "index.html": "Bye" } })
 * replaced.data // => { "index.html": "Bye" }
 * ```
 */
export const replace = <A extends KubernetesObject, D extends Placed>(
  resource: Resource<A, D>,
  object: NoInfer<D>,
  options?: WriteOptions
): Typed<A> => Effect.flatMap(Client, (client) => client.replace(resource, object, options))

/**
 * Changes parts of an object.
 *
 * @example
 * ```ts
 * const key = { namespace: "default", name: "page" }
 * const page = yield* Client.patch(BuiltIn.ConfigMap, key, Patch.merge({ data: { "about.html": "We" } }))
 * page.data // => { "index.html": "Hello", "about.html": "We" }
 * ```
 */
export const patch = <A extends KubernetesObject>(
  resource: Resource<A, never>,
  key: ObjectKey,
  change: Patch,
  options?: WriteOptions
): Typed<A> => Effect.flatMap(Client, (client) => client.patch(resource, key, change, options))

/**
 * Applies an object with server-side apply.
 *
 * @example
 * ```ts
 * const applied = yield* Client.apply(
 *   BuiltIn.ConfigMap,
 *   { metadata: { namespace: "default", name: "settings" }, data: { theme: "dark" } },
 *   { fieldManager: "example", force: true }
 * )
 * applied.data // => { theme: "dark" }
 * ```
 */
export const apply = <A extends KubernetesObject, D extends Placed>(
  resource: Resource<A, D>,
  object: NoInfer<D>,
  options?: ApplyOptions
): Typed<A> => Effect.flatMap(Client, (client) => client.apply(resource, object, options))

const remove = <A extends KubernetesObject>(
  resource: Resource<A, never>,
  key: ObjectKey,
  options?: DeleteOptions
): Typed<Option.Option<A>> => Effect.flatMap(Client, (client) => client.delete(resource, key, options))

export {
  /**
   * Deletes an object. Returns the object if it still exists, or none if it is gone.
   *
   * @example
   * ```ts
   * const left = yield* Client.delete(BuiltIn.ConfigMap, { namespace: "default", name: "page" })
   * left // => Option.none()
   * ```
   */
  remove as delete
}

/**
 * Deletes all selected objects in one namespace.
 *
 * @example
 * ```ts
 * yield* Client.deleteAll(BuiltIn.ConfigMap, { namespace: "default", labelSelector: "app=shop" })
 * ```
 */
export const deleteAll = (resource: Any, options: Selection & DeleteOptions): Effect.Effect<void, ApiError, Client> =>
  Effect.flatMap(Client, (client) => client.deleteAll(resource, options))

/**
 * The status subresource.
 *
 * @example
 * ```ts
 * const key = { namespace: "default", name: "shop" }
 * const patched = yield* Client.status.patch(Site, key, Patch.merge({ status: { url: "https://shop.example.com" } }))
 * patched.status?.url // => "https://shop.example.com"
 * ```
 */
export const status = {
  get: <A extends KubernetesObject>(resource: Resource<A, never>, key: ObjectKey, options?: RequestOptions): Typed<A> =>
    Effect.flatMap(Client, (client) => client.status.get(resource, key, options)),
  patch: <A extends KubernetesObject>(
    resource: Resource<A, never>,
    key: ObjectKey,
    change: Patch,
    options?: WriteOptions
  ): Typed<A> => Effect.flatMap(Client, (client) => client.status.patch(resource, key, change, options)),
  replace: <A extends KubernetesObject>(resource: Resource<A, never>, object: A, options?: WriteOptions): Typed<A> =>
    Effect.flatMap(Client, (client) => client.status.replace(resource, object, options)),
  apply: <A extends KubernetesObject>(
    resource: Resource<A, never>,
    object: Placed & { readonly status?: unknown },
    options?: ApplyOptions
  ): Typed<A> => Effect.flatMap(Client, (client) => client.status.apply(resource, object, options))
} as const

/**
 * The scale subresource.
 *
 * @example
 * ```ts
 * const key = { namespace: "default", name: "web" }
 * const scaled = yield* Client.scale.patch(BuiltIn.Deployment, key, Patch.merge({ spec: { replicas: 3 } }))
 * scaled.spec?.replicas // => 3
 * ```
 */
export const scale = {
  get: (resource: Any, key: ObjectKey, options?: RequestOptions): Effect.Effect<Scale, ApiError, Client> =>
    Effect.flatMap(Client, (client) => client.scale.get(resource, key, options)),
  patch: (
    resource: Any,
    key: ObjectKey,
    change: Patch,
    options?: WriteOptions
  ): Effect.Effect<Scale, ApiError, Client> =>
    Effect.flatMap(Client, (client) => client.scale.patch(resource, key, change, options))
} as const

/**
 * One page of objects as on the wire.
 *
 * @example
 * ```ts
 * const { items } = yield* Client.page(BuiltIn.ConfigMap, { namespace: "default", limit: 1 })
 * items.length // => 1
 * ```
 */
export const page = (resource: Any, options?: PageOptions): Effect.Effect<Page<KubernetesObject>, ApiError, Client> =>
  Effect.flatMap(Client, (client) => client.page(resource, options))

/**
 * Opens a watch.
 *
 * @example
 * ```ts
 * const { resourceVersion } = yield* Client.page(BuiltIn.ConfigMap, { namespace: "default" })
 * const connection = yield* Client.watch(BuiltIn.ConfigMap, { namespace: "default", resourceVersion })
 * ```
 */
export const watch = (
  resource: Any,
  options?: WatchOptions
): Effect.Effect<Connection, ApiError, Client | Scope.Scope> =>
  Effect.flatMap(Client, (client) => client.watch(resource, options))

/**
 * A request to any path.
 *
 * @example
 * ```ts
 * const { body } = yield* Client.raw({ method: "GET", path: "/version" })
 * ```
 */
export const raw = (
  request: RawRequest
): Effect.Effect<{ readonly status: number; readonly body: string }, ApiError, Client> =>
  Effect.flatMap(Client, (client) => client.raw(request))

/**
 * Calls the listener after each successful write, until the scope closes.
 *
 * @internal
 */
export const onWrite = (listener: Listener): Effect.Effect<void, never, Client | Scope.Scope> =>
  Effect.flatMap(Client, (client) => client.onWrite(listener))
