/**
 * The layers of a request, outermost first, with the reasons for their order:
 *
 * 1. overlay: publishes the response to a write before the writer continues, so that the cache shows it (`WriteBroadcaster`; it needs the
 *    parsed object, so it is in `Client`)
 * 2. trace: one span per request, including its retries
 * 3. retry: retries where that is safe
 * 4. fence: sends no write of a leader-elected reconcile after the leadership ended. It is inside of retry, so that it also checks
 *    each retry after its delay
 * 5. deadline: the timeout of each attempt
 * 6. answer: turns a status into an error, and logs the server's warnings
 * 7. meter: counts each attempt and its status (`Retry` reports retries to it)
 * 8. transport: the network, or a cluster in memory
 *
 * Watches pass deadline (for the headers), answer, meter and transport. The reflector has its own retries and must see each failure,
 * and a span of minutes has no value.
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

/** The layers as one client stack. */
export interface Stack {
  readonly send: Handler
  readonly open: (request: Request) => Effect.Effect<Streaming, ApiError, Scope.Scope>
}

/** The stack on a transport. `userAgent` appears in the server's logs. */
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
          Effect.andThen(warn(streaming.headers), Answer.checkStreaming(bounded, streaming))
        )
      )
  }
  return stack
})
