/**
 * Options of the client's operations.
 */

/** For every request. */
export interface RequestOptions {
  /** Time for one answer in milliseconds, default 30 000. A retry has the full time again. */
  readonly timeoutMillis?: number | undefined
  /** `false`: send it once, whatever comes back. For callers that keep time themselves, such as an election. */
  readonly retry?: boolean | undefined
}

/** Which objects of a kind. */
export interface Selection {
  /** Without one: all namespaces. */
  readonly namespace?: string | undefined
  /** Such as `app=web,tier in (front, back)`. */
  readonly labelSelector?: string | undefined
  /** Such as `metadata.name=web`; which fields there are depends on the kind. */
  readonly fieldSelector?: string | undefined
}

/** For one page of a list. */
export interface PageOptions extends Selection, RequestOptions {
  /** At most this many objects. The server ignores it when `resourceVersion` is `"0"`. */
  readonly limit?: number | undefined
  /** Where the page before ended. Goes with no `resourceVersion`. */
  readonly continue?: string | undefined
  /** Unset: the newest state. `"0"`: any state that the server has at hand. */
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined
}

/** For a list. Without a `limit` all pages are fetched, 500 objects each. */
export type ListOptions = PageOptions

/** For every write but a deletion. */
export interface WriteOptions extends RequestOptions {
  /** In whose name; by default that of the fiber (`FieldManager`). */
  readonly fieldManager?: string | undefined
  /**
   * The resourceVersion last seen. It is not sent. It shows whether the write changed anything: the answer to a write that changed
   * nothing has this resourceVersion, and the event of it is not taken for an own write.
   */
  readonly before?: string | undefined
  /** The server does everything but store it. */
  readonly dryRun?: boolean | undefined
  /** What becomes of fields that the schema does not have: an error (default), a warning in the log, or nothing. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore" | undefined
}

/** For a server-side apply. */
export interface ApplyOptions extends WriteOptions {
  /** Take fields over that other managers own. Default false: the server answers Conflict, with the fields as causes. */
  readonly force?: boolean | undefined
}

/**
 * For a deletion. The client sends one again after an unknown outcome only with `uid` or `resourceVersion`: without these a second
 * request could delete a new object of the same name.
 */
export interface DeleteOptions extends RequestOptions {
  /** Only this very object, not another one of the same name: otherwise Conflict. */
  readonly uid?: string | undefined
  /** Only in this state: otherwise Conflict. */
  readonly resourceVersion?: string | undefined
  /** What becomes of dependents. By default the kind's own: Background for nearly all. */
  readonly propagation?: "Background" | "Foreground" | "Orphan" | undefined
  /** How long a pod may take to stop. */
  readonly gracePeriodSeconds?: number | undefined
  readonly dryRun?: boolean | undefined
}

/** For a watch: from a resourceVersion on, or from the whole state on. */
export interface WatchOptions extends Selection {
  /** Resume after this one. */
  readonly resourceVersion?: string | undefined
  /** Begin with the whole state as ADDED events, ended by a bookmark with `initialEventsEnd`. */
  readonly initialEvents?: boolean | undefined
  /** When the server is to end the watch, in seconds. By default 300 to 600, at random, so that watches do not renew together. */
  readonly timeoutSeconds?: number | undefined
  /** Time for the headers of the answer in milliseconds, default 30 000. */
  readonly timeoutMillis?: number | undefined
}

/** A request to any path. Its answer is not interpreted. */
export interface RawRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** From the server's root, with the query, percent-encoded: `/version`, `/readyz?verbose`. */
  readonly path: string
  readonly body?: string | undefined
  /** Lower-case names. `accept` defaults to JSON, `content-type` of a body too. */
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly timeoutMillis?: number | undefined
  /** Send it again where that is safe. Default false: a probe wants to know of the first failure. */
  readonly retry?: boolean | undefined
}
