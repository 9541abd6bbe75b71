/** The operations of a cache, and their types. */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { ApiError } from "../client/ApiError.ts"
import type * as Client from "../client/Client.ts"
import type * as Decoding from "../resource/Decoding.ts"
import type { KubernetesObject, ObjectKey } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type * as Index from "./Index.ts"
import type * as Informer from "./Informer.ts"
import type * as Selection from "./Selection.ts"
import type { Filter } from "./Store.ts"
import type * as Transform from "./Transform.ts"
import type { Undeclared } from "./Undeclared.ts"
import type * as Whole from "./Whole.ts"

/** The `items` that match their schema, and `invalid`, as `Client.list` gives them: a controller that counts objects needs both. */
export type List<A> = Decoding.Decoded<A>

/** A cached object and its kind. */
export interface Dependent {
  readonly resource: Resource.Any
  readonly object: KubernetesObject
}

/** The settings of an informer. */
export interface InformerOptions {
  /** The informer follows only these objects. Each selection of a kind has its own informer. */
  readonly select?: Selection.Selection | undefined
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

/** The operations of a cache. */
export interface Service {
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
  /**
   * The same cache, whose reads use only these informers: those that a controller declares, all of which have synced before it starts.
   * Another kind dies with {@link Undeclared}, also if another controller of the program declares it.
   *
   * @internal
   */
  readonly within: (controller: string, declared: ReadonlyArray<Informer.Informer>) => Service
  /**
   * Whether the cache shows the writes of a client: that of its own cluster.
   *
   * @internal
   */
  readonly sees: (client: Client.Client["Service"]) => boolean
  /** Waits until every informer declared so far has synced. An optional kind that the API server does not serve counts as synced. */
  readonly synced: Effect.Effect<void>
}
