/**
 * Counts requests as client-go does: each attempt, including retries and watches, by method, host and status code. An attempt without
 * a response (refused, broken, timed out, interrupted) has the code `<error>`.
 *
 * It stands next to the transport, because there each attempt is one request, with a status. If the transport itself sends a request
 * again, with other credentials or over HTTP/1.1, that counts as one attempt with the last response.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Time from "../resource/Time.ts"
import type { Counting, Observing, Registry } from "../telemetry/Metrics.ts"
import * as RequestMetric from "../telemetry/RequestMetric.ts"
import { type ApiError, isAnswer } from "./ApiError.ts"
import type { Request } from "./Request.ts"
import type { Response, Streaming } from "./Response.ts"

/** The code of an attempt without a response. */
const noAnswer = "<error>"

/** The meter of a client. */
export interface Meter {
  /** The layer for whole responses. */
  readonly send: <E extends ApiError>(
    send: (request: Request) => Effect.Effect<Response, E>
  ) => (request: Request) => Effect.Effect<Response, E>
  /** The layer for streams. It counts only their beginning. */
  readonly open: <E extends ApiError, R>(
    open: (request: Request) => Effect.Effect<Streaming, E, R>
  ) => (request: Request) => Effect.Effect<Streaming, E, R>
  /** Counts a retry, with the error that caused it. */
  readonly retried: (request: Request, error: ApiError) => void
}

/** The instruments of one method. */
interface Instruments {
  readonly codes: Map<string | number, Counting>
  readonly duration: Observing
  readonly sent: Observing
  readonly received: Observing
}

/** A fenced write was not sent. */
const isFenced = <E extends ApiError>(cause: Cause.Cause<E>): boolean =>
  Option.exists(Cause.findErrorOption(cause), (error) => error._tag === "Fenced")

/** A meter for requests to a server, by its URL or another name. */
export const make = (server: string, registry: Registry): Effect.Effect<Meter> =>
  Effect.map(Clock.Clock, (clock) => {
    const host = URL.parse(server)?.host || server
    const methods = new Map<string, Instruments>()

    const of = (method: string): Instruments => {
      let instruments = methods.get(method)
      if (instruments === undefined) {
        const labels = { verb: method, host }
        instruments = {
          codes: new Map(),
          duration: registry.histogram(RequestMetric.duration, labels),
          sent: registry.histogram(RequestMetric.requestSize, labels),
          received: registry.histogram(RequestMetric.responseSize, labels)
        }
        methods.set(method, instruments)
      }
      return instruments
    }

    const count = (method: string, { codes }: Instruments, code: string | number): void => {
      let counting = codes.get(code)
      if (counting === undefined) {
        counting = registry.counter(RequestMetric.requests, { code: String(code), method, host })
        codes.set(code, counting)
      }
      counting.add()
    }

    /**
     * Counts an attempt at its end, also after an interruption, and passes its response to `measure`. `Effect.onExit` and
     * `Effect.map` would cost twice as much.
     */
    const counted = <A extends { readonly status: number }, E extends ApiError, R>(
      request: Request,
      send: (request: Request) => Effect.Effect<A, E, R>,
      measure?: (answer: A, instruments: Instruments, began: number) => void
    ): Effect.Effect<A, E, R> =>
      Effect.uninterruptibleMask((restore) => {
        const began = Time.monotonic(clock)
        return Effect.matchCauseEffect(restore(send(request)), {
          onFailure: (cause) => {
            if (!isFenced(cause)) count(request.method, of(request.method), noAnswer)
            return Effect.failCause(cause)
          },
          onSuccess: (answer) => {
            const instruments = of(request.method)
            count(request.method, instruments, answer.status)
            measure?.(answer, instruments, began)
            return Effect.succeed(answer)
          }
        })
      })

    return {
      send: (send) => (request) =>
        counted(request, send, ({ body }, { duration, received, sent }, began) => {
          duration.observe((Time.monotonic(clock) - began) / 1000)
          sent.observe(request.body === undefined ? 0 : Buffer.byteLength(request.body))
          received.observe(Buffer.byteLength(body))
        }),
      open: (open) => (request) => counted(request, open),
      retried: ({ method }, error) => {
        const code = isAnswer(error) ? String(error.code) : noAnswer
        registry.counter(RequestMetric.retries, { code, verb: method, host }).add()
      }
    }
  })
