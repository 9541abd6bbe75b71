/**
 * Counts what is sent, as client-go does: each sending by itself, a retry and a watch too, by method, host and the code of the
 * answer. A sending without an answer (refused, cut, timed out, given up) has the code `<error>`.
 *
 * It stands next to the transport, because there a sending is one, and its answer still a status. What the transport itself
 * sends once more, with other credentials or by HTTP/1.1, is the same sending: its last answer counts.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Time from "../resource/Time.ts"
import * as Metric from "../telemetry/Metric.ts"
import type { Counting, Observing, Registry } from "../telemetry/Metrics.ts"
import { type ApiError, isAnswer } from "./ApiError.ts"
import type { Request } from "./Request.ts"
import type { Response, Streaming } from "./Response.ts"

/** The code of a sending that got none. */
const noAnswer = "<error>"

/** The meter of a client. */
export interface Meter {
  /** The layer for whole answers. */
  readonly send: <E extends ApiError>(
    send: (request: Request) => Effect.Effect<Response, E>
  ) => (request: Request) => Effect.Effect<Response, E>
  /** The layer for answers that go on, of which only the beginning is counted. */
  readonly open: <E extends ApiError, R>(
    open: (request: Request) => Effect.Effect<Streaming, E, R>
  ) => (request: Request) => Effect.Effect<Streaming, E, R>
  /** A request is about to be sent again because of this answer, or the lack of one. */
  readonly retried: (request: Request, error: ApiError) => void
}

/** The instruments of one method. */
interface Instruments {
  readonly codes: Map<string | number, Counting>
  readonly duration: Observing
  readonly sent: Observing
  readonly received: Observing
}

/** A write that was held back has not been sent. */
const isFenced = <E extends ApiError>(cause: Cause.Cause<E>): boolean =>
  Option.exists(Cause.failureOption(cause), (error) => error._tag === "Fenced")

/** A meter for requests to a server (a URL, or another name of it). */
export const make = (server: string, registry: Registry): Effect.Effect<Meter> =>
  Effect.map(Effect.clock, (clock) => {
    const host = URL.parse(server)?.host || server
    const methods = new Map<string, Instruments>()

    const of = (method: string): Instruments => {
      let instruments = methods.get(method)
      if (instruments === undefined) {
        const labels = { verb: method, host }
        instruments = {
          codes: new Map(),
          duration: registry.histogram(Metric.requestDuration, labels),
          sent: registry.histogram(Metric.requestSize, labels),
          received: registry.histogram(Metric.responseSize, labels)
        }
        methods.set(method, instruments)
      }
      return instruments
    }

    const count = (method: string, { codes }: Instruments, code: string | number): void => {
      let counting = codes.get(code)
      if (counting === undefined) {
        counting = registry.counter(Metric.requests, { code: String(code), method, host })
        codes.set(code, counting)
      }
      counting.add()
    }

    /**
     * Counts a sending once it has ended, interruption included, and gives its answer to `measure`. What `Effect.onExit` and
     * `Effect.map` would do in two steps, at half their cost.
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
        registry.counter(Metric.requestRetries, { code, verb: method, host }).add()
      }
    }
  })
