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
import type { FileSystem } from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
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
export class Client extends Context.Tag("@homeostat/runtime/Client")<Client, Operations.Operations>() {}

/** Objects of a kind, with the resourceVersion of the list. */
export type List<A> = Operations.List<A>

/** A page of a list, as on the wire. */
export type Page<A> = Operations.Page<A>

/** Settings of a client. */
export interface Options {
  /** The user agent in the server's logs and audit log: `homeostat/1.2.0 (linux/amd64)`. */
  readonly userAgent?: string | undefined
}

/** A client on a transport. */
export const make = (
  options: Options = {}
): Effect.Effect<Context.Tag.Service<Client>, never, Transport.Transport | Scope.Scope> =>
  Effect.flatMap(Transport.Transport, (transport) =>
    Effect.map(
      Stack.make(transport, options.userAgent ?? `homeostat (${process.platform}/${process.arch})`),
      Operations.make
    )
  )

/** The client on the transport of the context. */
export const layer = (options?: Options): Layer.Layer<Client, never, Transport.Transport> =>
  Layer.scoped(Client, make(options))

/** The client of the cluster of a kubeconfig or of the pod: see `KubeConfig.load`. */
export const layerKubeConfig = (
  options: Options & KubeConfig.Options & Transport.Options = {}
): Layer.Layer<Client, KubeConfig.KubeConfigError, FileSystem> =>
  layer(options).pipe(
    Layer.provide(
      Layer.unwrapEffect(Effect.map(KubeConfig.load(options), (cluster) => Transport.layer(cluster, options)))
    )
  )

/** A typed request: the object in the server's response. */
type Typed<A> = Effect.Effect<A, ApiError | InvalidObject, Client>

/** Reads one object. */
export const get = <A extends KubernetesObject>(
  resource: Resource<A, never>,
  key: ObjectKey,
  options?: RequestOptions
): Typed<A> => Effect.flatMap(Client, (client) => client.get(resource, key, options))

/** Lists objects; without a `limit`, all of them. */
export const list = <A extends KubernetesObject>(resource: Resource<A, never>, options?: ListOptions): Typed<List<A>> =>
  Effect.flatMap(Client, (client) => client.list(resource, options))

/** Creates an object. */
export const create = <A extends KubernetesObject, D extends Placed>(
  resource: Resource<A, D>,
  object: NoInfer<D>,
  options?: WriteOptions
): Typed<A> => Effect.flatMap(Client, (client) => client.create(resource, object, options))

/** Replaces an object. */
export const replace = <A extends KubernetesObject, D extends Placed>(
  resource: Resource<A, D>,
  object: NoInfer<D>,
  options?: WriteOptions
): Typed<A> => Effect.flatMap(Client, (client) => client.replace(resource, object, options))

/** Changes parts of an object. */
export const patch = <A extends KubernetesObject>(
  resource: Resource<A, never>,
  key: ObjectKey,
  change: Patch,
  options?: WriteOptions
): Typed<A> => Effect.flatMap(Client, (client) => client.patch(resource, key, change, options))

/** Applies an object with server-side apply. */
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
  /** Deletes an object. Returns the object if it still exists, or none if it is gone. */
  remove as delete
}

/** Deletes all selected objects in one namespace. */
export const deleteAll = (resource: Any, options: Selection & DeleteOptions): Effect.Effect<void, ApiError, Client> =>
  Effect.flatMap(Client, (client) => client.deleteAll(resource, options))

/** The status subresource. */
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

/** The scale subresource. */
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

/** One page of objects as on the wire. */
export const page = (resource: Any, options?: PageOptions): Effect.Effect<Page<KubernetesObject>, ApiError, Client> =>
  Effect.flatMap(Client, (client) => client.page(resource, options))

/** Opens a watch. */
export const watch = (
  resource: Any,
  options?: WatchOptions
): Effect.Effect<Connection, ApiError, Client | Scope.Scope> =>
  Effect.flatMap(Client, (client) => client.watch(resource, options))

/** A request to any path. */
export const raw = (
  request: RawRequest
): Effect.Effect<{ readonly status: number; readonly body: string }, ApiError, Client> =>
  Effect.flatMap(Client, (client) => client.raw(request))

/** Calls the listener after each successful write, until the scope closes. */
export const onWrite = (listener: Listener): Effect.Effect<void, never, Client | Scope.Scope> =>
  Effect.flatMap(Client, (client) => client.onWrite(listener))
