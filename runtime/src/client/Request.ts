/**
 * A request to an API server, and its options for the layers of the stack.
 */
import type { RequestInfo } from "./ApiError.ts"

/** The methods of the Kubernetes API. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** One request, before it has a server and credentials. */
export interface Request {
  readonly method: Method
  /** Path from the server's root, percent-encoded, and the query. */
  readonly path: string
  /** The path with its variable parts in braces: the name of the span, and of few different names. */
  readonly template: string
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  readonly body?: string | undefined
  /** Whether doing it twice is the same as doing it once: it may be sent again when the outcome is unknown. */
  readonly repeatable: boolean
  /** Whether it is to be sent once only, whatever comes back. */
  readonly once?: boolean | undefined
  /** Whether the server is only to try it, so that no answer to it is news. */
  readonly dryRun?: boolean | undefined
  /** Time for the answer, default {@link defaultTimeoutMillis}. Of a stream, time for its headers only. */
  readonly timeoutMillis?: number | undefined
  /**
   * Until when its sender may write, in ms of the monotonic clock: the end of a leadership, later with each renewal. The deadline is
   * not later than that.
   */
  readonly until?: (() => number) | undefined
  /**
   * Ends the request, wherever it is. A transport obeys its signal, and may trigger it itself: the fiber that is interrupted
   * does.
   */
  readonly abort?: AbortController | undefined
  /** Incremented on every retry, for traces and metrics. */
  readonly sendings?: { again: number } | undefined
  /** What the request is about, for spans. */
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/**
 * Half of the 60 s after which API servers give up on a request themselves, and twice what they allow webhooks by
 * default, so that a slow write is still answered. Long enough for one page of 500 objects over a slow line.
 */
export const defaultTimeoutMillis = 30_000

/** Method and path without the query, as errors name a request. */
export const infoOf = (request: Pick<Request, "method" | "path">): RequestInfo => {
  const query = request.path.indexOf("?")
  return { method: request.method, path: query < 0 ? request.path : request.path.slice(0, query) }
}
