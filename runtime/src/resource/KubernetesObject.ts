/**
 * The shape every Kubernetes object shares, as JSON has it: what a server returned (`KubernetesObject`) and what one
 * sends (`Desired`). Times are RFC 3339 strings, as on the wire.
 */

/** A reference from a dependent to the object it belongs to; the garbage collector follows it. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** At most one owner of an object controls it. */
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** Who set which fields; the server keeps it, the cache drops it. */
export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: "Apply" | "Update"
  readonly apiVersion?: string
  readonly time?: string
  readonly fieldsType?: string
  readonly fieldsV1?: { readonly [field: string]: unknown }
  readonly subresource?: string
}

/** Metadata of a stored object. `uid`, `resourceVersion` and `creationTimestamp` are always there once a server answered. */
export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  /** Counts changes of the desired state. Kinds without it (ConfigMap, Secret, Service) never carry it. */
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

/** Any object as a server returned it. Items of a list of a built-in kind carry neither `apiVersion` nor `kind`. */
export interface KubernetesObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
}

/** Metadata as a client sends it: the server fills in the rest. */
export type DesiredMeta = Partial<ObjectMeta>

/** What a client sends to get an `A`: no status, metadata in part, the kind filled in by the client. */
export type Desired<A> = Omit<A, "apiVersion" | "kind" | "metadata" | "status"> & { readonly metadata: DesiredMeta }

/** Where an object is: its name, and its namespace unless the kind is cluster-scoped. */
export interface ObjectKey {
  readonly namespace?: string | undefined
  readonly name: string
}

/** The key of an object. */
export const keyOf = (object: KubernetesObject): ObjectKey =>
  object.metadata.namespace === undefined
    ? { name: object.metadata.name }
    : { namespace: object.metadata.namespace, name: object.metadata.name }

/** `namespace/name`, or `name` for a cluster-scoped object: the key of every map in the runtime. */
export const keyString = (key: ObjectKey): string =>
  key.namespace === undefined || key.namespace === "" ? key.name : `${key.namespace}/${key.name}`

/** The inverse of {@link keyString}. Names hold no slash. */
export const parseKey = (key: string): ObjectKey => {
  const slash = key.indexOf("/")
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** The one owner that controls the object, if any. */
export const controllerOf = (object: KubernetesObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((reference) => reference.controller === true)
