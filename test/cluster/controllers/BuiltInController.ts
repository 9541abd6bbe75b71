/**
 * A controller of the server: a plain function from what there is to what shall be written. It keeps nothing, reads no
 * clock and sends nothing; the `Loop` calls it and makes the writes.
 *
 * What one pass reads is what is stored: there is no cache that lags behind. So a pass makes the writes of which none depends
 * on another's answer, and whatever it changes brings the next pass, up to the one that has nothing to write.
 */
import type { Failure } from "@homeostat/apiserver/model/Failure"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import type { Kind } from "@homeostat/apiserver/model/Kind"
import type { Change } from "@homeostat/apiserver/storage/Store"

/** An object and where it is stored. */
export interface Stored {
  readonly storage: string
  readonly object: JsonObject
}

/** All there is, as it is while a pass runs. */
export interface Snapshot {
  readonly get: (storage: string, namespace: string, name: string) => JsonObject | undefined
  /** By namespace and name. */
  readonly list: (storage: string, namespace?: string) => ReadonlyArray<JsonObject>
  /** What names this uid as an owner. */
  readonly dependents: (uid: string) => ReadonlyArray<Stored>
  /** The objects of a namespace that no controller owns. */
  readonly orphans: (storage: string, namespace: string) => ReadonlyArray<JsonObject>
  readonly byUid: (uid: string) => Stored | undefined
  /** One kind per resource that is served. */
  readonly resources: () => ReadonlyArray<Kind>
  /** The kind that an apiVersion and a kind name. */
  readonly named: (apiVersion: string, kind: string) => Kind | undefined
}

/** What follows a write. */
interface Followed {
  /** More to write when it is made; given what was written. */
  readonly done?: (written: JsonObject) => ReadonlyArray<Write>
  /** What to write when it is refused. What is left of the pass is not written then, and the key is tried again. */
  readonly failed?: (failure: Failure) => ReadonlyArray<Write>
}

/** A POST. Where the namespace is terminating it is left out, as it can never succeed. */
export interface Create extends Followed {
  readonly verb: "create"
  readonly object: JsonObject
  /** A part of the object that is made instead: a Binding. The object says what it is a part of. */
  readonly subresource?: string
}

/** A PUT of the object as it was read, changed: it conflicts with what was written meanwhile. */
export interface Update extends Followed {
  readonly verb: "update"
  readonly object: JsonObject
  readonly subresource?: string
}

/** A JSON merge patch of the object, as it was read. An object that is gone needs none. */
export interface Patch extends Followed {
  readonly verb: "patch"
  readonly object: JsonObject
  readonly patch: JsonObject
  readonly subresource?: string
}

/** A server-side apply that takes the fields of other managers. An object that is gone needs none. */
export interface Apply extends Followed {
  readonly verb: "apply"
  readonly object: JsonObject
  readonly manager: string
}

/** A DELETE of exactly this object (its uid is a precondition). An object that is gone needs none. */
export interface Delete extends Followed {
  readonly verb: "delete"
  readonly object: JsonObject
  /** Absent: what the kind has by default. */
  readonly propagation?: "Background" | "Foreground" | "Orphan"
  /** Whether it has to be in the very version that was read. */
  readonly unchanged?: boolean
}

/** An Event about an object. It is said, not needed: one that cannot be written is forgotten. */
export interface Record {
  readonly verb: "record"
  readonly about: JsonObject
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly message: string
  /** What was being done, for Events of events.k8s.io. */
  readonly action?: string
}

/** A write. */
export type Write = Create | Update | Patch | Apply | Delete | Record

/** What a pass comes to. */
export interface Pass {
  readonly writes: ReadonlyArray<Write>
  /** After how many milliseconds to look again although nothing changes. */
  readonly again?: number | undefined
  /** What the next pass of this key is given, if all is written. Absent: nothing. */
  readonly memory?: Json | undefined
}

/** A pass that leaves all as it is. */
export const nothing: Pass = { writes: [] }

/** A controller. */
export interface BuiltInController {
  /** As `--controllers` names it. */
  readonly name: string
  /** Who writes, in managedFields. */
  readonly manager: "kube-controller-manager" | "kube-scheduler"
  /** Who reports its Events. */
  readonly component: string
  /** How long a key waits after its first refused pass; twice as long after each further one. Default: 5 ms up to 1000 s. */
  readonly retry?: { readonly firstMillis: number; readonly lastMillis: number }
  /** The storages whose changes it hears of; undefined: all. */
  readonly storages: ReadonlyArray<string> | undefined
  /** The keys that a change concerns. The snapshot is of the moment after it. */
  readonly keys: (change: Change, snapshot: Snapshot) => ReadonlyArray<string>
  /** A pass of one key. `now` in milliseconds since 1970. */
  readonly reconcile: (snapshot: Snapshot, key: string, now: number, memory: Json | undefined) => Pass
}
