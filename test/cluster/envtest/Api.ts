/**
 * Plain requests to an API server: what starting and preparing one takes. Tests of the runtime use the runtime's client.
 */
import { Data, Effect } from "effect"
import type { Access } from "./Kubeconfig.ts"

/** A request got no answer, or not the answer that was needed. */
export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  readonly method: string
  readonly path: string
  /** The HTTP status; undefined when there was no answer. */
  readonly status: number | undefined
  readonly reason: string
}> {
  override get message(): string {
    return `${this.method} ${this.path}: ${this.status ?? "no answer"}: ${this.reason}`
  }
}

/** An answer, whatever its status. */
export interface Answer {
  readonly status: number
  readonly body: string
}

/** The options of a request. */
export interface RequestOptions {
  /** Sent as JSON. */
  readonly body?: unknown
  /** The media type of the body; default `application/json`. */
  readonly contentType?: string | undefined
  /** The media types that the answer may have; default `application/json`. */
  readonly accept?: string | undefined
  /** How long the answer may take; default 30 000. */
  readonly timeoutMillis?: number | undefined
}

/** Sends one request as the user that `access` names. Every status is an answer; only no answer is an error. */
export const request = (
  access: Access,
  method: string,
  path: string,
  options?: RequestOptions
): Effect.Effect<Answer, RequestFailed> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(`${access.server}${path}`, {
        method,
        // One connection each: this is used across restarts of the server, where a pooled one may be dead.
        keepalive: false,
        signal: AbortSignal.any([signal, AbortSignal.timeout(options?.timeoutMillis ?? 30_000)]),
        headers: {
          accept: options?.accept ?? "application/json",
          ...(access.token !== undefined && { authorization: `Bearer ${access.token}` }),
          ...(options?.body !== undefined && { "content-type": options.contentType ?? "application/json" })
        },
        ...(options?.body !== undefined && { body: JSON.stringify(options.body) }),
        tls: {
          ...(access.ca !== undefined && { ca: access.ca }),
          ...(access.cert !== undefined && { cert: access.cert }),
          ...(access.key !== undefined && { key: access.key })
        }
      })
      return { status: response.status, body: await response.text() }
    },
    catch: (error) => new RequestFailed({ method, path, status: undefined, reason: String(error) })
  })

/** Like `request`, where any status but 2xx is an error; gives the body parsed. */
export const expect = (
  access: Access,
  method: string,
  path: string,
  options?: RequestOptions
): Effect.Effect<unknown, RequestFailed> =>
  request(access, method, path, options).pipe(
    Effect.flatMap(({ status, body }) =>
      status >= 200 && status < 300
        ? Effect.succeed(JSON.parse(body) as unknown)
        : new RequestFailed({ method, path, status, reason: body.slice(0, 500) })
    )
  )

/** Whether the path answers 200: a condition to wait for, where no answer only means "not yet". */
export const answers = (access: Access, path: string): Effect.Effect<boolean> =>
  request(access, "GET", path, { timeoutMillis: 2_000 }).pipe(
    Effect.map((answer) => answer.status === 200),
    Effect.orElseSucceed(() => false)
  )
