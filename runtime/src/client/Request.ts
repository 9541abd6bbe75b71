/**
 * A request to an API server, and its options for the layers of the stack.
 */
import type { RequestInfo } from "./ApiError.ts"

/** The methods of the Kubernetes API. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** A request without server and credentials. */
export interface Request {
  readonly method: Method
  /** The path from the server's root with the query, percent-encoded. */
  readonly path: string
  /** The path with its variable parts in braces: the name of the span, with low cardinality. */
  readonly template: string
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  readonly body?: string | undefined
  /** Whether it is idempotent, so that it may be retried after an unknown outcome. */
  readonly repeatable: boolean
  /** Whether it is sent only once, without retries. */
  readonly once?: boolean | undefined
  /** Whether it is a dry run, whose response is not a change. */
  readonly dryRun?: boolean | undefined
  /** The timeout of the response in ms, default {@link defaultTimeoutMillis}. For a stream, that of its headers. */
  readonly timeoutMillis?: number | undefined
  /**
   * The largest body of the response, in bytes. The transport ends a larger one early, and returns an empty body. Default: it fails beyond
   * {@link mostBytes}.
   */
  readonly maxBytes?: number | undefined
  /**
   * When the leadership of its sender ends, in ms of the monotonic clock; later after each renewal. The deadline of the request is
   * not after that.
   */
  readonly until?: (() => number) | undefined
  /** Aborts the request at any point. A transport obeys its signal, and may trigger it itself when the fiber is interrupted. */
  readonly abort?: AbortController | undefined
  /** Incremented on every retry, for traces and metrics. */
  readonly sendings?: { again: number } | undefined
  /** The keys of Secrets in the response whose values messages must not quote; default all. */
  readonly secretKeys?: ReadonlyArray<string> | undefined
  /** The object of the request, for spans. */
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/**
 * API servers time out after 60 s, and webhooks by default after 10 s. So slow writes still get a response. Long enough for one page of
 * 500 objects over a slow connection.
 */
export const defaultTimeoutMillis = 30_000

/**
 * The largest answer, and the largest event of a watch, in bytes. An object has at most 3 MiB: `MaxRequestBodyBytes` in k8s.io/apiserver
 * v0.37.1, pkg/server/config.go. But an aggregated API server may send anything.
 */
export const mostBytes = 16 * 1024 * 1024

/** The part of an error's body that is read, in bytes. Errors are small. */
export const mostErrorBytes = 1024 * 1024

/** The method and the path without the query, for errors. */
export const infoOf = (request: Pick<Request, "method" | "path">): RequestInfo => {
  const query = request.path.indexOf("?")
  return { method: request.method, path: query < 0 ? request.path : request.path.slice(0, query) }
}
