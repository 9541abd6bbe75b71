/**
 * A kind as a value: its place on the API server, and the decoding of its objects. `BuiltIn` has the built-in kinds;
 * `CustomResource.make` declares custom kinds.
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import { type Desired, type KubernetesObject, keyString, type ObjectKey } from "./KubernetesObject.ts"

/**
 * A stored object does not match the schema of its kind, usually because it was stored before a schema change.
 *
 * `issues` names each field by its path from the object's root (`spec.replicas`).
 */
export class InvalidObject extends Data.TaggedError("InvalidObject")<{
  readonly kind: string
  readonly key: string
  readonly issues: ReadonlyArray<{ readonly field: string; readonly message: string }>
}> {
  override get message(): string {
    const issues = this.issues.map((issue) => `${issue.field}: ${issue.message}`).join("; ")
    return `${this.kind} ${this.key} does not match its schema: ${issues}`
  }
}

/**
 * A kind of the API server.
 *
 * @typeParam A the decoded object of reads, deeply readonly
 * @typeParam D the object of writes
 */
export interface Resource<out A extends KubernetesObject, in D = Desired<A>> {
  /** API group; `""` is the core group. */
  readonly group: string
  /** API version within the group: `v1`. */
  readonly version: string
  /** In CamelCase: `Deployment`. */
  readonly kind: string
  /** The name in URLs, such as `deployments`. */
  readonly plural: string
  /** Whether the kind is namespaced or cluster-scoped. */
  readonly namespaced: boolean
  /** `metadata`: only PartialObjectMetadata is read and cached. Part of the identity of an informer. */
  readonly projection: "full" | "metadata"
  /** Decodes the wire form. The result is cached per wire object, so that a cached object is decoded once per resourceVersion. */
  readonly decode: (wire: KubernetesObject) => Result.Result<A, InvalidObject>
  /** The type of a read, for `typeof WebApp.Type`. It has no value at run time. */
  readonly Type: A
  /** Carries the type of a write, `Parameters<typeof WebApp.Desired>[0]`. It has no value at run time. */
  readonly Desired: (desired: D) => void
}

/** Any kind. */
export type Any = Resource<KubernetesObject, never>

/**
 * `apps/v1`, or `v1` for the core group.
 *
 * @example
 * ```ts
 * Resource.apiVersionOf(BuiltIn.Deployment) // => "apps/v1"
 * ```
 */
export const apiVersionOf = (resource: Pick<Any, "group" | "version">): string =>
  resource.group === "" ? resource.version : `${resource.group}/${resource.version}`

/**
 * The name in errors and RBAC rules: `deployments.apps`, or `services` for the core group.
 *
 * @example
 * ```ts
 * Resource.nameOf(BuiltIn.Deployment) // => "deployments.apps"
 * ```
 */
export const nameOf = (resource: Pick<Any, "group" | "plural">): string =>
  resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`

/**
 * The text of a key of an object of a kind. A namespace of a cluster-scoped kind is left out. Throws if the kind is namespaced and
 * the key has no namespace: no object has such a key.
 *
 * @internal
 */
export const keyStringOf = (resource: Any, key: ObjectKey): string => {
  if (!resource.namespaced) return key.name
  if (key.namespace !== undefined) return keyString(key)
  throw new Error(`namespace required: key of ${nameOf(resource)} ${key.name} (the kind is namespaced)`)
}

/**
 * The identity of a kind and its projection: the key of an informer.
 *
 * @internal
 */
export const identityOf = (resource: Any): string =>
  `${nameOf(resource)}/${resource.version}${resource.projection === "metadata" ? ":metadata" : ""}`

/**
 * The settings of a kind. By default the kind is namespaced, and its objects are not decoded (the server validates built-in kinds).
 */
export interface Options<A extends KubernetesObject> {
  /** API group; `""` is the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** The name in URLs, such as `deployments`. */
  readonly plural: string
  /** Default true. */
  readonly namespaced?: boolean | undefined
  /** `metadata`: only metadata is read and cached. Default `full`. */
  readonly projection?: "full" | "metadata" | undefined
  /** Default: the object as the server sent it. */
  readonly decode?: ((wire: KubernetesObject) => Result.Result<A, InvalidObject>) | undefined
}

class Kind<A extends KubernetesObject, D> implements Resource<A, D> {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly projection: "full" | "metadata"
  readonly decode: (wire: KubernetesObject) => Result.Result<A, InvalidObject>
  declare readonly Type: A
  declare readonly Desired: (desired: D) => void

  constructor(options: Options<A>) {
    this.group = options.group
    this.version = options.version
    this.kind = options.kind
    this.plural = options.plural
    this.namespaced = options.namespaced ?? true
    this.projection = options.projection ?? "full"
    // The only unchecked cast: the server validates built-in kinds.
    this.decode = options.decode ?? ((wire) => Result.succeed(wire as A))
  }
}

/**
 * A kind from its coordinates.
 *
 * @example
 * ```ts
 * const Certificate = Resource.make<KubernetesObject.KubernetesObject & { readonly spec: { readonly secretName: string } }>({
 *   group: "cert-manager.io",
 *   version: "v1",
 *   kind: "Certificate",
 *   plural: "certificates"
 * })
 * ```
 */
export const make = <A extends KubernetesObject, D = Desired<A>>(options: Options<A>): Resource<A, D> =>
  new Kind(options)

/**
 * The same kind with metadata only: for triggers and existence checks, at a third of the memory.
 *
 * @example
 * ```ts
 * const key = { namespace: "default", name: "page" }
 * const { metadata } = yield* Client.get(Resource.metadataOnly(BuiltIn.ConfigMap), key)
 * metadata.labels // => { app: "shop" }
 * ```
 */
export const metadataOnly = (resource: Any): Resource<KubernetesObject, never> =>
  new Kind({ ...resource, projection: "metadata", decode: undefined })
