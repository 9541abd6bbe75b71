/**
 * A kind as the server serves it: its names, its schema, and in what its objects differ from others when they are written,
 * shown and selected. Built-in kinds and those of CRDs are values of this one type; the verbs know no other difference.
 */
import type { Authenticator } from "./Authenticator.ts"
import type { Authorizer } from "./Authorizer.ts"
import type { FieldError } from "./FieldError.ts"
import type { DraftObject, JsonObject } from "./Json.ts"
import type { Schema } from "./Schema.ts"
import type { User } from "./User.ts"

/** The verbs of a kind, as discovery lists them. */
export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch"

/** Something below an object, as discovery lists it: `pods/log`. */
export interface Subresource {
  readonly name: string
  /** The kind of its requests and answers, which may be another one: `policy/v1 Eviction`. */
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
  /** 0: always shown; 1: with `-o wide`. */
  readonly priority: number
  /** The cell. `now` in milliseconds, for ages. */
  readonly cell: (object: JsonObject, now: number) => string | number | boolean | null
}

/** What is known while an object is written. */
export interface Writing {
  /** Milliseconds since 1970. */
  readonly now: number
  /** Says something to the client in a `Warning` header, unless the object is refused. */
  readonly warn: (text: string) => void
  /** The same, also where the object is refused. Absent: `warn`. */
  readonly warnAlways?: (text: string) => void
  /** Who writes. */
  readonly user: User
  /** Decides what users may do. Absent: nothing is asked. */
  readonly authorizer?: Authorizer | undefined
  /** Recognizes users by their tokens. Absent: no token is known. */
  readonly authentication?: Authenticator | undefined
  /** What is stored now, of a namespace or of all: which addresses are taken, what a PriorityClass says. */
  readonly stored: (storage: string, namespace?: string) => ReadonlyArray<JsonObject>
}

/**
 * The steps of a write to an object of a kind, in the order of `registry/rest`: `default`, `prepareFor…`, `validate…`. Metadata that
 * all kinds share (uid, creationTimestamp, deletion, names, labels, owners, managedFields) is not its business.
 */
export interface Strategy {
  /** Fills in what the object leaves open. Done twice it changes nothing more. */
  readonly default: (draft: DraftObject) => void
  /**
   * The changes of the API server's own admission plugins, before policies and webhooks see the object. `old`: the object before an
   * update. Throws a Failure. Absent: no plugin changes objects of the kind.
   */
  readonly admit?: ((draft: DraftObject, old: JsonObject | null, writing: Writing) => void) | undefined
  /** Takes away what a client may not set, and sets what the server sets: status, `metadata.generation`. */
  readonly prepareForCreate: (draft: DraftObject, writing: Writing) => void
  /** The same for a change of `old`. Spec and status are kept apart here: the main resource keeps the old status. */
  readonly prepareForUpdate: (draft: DraftObject, old: JsonObject, writing: Writing) => void
  /** `found`: the errors in the metadata, which are reported already; for a change, the errors of the change. */
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
  /** The fields that this way of writing never changes, so that no manager owns them by it: `[["status"]]`. */
  readonly resetFields: ReadonlyArray<ReadonlyArray<string>>
}

/** `/scale`: where a kind keeps what a Scale shows, as paths of member names. */
export interface Scale {
  readonly specReplicas: ReadonlyArray<string>
  readonly statusReplicas: ReadonlyArray<string>
  /** The selector: of a custom kind a string, of a built-in one a LabelSelector or a map. */
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
  /** Where its objects are stored: `group/plural`. Kinds that are views of the same objects (versions, Events) name the same. */
  readonly storage: string
  /** The stored apiVersion, if it is another one. Discovery reports its hash. */
  readonly storageVersion?: string
  readonly schema: Schema
  /** The members that the Go type of a built-in kind always writes, with their empty values. Absent for custom kinds. */
  readonly zero?: JsonObject
  /** Whether it was declared by a CRD. Custom objects need a resourceVersion in a PUT, and know no strategic merge patch. */
  readonly custom: boolean
  readonly strategy: Strategy
  /** The strategy of `/status`; undefined where there is none. */
  readonly status: Strategy | undefined
  readonly scale: Scale | undefined
  /** The subresources in discovery besides `/status` and `/scale`, such as `pods/log`. */
  readonly otherSubresources?: ReadonlyArray<Subresource>
  /** Without `Name`, which comes first, and with `Age` where the kind has it. Events have a `Name` of their own, further down. */
  readonly columns: ReadonlyArray<Column>
  /** The fields by which a list can be chosen, besides metadata.name and metadata.namespace. */
  readonly selectableFields: (object: JsonObject) => { readonly [path: string]: string }
  /** Whether a PUT may come without a resourceVersion, and whether it makes what is not there. */
  readonly unconditionalUpdate: boolean
  readonly createOnUpdate: boolean
  /** Validates a name, or with `prefix` a generateName. Returns the errors. Default: the rules of a DNS subdomain. */
  readonly validateName?: (name: string, prefix: boolean) => ReadonlyArray<string>
  /** The propagation policy of a DELETE without one. Absent: Background. */
  readonly dependents?: "orphaned" | "ignored"
  /** Whether an object is marked as ending before it goes, even where it goes at once: pods. */
  readonly graceful?: boolean
  /** The seconds that an object is given to end when it is deleted; 0: it goes at once. */
  readonly gracePeriod: (object: JsonObject, requested: number | undefined) => number
  /** Strategies of other subresources that write the object as `/status` does: a Namespace's `finalize`. */
  readonly subresources?: { readonly [name: string]: Strategy }
  /** The answer to a DELETE that removes the object at once. */
  readonly deletedAs: "status" | "object"
  /** From what is stored to this version, and back. The identity for most. */
  readonly fromStorage: (stored: JsonObject) => JsonObject
  /** Converts the stored object for an update, if that differs from a read: a kind may show less than it stores. */
  readonly forUpdate?: (stored: JsonObject) => JsonObject
  readonly toStorage: (object: JsonObject) => JsonObject
  /**
   * From what is stored to this version where a webhook converts: all at once, and each object once. Reads and writes of one object do
   * not use it, as those of a kube-apiserver go around its watch cache. Absent: `fromStorage` of each.
   */
  readonly cached?: ((stored: ReadonlyArray<JsonObject>) => ReadonlyArray<JsonObject>) | undefined
  /** From another version to this one, by a webhook. Absent: only the apiVersion differs, or `toStorage` and `fromStorage` do it. */
  readonly convert?: ((object: JsonObject) => JsonObject) | undefined
  /** From this version to the Go type that all versions share: tables and bare metadata show that. Absent: the same. */
  readonly internal?: (object: JsonObject) => JsonObject
  /** The conditions of an object's row in a table. */
  readonly rowConditions?: (object: JsonObject) => ReadonlyArray<JsonObject>
  /** The deprecation warning of this version. */
  readonly deprecation: string | undefined
  /** The warning at a creation, for a kind without a controller here. */
  readonly noControllerWarning?: string | undefined
}

/** Objects as they are stored, in the version of the kind. */
export const allFromStorage = (
  { cached, fromStorage }: Pick<Kind, "cached" | "fromStorage">,
  stored: ReadonlyArray<JsonObject>
): ReadonlyArray<JsonObject> => (cached === undefined ? stored.map((object) => fromStorage(object)) : cached(stored))

/** Asks for what a webhook makes of an object that is about to be stored, as nothing can be asked after that. */
export const convertAhead = (kind: Kind, stored: JsonObject): void => {
  if (kind.cached !== undefined) kind.fromStorage(stored)
}

/** `apps/v1`, or `v1` of the core group. */
export const apiVersionOf = ({ group, version }: Pick<Kind, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`

/** What an object of the kind says of itself. */
export const typeOf = (
  kind: Pick<Kind, "group" | "version" | "kind">
): { readonly apiVersion: string; readonly kind: string } => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind
})
