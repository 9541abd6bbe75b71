/**
 * A kind as the server serves it: its names, its schema, and how its objects are written, displayed and selected. Built-in and
 * custom kinds have this one type. The verbs handle them alike, except where this type provides a difference.
 */
import type { Authenticator } from "./Authenticator.ts"
import type { Authorizer } from "./Authorizer.ts"
import type { FieldError } from "./FieldError.ts"
import type { DraftObject, JsonObject } from "./Json.ts"
import type { Values, ValuesOf } from "./ObjectIndex.ts"
import type { Schema } from "./Schema.ts"
import type { User } from "./User.ts"

/** The verbs of a kind, as discovery lists them. */
export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch"

/** A subresource as discovery lists it: `pods/log`. */
export interface Subresource {
  readonly name: string
  /** The kind of its requests and responses, which may differ from the kind of the resource: `policy/v1 Eviction`. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly verbs: ReadonlyArray<Verb>
}

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string
  readonly type: "string" | "integer" | "number" | "boolean" | "date"
  readonly format: string
  readonly description: string
  /** 0: always displayed; 1: displayed with `-o wide`. */
  readonly priority: number
  /** Returns the cell of an object. `now` is in milliseconds since 1970, for ages. */
  readonly cell: (object: JsonObject, now: number) => string | number | boolean | null
}

/** The context of a write. */
export interface Writing {
  /** Milliseconds since 1970. */
  readonly now: number
  /** Sends the client a `Warning` header, unless the request is rejected. */
  readonly warn: (text: string) => void
  /** Sends the client a `Warning` header even if the request is rejected. Absent: `warn`. */
  readonly warnAlways?: (text: string) => void
  /** The user of the request. */
  readonly user: User
  /** Authorizes further actions of the user. Absent: no authorization check takes place. */
  readonly authorizer?: Authorizer | undefined
  /** Authenticates users by bearer token. Absent: every token is unknown. */
  readonly authentication?: Authenticator | undefined
  /** Lists the stored objects of a namespace or of all namespaces. A strategy looks up PriorityClasses there. */
  readonly stored: (storage: string, namespace?: string) => ReadonlyArray<JsonObject>
  /** Returns the values of all stored objects. The store keeps one index for each function. */
  readonly values: (storage: string, valuesOf: ValuesOf) => Values
}

/**
 * The steps of a write to an object of a kind, in the order of `registry/rest`: `default`, `prepareFor…`, `validate…`. The
 * metadata that all kinds share (uid, creationTimestamp, deletion, names, labels, owners, managedFields) is handled elsewhere.
 */
export interface Strategy {
  /** Defaults the object in place. This step is idempotent. */
  readonly default: (draft: DraftObject) => void
  /**
   * Changes the object as the built-in admission plugins do, before policies and webhooks see it. `old` is the object before
   * an update. Throws a Failure. Absent: no plugin changes objects of the kind.
   */
  readonly admit?: ((draft: DraftObject, old: JsonObject | null, writing: Writing) => void) | undefined
  /** Removes the fields that a client may not set, and sets those of the server: status, `metadata.generation`. */
  readonly prepareForCreate: (draft: DraftObject, writing: Writing) => void
  /**
   * Prepares an update of `old` in the same way. It also separates spec and status: an update of the main resource keeps the
   * old status.
   */
  readonly prepareForUpdate: (draft: DraftObject, old: JsonObject, writing: Writing) => void
  /**
   * Validates the object. `found` contains the errors of its metadata, which are already reported; for an update, those of the
   * change.
   */
  readonly validate: (
    object: JsonObject,
    writing: Writing,
    found?: ReadonlyArray<FieldError>
  ) => ReadonlyArray<FieldError>
  readonly validateUpdate: (
    object: JsonObject,
    old: JsonObject,
    writing: Writing,
    found?: ReadonlyArray<FieldError>
  ) => ReadonlyArray<FieldError>
  /** The fields that a write to this endpoint never changes, and therefore does not own: `[["status"]]`. */
  readonly resetFields: ReadonlyArray<ReadonlyArray<string>>
}

/** The fields of a kind behind its `/scale` subresource, as paths of member names. */
export interface Scale {
  readonly specReplicas: ReadonlyArray<string>
  readonly statusReplicas: ReadonlyArray<string>
  /** The path of the selector: a string in a custom kind, a LabelSelector or a map in a built-in kind. */
  readonly selector: ReadonlyArray<string> | undefined
}

/** A kind in one version. */
export interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly listKind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  readonly namespaced: boolean
  readonly verbs: ReadonlyArray<Verb>
  /** The storage of its objects: `group/plural`. Kinds that show the same objects (versions, Events) share one storage. */
  readonly storage: string
  /** The stored apiVersion, if it differs from this version. Discovery reports its hash. */
  readonly storageVersion?: string
  readonly schema: Schema
  /** The members that the Go type of a built-in kind always encodes, with their zero values. Absent for custom kinds. */
  readonly zero?: JsonObject
  /**
   * True if a CRD declares the kind. A PUT of a custom object requires a resourceVersion, and custom kinds do not support
   * strategic merge patches.
   */
  readonly custom: boolean
  readonly strategy: Strategy
  /** The strategy of `/status`; undefined if the kind does not have this subresource. */
  readonly status: Strategy | undefined
  readonly scale: Scale | undefined
  /** The subresources in discovery besides `/status` and `/scale`, such as `pods/log`. */
  readonly otherSubresources?: ReadonlyArray<Subresource>
  /** The columns after `Name`, including `Age` if the kind has it. Events have a `Name` column of their own at a later position. */
  readonly columns: ReadonlyArray<Column>
  /** The fields that a field selector supports, besides metadata.name and metadata.namespace. */
  readonly selectableFields: (object: JsonObject) => { readonly [path: string]: string }
  /** `unconditionalUpdate`: a PUT does not require a resourceVersion. `createOnUpdate`: a PUT creates a missing object. */
  readonly unconditionalUpdate: boolean
  readonly createOnUpdate: boolean
  /** Validates a name, or with `prefix` a generateName. Returns the errors. Default: the rules of a DNS subdomain. */
  readonly validateName?: (name: string, prefix: boolean) => ReadonlyArray<string>
  /** The propagation policy of a DELETE that does not set one. Absent: Background. */
  readonly dependents?: "orphaned" | "ignored"
  /** True if an object gets a deletionTimestamp before it is removed, even with a grace period of 0: pods. */
  readonly graceful?: boolean
  /** The grace period of a deletion in seconds; 0 removes the object at once. */
  readonly gracePeriod: (object: JsonObject, requested: number | undefined) => number
  /** Strategies of other subresources that write the object as `/status` does, such as `finalize` of a Namespace. */
  readonly subresources?: { readonly [name: string]: Strategy }
  /** The response to a DELETE that removes the object at once. */
  readonly deletedAs: "status" | "object"
  /** Converts a stored object to this version. `toStorage` converts it back. Most kinds return the object unchanged. */
  readonly fromStorage: (stored: JsonObject) => JsonObject
  /** Converts the stored object for an update, if that differs from a read. A kind may show less than it stores. */
  readonly forUpdate?: (stored: JsonObject) => JsonObject
  readonly toStorage: (object: JsonObject) => JsonObject
  /**
   * Converts stored objects to this version with a webhook: in one call, and each object only once. Reads and writes of a
   * single object do not use this cache, as they bypass the watch cache of kube-apiserver. Absent: `fromStorage` of each
   * object.
   */
  readonly cached?: ((stored: ReadonlyArray<JsonObject>) => ReadonlyArray<JsonObject>) | undefined
  /**
   * Converts an object of another version to this one with a webhook. Absent: only the apiVersion changes, or `toStorage` and
   * `fromStorage` convert.
   */
  readonly convert?: ((object: JsonObject) => JsonObject) | undefined
  /**
   * Converts this version to the internal Go type that all versions share, which tables and partial metadata show. Absent: no
   * conversion.
   */
  readonly internal?: (object: JsonObject) => JsonObject
  /** The conditions of an object's row in a table. */
  readonly rowConditions?: (object: JsonObject) => ReadonlyArray<JsonObject>
  /** The deprecation warning of this version. */
  readonly deprecation: string | undefined
  /** The warning on a create of a kind whose controller does not exist here. */
  readonly noControllerWarning?: string | undefined
}

/** Converts stored objects to the version of the kind. */
export const allFromStorage = (
  { cached, fromStorage }: Pick<Kind, "cached" | "fromStorage">,
  stored: ReadonlyArray<JsonObject>
): ReadonlyArray<JsonObject> => (cached === undefined ? stored.map((object) => fromStorage(object)) : cached(stored))

/** Converts an object that is about to be stored, so that the webhook's result is cached. After the write, no webhook can be called. */
export const convertAhead = (kind: Kind, stored: JsonObject): void => {
  if (kind.cached !== undefined) kind.fromStorage(stored)
}

/** Returns `apps/v1`, or `v1` for the core group. */
export const apiVersionOf = ({ group, version }: Pick<Kind, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`

/** Returns the `apiVersion` and `kind` of the objects of a kind. */
export const typeOf = (
  kind: Pick<Kind, "group" | "version" | "kind">
): { readonly apiVersion: string; readonly kind: string } => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind
})
