/**
 * The layers that a request passes, outermost first, and why in this order:
 *
 * 1. overlay: the answer to a write is published before the writer goes on, so that the cache shows it (`Writes`; it takes the
 *    parsed object, so it stands in `Client`)
 * 2. trace: one span for a request, however often it is sent
 * 3. retry: again where it is safe
 * 4. fence: no write of a leader-elected reconcile leaves after its leadership ended. It stands inside of retry, because it is
 *    each sending that counts: a write must not be carried past the end by a back-off
 * 5. deadline: for each attempt
 * 6. answer: a status becomes an error; the server's warnings are logged
 * 7. meter: each sending and its status are counted (`Retry` tells it of those that are repeated)
 * 8. transport: the network, or a cluster in memory
 *
 * Watches pass deadline (for the headers), answer, meter and transport: their driver, the reflector, retries by its own rules and
 * has to see each failure, and a span that lasts for minutes says nothing.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Metrics } from "../telemetry/Metrics.ts"
import * as Answer from "./Answer.ts"
import type { ApiError } from "./ApiError.ts"
import * as Deadline from "./Deadline.ts"
import * as Fence from "./Fence.ts"
import type { Handler } from "./Handler.ts"
import * as Meter from "./Meter.ts"
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
  const meter = yield* Meter.make(server, yield* Metrics)
  const answered = Answer.check(warn)(meter.send((request) => transport.send(signed(request))))
  const opened = meter.open((request) => transport.open(signed(request)))
  const stack: Stack = {
    send: Trace.layer(server)(Retry.layer(Fence.layer(deadline.layer(answered)), meter.retried)),
    open: (request) =>
      deadline.within(request, (bounded) =>
        Effect.flatMap(opened(bounded), (streaming) =>
          Effect.zipRight(warn(streaming.headers), Answer.checkStreaming(bounded, streaming))
        )
      )
  }
  return stack
})
