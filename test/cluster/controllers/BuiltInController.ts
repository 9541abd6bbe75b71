/**
 * A built-in controller: a pure function from a snapshot of the stored objects to writes. It keeps no state, reads no clock and sends no
 * requests. The `Loop` calls the function and makes the writes.
 *
 * A pass reads the stored objects, not a cache that may be stale. No write of a pass depends on the response of another write. Each change
 * triggers the next pass, until a pass has nothing to write.
 */
import type { Failure } from "@homeostat/apiserver/model/Failure"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import type { Kind } from "@homeostat/apiserver/model/Kind"
import type { Change } from "@homeostat/apiserver/storage/Store"

/** An object and its storage. */
export interface Stored {
  readonly storage: string
  readonly object: JsonObject
}

/** The stored objects during a pass. */
export interface Snapshot {
  readonly get: (storage: string, namespace: string, name: string) => JsonObject | undefined
  /** Sorted by namespace and name. */
  readonly list: (storage: string, namespace?: string) => ReadonlyArray<JsonObject>
  /** Returns the objects with an owner reference to this uid. */
  readonly dependents: (uid: string) => ReadonlyArray<Stored>
  /** Returns the objects of a namespace without a controller reference. */
  readonly orphans: (storage: string, namespace: string) => ReadonlyArray<JsonObject>
  readonly byUid: (uid: string) => Stored | undefined
  /** Returns one kind per served resource. */
  readonly resources: () => ReadonlyArray<Kind>
  /** Returns the kind with this apiVersion and kind. */
  readonly named: (apiVersion: string, kind: string) => Kind | undefined
}

/** Follow-up writes. */
interface Followed {
  /** Returns further writes after the write succeeded; `written` is the stored object. */
  readonly done?: (written: JsonObject) => ReadonlyArray<Write>
  /** Returns the writes after an error. The rest of the pass is then skipped, and the loop retries the key. */
  readonly failed?: (failure: Failure) => ReadonlyArray<Write>
}

/** A POST. An error because of a terminating namespace is ignored, as the write can never succeed. */
export interface Create extends Followed {
  readonly verb: "create"
  readonly object: JsonObject
  /** The subresource to create instead, such as a Binding. The object names its parent. */
  readonly subresource?: string
}

/** A PUT of the changed object with the resourceVersion that was read. A later change causes a conflict. */
export interface Update extends Followed {
  readonly verb: "update"
  readonly object: JsonObject
  readonly subresource?: string
}

/** A JSON merge patch of an object that was read. A missing object is not an error. */
export interface Patch extends Followed {
  readonly verb: "patch"
  readonly object: JsonObject
  readonly patch: JsonObject
  readonly subresource?: string
}

/** A server-side apply that takes fields from other managers. A missing object is not an error. */
export interface Apply extends Followed {
  readonly verb: "apply"
  readonly object: JsonObject
  readonly manager: string
}

/** A DELETE of this object, with its uid as a precondition. A missing object is not an error. */
export interface Delete extends Followed {
  readonly verb: "delete"
  readonly object: JsonObject
  /** Default: the default of the kind. */
  readonly propagation?: "Background" | "Foreground" | "Orphan"
  /** Whether the resourceVersion that was read is a precondition. */
  readonly unchanged?: boolean
}

/** An Event about an object. A failed write loses the Event. */
export interface Record {
  readonly verb: "record"
  readonly about: JsonObject
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly message: string
  /** The action, for Events of events.k8s.io. */
  readonly action?: string
}

/** A write of a controller. */
export type Write = Create | Update | Patch | Apply | Delete | Record

/** The result of a pass. */
export interface Pass {
  readonly writes: ReadonlyArray<Write>
  /** Milliseconds until the next pass, even if no object changes. */
  readonly again?: number | undefined
  /** Input of the next pass of this key, if all writes succeed. Absent: the memory is cleared. */
  readonly memory?: Json | undefined
}

/** A pass without writes. */
export const nothing: Pass = { writes: [] }

/** A controller of the server. */
export interface BuiltInController {
  /** The name, as in `--controllers`. */
  readonly name: string
  /** The manager in managedFields. */
  readonly manager: "kube-controller-manager" | "kube-scheduler"
  /** The component that reports the Events. */
  readonly component: string
  /** The back-off of a key after a failed pass, which doubles with each further failure. Default: 5 ms up to 1000 s. */
  readonly retry?: { readonly firstMillis: number; readonly lastMillis: number }
  /** The storages that the controller watches; undefined: all. */
  readonly storages: ReadonlyArray<string> | undefined
  /** Returns the keys to reconcile after a change. The snapshot contains the change. */
  readonly keys: (change: Change, snapshot: Snapshot) => ReadonlyArray<string>
  /** Reconciles one key. `now` is in milliseconds since 1970. */
  readonly reconcile: (snapshot: Snapshot, key: string, now: number, memory: Json | undefined) => Pass
}
