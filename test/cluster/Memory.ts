/**
 * The server without a network: a `Transport` for the runtime's client that calls it in memory, under whichever Clock the test
 * has. Every answer is one of the server; nothing gets lost on the way.
 */

import type { ApiServer, HttpResponse } from "@homeostat/apiserver/http/ApiServer"
import type { User } from "@homeostat/apiserver/model/User"
import type * as ApiError from "@homeostat/runtime/client/ApiError"
import type { Request } from "@homeostat/runtime/client/Request"
import type { Response, ResponseHeaders, Streaming } from "@homeostat/runtime/client/Response"
import * as Transport from "@homeostat/runtime/client/Transport"
import { Effect, Layer, type Scope } from "effect"

/** Who the client is. */
export interface Options {
  readonly user?: User | undefined
  /** Requests name it as their `user-agent`, by which writes are attributed if they do not name a field manager. */
  readonly userAgent?: string | undefined
}

/** A transport to a server in memory. */
export const make = (server: ApiServer, options: Options = {}): Transport.Transport["Type"] => {
  const ask = (request: Request) =>
    Transport.abortable(
      request,
      // A step of its own, so that whoever sends many requests lets others come between.
      Effect.zipRight(
        Effect.yieldNow(),
        server.handle({
          method: request.method,
          path: request.path,
          headers: { "user-agent": options.userAgent ?? "homeostat", ...request.headers },
          body: request.body,
          user: options.user
        })
      )
    )
  return Transport.Transport.of({
    server: "memory",
    send: (request) => Effect.flatMap(ask(request), whole(request)),
    open: (request) => Effect.flatMap(ask(request), streaming(request))
  })
}

/** The transport to a server in memory. */
export const layer = (server: ApiServer, options?: Options): Layer.Layer<Transport.Transport> =>
  Layer.succeed(Transport.Transport, make(server, options))

const headersOf = ({ headers }: HttpResponse): ResponseHeaders => ({
  get: (name) => headers[name.toLowerCase()] ?? null
})

/** An answer to its end. */
const whole =
  (request: Request) =>
  (answer: HttpResponse): Effect.Effect<Response, ApiError.Transport> => {
    const { body, status } = answer
    const headers = headersOf(answer)
    if (typeof body === "string") return Effect.succeed({ status, headers, body })
    const rest = (read: string): Effect.Effect<string> =>
      Effect.flatMap(body.next, (part) => (part === undefined ? Effect.succeed(read) : rest(read + part)))
    const text = Effect.ensuring(rest(""), body.close)
    return Effect.map(Transport.abortable(request, text), (text) => ({ status, headers, body: text }))
  }

/** An answer as it comes. Closing the scope ends it. */
const streaming =
  (request: Request) =>
  (answer: HttpResponse): Effect.Effect<Streaming, never, Scope.Scope> =>
    Effect.gen(function* () {
      const { body, status } = answer
      const encoder = new TextEncoder()
      let ended = false
      let read = false
      const close = Effect.suspend(() => {
        ended = true
        return typeof body === "string" ? Effect.void : body.close
      })
      yield* Effect.addFinalizer(() => close)
      const part = Effect.suspend(() => {
        if (ended) return Effect.succeed(undefined)
        if (typeof body !== "string") return body.next
        if (read) return Effect.succeed(undefined)
        read = true
        return Effect.succeed(body)
      })
      return {
        status,
        headers: headersOf(answer),
        next: Transport.abortable(
          request,
          Effect.map(part, (text) => (text === undefined ? undefined : encoder.encode(text)))
        ),
        abort: Effect.zipRight(
          Effect.sync(() => request.abort?.abort()),
          close
        )
      }
    })
