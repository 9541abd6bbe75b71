/**
 * Shares concurrent requests: one request per key, a few requests at the same time, and a bounded queue in order of arrival. A
 * request that does not fit is refused at once, so a flood costs neither memory nor time.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

import type * as Scope from "effect/Scope"

/** The queue is full: retry later. It has no stack, which would cost more than everything else in a flood. */
export class Crowded extends Data.TaggedClass("Crowded")<object> {}

/** The only instance of {@link Crowded}. */
export const crowded = new Crowded()

/** The bounds. */
export interface Options {
  /** Requests in progress. */
  readonly concurrency: number
  /** Requests in the queue. */
  readonly waiting: number
  /** Requests of one source, queued and in progress, so that one source leaves room for others. */
  readonly perSource: number
  /** Callers that share one request. */
  readonly sharing: number
}

/** Shares concurrent requests. */
export interface SingleFlight<A, E> {
  /** Whether `ask` would fail with {@link Crowded} now. */
  readonly refuses: (key: string, source: string) => boolean
  /**
   * Starts a request, or joins the callers with the same key, and returns an effect that waits for the answer. A caller that stops
   * waiting does not interrupt the request.
   *
   * @param source the origin of the request, such as an IP address
   */
  readonly ask: (
    key: string,
    source: string,
    question: Effect.Effect<A, E>
  ) => Effect.Effect<Effect.Effect<A, E>, Crowded>
}

interface Flight<A, E> {
  readonly key: string
  readonly source: string
  readonly question: Effect.Effect<A, E>
  readonly answer: Deferred.Deferred<A, E>
  callers: number
}

/** Runs the requests in the scope. */
export const make = <A, E>(options: Options): Effect.Effect<SingleFlight<A, E>, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const flights = new Map<string, Flight<A, E>>()
    const waiting: Array<Flight<A, E>> = []
    let underWay = 0

    const start = (flight: Flight<A, E>): Effect.Effect<void> =>
      Effect.suspend(() => {
        underWay++
        return flight.question.pipe(
          Effect.onExit((exit) => {
            flights.delete(flight.key)
            underWay--
            const next = waiting.shift()
            // Last, because the callers continue at once.
            return Effect.andThen(next === undefined ? Effect.void : start(next), Deferred.done(flight.answer, exit))
          }),
          Effect.forkIn(scope)
        )
      })

    const refuses = (key: string, source: string): boolean => {
      const shared = flights.get(key)
      if (shared !== undefined) return shared.callers >= options.sharing
      if (underWay >= options.concurrency && waiting.length >= options.waiting) return true
      let ofSource = 0
      for (const flight of flights.values()) if (flight.source === source) ofSource++
      return ofSource >= options.perSource
    }

    return {
      refuses,
      ask: (key, source, question) =>
        Effect.suspend((): Effect.Effect<Effect.Effect<A, E>, Crowded> => {
          if (refuses(key, source)) return Effect.fail(crowded)
          const shared = flights.get(key)
          if (shared !== undefined) {
            shared.callers++
            return Effect.succeed(Deferred.await(shared.answer))
          }
          const flight = { key, source, question, answer: Deferred.makeUnsafe<A, E>(), callers: 1 }
          flights.set(key, flight)
          if (underWay < options.concurrency) return Effect.as(start(flight), Deferred.await(flight.answer))
          waiting.push(flight)
          return Effect.succeed(Deferred.await(flight.answer))
        })
    }
  })
