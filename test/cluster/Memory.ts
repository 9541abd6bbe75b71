/**
 * A `Transport` for the runtime's client that calls a server in memory, without a network. It uses the Clock of the test. The server
 * makes every response, and the transport loses none.
 */

import type { ApiServer, HttpResponse } from "@homeostat/apiserver/http/ApiServer"
import type { User } from "@homeostat/apiserver/model/User"
import type * as ApiError from "@homeostat/runtime/client/ApiError"
import type { Request } from "@homeostat/runtime/client/Request"
import type { Response, ResponseHeaders, Streaming } from "@homeostat/runtime/client/Response"
import * as Transport from "@homeostat/runtime/client/Transport"
import { Clock, Effect, Layer, type Scope } from "effect"

/** The identity of the client. */
export interface Options {
  readonly user?: User | undefined
  /** The `user-agent` header of requests. The server derives the field manager of a write from it if the write does not name one. */
  readonly userAgent?: string | undefined
}

/** A transport to a server in memory. */
export const make = (server: ApiServer, options: Options = {}): Transport.Transport["Service"] => {
  const answered = (request: Request) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (isAborted(request)) return aborted(request)
      const { body, method, path } = request
      const headers = { "user-agent": options.userAgent ?? "homeostat", ...request.headers }
      const answer = server.answer({ method, path, headers, body, user: options.user }, now)
      // Nearly all responses are available at once. Only the others can be aborted, which takes two fibers.
      return Effect.isEffect(answer) ? Transport.abortable(request, answer) : Effect.succeed(answer)
    })
  const ask = (request: Request) => Effect.andThen(way, answered(request))
  return Transport.Transport.of({
    server: "memory",
    send: (request) => Effect.flatMap(ask(request), whole(request)),
    open: (request) => Effect.flatMap(ask(request), streaming(request))
  })
}

/** The transport to a server in memory. */
export const layer = (server: ApiServer, options?: Options): Layer.Layer<Transport.Transport> =>
  Layer.succeed(Transport.Transport, make(server, options))

/** The simulated way of a request: other fibers run meanwhile, also between the requests of one fiber. */
const way = Effect.repeat(Effect.yieldNow, { times: 3 })

const isAborted = ({ abort }: Request): boolean => abort?.signal.aborted === true

/** Fails with the error of an aborted request. */
const aborted = (request: Request): Effect.Effect<never, ApiError.Transport> =>
  Transport.abortable(request, Effect.never)

const headersOf = ({ headers }: HttpResponse): ResponseHeaders => ({
  get: (name) => headers[name.toLowerCase()] ?? null
})

/** Reads a response to its end. */
const whole =
  (request: Request) =>
  (answer: HttpResponse): Effect.Effect<Response, ApiError.Transport> => {
    const { body, status } = answer
    const headers = headersOf(answer)
    if (typeof body === "string") return Effect.succeed(Transport.within(request, { status, headers, body }))
    const rest = (read: string): Effect.Effect<string> =>
      Effect.flatMap(body.next, (part) => (part === undefined ? Effect.succeed(read) : rest(read + part)))
    const text = Effect.ensuring(rest(""), body.close)
    return Effect.map(Transport.abortable(request, text), (text) => ({ status, headers, body: text }))
  }

/** Streams a response. Closing the Scope ends it. */
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
        // A closed body ends, so an abort does not need a race for each part.
        next: Effect.flatMap(part, (text) => {
          if (isAborted(request)) return aborted(request)
          return Effect.succeed(text === undefined ? undefined : encoder.encode(text))
        }),
        abort: Effect.andThen(
          Effect.sync(() => request.abort?.abort()),
          close
        )
      }
    })
