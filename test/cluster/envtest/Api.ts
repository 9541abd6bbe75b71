/**
 * Plain requests to an API server, to start and prepare it. Tests of the runtime use the runtime's client.
 */
import { Data, Effect } from "effect"
import type { Access } from "./Kubeconfig.ts"

/** A request got no response, or a response with an unexpected status. */
export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  readonly method: string
  readonly path: string
  /** The HTTP status; undefined without a response. */
  readonly status: number | undefined
  readonly reason: string
}> {
  override get message(): string {
    return `${this.method} ${this.path}: ${this.status ?? "no answer"}: ${this.reason}`
  }
}

/** A response, with any status. */
export interface Answer {
  readonly status: number
  readonly body: string
}

/** The options of a request. */
export interface RequestOptions {
  /** The body, sent as JSON. */
  readonly body?: unknown
  /** The media type of the body. Default `application/json`. */
  readonly contentType?: string | undefined
  /** The media types that the response may have. Default `application/json`. */
  readonly accept?: string | undefined
  /** The timeout of the request in milliseconds. Default 30 000. */
  readonly timeoutMillis?: number | undefined
}

/** Sends one request as the user of `access`. Every status is a response. Fails only without a response. */
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
        // Each request has its own connection, because a pooled connection does not survive a restart of the server.
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

/** Like `request`, but fails for any status except 2xx. Returns the parsed body. */
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

/** Returns true if the path responds with 200, and false for any other status or without a response. */
export const answers = (access: Access, path: string): Effect.Effect<boolean> =>
  request(access, "GET", path, { timeoutMillis: 2_000 }).pipe(
    Effect.map((answer) => answer.status === 200),
    Effect.orElseSucceed(() => false)
  )
