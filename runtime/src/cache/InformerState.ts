/** The state of an informer, for readiness, metrics and `why`. */
import type * as Problem from "./Problem.ts"
import type * as Reflector from "./Reflector.ts"

/** The state of an informer. */
export interface InformerState {
  /**
   * - `syncing`: the first list is not complete, and no request has failed
   * - `synced`: the informer follows the server
   * - `failing`: a request fails and is retried; a synced informer keeps its objects, which may be old
   * - `missing`: the server does not serve the kind; a synced informer keeps its objects
   * - `absent`: the server does not serve the kind, which is optional; the informer has no objects, and looks for the kind every 30 to 45
   *   seconds
   */
  readonly status: "syncing" | "synced" | "failing" | "missing" | "absent"
  /** Whether the first list has completed, or the kind is absent. */
  readonly synced: boolean
  /** The problem in one line, with the kind and the missing permission, if that is the cause. */
  readonly problem: string | undefined
  /** The same, for code. With several namespaces, that of the first namespace with a problem. */
  readonly cause: Problem.Problem | undefined
  /** The resourceVersion of the copy; with several namespaces, the latest. */
  readonly resourceVersion: string | undefined
  /** Watches resumed. */
  readonly restarts: number
  /** The number of lists after the first. */
  readonly relists: number
  /** Restarts and relists by reason. */
  readonly reasons: { readonly [reason in Reflector.Reason]?: number }
  /** When the server last sent objects or events, in ms of the Clock. */
  readonly lastEventAt: number | undefined
  /** The number of objects with an own write that the watch has not delivered yet. */
  readonly overlaid: number
  /** Milliseconds since the server last sent anything, including bookmarks, or since the start. With several watches, the longest. */
  readonly idleMillis: number
  /** The mean length of an object's JSON, in characters, from a sample. 0 before the first object. */
  readonly meanSize: number
  /** The number of objects of which the cache keeps name and version, because they are too large. */
  readonly tooLarge: number
}
