/**
 * The common fields of Kubernetes objects, in JSON: as the server returns them (`KubernetesObject`) and as clients send them
 * (`Desired`). Times are RFC 3339 strings, as on the wire.
 */

/** A reference from a dependent to its owner; the garbage collector follows it. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** At most one owner of an object controls it. */
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** A field manager and its fields. The server maintains these entries, and the cache removes them. */
export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: "Apply" | "Update"
  readonly apiVersion?: string
  readonly time?: string
  readonly fieldsType?: string
  readonly fieldsV1?: { readonly [field: string]: unknown }
  readonly subresource?: string
}

/** Metadata of a stored object. `uid`, `resourceVersion` and `creationTimestamp` are always present in a response of the server. */
export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  /** Counts changes of the desired state. Absent for some kinds (ConfigMap, Secret, Service). */
  readonly generation?: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly generateName?: string
  readonly labels?: { readonly [key: string]: string }
  readonly annotations?: { readonly [key: string]: string }
  readonly finalizers?: ReadonlyArray<string>
  readonly ownerReferences?: ReadonlyArray<OwnerReference>
  readonly managedFields?: ReadonlyArray<ManagedFieldsEntry>
}

/** Any object as the server returns it. Items of a list of a built-in kind have no `apiVersion` and no `kind`. */
export interface KubernetesObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
}

/** Metadata as a client sends it: the server adds the rest. */
export type DesiredMeta = Partial<ObjectMeta>

/** The object to send for an `A`: without status, with partial metadata; the client adds the kind. */
export type Desired<A> = Omit<A, "apiVersion" | "kind" | "metadata" | "status"> & { readonly metadata: DesiredMeta }

/** The name of an object, and its namespace unless the kind is cluster-scoped. */
export interface ObjectKey {
  readonly namespace?: string | undefined
  readonly name: string
}

/**
 * The key of an object.
 *
 * @example
 * ```ts
 * KubernetesObject.keyOf(site) // => { namespace: "default", name: "shop" }
 * ```
 */
export const keyOf = (object: KubernetesObject): ObjectKey =>
  object.metadata.namespace === undefined
    ? { name: object.metadata.name }
    : { namespace: object.metadata.namespace, name: object.metadata.name }

/**
 * `namespace/name`, or `name` for a cluster-scoped object. All maps of the runtime use this key.
 *
 * @example
 * ```ts
 * KubernetesObject.keyString({ namespace: "default", name: "shop" }) // => "default/shop"
 * ```
 */
export const keyString = (key: ObjectKey): string =>
  key.namespace === undefined || key.namespace === "" ? key.name : `${key.namespace}/${key.name}`

/**
 * The inverse of {@link keyString}. Names contain no slash.
 *
 * @example
 * ```ts
 * KubernetesObject.parseKey("default/shop") // => { namespace: "default", name: "shop" }
 * ```
 */
export const parseKey = (key: string): ObjectKey => {
  const slash = key.indexOf("/")
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/**
 * The owner that controls the object, if any.
 *
 * @example
 * ```ts
 * const child = yield* Owned.apply(site, BuiltIn.ConfigMap, { metadata: { name: "shop-page" } })
 * KubernetesObject.controllerOf(child)?.name // => "shop"
 * ```
 */
export const controllerOf = (object: KubernetesObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((reference) => reference.controller === true)
