/**
 * The layers that a request passes, outermost first, and why in this order:
 *
 * 1. overlay: the answer to a write is published before the writer goes on, so that the cache shows it (`Writes`; it takes the
 *    parsed object, so it stands in `Client`)
 * 2. fence: no write of a leader-elected reconcile leaves after its lease ran out. It belongs here, outside of retry, which
 *    must not carry a write past the deadline, and outside of trace, which is for what is sent. There is no election yet,
 *    hence no fence
 * 3. trace: one span for a request, however often it is sent
 * 4. retry: again where it is safe
 * 5. deadline: for each attempt
 * 6. answer: a status becomes an error; the server's warnings are logged
 * 7. transport: the network, or a cluster in memory
 *
 * Watches pass deadline (for the headers), answer and transport: their driver, the reflector, retries by its own rules and
 * has to see each failure, and a span that lasts for minutes says nothing.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Answer from "./Answer.ts"
import type { ApiError } from "./ApiError.ts"
import * as Deadline from "./Deadline.ts"
import type { Handler } from "./Handler.ts"
import type { Request } from "./Request.ts"
import type { Streaming } from "./Response.ts"
import * as Retry from "./Retry.ts"
import * as Trace from "./Trace.ts"
import type { Transport } from "./Transport.ts"
import * as Warning from "./Warning.ts"

/** The assembled stack. */
export interface Stack {
  readonly send: Handler
  readonly open: (request: Request) => Effect.Effect<Streaming, ApiError, Scope.Scope>
}

/** The stack on a transport. `userAgent` is who the server's logs say we are. */
export const make = Effect.fnUntraced(function* (transport: typeof Transport.Service, userAgent: string) {
  const { server } = transport
  const deadline = yield* Deadline.make(server)
  const warn = Warning.make()
  const signed = (request: Request): Request => ({
    ...request,
    headers: { "user-agent": userAgent, ...request.headers }
  })
  const answered = Answer.check(warn)((request) => transport.send(signed(request)))
  const stack: Stack = {
    send: Trace.layer(server)(Retry.layer(deadline.layer(answered))),
    open: (request) =>
      deadline.within(request, (bounded) =>
        Effect.flatMap(transport.open(signed(bounded)), (streaming) =>
          Effect.zipRight(warn(streaming.headers), Answer.checkStreaming(bounded, streaming))
        )
      )
  }
  return stack
})
