/**
 * Options of the client's operations.
 */

/** For every request. */
export interface RequestOptions {
  /** The timeout of one response in ms, default 30 000. A retry has the full timeout again. */
  readonly timeoutMillis?: number | undefined
  /** `false`: sends the request once, without retries. For callers that keep time themselves, such as an election. */
  readonly retry?: boolean | undefined
  /**
   * For a read of Secrets: the keys whose values the caller uses. Logs and messages hide copies of these values alone, so that a large
   * unused value does not hide whole messages. Default all keys.
   */
  readonly secretKeys?: ReadonlyArray<string> | undefined
}

/** The objects of a kind to select. */
export interface Selection {
  /** The namespace; absent for all namespaces. */
  readonly namespace?: string | undefined
  /** Such as `app=web,tier in (front, back)`. */
  readonly labelSelector?: string | undefined
  /** Such as `metadata.name=web`; the supported fields depend on the kind. */
  readonly fieldSelector?: string | undefined
}

/** For one page of a list. */
export interface PageOptions extends Selection, RequestOptions {
  /** At most this many objects, and fewer if they are large. The server ignores it when `resourceVersion` is `"0"`. */
  readonly limit?: number | undefined
  /** The token of the previous page. Not allowed together with `resourceVersion`. */
  readonly continue?: string | undefined
  /** Unset: the newest state. `"0"`: any cached state of the server. */
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined
}

/** For a list. Without a `limit`, all pages of 500 objects are read. */
export type ListOptions = PageOptions

/** For every write except a deletion. */
export interface WriteOptions extends RequestOptions {
  /** The field manager; default that of the fiber (`FieldManager`). */
  readonly fieldManager?: string | undefined
  /**
   * The last seen resourceVersion. It is not sent. If the response has the same resourceVersion, the write changed nothing, and its
   * event does not count as an own write.
   */
  readonly before?: string | undefined
  /** The server validates the write without storing it. */
  readonly dryRun?: boolean | undefined
  /** How the server handles unknown fields: an error (default), a warning in the log, or nothing. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore" | undefined
}

/** For a server-side apply. */
export interface ApplyOptions extends WriteOptions {
  /** Takes over fields of other managers. Default false: the server responds with Conflict and the fields as causes. */
  readonly force?: boolean | undefined
}

/**
 * For a deletion. With an unknown outcome it is retried only with `uid` or `resourceVersion`: without these a second request could
 * delete a new object of the same name.
 */
export interface DeleteOptions extends RequestOptions {
  /** Deletes only the object with this UID; otherwise Conflict. */
  readonly uid?: string | undefined
  /** Deletes only this version; otherwise Conflict. */
  readonly resourceVersion?: string | undefined
  /** How to delete dependents. The default depends on the kind: Background for nearly all. */
  readonly propagation?: "Background" | "Foreground" | "Orphan" | undefined
  /** The time that a pod has to stop, in seconds. */
  readonly gracePeriodSeconds?: number | undefined
  readonly dryRun?: boolean | undefined
}

/** For a watch: from a resourceVersion, or from the whole state. */
export interface WatchOptions extends Selection {
  /** Resumes after this version. */
  readonly resourceVersion?: string | undefined
  /** Begins with the whole state as ADDED events, until a bookmark with `initialEventsEnd`. */
  readonly initialEvents?: boolean | undefined
  /** After how many seconds the server ends the watch. Default 300 to 600, at random, so that watches do not renew together. */
  readonly timeoutSeconds?: number | undefined
  /** The timeout of the response headers in ms, default 30 000. */
  readonly timeoutMillis?: number | undefined
}

/** A request to any path. Its response is not interpreted. */
export interface RawRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** From the server's root, with the query, percent-encoded: `/version`, `/readyz?verbose`. */
  readonly path: string
  readonly body?: string | undefined
  /** Lower-case names. `accept` defaults to JSON, `content-type` of a body too. */
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly timeoutMillis?: number | undefined
  /** Retries where that is safe. Default false, because a probe must report the first failure. */
  readonly retry?: boolean | undefined
}
